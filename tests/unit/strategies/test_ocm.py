"""Profile ``ocm``: every case of OCM's own tests, and the cases in which it surprises.

Notation. Groups: ``index(name)={members}``. Clusters: ``name:status``, status A = ToApply,
P = Progressing, S = Succeeded, F = Failed, T = TimeOut, K = Skip, ? = anything else; ``@x`` the last
transition, ``→y`` the recheck, both in seconds from now. Answers: R = what holds a slot (ordered),
T = timed out, X = removed. Strategies: dl = progressDeadline, mf = maxFailures,
mc = maxConcurrency, mand = mandatory groups, soak = minSuccessTime.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.model.placement import Group
from rollout.strategies.ocm import Answer, ClusterRolloutStatus, Status, decide
from rollout.strategies.ocm_inputs import MEMBERS

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)

LETTERS = dict(
    zip("APSFTK?", Status, strict=True)  # in the order in which the enum declares them
)
NAMES = {status: letter for letter, status in LETTERS.items()}
FIELDS = {
    "dl": "progressDeadline",
    "mf": "maxFailures",
    "mc": "maxConcurrency",
    "soak": "minSuccessTime",
}
SHORT = {"P": "Progressive", "PG": "ProgressivePerGroup"}


def strategy(text: str) -> dict[str, Any]:
    kind, *options = text.split()
    kind = SHORT.get(kind, kind)
    member: dict[str, Any] = {}
    for option in options:
        key, value = option.split("=")
        if key == "mand":
            refs = value.split(",")
            member["mandatoryDecisionGroups"] = [
                {"groupIndex": int(r[1:])} if r.startswith("#") else {"groupName": r} for r in refs
            ]
        else:
            number = key in ("mf", "mc") and re.fullmatch(r"-?\d+", value)
            member[FIELDS[key]] = int(value) if number else value
    return {"type": kind, MEMBERS[kind]: member}


def groups(text: str) -> list[Group]:
    return [
        Group(int(index), name, tuple(members.split(",")) if members else ())
        for index, name, members in re.findall(r"(\d+)(?:\((\w+)\))?=\{([\w,]*)\}", text)
    ]


def records(text: str) -> list[ClusterRolloutStatus]:
    found = []
    for item in text.split():
        name, letter, at = re.fullmatch(r"(\w+):(.)(?:@(-?\d+))?", item).groups()  # type: ignore[union-attr]  # a typo in a table may raise
        since = None if at is None else NOW + int(at) * SECOND
        found.append(ClusterRolloutStatus(name, LETTERS[letter], since=since))
    return found


def at(record: ClusterRolloutStatus) -> str:
    if record.recheck_at is None:
        return ""
    seconds = int((record.recheck_at - NOW).total_seconds())
    return f"→{seconds:+}" if seconds else "→0"


def shown(answer: Answer) -> str:
    parts = ["R=[" + " ".join(f"{r.cluster}:{NAMES[r.status]}{at(r)}" for r in answer.rollout)]
    if answer.timed_out:
        assert {r.status for r in answer.timed_out} == {Status.TIME_OUT}
        parts.append("T=[" + " ".join(f"{r.cluster}{at(r)}" for r in answer.timed_out))
    if answer.removed:
        parts.append("X=[" + " ".join(r.cluster for r in answer.removed))
    text = " ".join(f"{part}]" for part in parts)
    text += " breach" if answer.breach else ""
    if answer.recheck_at:
        text += f" recheck={(answer.recheck_at - NOW).total_seconds():g}s"
    return text if answer.error is None else f"error: {answer.error}"


SIX = "0(group1)={1,2,3} 1={4,5,6}"
NINE = "0(group1)={1,2,3} 1={4,5,6} 2={7,8,9}"
PAIRS = "0(group1)={1,2} 1={3,4} 2={5,6}"
TWO_FOUR = "0(group1)={1,2} 1={3,4,5,6}"
WAITING = "1:P@-60 2:A 3:A 4:A 5:A 6:A"
# What OCM's own tests ask of the handler: number, strategy, groups, known clusters, answer.
UPSTREAM = """
 1 | All dl=90s | TWO_FOUR | | R=[1:A 2:A 3:A 4:A 5:A 6:A]
 2 | All dl=90s | TWO_FOUR | 1:S@-60 2:F@-120 3:P@-120 4:F@-60 5:P@-60 | R=[4:F→+30 5:P→+30 6:A] T=[2→-30 3→-30] recheck=30s
 3 | P dl=90s mc=2 | SIX | | R=[1:A 2:A]
 4 | P dl=90s mc=2 | SIX | | R=[1:A 2:A]
 5 | P dl=90s mc=4 | NINE | WAITING 7:A 8:A 9:A 10:A | R=[1:P→+30 2:A 3:A 4:A] X=[10] recheck=30s
 6 | P dl=90s | NINE | WAITING 7:A 8:A 9:A 10:A | R=[1:P→+30 2:A 3:A 4:A 5:A 6:A 7:A 8:A 9:A] X=[10] recheck=30s
 7 | P dl=90s mc=2 | SIX | 1:S@-60 2:F@-120 3:P@-60 | R=[3:P→+30] T=[2→-30] breach recheck=30s
 8 | P dl=90s mf=100% mc=2 soak=60s | SIX | 1:S@-30 2:F@-120 3:P@-30 | R=[1:S→+30 3:P→+60] T=[2→-30] recheck=30s
 9 | P dl=90s mf=100% mc=4 soak=60s | 0(group1)={1,2,3,4} | 1:S@-30 2:P@-60 3:P@-30 4:S@-120 | R=[1:S→+30 2:P→+30 3:P→+60] recheck=30s
