"""Answers what would happen if a change were made now, on a copy of the hub.

The change is made to a copy of the hub, placements are decided there, and each workload is planned
once, as the engine would. What the plan would write is read, and thrown away with the copy.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from secrets import token_bytes

from rollout.account.build import stage_account
from rollout.account.finish import Finish, finish_of
from rollout.account.interventions import gates_at
from rollout.analysis.cautions import Caution, cautions, hold_of
from rollout.analysis.changes import ObjectChange, object_changes
from rollout.analysis.copies import TrialChange, changed, holding, placed
from rollout.analysis.differences import manifest_diff, with_contents
from rollout.analysis.snapshot import ReadableHub, Snapshot
from rollout.hub.base import profile_of
from rollout.model.content import json_hash
from rollout.model.kinds import Obj, Ref
from rollout.model.secrets import KEY_BYTES, Masks
from rollout.model.waits import Wait
from rollout.model.writes import Delete, Touch
from rollout.placement.grouping import Profile
from rollout.planning.plan import touch_of
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.share import PlacementShare
from rollout.rollouts.workload import Workload
from rollout.strategies.base import Phase, Stage, StageReport
from rollout.strategies.gates import gate_key

Warn = Callable[[Iterable[Obj]], Sequence[Caution]]
"""Further warnings, given all objects as they would be."""


MOST_CONTENTS = 10
"""Distinct contents of which a plan shows the diff."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePlan:
    """One stage, clusters in the order in which they are touched.

    ``limit`` and ``budget`` are clusters; ``asked_*`` what the strategy says of them ("": nothing).
    ``at_once`` of ``added`` and ``updated`` together are touched right away. ``unchanged`` clusters
    carry the revision already. ``blocked`` is why not all are touched at once. ``gates`` are those at
    the stage that nobody has opened for this revision, as they are asked for.
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
    gates: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPlan:
    """One placementRef of a workload. ``hold``: why nothing of it would be touched."""

    placement: str
    strategy: str
    selected: int
    hold: Wait | None
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
class ContentPlan:
    """What the same change comes to on ``count`` clusters, of which ``cluster`` is the first."""

    cluster: str
    count: int
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPlan:
    """What the change comes to for one workload.

    ``before`` and ``after`` are revisions ("" before: it is new), separated by commas where placements
    ask for different ones. ``installed`` clusters get an add-on right away, and wait with it for their
    turn. ``aside`` are written to right away, too, and wait for no stage: they do not have what they
    should, have a configuration of their own that changes, are taken back, or no placement rolls out
    to them. ``diff`` is for ``diff_of``, the first cluster that gets something else; "" where that stays
    as it is. ``contents`` are the diffs where clusters have values of their own, the most frequent first,
    and ``unshown`` the number of clusters that get another content. ``measured``: something is measured
    that ``finish`` waits for.
    """

    kind: str
    key: str
    before: str
    after: str
    placements: tuple[PlacementPlan, ...]
    installed: tuple[str, ...]
    aside: tuple[str, ...]
    removal: RemovalPlan
    diff_of: str
    diff: str
    finish: Finish
    contents: tuple[ContentPlan, ...] = ()
    unshown: int = 0
    measured: bool = False

    @property
    def touches(self) -> int:
        """Clusters whose turn would come, sooner or later."""
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
    hub: ReadableHub | None,
    change: TrialChange,
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
    profile = profile_of(hub) if hub is not None else "strict"
    old, new = (_world(objects, now, profile) for objects in changed(hub, change, now))
    masks = None if show_secrets else Masks(token_bytes(KEY_BYTES))
    objects = object_changes(old.objects, new.objects, masks)
    edited = {(each.kind, each.key) for each in objects}
    warnings = list(warn(new.objects.values()))
    plans: list[WorkloadPlan] = []
    for ref in new.snapshot.workloads():
        workload = new.snapshot.workload(ref)
        if workload is None:
            continue
        was = old.snapshot.workload(ref)
        if (
            (ref.kind.name, ref.key) in edited
            or was is None
            or _terms(old.snapshot, was) != _terms(new.snapshot, workload)
        ):
            plans.append(_plan(old, new, workload, masks))
            warnings += cautions(new.snapshot, workload, warnings)
    return Forecast(now, objects, tuple(plans), tuple(dict.fromkeys(warnings)))


@dataclass(frozen=True, slots=True)
class _PlacedWorld:
    """All there is at one instant, and what an engine makes of it."""

    objects: Mapping[Ref, Obj]
    snapshot: Snapshot


def _world(objects: Mapping[Ref, Obj], now: datetime, profile: Profile) -> _PlacedWorld:
    return _PlacedWorld(objects, Snapshot(placed(*holding(objects, now, profile)), now))


def _terms(snapshot: Snapshot, workload: Workload[PlacementShare]) -> object:
    """What a workload is rolled out on, and to whom, and what is written beside."""
    return (
        [
            (
                name,
                share.hold,
                (rollout := share.live.ledger.rollout).revision,
                rollout.staging,
                rollout.timing,
                rollout.skipped,
                rollout.strict_tolerance,
                rollout.held,
                rollout.checkpoints,
                share.live.last.hold,
            )
            for name, share in workload.shares.items()
        ],
        workload.revisions,
        sorted(workload.strays),
        _caused(snapshot, workload, ASIDE),
    )


ASIDE = frozenset({"Restore", "Configure", "Rollback"})
"""Causes of writes that bring a cluster something else and wait for no stage."""


def _touches(snapshot: Snapshot, workload: Workload[PlacementShare]) -> list[Touch]:
    """What the engine would write to clusters right now."""
    touches = (touch_of(write) for write in snapshot.plan(workload.ref).writes)
    return [touch for touch in touches if touch is not None]


def _caused(
    snapshot: Snapshot, workload: Workload[PlacementShare], causes: frozenset[str]
) -> tuple[str, ...]:
    """Clusters that would be written to for these causes."""
    return tuple(sorted({t.cluster for t in _touches(snapshot, workload) if t.cause in causes}))


def _plan(
    old: _PlacedWorld, new: _PlacedWorld, workload: Workload[PlacementShare], masks: Masks | None
) -> WorkloadPlan:
    snapshot, was = new.snapshot, old.snapshot.workload(workload.ref)
    first = frozenset(t.cluster for t in _touches(snapshot, workload) if t.first)
    placements = tuple(
        _placement(snapshot, workload, share, first) for share in workload.shares.values()
    )
    before = was.revisions if was else ()
    aside = _caused(snapshot, workload, ASIDE)
    cluster = _first(placements) or next(iter(aside), "")
    diff = ""
    changes = before != workload.revisions or workload.has_values
    if cluster and (changes or cluster in aside):
        then = f"{cluster} then, revision {workload.revision_at(cluster)}"
        diff = manifest_diff(
            with_contents(workload.body(cluster), old.objects),
            with_contents(workload.wanted(cluster), new.objects),
            (f"{cluster} now", then.removesuffix(", revision ")),
            masks,
        )
    own = _contents(workload, placements, masks) if workload.has_values else ((), 0)
    return WorkloadPlan(
        kind=workload.ref.kind.name,
        key=workload.ref.key,
        before=", ".join(before),
        after=", ".join(workload.revisions),
        placements=placements,
        installed=_caused(snapshot, workload, frozenset({"Install"})),
        aside=aside,
        removal=_removal(snapshot, workload),
        diff_of=cluster,
        diff=diff,
        finish=finish_of(workload, snapshot.now, snapshot.fleet),
        contents=own[0],
        unshown=own[1],
        measured=workload.intents.waits_for_analyses,
    )


def _contents(
    workload: Workload[PlacementShare], placements: Sequence[PlacementPlan], masks: Masks | None
) -> tuple[tuple[ContentPlan, ...], int]:
    """One diff for all clusters that go from the same content to the same one; how many have none."""
    found: dict[tuple[str, str], list[str]] = {}
    for stage in (stage for placement in placements for stage in placement.stages):
        for cluster in sorted((*stage.updated, *stage.added)):
            body = workload.body(cluster)
            key = json_hash(body), json_hash(workload.wanted(cluster))
            found.setdefault(key, []).append(cluster)
    told = sorted(found.values(), key=lambda clusters: (-len(clusters), clusters[0]))
    shown = tuple(
        ContentPlan(
            clusters[0],
            len(clusters),
            manifest_diff(
                workload.body(clusters[0]),
                workload.wanted(clusters[0]),
                (f"{clusters[0]} now", f"{clusters[0]} then"),
                masks,
            ),
        )
        for clusters in told[:MOST_CONTENTS]
    )
    return shown, sum(map(len, told[MOST_CONTENTS:]))


def _first(placements: Sequence[PlacementPlan]) -> str:
    """The first cluster that would be changed; where there is none, the first that gets something."""
    stages = [stage for placement in placements for stage in placement.stages]
    updated = [cluster for stage in stages for cluster in stage.updated]
    added = [cluster for stage in stages for cluster in stage.added]
    return next(iter(updated or added), "")


def _placement(
    snapshot: Snapshot,
    workload: Workload[PlacementShare],
    share: PlacementShare,
    first: frozenset[str],
) -> PlacementPlan:
    live = share.live
    stages = {stage.key: stage for stage in live.ledger.rollout.staging.stages}
    return PlacementPlan(
        placement=live.placement,
        strategy=share.strategy,
        selected=share.selected,
        hold=hold_of(snapshot, workload, share),
        stages=tuple(
            _stage(workload, share, report, stages[report.key], first=first)
            for report in live.last.stages
            if report.key in stages
        ),
    )


def _stage(
    workload: Workload[PlacementShare],
    share: PlacementShare,
    report: StageReport,
    stage: Stage,
    first: frozenset[str],
) -> StagePlan:
    live = share.live
    account = stage_account(live, report, stage)
    due = [
        cluster
        for group in stage.groups
        for cluster in group.clusters
        if live.judgement(cluster).phase in (Phase.WAITING, Phase.OUTDATED)
    ]
    members = frozenset(due)
    fresh = {c for c in due if (has := workload.carried(c)) is None or not has.revision}
    return StagePlan(
        title=account.title,
        members=account.members,
        limit=account.limit,
        asked_limit=account.asked_limit,
        budget=account.budget,
        asked_budget=account.asked_budget,
        added=tuple(cluster for cluster in due if cluster in fresh),
        updated=tuple(cluster for cluster in due if cluster not in fresh),
        unchanged=report.members - len(due),
        at_once=tuple(cluster for cluster in live.last.touch if cluster in members & first),
        passed=account.passed,
        blocked=report.blocked or "",
        gates=_gates(workload, live, stage),
    )


def _gates(workload: Workload[PlacementShare], live: LiveRollout, stage: Stage) -> tuple[str, ...]:
    asked = gates_at(workload.intents.gates, live.placement, stage)
    return tuple(str(gate) for gate in asked if gate_key(gate, stage) not in live.head.opened)


def _removal(snapshot: Snapshot, workload: Workload[PlacementShare]) -> RemovalPlan:
    clusters = tuple(sorted(workload.strays))
    if not clusters:
        return RemovalPlan()
    plan = snapshot.plan(workload.ref)
    deleted = {write.cluster for write in plan.writes if isinstance(write, Delete)}
    removed = tuple(cluster for cluster in clusters if cluster in deleted)
    held = _held(workload, plan.braked) if len(removed) < len(clusters) else ""
    return RemovalPlan(clusters, removed, held)


def _held(workload: Workload[PlacementShare], brake: Wait | None) -> str:
    """Why clusters that are selected no more keep the workload for now."""
    if brake is not None:
        return f"{brake.reason}: {brake.message}"
    for share in workload.shares.values():
        hold = share.hold or share.live.last.hold
        if hold is not None:
            return f"{hold.reason}: {hold.message}"
    quiet = workload.next_quiet()
    if quiet is not None:
        return "another controller writes the decisions: a deselection counts after a quiet period"
    return "they are being deleted already, or somebody holds them"
