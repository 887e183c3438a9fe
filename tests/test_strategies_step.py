"""Which clusters are touched now: where OCM's library surprises, and every small fleet there is."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest

from rollout.model.placement import Group
from rollout.model.replicaset import RolloutSpec
from rollout.strategies.base import Health, Hold, Phase, Rollout, Standing, Step, Verdict
from rollout.strategies.step import decide
from tests.fleets import (
    DEADLINE,
    FAILED,
    FAILURES,
    LETTERS,
    MIN,
    OLD,
    PROGRESSING,
    SEC,
    SILENT,
    SOAK,
    SUCCEEDED,
    T0,
    amount,
    applied,
    fleet,
    rollout_in,
    spec_of,
    standing,
)

HEALTH = {"A": SILENT, "P": PROGRESSING, "S": SUCCEEDED, "F": FAILED}


def groups(text: str) -> list[Group]:
    """``0(m)={a,b} 2={c}``."""
    return [
        Group(int(index), name, tuple(filter(None, members.split(","))))
        for index, name, members in re.findall(r"(\d+)(?:\((\w+)\))?=\{([\w,]*)\}", text)
    ]


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
PAIRS, FIVE = "0={a,b} 1={c,d} 2={e,f}", "0={a,b,c,d,e}"
GATED = "0(m)={a} 1={b,c,d,e}"
HALTED = "MaxFailuresExceeded"

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


# -- every small fleet ------------------------------------------------------------------------------

LIMITS: list[int | str | None] = [None, 0, 1, 2, "0%", "50%"]
BUDGETS: list[int | str] = [0, 1, "50%", 9]
ALPHABET = "".join(LETTERS)


def words(up_to: int) -> Iterator[str]:
    for size in range(up_to + 1):
        yield from map("".join, product(ALPHABET, repeat=size))


def limited(limit: int | str | None, members: int) -> int:
    """The limit as a person reads it: unset and the number 0 are all, a share rounds up."""
    if limit is None or limit == 0:
        return members
    if isinstance(limit, str) and limit.endswith("%"):
        return -(-members * int(limit[:-1]) // 100)
    return min(int(limit), members)


def in_flight(word: str) -> int:
    return sum(word.count(letter) for letter in "PIFSO")


def failures(word: str) -> int:
    return sum(word.count(letter) for letter in "FT")


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_in_every_small_fleet_the_window_is_filled_and_never_overfilled(
    limit: int | str | None, budget: int | str
) -> None:
    """S1, S2, S3, S16, L2 and row 18, from the letters alone."""
    spec = spec_of(limit=limit, budget=budget)
    for word in words(3):
        names = "abcd"[: len(word)]
        size = len(word) - word.count("K")
        slots, tolerated = limited(limit, size), limited(budget or "0%", size)
        halted = failures(word) > tolerated
        outdated = [n for n, letter in zip(names, word, strict=True) if letter == "O"]
        waiting = [n for n, letter in zip(names, word, strict=True) if letter == "."]
        free = max(0, slots - in_flight(word))
        zero = limit == "0%"
        expected = [] if halted or zero else outdated + waiting[:free]

        step = decide(fleet(word, spec), T0)

        assert list(step.touch) == expected, word
        assert (step.halt is not None) == halted, word
        assert (step.hold is not None) == (not word), word
        assert step.complete == (bool(word) and not halted and not set(word) - set("DTK")), word
        assert sum(step.stages[0].phases.values()) == len(word)
        assert step.recheck_at is None or step.recheck_at > T0, word


@pytest.mark.parametrize("limit", [None, 1, 2], ids=str)
def test_in_every_small_fleet_held_clusters_are_not_touched_and_keep_what_slots_they_have(
    limit: int | None,
) -> None:
    spec, spared = spec_of(limit=limit, budget=1), 0
    for word in map("".join, product(".PDOT", repeat=3)):
        for chosen in product((False, True), repeat=3):
            held = frozenset(n for n, is_held in zip("abc", chosen, strict=True) if is_held)
            halted = failures(word) > 1
            outdated = [n for n, letter in zip("abc", word, strict=True) if letter == "O"]
            waiting = [n for n, letter in zip("abc", word, strict=True) if letter == "."]
            free = max(0, limited(limit, 3) - in_flight(word))
            expected = [c for c in outdated if c not in held]
            expected += [c for c in waiting if c not in held][:free]

            step = decide(replace(fleet(word, spec), held=held), T0)

            assert list(step.touch) == ([] if halted else expected), (word, held)
            assert step.count(Phase.HELD) == len(held & set(waiting))
            assert step.count(Phase.OUTDATED) == len(outdated), "it keeps its slot"
            if held & {*outdated, *waiting}:
                assert not step.passed, "somebody is still to come"
                spared += 1
    assert spared > 200


def shuffled(rollout: Rollout) -> Rollout:
    return replace(rollout, standings=dict(reversed(list(rollout.standings.items()))))


TWO_STAGES = [Group(0, "m", ("a", "b")), Group(1, "", ("c", "d"))]
SPECS = [
    *(spec_of(limit=limit, budget=1) for limit in (None, 1, "0%")),
    spec_of(limit=2, budget="50%"),
    spec_of(limit=1, budget=0, mandatory=["m"]),
    spec_of(limit=2, budget=9, mandatory=["m"]),
    spec_of("ProgressivePerGroup", budget=0),
    spec_of("ProgressivePerGroup", budget=1),
    spec_of("ProgressivePerGroup", budget=1, mandatory=["m"]),
    spec_of("All"),
]


def spec_name(spec: RolloutSpec) -> str:
    return f"{spec.type}-{spec.concurrency}-{spec.max_failures}-{len(spec.mandatory)}"


@pytest.fixture(params=SPECS, ids=spec_name)
def spec(request: pytest.FixtureRequest) -> RolloutSpec:
    found: RolloutSpec = request.param
    return found


def in_two(word: str, spec: RolloutSpec, *, strict_tolerance: bool = False) -> Rollout:
    return fleet(word, spec, groups=TWO_STAGES, strict_tolerance=strict_tolerance)


FOURS = ["".join(w) for w in product(".PFTSDO", repeat=4)]


def test_asking_again_after_applying_the_answer_gives_nothing_new(spec: RolloutSpec) -> None:
    """R5: the answer follows from the input alone, whatever its order."""
    touched = 0
    for word in FOURS:
        rollout = in_two(word, spec)
        step = decide(rollout, T0)
        again = decide(applied(rollout, step, T0), T0)

        assert decide(shuffled(rollout), T0) == step, word
        assert (again.touch, again.settled, again.passed) == ((), (), ()), word
        assert (again.halt, again.hold, again.complete) == (step.halt, step.hold, step.complete)
        touched += bool(step.touch)
    assert touched > 100 or spec.concurrency == amount("0%")


def test_bad_news_adds_nothing(spec: RolloutSpec) -> None:
    """R6: what is touched after a cluster failed would be touched, too, had it soaked."""
    fewer = 0
    for word in FOURS:
        touched = set(decide(in_two(word, spec), T0).touch)
        for at, letter in enumerate(word):
            if letter != "D":
                continue
            for failure in FAILURES:
                failed = word[:at] + failure + word[at + 1 :]
                for strict in (False, True):
                    rollout = in_two(failed, spec, strict_tolerance=strict)
                    now = set(decide(rollout, T0).touch)
                    assert now <= touched, f"{word} -> {failed}"
                    fewer += now < touched
    assert fewer > 100 or spec.type == "All" or spec.concurrency == amount("0%")


def test_a_pause_or_a_lower_limit_only_removes() -> None:
    """R6, the other half."""
    paused = Hold("Paused", "")
    for word in FOURS:
        before: set[str] | None = None
        for limit in (4, 3, 2, 1, "0"):
            rollout = in_two(word, spec_of(limit=limit, budget=1))
            touched = set(decide(rollout, T0).touch)
            assert before is None or touched <= before, word
            assert decide(replace(rollout, hold=paused), T0).touch == (), word
            before = touched


def test_a_later_stage_is_touched_only_when_every_earlier_one_has_passed(
    spec: RolloutSpec,
) -> None:
    """S5, from the letters: done is soaked, or finally failed where that is tolerated."""
    if len(in_two("....", spec).staging.stages) < 2:
        return
    opened = 0
    tolerated = 0 if spec.mandatory else min(2, spec.max_failures.of(2))
    for word in FOURS:
        first = word[:2]
        done = set(first) <= set("DT") and first.count("T") <= tolerated
        step = decide(in_two(word, spec), T0)

        assert done or not set(step.touch) & {"c", "d"}, word
        assert (in_two(word, spec).staging.stages[0].key in step.passed) == (
            done and not (not spec.mandatory and step.halt and failures(first) > tolerated)
        ), word
        opened += done and bool(step.touch)
    assert opened > 10


def unproven(word: str) -> int:
    return sum(word.count(letter) for letter in "PIS")


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("limit", [None, 1, 2], ids=str)
def test_with_strict_tolerance_no_touch_can_take_failures_beyond_budget_and_one(
    limit: int | None, budget: int | str
) -> None:
    """S4: were all that is in flight to fail now, at most one failure would be too many."""
    spec, held = spec_of(limit=limit, budget=budget), 0
    for word in words(3):
        tolerated = limited(budget or "0%", len(word) - word.count("K"))
        step = decide(fleet(word, spec, strict_tolerance=True), T0)
        loose = decide(fleet(word, spec), T0)
        at_risk = failures(word) + unproven(word)

        assert not step.touch or at_risk + len(step.touch) <= tolerated + 1, word
        assert step.touch == loose.touch[: max(0, tolerated + 1 - at_risk)], word
        if step.touch != loose.touch:
            held += 1
            assert step.stages[0].blocked == "FailureTolerance", word
    assert held > 20 or budget in ("50%", 9)  # three clusters are too few to tell


def test_strict_tolerance_sends_mandatory_clusters_one_at_a_time() -> None:
    spec = spec_of(mandatory=["m"], budget=9)
    rollout = in_two("....", spec, strict_tolerance=True)

    assert decide(rollout, T0).touch == ("a",)
    assert decide(in_two("P...", spec, strict_tolerance=True), T0).touch == ()
    assert decide(in_two("D...", spec, strict_tolerance=True), T0).touch == ("b",)


def test_strict_tolerance_counts_touches_over_all_stages_together() -> None:
    """A joiner of a passed mandatory stage and the window draw on one budget."""
    rollout = in_two("D...", spec_of(mandatory=["m"], budget=0), strict_tolerance=True)

    assert decide(replace(rollout, passed=frozenset({"m/0"})), T0).touch == ("b",)


# -- rows told as stories -----------------------------------------------------------------------------


def test_a_fix_is_never_blocked_by_what_it_fixes() -> None:
    """Row 18, L5: all slots are held by the broken revision, one more failed for good on it."""
    rollout = rollout_in(
        spec_of(limit=2),
        [Group(0, "", ("a", "b", "c", "d"))],
        [
            standing("a", FAILED, T0 - DEADLINE, verdict=Verdict.FAILED, revision=OLD),
            standing("b", FAILED, T0 - 2 * MIN, revision=OLD),
            standing("d", SILENT, T0 - MIN, revision=OLD),
        ],
    )

    step = decide(rollout, T0)

    assert step.halt is None
    assert step.touch == ("b", "d")
    assert step.stages[0].blocked == "SlotsFull"


def test_more_clusters_in_flight_on_the_old_revision_than_slots_are_all_overwritten() -> None:
    rollout = fleet("OOO..", spec_of(limit=1))

    assert decide(rollout, T0).touch == ("a", "b", "c")


def test_the_old_revision_is_overwritten_only_in_stages_that_are_open() -> None:
    rollout = fleet(".O.O", spec_of(mandatory=["m"], limit=1), groups=TWO_STAGES)

    step = decide(rollout, T0)

    assert step.touch == ("b", "a")
    assert step.stages[1].blocked == "WaitingForStage"


def test_a_written_work_keeps_its_slot_ahead_of_a_newcomer_with_an_earlier_name() -> None:
    rollout = rollout_in(spec_of(limit=1), groups(FIVE), [standing("e", SILENT)])

    assert decide(rollout, T0).touch == ()


def test_clusters_that_join_a_passed_stage_are_touched_and_do_not_close_it() -> None:
    """Row 12."""
    first = decide(in_two("DD..", spec_of(mandatory=["m"], limit=1)), T0)
    joined = rollout_in(
        spec_of(mandatory=["m"], limit=1),
        [Group(0, "m", ("a", "b", "n")), Group(1, "", ("c", "d"))],
        [standing(c, SUCCEEDED, verdict=Verdict.SOAKED) for c in "ab"],
        passed=first.passed,
    )

    step = decide(joined, T0)

    assert first.passed == ("m/0",)
    assert step.touch == ("n", "c")
    assert [stage.passed for stage in step.stages] == [True, False]
    assert not step.complete


def test_a_mandatory_stage_that_is_not_remembered_as_passed_is_closed_by_a_joiner() -> None:
    rollout = in_two("D...", spec_of(mandatory=["m"]))

    assert decide(rollout, T0).touch == ("b",)


def test_a_gate_that_passed_does_not_open_a_later_stage_past_a_closed_one() -> None:
    """A mandatory group can be listed, or filled, after the stages behind it have passed."""
    spec = spec_of("ProgressivePerGroup")
    three = [Group(0, "", ("a",)), Group(1, "", ("b",)), Group(2, "", ("c",))]
    rollout = replace(fleet("PD.", spec, groups=three), passed=frozenset({"/1"}))

    step = decide(rollout, T0)

    assert step.touch == ()
    assert [stage.passed for stage in step.stages] == [False, True, False]


def test_a_joiner_of_a_window_waits_for_a_slot_like_any_other() -> None:
    rollout = replace(fleet("PD.", spec_of(limit=1)), passed=frozenset({"rest"}))

    assert decide(rollout, T0).touch == ()


def test_a_failure_in_a_passed_mandatory_stage_still_halts() -> None:
    rollout = replace(in_two("DT..", spec_of(mandatory=["m"])), passed=frozenset({"m/0"}))

    step = decide(rollout, T0)

    assert (step.touch, step.halt is not None) == ((), True)


@pytest.mark.parametrize("letter", "IFT")
def test_a_breach_lasts_for_as_long_as_what_caused_it(letter: str) -> None:
    """Row 2: level, not latch."""
    for budget, skipped, halted in ((0, False, letter != "I"), (1, False, False), (0, True, False)):
        rollout = fleet(letter + "...", spec_of(limit=4, budget=budget))
        rollout = replace(rollout, skipped=frozenset("a" if skipped else ""))
        assert (decide(rollout, T0).halt is not None) == halted
    recovered = fleet("D...", spec_of(limit=4))
    assert decide(recovered, T0).halt is None


def test_a_finally_failed_cluster_that_soaks_after_all_lets_the_rollout_go_on() -> None:
    late = standing("a", SUCCEEDED, T0 - DEADLINE, T0 - SOAK, Verdict.FAILED, reason="TimedOut")
    rollout = rollout_in(spec_of(limit=1), groups("0={a,b}"), [late])

    before, after = decide(rollout, T0 - SEC), decide(rollout, T0)

    assert (before.touch, before.halt is None, before.recheck_at) == ((), False, T0)
    assert (after.touch, after.halt) == (("b",), None)
    assert [(s.cluster, s.verdict) for s in after.settled] == [("a", Verdict.SOAKED)]


# Row 17: lost clusters, by stage | the strategy | what comes of it.
@pytest.mark.parametrize(
    ("spec", "word", "lost", "halted", "touch"),
    [
        pytest.param(spec_of(budget=0), "..", {"x": "rest"}, True, "", id="no budget"),
        pytest.param(spec_of(budget=1), "..", {"x": "rest"}, False, "ab", id="within budget"),
        pytest.param(
            spec_of(budget=9, mandatory=["m"]), "DD..", {"x": "m/0"}, True, "", id="mandatory"
        ),
        pytest.param(
            spec_of("ProgressivePerGroup", budget=1),
            "DD..",
            {"x": "m/0"},
            False,
            "cd",
            id="within its group's budget",
        ),
        pytest.param(
            spec_of("ProgressivePerGroup", budget=1),
            "DD..",
            {"x": "m/0", "y": "m/0"},
            True,
            "",
            id="beyond its group's budget",
        ),
        pytest.param(
            spec_of("ProgressivePerGroup", budget=1),
            "DT..",
            {"x": "m/0"},
            True,
            "",
            id="with another failure in its group",
        ),
        pytest.param(
            spec_of("ProgressivePerGroup", budget=0),
            "DD..",
            {"x": "gone/0"},
            True,
            "",
            id="from a stage that is gone: it counts in the first",
        ),
        pytest.param(spec_of("All"), "..", {"x": "all"}, False, "ab", id="All has no budget"),
    ],
)
def test_a_lost_cluster_is_a_failure_in_its_stage(
    spec: RolloutSpec, word: str, lost: dict[str, str], halted: bool, touch: str
) -> None:
    grouped = TWO_STAGES if len(word) == 4 else None
    rollout = replace(fleet(word, spec, groups=grouped), lost=lost)

    step = decide(rollout, T0)

    assert (step.halt is not None, "".join(step.touch)) == (halted, touch)
    assert step.count(Phase.LOST) == len(lost)
    assert (step.passed == ()) == (halted or len(word) == 2)


def test_a_lost_cluster_that_a_person_releases_is_a_failure_no_more() -> None:
    rollout = replace(fleet("..", spec_of()), lost={"x": "rest"}, skipped=frozenset("x"))

    step = decide(rollout, T0)

    assert (step.halt, step.touch, step.count(Phase.LOST)) == (None, ("a", "b"), 0)


@pytest.mark.parametrize("letter", [".", *"PIFTSDOH"])
def test_a_skipped_cluster_is_no_member_whatever_it_does(letter: str) -> None:
    """Row 12: neither slot, nor failure, nor gate, nor total."""
    rollout = replace(
        in_two(letter + "D..", spec_of(mandatory=["m"], limit=1)), skipped=frozenset("a")
    )

    step = decide(rollout, T0)

    assert (step.touch, step.passed, step.halt) == (("c",), ("m/0",), None)
    assert step.stages[0].members == 1
    assert "a" not in [s.cluster for s in step.settled]


def test_a_fleet_of_skipped_clusters_is_no_fleet_without_targets() -> None:
    step = decide(fleet("KK", spec_of()), T0)

    assert (step.hold, step.complete, step.count(Phase.SKIPPED)) == (None, True, 2)


@pytest.mark.parametrize("kind", ["All", "Progressive", "ProgressivePerGroup"])
@pytest.mark.parametrize("passed", [(), ("all", "rest", "/0")], ids=["new", "once complete"])
@pytest.mark.parametrize("lost", [{}, {"x": "rest"}], ids=["", "lost"])
def test_zero_targets_are_never_complete(
    kind: str, passed: tuple[str, ...], lost: dict[str, str]
) -> None:
    """S16, row 22."""
    spec = spec_of(kind, budget=1)
    for grouped in ([], [Group(0, "", ())]):
        step = decide(rollout_in(spec, grouped, passed=passed, lost=lost), T0)

        assert step.hold is not None
        assert step.hold.reason == "NoTargets"
        assert not step.complete


def test_a_rollout_that_failed_beyond_its_budget_is_never_complete() -> None:
    rollout = replace(fleet("DDT", spec_of()), passed=frozenset({"rest"}))

    step = decide(rollout, T0)

    assert step.halt is not None
    assert not step.complete


def test_an_explicit_zero_holds_the_window_and_lets_mandatory_groups_go() -> None:
    """Row 4."""
    spec = spec_of(limit="0", mandatory=["m"])

    first, then = decide(in_two("....", spec), T0), decide(in_two("DD..", spec), T0)

    assert first.touch == ("a", "b")
    assert (then.touch, then.stages[1].blocked) == ((), "ConcurrencyZero")


@pytest.mark.parametrize(
    ("word", "blocked"),
    [
        ("....", ["", "WaitingForStage"]),
        ("PP..", ["", "WaitingForStage"]),
        ("DD..", ["", "SlotsFull"]),
        ("DDP.", ["", "SlotsFull"]),
        ("DDDD", ["", ""]),
        ("DT..", ["", HALTED]),
        ("F...", [HALTED, HALTED]),
    ],
)
def test_every_waiting_cluster_has_one_reason_to_wait(word: str, blocked: list[str]) -> None:
    step = decide(in_two(word, spec_of(mandatory=["m"], limit=1, budget=4)), T0)

    assert [stage.blocked for stage in step.stages] == blocked


def test_while_held_nothing_is_touched_and_no_gate_passes_but_verdicts_are_recorded() -> None:
    rollout = replace(in_two("DD.T", spec_of(mandatory=["m"], budget=1)), hold=Hold("Paused", "p"))

    step = decide(rollout, T0)

    assert (step.touch, step.passed) == ((), ())
    assert [s.cluster for s in step.settled] == ["d"]
    assert step.hold == Hold("Paused", "p")


def test_a_hold_from_outside_is_told_before_one_of_the_stages() -> None:
    rollout = in_two("....", spec_of(mandatory=["nope"]))

    assert decide(rollout, T0).hold == rollout.staging.hold
    outside = Hold("Paused", "p")
    assert decide(replace(rollout, hold=outside), T0).hold == outside


def test_the_next_look_is_the_earliest_instant_that_time_alone_changes() -> None:
    """Row 28."""
    assert decide(fleet("..D", spec_of()), T0).recheck_at is None
    assert decide(fleet("P", spec_of()), T0).recheck_at == T0 + 9 * MIN
    assert decide(fleet("PS", spec_of()), T0).recheck_at == T0 + 4 * MIN
    assert decide(fleet("PSI", spec_of()), T0).recheck_at == T0 + MIN / 2
    assert decide(fleet("PSIK", spec_of()), T0).recheck_at == T0 + MIN / 2


def test_verdicts_come_by_name_and_once() -> None:
    spec = spec_of("ProgressivePerGroup", budget=9)
    grouped = [Group(0, "", ("d",)), Group(1, "", ("b",)), Group(2, "", ("a", "c"))]
    soaked = [standing(c, Health.SUCCEEDED, T0 - SOAK) for c in "abcd"]

    step = decide(rollout_in(spec, grouped, soaked), T0)

    assert [s.cluster for s in step.settled] == ["a", "b", "c", "d"]
    assert step.passed == ("/0", "/1", "/2")
    assert step.complete
