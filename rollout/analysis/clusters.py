"""Explains what one cluster has of every workload, with one reason for each wait."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime

from rollout.account.groups import LOST_WAIT
from rollout.account.interventions import Intervention, interventions, of_cluster
from rollout.account.waits import WaitAccount, cluster_wait
from rollout.analysis.placements import why_not
from rollout.analysis.snapshot import Snapshot
from rollout.model.kinds import Obj, Ref
from rollout.model.secrets import scrubbed, secret_texts
from rollout.model.waits import Reason
from rollout.model.workload import Carried
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.share import PlacementShare
from rollout.rollouts.workload import Workload
from rollout.strategies.base import Phase, Stage, StageReport
from rollout.strategies.ocm_step import ALL_CLUSTERS
from rollout.values.rendering import ValueShown


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionAccount:
    """One condition of what a cluster has. ``current``: whether it is about that as it is now."""

    type: str
    status: str
    reason: str
    message: str
    since: datetime | None
    current: bool


@dataclass(frozen=True, slots=True)
class WorkAccount:
    """The ManifestWork, or ManagedClusterAddOn, that the cluster has of a workload.

    ``carries`` is the revision that it amounts to ("": it says nothing yet). ``conditions`` are those
    of its agent, without the data of Secrets that their messages may quote. ``faults`` say which manifests are not well.
    ``leaving``: it is being deleted, and says nothing any more.
    """

    name: str
    carries: str
    conditions: tuple[ConditionAccount, ...]
    _: KW_ONLY
    faults: tuple[str, ...] = ()
    leaving: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterShare:
    """One workload's share of a cluster. ``wanted`` is the revision asked for there ("": none is).

    ``placement`` is the placementRef that owns it, "" where none selects it: then ``refused`` says
    why, by placement. ``place`` is where it stands among those waiting in its stage, from 1; 0 where
    it is not waiting. A cluster that is lost has a phase, and no placement. ``cause`` is why it was
    touched, as the record has it. ``asked`` is what somebody asked of this cluster alone. ``values``
    are those that the cluster has of its own.
    """

    kind: str
    workload: str
    wanted: str
    placement: str = ""
    refused: Mapping[str, str] | None = None
    stage: str = ""
    phase: Phase | None = None
    place: int = 0
    wait: WaitAccount | None = None
    cause: str = ""
    work: WorkAccount | None = None
    values: tuple[ValueShown, ...] = ()
    asked: Intervention | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedCluster:
    """One cluster. ``available`` None: the hub has no such ManagedCluster, or nobody ever said."""

    name: str
    now: datetime
    known: bool
    available: bool | None
    shares: tuple[ClusterShare, ...]


def explain_cluster(
    snapshot: Snapshot,
    name: str,
    only: Ref | None = None,
    *,
    refusals: Callable[[Ref], bool] = lambda _: True,
) -> ExplainedCluster | None:
    """A cluster's share of every workload, or (``only``) of one; None where nobody knows the cluster.

    Args:
        refusals: of which workloads to say why they do not select it; each costs a decision of their
            Placements over all candidates.
    """
    known = snapshot.fleet.clusters.cluster(name)
    refs = [ref for ref in snapshot.workloads() if only in (None, ref)]
    shares = tuple(_share(snapshot, ref, name, refusals) for ref in refs)
    if known is None and not any(s.placement or s.work or s.phase for s in shares):
        return None
    available = known.available if known is not None else None
    return ExplainedCluster(
        name=name,
        now=snapshot.now,
        known=known is not None,
        available=available,
        shares=shares,
    )


def _share(
    snapshot: Snapshot, ref: Ref, cluster: str, refusals: Callable[[Ref], bool]
) -> ClusterShare:
    workload = snapshot.workload(ref)
    assert workload is not None
    wanted = workload.revision_at(cluster)
    work = _work(workload.carried(cluster), workload.body(cluster))
    if work is None and (going := workload.leaving(cluster)):
        work = WorkAccount(going, "", (), leaving=True)
    owner = workload.members.get(cluster, "")
    if not owner:
        left = _left(workload, cluster)
        return ClusterShare(
            kind=ref.kind.name,
            workload=ref.key,
            wanted=wanted,
            refused=_refused(snapshot, workload, cluster) if refusals(ref) else None,
            stage=left or "",
            phase=Phase.LOST if left is not None else None,
            wait=LOST_WAIT if left is not None else None,
            work=work,
        )
    live = workload.shares[owner].live
    title, report, place = _seat(live, cluster)
    is_member = cluster in live.ledger
    return ClusterShare(
        kind=ref.kind.name,
        workload=ref.key,
        wanted=wanted,
        placement=owner,
        stage=title,
        phase=live.judgement(cluster).phase if is_member else None,
        place=place,
        wait=_wait(live, cluster, report, is_done=work is not None and work.carries == wanted),
        cause=live.line(cluster).cause,
        work=work,
        values=tuple(_masked(value) for value in workload.values_at(cluster)),
        asked=of_cluster(interventions(snapshot.fleet, workload, snapshot.now), cluster),
    )


def _left(workload: Workload[PlacementShare], cluster: str) -> str | None:
    """The title of the stage from which a cluster was lost; None where it is not, or was skipped."""
    for share in workload.shares.values():
        live = share.live
        key = live.lost.get(cluster)
        if key is not None and cluster not in live.ledger.rollout.skipped:
            titles = {report.key: report.title for report in live.last.stages}
            return titles.get(key) or next(iter(titles.values()), "")
    return None


def _wait(
    live: LiveRollout, cluster: str, report: StageReport | None, *, is_done: bool
) -> WaitAccount | None:
    """What the cluster waits for. Where the workload cannot be followed, with what is wrong there."""
    found = cluster_wait(live, cluster, report) if cluster in live.ledger else None
    hold = live.last.hold
    if hold is None or hold.reason is not Reason.MISCONFIGURED or is_done:
        return found
    if found is not None and found.reason != hold.reason:
        return found
    return WaitAccount(hold.reason, None, f"{hold.reason.remedy}: {hold.message}")


def _masked(value: ValueShown) -> ValueShown:
    """A value of a Secret is never shown."""
    return replace(value, value="(hidden)") if value.is_secret else value


def _refused(
    snapshot: Snapshot, workload: Workload[PlacementShare], cluster: str
) -> dict[str, str]:
    return {
        name: why_not(snapshot, share.placement_key, cluster)
        for name, share in workload.shares.items()
    }


def _seat(live: LiveRollout, cluster: str) -> tuple[str, StageReport | None, int]:
    """The title of a cluster's stage, its report, and the cluster's place in the line."""
    reports = {report.key: report for report in live.last.stages}
    for stage in live.ledger.rollout.staging.stages:
        for group in stage.groups:
            if cluster in group.clusters:
                report = reports.get(stage.key) or reports.get(ALL_CLUSTERS)
                title = report.title if report else stage.title
                return title, report, _place(live, stage, cluster)
    return "", None, 0


def _place(live: LiveRollout, stage: Stage, cluster: str) -> int:
    """How far back the cluster waits. Cost: O(clusters of the stage)."""
    if live.judgement(cluster).phase is not Phase.WAITING:
        return 0
    place = 0
    for group in stage.groups:
        for each in group.clusters:
            place += live.judgement(each).phase is Phase.WAITING
            if each == cluster:
                return place
    return 0


def _work(work: Carried | None, body: Obj | None) -> WorkAccount | None:
    if work is None:
        return None
    secrets = secret_texts(body)
    conditions = tuple(
        ConditionAccount(
            type=c.type,
            status=c.status,
            reason=c.reason,
            message=scrubbed(c.message, secrets),
            since=c.since,
            current=work.generation in (None, c.observed_generation),
        )
        for c in work.conditions
    )
    return WorkAccount(work.name, work.revision, conditions, faults=work.faults)
