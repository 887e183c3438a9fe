"""Does everybody who waits have exactly one reason, and is it the right one? Promise O1, at rest."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

from rollout.account.waits import WaitAccount, cluster_wait
from rollout.fleet.live import LiveRollout
from rollout.strategies.base import StageReport
from tests.safety import wishes
from tests.safety.model import Rollout
from tests.safety.terms import Stage
from tests.safety.told import Told

Blame = Callable[[str, str], None]

GOING_BACK = frozenset(
    {"RollingBack", "RolledBack", "RollbackHalted", "GoingBack", "NothingToGoBackTo"}
)


def waits(told: Told, view: Any, now: datetime, counts: Counter[str], blame: Blame) -> None:
    """Each cluster that is selected and not soaked; the engine has nothing to do at this instant."""
    workload = view.workload(told.subject.ref.key)
    for rollout in told.rollouts.values():
        share = workload.shares.get(told.subject.share_key(rollout.name)) if workload else None
        if share is None or rollout.hold or rollout.bad or rollout.terms is None:
            continue
        live = share.live
        reports = {report.key: report for report in live.last.stages}
        for stage in rollout.plan.stages:
            for cluster in stage.members:
                if cluster not in live.ledger:
                    blame("O1", f"{cluster} is selected, and the engine has no place for it")
                    continue
                wait = cluster_wait(live, cluster, reports.get(stage.key))
                _judge(told, rollout, stage, cluster, wait, now, counts, blame)


def is_told(live: LiveRollout | None, cluster: str, report: StageReport) -> bool:
    """Whether a reason of its own is told of a cluster; that it is due is none."""
    if live is None or cluster not in live.ledger:
        return False
    wait = cluster_wait(live, cluster, report)
    return wait is not None and wait.reason != "Due"


def _judge(
    told: Told,
    rollout: Rollout,
    stage: Stage,
    cluster: str,
    wait: WaitAccount | None,
    now: datetime,
    counts: Counter[str],
    blame: Blame,
) -> None:
    track = rollout.current(cluster)
    if wait is None:
        is_unsure = rollout.is_maybe(cluster)
        if not is_unsure and (track is None or not rollout.has_soaked(track, now)):
            blame("O1", f"{cluster} has not soaked, and nobody says why: {track}")
        return
    counts["O1.waits_told"] += 1
    goes_on = not rollout.back.has_reason  # else those that have soaked wait for their way back
    if goes_on and track is not None and track.exact and rollout.has_soaked(track, now):
        blame("O1", f"{cluster} has soaked, and is said to wait: {wait}")
    if not wait.reason or not wait.ends or (wait.until is not None and wait.until <= now):
        blame("O1", f"{cluster} waits, and it is not said for what: {wait}")
    if wait.reason == "Due":
        blame("O1", f"{cluster} is due, and nothing is written")
    expected = _expected(told, rollout, stage, cluster)
    if track is None and expected and not rollout.is_maybe(cluster):
        counts["O1.stopped_waits"] += 1
        if wait.reason not in expected:
            blame("O1", f"{cluster} is said to wait for {wait.reason}, it is {sorted(expected)}")


def _expected(told: Told, rollout: Rollout, stage: Stage, cluster: str) -> frozenset[str]:
    """Reasons of which one must be told, where people are what is waited for; else none."""
    assert rollout.terms is not None
    held = frozenset({"Held"} if cluster in rollout.terms.asked.held else ())
    if held:
        return held
    if told.frozen:
        return frozenset({"Frozen"})
    if told.paused:
        return frozenset({"Paused"})
    if rollout.back.barred:
        return GOING_BACK
    return GOING_BACK | {wishes.stop(rollout)} if wishes.stop(rollout) else frozenset()
