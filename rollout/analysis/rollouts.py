"""Why does this rollout stand where it stands? One reason, what ends it, and every stage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rollout.analysis.sight import Sight
from rollout.analysis.standings import DONE, conditions_of
from rollout.analysis.waits import Wait, block_wait, cluster_wait, recovers, unless_deleted
from rollout.analysis.wishes import (
    GateAccount,
    RollbackAccount,
    Wish,
    gates,
    refusals,
    rollbacks,
    wishes,
)
from rollout.fleet.live import LiveRollout
from rollout.fleet.tracker import Share, Standing
from rollout.model.amounts import Amount
from rollout.model.kinds import Ref
from rollout.strategies.base import Phase, Stage, StageReport

MOST_TROUBLED = 10
_TROUBLE = (Phase.FAILED, Phase.FAILING)


@dataclass(frozen=True, slots=True)
class StageAccount:
    """One stage. ``limit`` and ``budget`` are clusters; ``asked_*`` what the strategy says ("": nothing).

    ``halted``: more failed than tolerated, and some of them here. ``began`` is when its first cluster
    was touched with this revision.
    """

    placement: str
    title: str
    members: int
    phases: Mapping[Phase, int]
    limit: int
    asked_limit: str
    budget: int | None
    asked_budget: str
    passed: bool
    halted: bool
    began: datetime | None
    wait: Wait | None


@dataclass(frozen=True, slots=True)
class Trouble:
    """A cluster that failed, or is failing."""

    cluster: str
    placement: str
    phase: Phase
    wait: Wait


@dataclass(frozen=True, slots=True)
class RolloutAccount:
    """One workload: the one reason now, and all stages.

    ``number`` is that of the revision where it is kept, ``total`` counts selected clusters.
    ``troubled`` are at most `MOST_TROUBLED` of ``failing``.
    """

    kind: str
    key: str
    now: datetime
    generation: int
    revision: str
    number: int | None
    total: int
    message: str
    done: bool
    wait: Wait
    stages: tuple[StageAccount, ...]
    failing: int
    troubled: tuple[Trouble, ...]
    wishes: tuple[Wish, ...]
    gates: tuple[GateAccount, ...]
    rollbacks: tuple[RollbackAccount, ...]


def explain_rollout(sight: Sight, ref: Ref) -> RolloutAccount | None:
    """Why the workload is not done, or that it is; None where it does not exist."""
    workload = sight.workload(ref)
    if workload is None or workload.raw is None:
        return None
    standing = sight.standing(ref)
    stages = tuple(account for share in workload.shares.values() for account in _stages(share))
    troubled = sorted(_troubled(workload), key=lambda t: (t.phase.value, t.cluster))
    kept = sight.fleet.revisions(ref.key).get(workload.revisions[0])
    return RolloutAccount(
        ref.kind.name,
        ref.key,
        sight.now,
        workload.raw["metadata"].get("generation") or 0,
        ", ".join(workload.revisions),
        kept.number if kept else None,
        sum(share.selected for share in workload.shares.values()),
        standing.message,
        standing.reason in DONE,
        _whole(sight, workload, standing.reason, standing.message),
        stages,
        len(troubled),
        tuple(troubled[:MOST_TROUBLED]),
        wishes(sight, workload),
        gates(sight, workload),
        rollbacks(workload),
    )


_ENDED_BY_DELETING = ("Rejected", "RollingBack", "RolledBack", "RollbackHalted")


def _whole(sight: Sight, workload: Standing, reason: str, message: str) -> Wait:
    """The wait of a workload as a whole."""
    since = _since(workload, reason)
    if reason in DONE:
        return Wait(reason, since, "nothing is waited for")
    if reason in ("RollingOut", "Waiting"):
        return _rolling([share.live for share in workload.shares.values()], reason, since)
    instants = [recovers(share.live) for share in workload.shares.values()]
    until = min((at for at in instants if at is not None), default=None)
    until = until if reason == "MaxFailuresExceeded" else None
    refused = refusals(sight, workload) if reason in _ENDED_BY_DELETING else ()
    return Wait(reason, since, unless_deleted(reason, message, refused), until)


_THEN: Mapping[Phase, str] = {
    Phase.SOAKING: "has soaked",
    Phase.PROGRESSING: "reaches its deadline, or its failure counts",
    Phase.FAILING: "has failed for good",
    Phase.FAILED: "has recovered",
}
"""What time alone makes of a cluster in a phase."""


def _rolling(lives: Sequence[LiveRollout], reason: str, since: datetime | None) -> Wait:
    if any(live.last.touch for live in lives):
        return Wait(reason, since, "the engine writes to the clusters whose turn it is")
    nexts = [
        (*due, live.judgement(due[1]).phase)
        for live in lives
        if (due := live.next_due()) is not None
    ]
    if not nexts:
        return Wait(reason, since, "an agent reports; time alone changes nothing")
    at, cluster, phase = min(nexts, key=lambda due: due[:2])
    what = _THEN.get(phase, "is done with its old revision, or has failed there")
    return Wait(reason, since, f"an agent reports; or else {cluster} {what}", at)


def _since(workload: Standing, reason: str) -> datetime | None:
    """When the workload began to stand so, as far as its stored conditions tell."""
    stored = conditions_of(workload.raw or {})
    return next((c.since for _, c in stored if c.reason == reason), None)


def _stages(share: Share) -> list[StageAccount]:
    live = share.live
    plans = {stage.key: stage for stage in live.ledger.rollout.staging.stages}
    fleet_budget = live.ledger.rollout.staging.budget
    return [
        _stage(live.placement, live, report, plans.get(report.key), fleet_budget)
        for report in live.last.stages
    ]


def _stage(
    placement: str,
    live: LiveRollout,
    report: StageReport,
    stage: Stage | None,
    fleet_budget: Amount | None,
) -> StageAccount:
    budget = stage.budget if stage else None
    whole = budget is None and fleet_budget is not None
    total = live.ledger.rollout.staging.total
    return StageAccount(
        placement,
        report.title,
        report.members,
        report.phases,
        report.limit,
        str(stage.limit) if stage and stage.limit else "",
        fleet_budget.of(total) if whole and fleet_budget else report.budget,
        str((fleet_budget if whole else budget) or "") if stage else "",
        report.passed,
        _is_halted(live, report),
        _began(live, stage),
        _stage_wait(live, report),
    )


def _is_halted(live: LiveRollout, report: StageReport) -> bool:
    failed = any(count for phase, count in report.phases.items() if phase.is_failure)
    return live.last.halt is not None and failed and not report.passed


def _began(live: LiveRollout, stage: Stage | None) -> datetime | None:
    standings = live.ledger.standings
    return min(
        (
            standing.touched
            for group in (stage.groups if stage else ())
            for cluster in group.clusters
            if (standing := standings.get(cluster)) is not None
            and standing.revision == live.revision
        ),
        default=None,
    )


def _stage_wait(live: LiveRollout, report: StageReport) -> Wait | None:
    """What a stage waits for: a block, else its clusters in flight; None where it is done."""
    if report.blocked is not None:
        return block_wait(live, report)
    if report.in_flight:
        due = live.next_due()
        until = due[0] if due else None
        return Wait("InFlight", None, f"{report.in_flight} clusters in flight are done", until)
    if report.phases.get(Phase.WAITING):
        return block_wait(live, report)
    return None


def _troubled(workload: Standing) -> list[Trouble]:
    found: list[Trouble] = []
    for name, share in workload.shares.items():
        live = share.live
        for cluster in live.ledger.standings:
            if cluster not in live.ledger:
                continue
            phase = live.judgement(cluster).phase
            wait = cluster_wait(live, cluster, None) if phase in _TROUBLE else None
            if wait is not None:
                found.append(Trouble(cluster, name, phase, wait))
        found += [
            Trouble(cluster, name, Phase.LOST, _lost())
            for cluster in live.lost
            if cluster not in live.ledger.rollout.skipped
        ]
    return found


def _lost() -> Wait:
    return Wait("Lost", None, "it comes back, a new revision is rolled out, or somebody skips it")
