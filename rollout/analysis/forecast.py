"""What would happen if this change were made now? Answered on a copy; nothing is written anywhere else.

The change is made to a copy of the hub, placements are decided there, and each workload is planned
once, as the engine would. What the plan would write is read, and thrown away with the copy.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from rollout.analysis.cautions import Caution, cautions
from rollout.analysis.changes import ObjectChange, object_changes
from rollout.analysis.copies import Change, copied, placed
from rollout.analysis.differences import manifest_diff
from rollout.analysis.finish import Finish, finish_of
from rollout.analysis.sight import Sight
from rollout.fleet.workloads import Share, Workload
from rollout.hub.base import Hub
from rollout.model.content import normal_spec
from rollout.model.kinds import MANIFEST_WORK, REPLICA_SET, Obj
from rollout.planning.plan import Delete
from rollout.planning.removals import removals
from rollout.strategies.base import Hold, Phase, Stage, StageReport

Warn = Callable[[Iterable[Obj]], Sequence[Caution]]
"""Further warnings, given all objects as they would be."""


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One stage, clusters in the order in which they are touched.

    ``limit`` and ``budget`` are clusters; ``asked_*`` what the strategy says of them ("": nothing).
    ``at_once`` of ``added`` and ``updated`` together are touched right away. ``unchanged`` clusters
    carry the revision already. ``blocked`` is why not all are touched at once.
    """

    title: str
    members: int
    limit: int
    asked_limit: str
    budget: int | None
    asked_budget: str
    added: tuple[str, ...]
    updated: tuple[str, ...]
    unchanged: int
    at_once: tuple[str, ...]
    passed: bool
    blocked: str


@dataclass(frozen=True, slots=True)
class PlacementPlan:
    """One placementRef of a workload. ``hold``: why nothing of it would be touched."""

    placement: str
    strategy: str
    selected: int
    hold: Hold | None
    stages: tuple[StagePlan, ...]


@dataclass(frozen=True, slots=True)
class RemovalPlan:
    """Clusters that hold the workload and would not be selected any more.

    ``removed`` of them lose it at once; the others are held, for the reason given.
    """

    clusters: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    held: str = ""


@dataclass(frozen=True, slots=True)
class WorkloadPlan:
    """What the change comes to for one workload.

    ``before`` and ``after`` are revisions ("" before: it is new; after: it is being deleted).
    ``diff`` is for ``diff_of``, the first cluster that would be written to; "" where the template
    stays as it is.
    """

    key: str
    before: str
    after: str
    placements: tuple[PlacementPlan, ...]
    removal: RemovalPlan
    diff_of: str
    diff: str
    finish: Finish

    @property
    def touches(self) -> int:
        """Clusters that would be written to, sooner or later."""
        return sum(len(s.added) + len(s.updated) for p in self.placements for s in p.stages)


@dataclass(frozen=True, slots=True)
class Forecast:
    """All that would follow from a change. ``workloads`` are those that it concerns."""

    at: datetime
    objects: tuple[ObjectChange, ...]
    workloads: tuple[WorkloadPlan, ...]
    warnings: tuple[Caution, ...]

    @property
    def changes(self) -> bool:
        """Whether anything at all would be different."""
        return bool(self.objects)


def forecast(
    hub: Hub | None,
    change: Change,
    now: datetime,
    *,
    show_secrets: bool = False,
    warn: Warn = lambda _: (),
) -> Forecast:
    """What would follow from a change.

    Args:
        hub: what there is (None: nothing).
        now: its present instant.
        show_secrets: let diffs show the data of Secrets.

    Raises: what the change raises.
    """
    copy, clock = copied(hub, now)
    old = dict(copy.everything())
    before = Sight(placed(copy, clock), now)
    copy, clock = copied(None, now)
    copy.adopt(old.items())
    with copy.batch():
        change(copy)
    new = dict(copy.everything())
    objects = object_changes(old, new)
    after = Sight(placed(copy, clock), now)
    changed = {each.key for each in objects if each.kind == REPLICA_SET.name}
    warnings = list(warn(new.values()))
    plans: list[WorkloadPlan] = []
    for key in after.workloads():
        workload = after.workload(key)
        if workload is None:
            continue
        was = before.workload(key)
        if key in changed or was is None or _terms(was) != _terms(workload):
            plans.append(_plan(after, workload, was, show_secrets))
            warnings += cautions(workload)
    return Forecast(now, objects, tuple(plans), tuple(dict.fromkeys(warnings)))


