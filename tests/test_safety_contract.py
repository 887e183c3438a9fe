"""The safety contract on random histories: each promise kept, its guarded states reached, its mutants caught."""

# ruff: noqa: N802  (tests are named after the ids of the contract)

from functools import lru_cache

import pytest

from tests.safety.mutants import MUTANTS, Mutant, hunt
from tests.safety.promises import PROMISES, short
from tests.safety.suite import Tally, run, run_all

HISTORIES = 200


@lru_cache(maxsize=1)
def tally() -> Tally:
    """Run once for all promises."""
    return run_all(0, HISTORIES, jobs=1)


def check(key: str) -> None:
    promise = next(p for p in PROMISES if p.key == key)
    broken = [f"seed {seed}: {message}" for seed, name, message in tally().broken if name == key]
    assert not broken, "\n".join(broken)
    assert not short(promise, tally().counts, HISTORIES)


def test_S1_no_touch_raises_a_stage_above_its_limit() -> None:
    check("S1")


def test_S2_an_explicit_zero_never_means_all() -> None:
    check("S2")


def test_S3_while_failures_exceed_the_budget_nobody_is_touched() -> None:
    check("S3")


def test_S4_strict_tolerance_keeps_failures_within_budget_plus_one() -> None:
    check("S4")


def test_S5_a_later_stage_waits_for_every_earlier_one() -> None:
    check("S5")


def test_S6_a_status_counts_only_for_this_revision_and_generation() -> None:
    check("S6")


def test_S7_what_does_not_exist_holds_the_rollout_and_says_why() -> None:
    check("S7")


def test_S8_while_paused_nothing_is_touched_or_removed() -> None:
    check("S8")


def test_S9_a_cluster_has_one_owner_and_one_work() -> None:
    check("S9")


def test_S11_nothing_is_removed_on_a_torn_read_or_beyond_the_brake() -> None:
    check("S11")


def test_S12_the_tally_of_states_adds_up_to_the_clusters_selected() -> None:
    check("S12")


def test_S13_no_restart_and_no_agent_s_clock_ends_a_wait_early() -> None:
    check("S13")


def test_S16_zero_targets_is_never_complete() -> None:
    check("S16")


def test_S17_a_cluster_lost_in_flight_is_a_failure() -> None:
    check("S17")


def test_L1_there_is_always_a_timer_or_an_event_ahead() -> None:
    check("L1")


def test_L2_whoever_is_done_releases_its_slot_at_once() -> None:
    check("L2")


def test_L3_a_cluster_that_never_answers_times_out() -> None:
    check("L3")


def test_L4_lost_and_repeated_events_change_no_outcome() -> None:
    check("L4")


def test_L5_a_fix_is_never_blocked_by_what_it_fixes() -> None:
    check("L5")


def test_R1_a_crash_between_any_two_writes_changes_no_outcome() -> None:
    check("R1")


def test_R5_asked_again_there_is_nothing_new() -> None:
    check("R5")


def test_R6_bad_news_adds_nothing() -> None:
    check("R6")


def test_R8_nothing_of_ours_grows_without_bound() -> None:
    check("R8")


def test_O1_every_wait_has_a_reason_and_every_touch_a_cause() -> None:
    check("O1")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.promise} {m.name}")
def test_a_fault_that_breaks_a_promise_is_noticed(
    mutant: Mutant, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("CRITICAL"):
        assert hunt(mutant) is not None


def test_every_promise_has_a_mutant() -> None:
    assert {mutant.promise for mutant in MUTANTS} == {promise.key for promise in PROMISES}


def test_the_histories_that_show_the_faults_are_clean_without_them() -> None:
    beyond = [mutant.seed for mutant in MUTANTS if mutant.seed >= HISTORIES]
    assert not run(beyond).broken
