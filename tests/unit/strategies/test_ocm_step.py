"""How is the answer of OCM's library told in our words?"""

from datetime import UTC, datetime, timedelta

import pytest

from rollout.model.kinds import Obj
from rollout.model.placement import Group
from rollout.model.waits import Reason, Wait
from rollout.strategies.base import Phase
from rollout.strategies.ocm import Status
from rollout.strategies.ocm_step import Reported, ocm_decision, ocm_step

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
FLEET = [Group(0, "", ("a", "b", "c"))]
ALL: Obj = {"type": "All"}
TWO: Obj = {"type": "Progressive", "progressive": {"maxConcurrency": 2, "progressDeadline": "5s"}}


def since(seconds: float, status: Status) -> Reported:
    return status, NOW - timedelta(seconds=seconds)


@pytest.mark.parametrize(("strategy", "blocked"), [(ALL, None), (TWO, "SlotsFull")])
def test_clusters_wait_for_slots_only_where_not_all_of_them_are_touched(
    strategy: Obj, blocked: str | None
) -> None:
    (stage,) = ocm_step(strategy, FLEET, {}, None, NOW).stages
    assert (stage.blocked, stage.phases) == (blocked, {Phase.WAITING: 3})


def test_who_waits_during_a_hold_waits_for_its_end() -> None:
    (stage,) = ocm_step(ALL, FLEET, {}, Wait(Reason.PAUSED, "it is paused"), NOW).stages
    assert stage.blocked == "Paused"


def test_a_breach_counts_what_timed_out_among_what_failed() -> None:
    late = {"a": since(9, Status.PROGRESSING), "b": since(9, Status.PROGRESSING)}
    step = ocm_step(TWO, FLEET, late, None, NOW)
    assert step.halt == Wait(Reason.MAX_FAILURES_EXCEEDED, "2 failed, 2 of them timed out")
    assert step.stages[0].blocked == "MaxFailuresExceeded"


def test_a_strategy_without_clusters_has_no_stage_to_wait_for() -> None:
    assert ocm_step(ALL, [], {}, None, NOW).stages == ()


def test_who_carries_another_revision_comes_before_who_carries_nothing() -> None:
    one: Obj = {"type": "Progressive", "progressive": {"maxConcurrency": 1}}
    assert ocm_step(one, FLEET, {}, None, NOW).touch == ("a",)
    assert ocm_step(one, FLEET, {}, None, NOW, ["c"]).touch == ("c",)


def test_each_cluster_says_how_it_stands_and_until_when() -> None:
    reported = {"a": since(9, Status.PROGRESSING), "b": since(1, Status.PROGRESSING)}
    _, judged = ocm_decision(TWO, FLEET, reported, None, NOW)
    assert judged["a"].phase is Phase.FAILED
    assert judged["a"].reason == "TimedOut"
    assert judged["b"] == (Phase.PROGRESSING, NOW + timedelta(seconds=4), "")