def _terms(workload: Workload) -> object:
    """What a workload is rolled out on, and to whom."""
    return [
        (
            name,
            share.hold,
            (rollout := share.live.ledger.rollout).revision,
            rollout.staging,
            rollout.timing,
            rollout.skipped,
            rollout.strict_tolerance,
        )
        for name, share in workload.shares.items()
    ] + [sorted(workload.strays)]


def _plan(
    sight: Sight, workload: Workload, was: Workload | None, show_secrets: bool
) -> WorkloadPlan:
    assert workload.replicaset is not None
    placements = tuple(_placement(workload, share) for share in workload.shares.values())
    before = was.replicaset.template.content if was and was.replicaset else ""
    after = workload.replicaset.template.content
    cluster = _first(placements)
    diff = ""
    if cluster and before != after:
        work = workload.work(cluster)
        old = normal_spec(work.raw["spec"]) if work else None
        new = normal_spec(workload.replicaset.template.spec)
        names = (f"{cluster} now", f"{cluster} then, revision {after}")
        diff = manifest_diff(old, new, names, show_secrets=show_secrets)
    return WorkloadPlan(
        workload.ref.key,
        before,
        after,
        placements,
        _removal(sight, workload),
        cluster,
        diff,
        finish_of(workload, sight.now),
    )


def _first(placements: Sequence[PlacementPlan]) -> str:
    """The first cluster whose work would be changed; where there is none, the first that gets one."""
    stages = [stage for placement in placements for stage in placement.stages]
    updated = [cluster for stage in stages for cluster in stage.updated]
    added = [cluster for stage in stages for cluster in stage.added]
    return next(iter(updated or added), "")


def _placement(workload: Workload, share: Share) -> PlacementPlan:
    live = share.live
    stages = {stage.key: stage for stage in live.ledger.rollout.staging.stages}
    return PlacementPlan(
        share.ref.name,
        share.ref.rollout.type if share.ref.rollout else "",
        share.selected,
        share.hold or live.last.hold,
        tuple(
            _stage(workload, share, report, stages[report.key])
            for report in live.last.stages
            if report.key in stages
        ),
    )


def _stage(workload: Workload, share: Share, report: StageReport, stage: Stage) -> StagePlan:
    live = share.live
    due = [
        cluster
        for group in stage.groups
        for cluster in group.clusters
        if live.ledger.judgement(cluster).phase in (Phase.WAITING, Phase.OUTDATED)
    ]
    whole = live.ledger.rollout.staging
    fleet_wide = stage.budget is None and whole.budget is not None
    asked = whole.budget if fleet_wide else stage.budget
    members = frozenset(due)
    return StagePlan(
        report.title,
        report.members,
        report.limit,
        str(stage.limit) if stage.limit else "",
        whole.budget.of(whole.total) if fleet_wide and whole.budget else report.budget,
        str(asked) if asked is not None else "",
        tuple(cluster for cluster in due if not workload.works(cluster)),
        tuple(cluster for cluster in due if workload.works(cluster)),
        report.members - len(due),
        tuple(cluster for cluster in live.last.touch if cluster in members),
        report.passed,
        report.blocked,
    )


def _removal(sight: Sight, workload: Workload) -> RemovalPlan:
    clusters = tuple(sorted(workload.strays))
    if not clusters:
        return RemovalPlan()
    assert workload.replicaset is not None
    removed = {
        write.cluster
        for write in sight.plan(workload.ref.key).writes
        if isinstance(write, Delete) and write.ref.kind is MANIFEST_WORK and write.cluster
    } & workload.strays
    held = ""
    if len(removed) < len(clusters):
        policy = sight.fleet.policy
        found = removals(workload, workload.replicaset, policy, sight.now)
        held = _held(workload, found.hold)
    return RemovalPlan(clusters, tuple(sorted(removed)), held)


def _held(workload: Workload, brake: Hold | None) -> str:
    """Why clusters that are selected no more keep the workload for now."""
    if brake is not None:
        return f"{brake.reason}: {brake.message}"
    for share in workload.shares.values():
        hold = share.hold or share.live.last.hold
        if hold is not None:
            return f"{hold.reason}: {hold.message}"
    quiet = workload.next_quiet()
    if quiet is not None:
        return "others write the decisions: a cluster counts as deselected after they were still"
    return "they are being deleted already"
