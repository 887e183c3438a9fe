"""Where OCM's library surprises, the step gives the answer that is documented instead."""

import re

import pytest

from rollout.model.replicaset import RolloutSpec
from rollout.strategies.base import Standing, Step, Verdict
from rollout.strategies.step import decide
from tests.support.fleets import (
    FAILED,
    PROGRESSING,
    SEC,
    SILENT,
    SUCCEEDED,
    T0,
    rollout_in,
    spec_of,
    standing,
)
from tests.support.small_fleets import FIVE, HALTED, PAIRS, groups

HEALTH = {"A": SILENT, "P": PROGRESSING, "S": SUCCEEDED, "F": FAILED}


def known(text: str) -> list[Standing]:
    """``a:F@-120``: the health, and how long ago (in seconds) it was touched and reported that."""
    found = []
    for item in text.split():
        name, letter, age = re.fullmatch(r"(\w):(\w)@-(\d+)", item).groups()  # type: ignore[union-attr]  # a typo in a table may raise
        found.append(standing(name, HEALTH[letter], T0 - int(age) * SEC))
    return found


def told(step: Step) -> str:
    """``touch=[b c] out=[a] Reason``: touched, finally failed now, what stops it."""
    out = [s.cluster for s in step.settled if s.verdict is Verdict.FAILED]
    stopped = step.halt or step.hold
    text = f"touch=[{' '.join(step.touch)}] out=[{' '.join(out)}]"
    return f"{text} {stopped.reason}" if stopped else text


PER_GROUP, D90, NO_SOAK = "ProgressivePerGroup", 90 * SEC, 0 * SEC
GATED = "0(m)={a} 1={b,c,d,e}"
# The column "recommended" of the extra vectors in OCM's rollout spec, 7.1.
RECOMMENDED = {
    "X1 a tolerated time-out hides no cluster that is in flight": (
        spec_of(PER_GROUP, budget=1, deadline=D90, soak=NO_SOAK),
        PAIRS,
        "a:F@-120 b:P@-30",
        "touch=[] out=[a]",
    ),
    "X2 nor one that soaks": (
        spec_of(PER_GROUP, budget=1, deadline=D90, soak=60 * SEC),
        PAIRS,
        "a:F@-120 b:S@-30",
        "touch=[] out=[a]",
    ),
    "X3 groups open one at a time": (
        spec_of(PER_GROUP, budget=1, deadline=D90, soak=NO_SOAK),
        "0={a,b,x} 1={c} 2={e,f}",
        "a:F@-120 b:S@-300 x:S@-300",
        "touch=[c] out=[a]",
    ),
    "X4 a mandatory gate looks at its own members only": (
        spec_of(budget=3, limit=2, mandatory=["m"], deadline=D90, soak=NO_SOAK),
        GATED,
        "a:S@-300 b:P@-120",
        "touch=[c d] out=[b]",
    ),
    "X5 behind a mandatory gate the window slides": (
        spec_of(limit=2, mandatory=["m"], deadline=None, soak=NO_SOAK),
        GATED,
        "a:S@-300 b:S@-120 c:P@-20",
        "touch=[d] out=[]",
    ),
    "X6 a budget beyond the fleet is the fleet": (
        spec_of(budget=9, limit=2, deadline=D90, soak=NO_SOAK),
        FIVE,
        "a:F@-120",
        "touch=[b c] out=[a]",
    ),
    "X7 a limit of 0% is none": (
        spec_of(limit="0%", deadline=None, soak=NO_SOAK),
        FIVE,
        "",
        "touch=[] out=[]",
    ),
    "X8 a breach counts whatever its name": (
        spec_of(limit=3, deadline=None, soak=NO_SOAK),
        FIVE,
        "b:A@-1 e:F@-120",
        f"touch=[] out=[e] {HALTED}",
    ),
    "X9 a breach is told though all slots are full": (
        spec_of(limit=1, deadline=None, soak=NO_SOAK),
        FIVE,
        "a:P@-10 b:F@-120 c:F@-120",
        f"touch=[] out=[b c] {HALTED}",
    ),
    "X10 a tolerated failure holds no slot for ever": (
        spec_of(limit=1, budget=3, deadline=None, soak=NO_SOAK),
        FIVE,
        "a:F@-120",
        "touch=[b] out=[a]",
    ),
    "X11 a gap in the indexes hides nobody": (
        spec_of("All", deadline=None),
        "0={a} 2={b,c}",
        "a:S@-9 b:S@-9",
        "touch=[c] out=[]",
    ),
    "X12 an unknown mandatory group holds": (
        spec_of(limit=2, mandatory=["nope"], deadline=None),
        "0(m)={a} 1={b,c}",
        "",
        "touch=[] out=[] UnknownDecisionGroup",
    ),
    "X13 a breach stops the group that breaches": (
        spec_of(PER_GROUP, deadline=D90, soak=NO_SOAK),
        PAIRS,
        "a:F@-100",
        f"touch=[] out=[a] {HALTED}",
    ),
    "X14 silent clusters time out from the write": (
        spec_of(limit=2, deadline=5 * SEC, soak=NO_SOAK),
        FIVE,
        "a:A@-5 b:A@-5",
        f"touch=[] out=[a b] {HALTED}",
    ),
    "X15 a cluster named twice is one failure": (
        spec_of(budget=1, limit=1, deadline=D90, soak=NO_SOAK),
        "0={a,b} 1={a,c}",
        "a:F@-100 a:F@-100",
        "touch=[b] out=[a]",
    ),
}


@pytest.mark.parametrize(
    ("spec", "grouped", "standings", "expected"), RECOMMENDED.values(), ids=RECOMMENDED
)
def test_where_the_library_surprises_the_answer_is_the_documented_one(
    spec: RolloutSpec, grouped: str, standings: str, expected: str
) -> None:
    assert told(decide(rollout_in(spec, groups(grouped), known(standings)), T0)) == expected


def test_the_table_has_all_fifteen() -> None:
    assert [name.split()[0] for name in RECOMMENDED] == [f"X{n}" for n in range(1, 16)]


def test_silent_clusters_are_in_time_a_moment_before_their_deadline() -> None:
    """X14, before: both slots are held, and the next look is at the deadline."""
    spec = spec_of(limit=2, deadline=5 * SEC)

    step = decide(rollout_in(spec, groups(FIVE), known("a:A@-4 b:A@-3")), T0)

    assert (told(step), step.recheck_at) == ("touch=[] out=[]", T0 + SEC)