10 | P dl=90s mf=1 mc=2 | SIX | 1:S@-60 2:F@-120 3:P@-60 | R=[3:P→+30 4:A] T=[2→-30] recheck=30s
11 | P dl=0s mf=3 mc=2 | SIX | 1:S@-30 2:P@-30 3:P@-30 | R=[4:A 5:A] T=[2→-30 3→-30]
12 | P dl=90s mc=3 mand=group1 | SIX | 1:S@-60 2:F@-120 3:P@-60 | R=[3:P→+30] T=[2→-30] breach recheck=30s
13 | P dl=None mf=100% mc=50% | TWO_FOUR | 1:S@-60 2:F@-120 3:P@-60 | R=[2:F 3:P 4:A]
14 | P dl=None mf=0% mc=50% | TWO_FOUR | 1:S@-60 2:F@-120 3:P@-60 | R=[2:F 3:P] breach
15 | P dl=90s mc=3 mand=group1 | PAIRS | 1:F@-120 2:F@-60 | R=[2:F→+30] T=[1→-30] breach recheck=30s
16 | P dl= mc=3 mand=group1 | PAIRS | 1:S@-60 2:S@-120 | R=[3:A 4:A 5:A]
17 | PG dl=90s | SIX | | R=[1:A 2:A 3:A]
18 | PG dl=90s | SIX | WAITING | R=[1:P→+30 2:A 3:A] recheck=30s
19 | PG dl=90s | SIX | 1:S@-60 2:F@-120 3:P@-60 | R=[3:P→+30] T=[2→-30] breach recheck=30s
20 | PG dl=90s mf=2 | NINE | 1:S@-60 2:F@-120 3:S@-60 | R=[4:A 5:A 6:A] T=[2→-30]
21 | PG dl=90s mf=2 | NINE | 1:S@-60 2:F@-120 3:S@-60 4:S@-60 5:S@-60 6:S@-60 | R=[7:A 8:A 9:A] T=[2→-30]
22 | PG dl=None | NINE | 1:S@-60 2:F@-120 3:S@-60 | R=[2:F] breach
23 | PG dl=None mf=2 | NINE | 1:S@-60 2:F@-120 3:S@-60 | R=[2:F 4:A 5:A 6:A]
24 | PG dl=None mf=30% | NINE | 1:S@-60 2:F@-120 3:F@-120 | R=[2:F 3:F] breach
25 | PG dl=90s mand=group1 | SIX | 1:S@-60 2:F@-120 3:F@-120 | R=[] T=[2→-30 3→-30] breach
26 | PG dl=90s mf=2 mand=group1 | NINE | 1:S@-60 2:F@-120 3:S@-60 | R=[] T=[2→-30] breach
27 | PG dl=90s mand=group1 | NINE | 1:S@-60 2:S@-60 3:S@-60 | R=[4:A 5:A 6:A]
28 | PG dl=90s mf=50% soak=60s | 0(group1)={1,2,3} 1(group2)={4,5} | 1:S@-30 2:S@-120 3:P@-30 | R=[1:S→+30 3:P→+60] recheck=30s
29 | All dl=90s | 0(group1)={1,2,7} 1={3,4,5,6} | 1:S@-60 2:F@-120 3:P@-120 4:F@-60 5:P@-60 | R=[4:F→+30 5:P→+30 6:A 7:A] T=[2→-30 3→-30] recheck=30s
30 | P dl=90s mc=3 mand=group1 | 0(group1)={1,2,7} 1={3,4,8} 2={5,6,9} | 1:S@-60 2:S@-60 3:S@-60 4:P@-60 5:P@-60 | R=[4:P→+30 5:P→+30 7:A] recheck=30s
31 | PG dl=90s | SIX | 1:S@-60 2:S@-60 4:P@-60 5:P@-60 | R=[4:P→+30 5:P→+30 3:A] recheck=30s
32 | All dl=90s | 0(group1)={1} 1={3,5} | 1:S@-60 2:F@-120 3:P@-120 4:F@-60 5:P@-60 | R=[5:P→+30] T=[3→-30] X=[2 4] recheck=30s
33 | P dl=90s mf=100% mc=2 | 0(group1)={2,3} 1={4,5,6} | 1:S@-60 2:F@-120 3:P@-60 | R=[3:P→+30 4:A] T=[2→-30] X=[1] recheck=30s
34 | P dl=90s mc=2 mand=group1 | 0(group1)={1,3} 1={4,5,6} | 1:S@-60 2:F@-120 3:S@-60 | R=[4:A 5:A] X=[2]
35 | PG dl=90s | 0(group1)={1,3} 1={4,5,6} | 1:S@-60 2:F@-60 3:P@-60 | R=[3:P→+30] X=[2] recheck=30s
36 | PG dl=90s mf=2 | 0(group1)={1,3} 1={4,5,6} | 1:S@-60 2:F@-60 3:P@-120 | R=[4:A 5:A 6:A] T=[3→-30] X=[2]
37 | PG dl=90s mand=group1 | 0(group1)={1,3} 1={4,5,6} 2={7,8,9} | 1:S@-60 2:F@-120 3:S@-60 | R=[4:A 5:A 6:A] X=[2]
"""

THREE = "0={a,b} 1={c,d} 2={e,f}"
FIVE = "0={a,b,c,d,e}"
ONE = "0={a}"
GATED = "0(m)={a} 1={b,c,d,e}"
# Where the library surprises. The strict profile answers most of these otherwise.
SURPRISES = """
X1 | PG dl=90s mf=1 | THREE | a:F@-120 b:P@-30 | R=[b:P→+60 c:A d:A] T=[a→-30] recheck=60s
X2 | PG dl=90s mf=1 soak=60s | THREE | a:F@-120 b:S@-30 | R=[b:S→+30 c:A d:A] T=[a→-30] recheck=30s
X3 | PG dl=90s mf=1 | 0={a,b,x} 1={c} 2={e,f} | a:F@-120 b:S@-300 x:S@-300 | R=[c:A e:A f:A] T=[a→-30]
X4 | P dl=90s mf=3 mc=2 mand=m | GATED | a:S@-300 b:P@-120 | R=[] T=[b→-30]
X5 | P mc=2 mand=m | GATED | a:S b:S@-120 c:P@-20 | R=[c:P]
X6 | P mf=9 dl=90s mc=2 | FIVE | a:F@-120 | R=[] T=[a→-30] breach
X7 | P mc=0% | FIVE | | R=[a:A b:A c:A d:A e:A]
X8 | P mc=3 | FIVE | b:A e:F@-120 | R=[b:A e:F] breach
X9 | P mc=1 | FIVE | a:P b:F c:F | R=[a:P]
X10 | P mc=1 mf=3 dl=None | FIVE | a:F | R=[a:F]
X11 | All | 0={a} 2={b} | a:S b:S | R=[] X=[b]
X12 | P mc=2 mand=nope | 0(m)={a} 1={b,c} | | R=[a:A b:A]
X13 | PG dl=90s mf=0 | 0={a,b} 1={c} | a:F@-100 | R=[b:A] T=[a→-10] breach
X14 | P dl=5s mc=2 | FIVE | a:A b:A | R=[a:A b:A]
X15 | P dl=90s mf=1 | FIVE | a:F@-100 a:F@-100 | R=[] T=[a→-10 a→-10] breach
"""
# How one known cluster is classified. Where it is in no list, the answer is empty.
CLASSIFIED = """
to apply | P dl=60s | ONE | a:A | R=[a:A]
skipped | P dl=60s | ONE | a:K | R=[]
succeeded at an unknown time, no soak | P | ONE | a:S | R=[]
succeeded at an unknown time, soaking for ever | P soak=60s | ONE | a:S | R=[a:S→+60] recheck=60s
the same with another soak | P soak=120s | ONE | a:S | R=[a:S→+120] recheck=120s
soaked long ago | P soak=60s | ONE | a:S@-120 | R=[]
soaked at this instant | P soak=60s | ONE | a:S@-60 | R=[]
soaking for one more second | P soak=60s | ONE | a:S@-59 | R=[a:S→+1] recheck=1s
timed out before, and counted | P dl=60s | ONE | a:T | R=[] breach
timed out before, and tolerated | P dl=60s mf=1 | ONE | a:T | R=[]
progressing in time | P dl=60s | ONE | a:P@-30 | R=[a:P→+30] recheck=30s
failed until this instant | P dl=60s mf=1 | ONE | a:F@-60 | R=[] T=[a→0]
anything else in time | P dl=60s | ONE | a:?@-30 | R=[a:?→+30] recheck=30s
anything else, too late | P dl=60s mf=1 | ONE | a:?@-60 | R=[] T=[a→0]
progressing at an unknown time never ends | P dl=60s | ONE | a:P | R=[a:P→+60] recheck=60s
"""
# The next look: the earliest change that time alone brings, of what holds a slot.
RECHECKED = """
one deadline | PG dl=90s | FIVE | a:P@-60 b:S c:S d:S e:S | R=[a:P→+30] recheck=30s
the earliest of three | PG dl=90s | FIVE | a:P@-30 b:P@-60 c:P@-30 d:S e:S | R=[a:P→+60 b:P→+30 c:P→+60] recheck=30s
a soak before deadlines | PG dl=90s soak=60s | 0={a,b,c} | a:S@-30 b:P@-60 c:P@-30 | R=[a:S→+30 b:P→+30 c:P→+60] recheck=30s
nothing but work to do | PG dl=90s | 0={a,b} | | R=[a:A b:A]
nothing at all | PG dl=90s | | | R=[]
work to do beside a deadline | P dl=90s | 0={a,b,c} | a:A b:P@-30 c:A | R=[a:A b:P→+60 c:A] recheck=60s
a timed-out cluster does not ask for one | P dl=90s mf=1 | 0={a,b} | a:P@-120 b:S | R=[] T=[a→-30]
"""
# Which groups are mandatory: by name, by index, by both, unknown.
MANDATORY = """
by index | P mand=#1 | THREE | | R=[c:A d:A]
by index, in the order of indexes, not of the list | P mand=#2,#1 | THREE | | R=[c:A d:A]
all groups of one name | P mand=m | 0(m)={a} 1={b} 2(m)={c} | a:S | R=[c:A]
the same group thrice | P mand=m,m,#0 | GATED | | R=[a:A]
an unknown name opens the gate | PG mand=canray | THREE | | R=[a:A b:A]
an unknown index opens the gate | PG mand=#7 | THREE | | R=[a:A b:A]
nothing but mandatory groups, all done | P mand=#0,#1,#2 | THREE | a:S b:S c:S d:S e:S f:S | R=[]
beyond a gap, still mandatory | P mand=#2 | 0={a} 2={b} | | R=[b:A]
a TimeOut that is handed in passes the gate | PG mand=m | GATED | a:T | R=[b:A c:A d:A e:A]
"""

REFUSED = """
an invalid deadline comes before all else | P dl=soon mf=many mc=bad | THREE | | error: invalid timeout format
maxFailures comes before the groups | PG mf=many mand=#0 | THREE | | error: failed to parse the provided maxFailures: 'many' is an invalid maximum threshold value: string is not a percentage
maxConcurrency is read after the mandatory groups | P mc=bad mand=#0 | THREE | a:S b:S | error: failed to parse the provided maxConcurrency: 'bad' is an invalid maximum threshold value: string is not a percentage
and not at all while they are under way | P mc=bad mand=#0 | THREE | | R=[a:A b:A]
All reads neither | All mf=many soak=60s | 0={a} | a:S | R=[]
"""


def rows(*tables: str) -> list[Any]:
    words = {k: v for k, v in globals().items() if k.isupper() and isinstance(v, str)}
    found = []
    for line in filter(None, "".join(tables).splitlines()):
        cells = [" ".join(words.get(w, w) for w in c.split()) for c in line.split("|")[1:]]
        found.append(pytest.param(*cells, id=line.split("|")[0].strip()))
    return found


@pytest.mark.parametrize(
    ("asked", "grouped", "known", "expected"),
    rows(UPSTREAM, SURPRISES, CLASSIFIED, RECHECKED, MANDATORY, REFUSED),
)
def test_the_answer_is_that_of_ocms_library(
    asked: str, grouped: str, known: str, expected: str
) -> None:
    answer = decide(strategy(asked), groups(grouped), records(known), NOW)

    assert shown(answer) == expected
    assert answer.effective_type == strategy(asked)["type"]


def test_every_case_of_the_handlers_own_tests_is_here() -> None:
    assert [row.id for row in rows(UPSTREAM)] == [str(n + 1) for n in range(37)]
    assert [row.id for row in rows(SURPRISES)] == [f"X{n + 1}" for n in range(15)]


@pytest.mark.parametrize("kind", ["", "Canary", "all"])
def test_an_unknown_type_is_refused_by_name(kind: str) -> None:
    answer = decide({"type": kind}, groups(SIX), [], NOW)

    assert (answer.error, answer.effective_type) == (
        f"incorrect rollout strategy type {kind}",
        None,
    )


def test_an_answer_tells_what_to_write_from_what_is_under_way() -> None:
    answer = decide(strategy("P mc=3 dl=90s"), groups(SIX), records("2:P@-30"), NOW)

    assert answer.to_apply == ("1", "3")
    assert [r.cluster for r in answer.in_flight] == ["2"]
    assert answer.recheck_at == NOW + 60 * SECOND


def test_new_clusters_get_their_group_and_known_ones_keep_what_was_handed_in() -> None:
    known = [ClusterRolloutStatus("1", Status.PROGRESSING, since=NOW, group="stale", index=9)]

    answer = decide(strategy("All"), groups("0(g)={1} 1(h)={2}"), known, NOW)

    assert [(r.cluster, r.group, r.index) for r in answer.rollout] == [
        ("1", "stale", 9),
        ("2", "h", 1),
    ]


@pytest.mark.parametrize("microseconds", [-1, 0, 1])
@pytest.mark.parametrize(("status", "asked"), [("P", "P dl=90s mf=1"), ("S", "P soak=90s")])
def test_a_time_ends_at_its_instant_and_not_before(
    microseconds: int, status: str, asked: str
) -> None:
    now = NOW + timedelta(microseconds=microseconds)

    answer = decide(strategy(asked), groups("0={a}"), records(f"a:{status}@-90"), now)

    assert bool(answer.rollout) == (microseconds < 0)
    assert answer.recheck_at == (NOW if microseconds < 0 else None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=5,
)
MEMBER = st.dictionaries(
    st.sampled_from([*FIELDS.values(), "mandatoryDecisionGroups", "else"]),
    JSON
    | st.lists(st.dictionaries(st.sampled_from(["groupName", "groupIndex"]), JSON), max_size=2)
    | st.from_regex(r"[-+]?[0-9.]{0,4}[0-9hms%|None]{1,3}", fullmatch=True),
)
RAW = st.fixed_dictionaries(
    {"type": st.sampled_from(sorted(MEMBERS)) | JSON},
    optional=dict.fromkeys(MEMBERS.values(), MEMBER | JSON),
)


@given(RAW)
def test_no_strategy_makes_it_raise_and_an_error_comes_alone(raw: dict[str, Any]) -> None:
    answer = decide(raw, groups(THREE), records("a:P@-30 b:F@-30 c:S@-30 z:S"), NOW)

    if answer.error is not None:
        assert answer == Answer(error=answer.error, effective_type=answer.effective_type)
    else:
        assert [r.cluster for r in answer.removed] == ["z"]


@pytest.mark.parametrize("year", [1, 9999])
@pytest.mark.parametrize("soak", ["2000000h", "-2000000h"])
def test_times_at_the_ends_of_the_calendar_are_held_within_it(year: int, soak: str) -> None:
    since = datetime(year, 6, 1, tzinfo=UTC)
    known = [
        ClusterRolloutStatus("a", Status.SUCCEEDED, since=since),
        ClusterRolloutStatus("b", Status.PROGRESSING, since=since),
    ]

    answer = decide(strategy(f"P soak={soak} dl=2000000h"), groups("0={a,b}"), known, NOW)

    assert [r.cluster for r in answer.rollout] == {1: [], 9999: ["a", "b"]}[year]
