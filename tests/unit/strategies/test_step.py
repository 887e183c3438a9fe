"""Which clusters are touched now? Rows of the semantics, told as stories."""

import pytest
from msgspec import structs

from rollout.model.placement import Group
from rollout.model.replicaset import RolloutSpec
from rollout.model.waits import Reason, Wait
from rollout.strategies.base import Health, Phase, Shut, Verdict
from rollout.strategies.step import decide
from tests.support.fleets import (
    DEADLINE,
    FAILED,
    MIN,
    OLD,
    SEC,
    SILENT,
    SOAK,
    SUCCEEDED,
    T0,
    fleet,
    rollout_in,
    spec_of,
    standing,
)
from tests.support.small_fleets import FIVE, HALTED, TWO_STAGES, groups, in_two


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
    rollout = structs.replace(fleet("PD.", spec, groups=three), passed=frozenset({"/1"}))

    step = decide(rollout, T0)

    assert step.touch == ()
    assert [stage.passed for stage in step.stages] == [False, True, False]


def test_a_joiner_of_a_window_waits_for_a_slot_like_any_other() -> None:
    rollout = structs.replace(fleet("PD.", spec_of(limit=1)), passed=frozenset({"rest"}))

    assert decide(rollout, T0).touch == ()


def test_a_failure_in_a_passed_mandatory_stage_still_halts() -> None:
    rollout = structs.replace(in_two("DT..", spec_of(mandatory=["m"])), passed=frozenset({"m/0"}))

    step = decide(rollout, T0)

    assert (step.touch, step.halt is not None) == ((), True)


@pytest.mark.parametrize("letter", "IFT")
def test_a_breach_lasts_for_as_long_as_what_caused_it(letter: str) -> None:
    """Row 2: level, not latch."""
    for budget, skipped, halted in ((0, False, letter != "I"), (1, False, False), (0, True, False)):
        rollout = fleet(letter + "...", spec_of(limit=4, budget=budget))
        rollout = structs.replace(rollout, skipped=frozenset("a" if skipped else ""))
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


ONE_PER_GROUP = spec_of("ProgressivePerGroup", budget=1)
NONE_PER_GROUP = spec_of("ProgressivePerGroup", budget=0)


# Row 17: lost clusters, by stage | the strategy | what comes of it.
@pytest.mark.parametrize(
    ("spec", "word", "lost", "halted", "touch"),
    [
        pytest.param(spec_of(budget=0), "..", {"x": "rest"}, True, "", id="no budget"),
        pytest.param(spec_of(budget=1), "..", {"x": "rest"}, False, "ab", id="within budget"),
        pytest.param(
            spec_of(budget=9, mandatory=["m"]), "DD..", {"x": "m/0"}, True, "", id="mandatory"
        ),
        pytest.param(ONE_PER_GROUP, "DD..", {"x": "m/0"}, False, "cd", id="in its group's budget"),
        pytest.param(
            ONE_PER_GROUP, "DD..", {"x": "m/0", "y": "m/0"}, True, "", id="beyond that budget"
        ),
        pytest.param(
            ONE_PER_GROUP, "DT..", {"x": "m/0"}, True, "", id="with another failure in its group"
        ),
        pytest.param(
            NONE_PER_GROUP, "DD..", {"x": "gone/0"}, True, "", id="of a gone stage: in the first"
        ),
        pytest.param(spec_of("All"), "..", {"x": "all"}, False, "ab", id="All has no budget"),
    ],
)
def test_a_lost_cluster_is_a_failure_in_its_stage(
    spec: RolloutSpec, word: str, lost: dict[str, str], halted: bool, touch: str
) -> None:
    grouped = TWO_STAGES if len(word) == 4 else None
    rollout = structs.replace(fleet(word, spec, groups=grouped), lost=lost)

    step = decide(rollout, T0)

    assert (step.halt is not None, "".join(step.touch)) == (halted, touch)
    assert step.count(Phase.LOST) == len(lost)
    assert (step.passed == ()) == (halted or len(word) == 2)


def test_a_lost_cluster_that_a_person_releases_is_a_failure_no_more() -> None:
    rollout = structs.replace(fleet("..", spec_of()), lost={"x": "rest"}, skipped=frozenset("x"))

    step = decide(rollout, T0)

    assert (step.halt, step.touch, step.count(Phase.LOST)) == (None, ("a", "b"), 0)


@pytest.mark.parametrize("letter", [".", *"PIFTSDOH"])
def test_a_skipped_cluster_is_no_member_whatever_it_does(letter: str) -> None:
    """Row 12: neither slot, nor failure, nor gate, nor total."""
    rollout = structs.replace(
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
    rollout = structs.replace(fleet("DDT", spec_of()), passed=frozenset({"rest"}))

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
        ("....", [None, "WaitingForStage"]),
        ("PP..", [None, "WaitingForStage"]),
        ("DD..", [None, "SlotsFull"]),
        ("DDP.", [None, "SlotsFull"]),
        ("DDDD", [None, None]),
        ("DT..", [None, HALTED]),
        ("F...", [HALTED, HALTED]),
    ],
)
def test_every_waiting_cluster_has_one_reason_to_wait(word: str, blocked: list[str | None]) -> None:
    step = decide(in_two(word, spec_of(mandatory=["m"], limit=1, budget=4)), T0)

    assert [stage.blocked for stage in step.stages] == blocked


def test_while_held_nothing_is_touched_and_no_gate_passes_but_verdicts_are_recorded() -> None:
    rollout = structs.replace(
        in_two("DD.T", spec_of(mandatory=["m"], budget=1)), hold=Wait(Reason.PAUSED, "p")
    )

    step = decide(rollout, T0)

    assert (step.touch, step.passed) == ((), ())
    assert [s.cluster for s in step.settled] == ["d"]
    assert step.hold == Wait(Reason.PAUSED, "p")


def test_a_hold_from_outside_is_told_before_one_of_the_stages() -> None:
    rollout = in_two("....", spec_of(mandatory=["nope"]))

    assert decide(rollout, T0).hold == rollout.staging.hold
    outside = Wait(Reason.PAUSED, "p")
    assert decide(structs.replace(rollout, hold=outside), T0).hold == outside


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


CLOSED = Wait(Reason.WINDOW_CLOSED, "calendar business is closed", T0 + 7 * MIN)


def shut(clusters: str) -> Shut:
    return Shut(dict.fromkeys(clusters, CLOSED), CLOSED.until)


def test_a_shut_canary_holds_back_what_comes_after_its_stage() -> None:
    rollout = fleet("....", spec_of(mandatory=["m"], limit=1), groups=TWO_STAGES)
    canary = rollout.staging.stages[0].groups[0].clusters

    step = decide(structs.replace(rollout, shut=shut("".join(canary))), T0)

    assert step.touch == ()
    assert [stage.blocked for stage in step.stages] == ["WindowClosed", "WaitingForStage"]
    assert step.recheck_at == CLOSED.until


def test_the_order_is_kept_among_the_clusters_that_are_not_shut() -> None:
    step = decide(structs.replace(fleet(".....", spec_of(limit=2)), shut=shut("ac")), T0)

    assert step.touch == ("b", "d")
    assert step.stages[0].blocked == "SlotsFull"


def test_a_shut_cluster_keeps_nobody_from_being_done_who_is_in_flight() -> None:
    rollout = fleet("P.", spec_of())
    step = decide(structs.replace(rollout, shut=shut("ab")), T0)

    assert step.count(Phase.PROGRESSING) == 1
    assert step.stages[0].blocked == "WindowClosed"
