"""Which clusters are touched now, in every small fleet there is?"""

from collections.abc import Iterator
from itertools import product

import pytest
from msgspec import structs

from rollout.model.replicaset import RolloutSpec
from rollout.model.waits import Reason, Wait
from rollout.strategies.base import Phase, Rollout, Shut
from rollout.strategies.step import decide
from tests.support.fleets import FAILURES, LETTERS, MIN, T0, amount, applied, fleet, spec_of
from tests.support.small_fleets import in_two

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

            step = decide(structs.replace(fleet(word, spec), held=held), T0)

            assert list(step.touch) == ([] if halted else expected), (word, held)
            assert step.count(Phase.HELD) == len(held & set(waiting))
            assert step.count(Phase.OUTDATED) == len(outdated), "it keeps its slot"
            if held & {*outdated, *waiting}:
                assert not step.passed, "somebody is still to come"
                spared += 1
    assert spared > 200


@pytest.mark.parametrize("limit", [None, 1, 2], ids=str)
def test_in_every_small_fleet_shut_clusters_are_not_touched_and_take_no_slot(
    limit: int | None,
) -> None:
    spec, spared, until = spec_of(limit=limit, budget=1), 0, T0 + 7 * MIN
    closed = Wait(Reason.WINDOW_CLOSED, "calendar business is closed", until)
    for word in map("".join, product(".PDOT", repeat=3)):
        for chosen in product((False, True), repeat=3):
            shut = frozenset(n for n, is_shut in zip("abc", chosen, strict=True) if is_shut)
            halted = failures(word) > 1
            outdated = [n for n, letter in zip("abc", word, strict=True) if letter == "O"]
            waiting = [n for n, letter in zip("abc", word, strict=True) if letter == "."]
            free = max(0, limited(limit, 3) - in_flight(word))
            expected = [c for c in outdated if c not in shut]
            open_ones = [c for c in waiting if c not in shut]
            expected += open_ones[:free]

            gates = Shut(dict.fromkeys(shut, closed), until)
            step = decide(structs.replace(fleet(word, spec), shut=gates), T0)

            assert list(step.touch) == ([] if halted else expected), (word, shut)
            assert step.count(Phase.WAITING) == len(waiting), "its stage waits for it"
            if shut & {*outdated, *waiting}:
                assert not step.passed, "somebody is still to come"
            stopped = bool(shut & {*outdated}) or len(open_ones) < free
            if not halted and stopped and shut & {*outdated, *waiting}:
                assert step.stages[0].blocked is Reason.WINDOW_CLOSED, (word, shut)
                assert step.recheck_at is not None
                assert step.recheck_at <= until
                spared += 1
    assert spared > 50


def shuffled(rollout: Rollout) -> Rollout:
    return structs.replace(rollout, standings=dict(reversed(list(rollout.standings.items()))))


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
    paused = Wait(Reason.PAUSED, "")
    for word in FOURS:
        before: set[str] | None = None
        for limit in (4, 3, 2, 1, "0"):
            rollout = in_two(word, spec_of(limit=limit, budget=1))
            touched = set(decide(rollout, T0).touch)
            assert before is None or touched <= before, word
            assert decide(structs.replace(rollout, hold=paused), T0).touch == (), word
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

    assert decide(structs.replace(rollout, passed=frozenset({"m/0"})), T0).touch == ("b",)


@pytest.mark.parametrize("strict", [False, True], ids=["soft", "strict"])
@pytest.mark.parametrize("limit", [None, 1, 2], ids=str)
def test_a_window_that_closes_changes_nothing_where_nobody_would_be_touched(
    limit: int | None, *, strict: bool
) -> None:
    """So nobody has to look again when one closes: whoever waits for a slot or for room does so first."""
    window = Wait(Reason.WINDOW_CLOSED, "calendar business is closed", T0 + MIN)
    met: set[Reason | None] = set()
    for word in words(3):
        rollout = fleet(word, spec_of(limit=limit, budget=0), strict_tolerance=strict)
        step = decide(rollout, T0)
        if step.touch:
            continue
        met.add(step.stages[0].blocked)
        for closed in range(1, 8):
            names = [name for n, name in enumerate("abc") if closed >> n & 1]
            shut = Shut(dict.fromkeys(names, window), window.until)
            assert decide(structs.replace(rollout, shut=shut), T0).stages == step.stages, (
                word,
                names,
            )
    assert None in met
    assert (Reason.FAILURE_TOLERANCE in met) == strict
    assert (Reason.SLOTS_FULL in met) == (limit is not None)
