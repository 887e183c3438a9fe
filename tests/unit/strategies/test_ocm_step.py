"""How is the answer of OCM's library told in our words?"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from rollout.model.kinds import Obj
from rollout.model.placement import Group
from rollout.model.waits import Reason, Wait
from rollout.strategies.base import Phase, Step
from rollout.strategies.judge import Judgement
from rollout.strategies.ocm import Status
from rollout.strategies.ocm_step import Reported, ocm_step

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
FLEET = [Group(0, "", ("a", "b", "c"))]
ALL: Obj = {"type": "All"}
TWO: Obj = {"type": "Progressive", "progressive": {"maxConcurrency": 2, "progressDeadline": "5s"}}


def since(seconds: float, status: Status) -> Reported:
    return status, NOW - timedelta(seconds=seconds)


def step_of(
    strategy: Obj,
    *,
    groups: Sequence[Group] = FLEET,
    reported: Mapping[str, Reported] | None = None,
    hold: Wait | None = None,
    others: Sequence[str] = (),
) -> Step:
    return ocm_step(strategy, groups, reported or {}, hold=hold, now=NOW, others=others)[0]


@pytest.mark.parametrize(("strategy", "blocked"), [(ALL, None), (TWO, "SlotsFull")])
def test_clusters_wait_for_slots_only_where_not_all_of_them_are_touched(
    strategy: Obj, blocked: str | None
) -> None:
    (stage,) = step_of(strategy).stages
    assert (stage.blocked, stage.phases) == (blocked, {Phase.WAITING: 3})


def test_who_waits_during_a_hold_waits_for_its_end() -> None:
    (stage,) = step_of(ALL, hold=Wait(Reason.PAUSED, "it is paused")).stages
    assert stage.blocked == "Paused"


def test_a_breach_counts_what_timed_out_among_what_failed() -> None:
    late = {"a": since(9, Status.PROGRESSING), "b": since(9, Status.PROGRESSING)}
    step = step_of(TWO, reported=late)
    assert step.halt == Wait(Reason.MAX_FAILURES_EXCEEDED, "2 failed, 2 of them timed out")
    assert step.stages[0].blocked == "MaxFailuresExceeded"


def test_a_strategy_without_clusters_has_no_stage_to_wait_for() -> None:
    assert step_of(ALL, groups=[]).stages == ()


def test_who_carries_another_revision_comes_before_who_carries_nothing() -> None:
    one: Obj = {"type": "Progressive", "progressive": {"maxConcurrency": 1}}
    assert step_of(one).touch == ("a",)
    assert step_of(one, others=["c"]).touch == ("c",)


def test_each_cluster_says_how_it_stands_and_until_when() -> None:
    reported = {"a": since(9, Status.PROGRESSING), "b": since(1, Status.PROGRESSING)}
    _, judged = ocm_step(TWO, FLEET, reported, hold=None, now=NOW)
    assert judged["a"].phase is Phase.FAILED
    assert judged["a"].reason == "TimedOut"
    assert judged["b"] == Judgement(Phase.PROGRESSING, NOW + timedelta(seconds=4))
