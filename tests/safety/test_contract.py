"""The safety contract on random histories: each promise kept, and its guarded states reached."""

# ruff: noqa: N802  (tests are named after the ids of the contract)

from functools import cache

import pytest

from tests.safety.kinds import SUBJECTS
from tests.safety.mutants import MUTANTS, cases
from tests.safety.promises import promises_of, short
from tests.safety.suite import Tally, run_all
from tests.safety.table import Row, heads_in

HISTORIES = {"replicaset": 160, "addon": 100}


@pytest.fixture(params=sorted(SUBJECTS))
def kind(request: pytest.FixtureRequest) -> str:
    """Every promise is kept for workloads of each kind."""
    return str(request.param)


@cache
def tally(kind: str) -> Tally:
    """Run once for all promises."""
    return run_all(0, HISTORIES[kind], jobs=1, kind=kind)


def check(kind: str, key: str) -> None:
    found = tally(kind)
    promise = next(p for p in promises_of(kind) if p.key == key)
    assert not (broken := found.again(key)), "\n".join(broken)
    assert not short(promise, found.counts, HISTORIES[kind])


def test_S1_no_touch_raises_a_stage_above_its_limit(kind: str) -> None:
    check(kind, "S1")


def test_S2_an_explicit_zero_never_means_all(kind: str) -> None:
    check(kind, "S2")


def test_S3_while_failures_exceed_the_budget_nobody_is_touched(kind: str) -> None:
    check(kind, "S3")


def test_S4_strict_tolerance_keeps_failures_within_budget_plus_one(kind: str) -> None:
    check(kind, "S4")


def test_S5_a_later_stage_waits_for_every_earlier_one(kind: str) -> None:
    check(kind, "S5")


def test_S6_a_status_counts_only_for_this_revision_and_generation(kind: str) -> None:
    check(kind, "S6")


def test_S7_what_does_not_exist_holds_the_rollout_and_says_why(kind: str) -> None:
    check(kind, "S7")


def test_S8_while_paused_nothing_is_touched_or_removed(kind: str) -> None:
    check(kind, "S8")


def test_S9_a_cluster_has_one_owner_and_one_work(kind: str) -> None:
    check(kind, "S9")


def test_S10_a_rollback_touches_whom_it_may_and_does_not_roll_forward_again() -> None:
    check("replicaset", "S10")


def test_S11_nothing_is_removed_on_a_torn_read_or_beyond_the_brake(kind: str) -> None:
    check(kind, "S11")


def test_S12_the_tally_of_states_adds_up_to_the_clusters_selected(kind: str) -> None:
    check(kind, "S12")


def test_S13_no_restart_and_no_agent_s_clock_ends_a_wait_early(kind: str) -> None:
    check(kind, "S13")


def test_S14_what_was_planned_and_approved_is_what_is_done() -> None:
    check("replicaset", "S14")


def test_S16_zero_targets_is_never_complete(kind: str) -> None:
    check(kind, "S16")


def test_S17_a_cluster_lost_in_flight_is_a_failure(kind: str) -> None:
    check(kind, "S17")


def test_S19_nothing_is_proven_by_nobody_or_goes_on_from_decisions_that_are_not_still(
    kind: str,
) -> None:
    check(kind, "S19")


def test_S20_a_waiver_concerns_one_revision(kind: str) -> None:
    check(kind, "S20")


def test_S21_nothing_is_touched_in_a_closed_window(kind: str) -> None:
    check(kind, "S21")


def test_L1_there_is_always_a_timer_or_an_event_ahead(kind: str) -> None:
    check(kind, "L1")


def test_L2_whoever_is_done_releases_its_slot_at_once(kind: str) -> None:
    check(kind, "L2")


def test_L3_a_cluster_that_never_answers_times_out(kind: str) -> None:
    check(kind, "L3")


def test_L4_lost_and_repeated_events_change_no_outcome(kind: str) -> None:
    check(kind, "L4")


def test_L5_a_fix_is_never_blocked_by_what_it_fixes(kind: str) -> None:
    check(kind, "L5")


def test_R1_a_crash_between_any_two_writes_changes_no_outcome(kind: str) -> None:
    check(kind, "R1")


def test_R5_asked_again_there_is_nothing_new(kind: str) -> None:
    check(kind, "R5")


def test_R6_bad_news_adds_nothing(kind: str) -> None:
    check(kind, "R6")


def test_R8_nothing_of_ours_grows_without_bound(kind: str) -> None:
    check(kind, "R8")


def test_O1_every_wait_has_a_reason_and_every_touch_a_cause(kind: str) -> None:
    check(kind, "O1")


def test_every_promise_has_a_kept_fault() -> None:
    for kind in SUBJECTS:
        kept = {mutant.promise for mutant in MUTANTS if kind in mutant.kinds}
        assert kept >= {promise.key for promise in promises_of(kind)}, kind


def test_the_page_of_the_contract_lists_every_kept_fault() -> None:
    assert heads_in() == [Row(mutant, kind, None).head for mutant, kind in cases()]
