"""Works out the account of a workload from a fleet whose workloads are planned."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from rollout.account.channels import channels
from rollout.account.finish import Finish, finish_of
from rollout.account.groups import MOST_CLUSTERS, groups
from rollout.account.interventions import gates, interventions, of_all, refusals, rollback
from rollout.account.states import Code, StageState, WorkloadState, conditions_of, state_of
from rollout.account.tree import (
    USUAL_WAITS,
    FleetAccount,
    NoteAccount,
    PlacementAccount,
    StageAccount,
    WorkloadAccount,
    added_up,
)
from rollout.account.waits import (
    NextChange,
    WaitAccount,
    block_wait,
    next_change,
    recovers,
    unless_deleted,
    unmeasured_wait,
)
from rollout.fleet.fleet import Fleet
from rollout.fleet.records import uid_of
from rollout.model.cluster_reasons import AnyReason, ClusterReason, any_reason
from rollout.model.instants import earliest, parse_instant
from rollout.model.kinds import Obj, key_of
from rollout.model.waits import Reason
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.share import PlacementShare
from rollout.rollouts.standings import UNKNOWN_STAGE
from rollout.rollouts.workload import Workload
from rollout.strategies.base import Phase, Stage, StageReport


def fleet_account(
    fleet: Fleet,
    started: datetime,
    now: datetime,
    notes: Mapping[str, tuple[NoteAccount, ...]],
) -> FleetAccount:
    """All workloads as a running engine has them, without their clusters.

    Args:
        notes: by workload key, oldest first.

    Cost: O(stages), so that it can be taken after every pass.
    """
    found = [w for ref in fleet.rolled_out() if (w := fleet.rollout(ref)) is not None]
    return FleetAccount(
        started,
        now,
        tuple(
            workload_account(fleet, w, w.raw, now, detail=False, notes=notes.get(w.ref.key, ()))
            for w in found
            if w.raw is not None
        ),
    )


def workload_account(
    fleet: Fleet,
    workload: Workload[PlacementShare],
    obj: Obj,
    now: datetime,
    *,
    detail: bool = True,
    most: int | None = MOST_CLUSTERS,
    notes: tuple[NoteAccount, ...] = (),
    away_since: datetime | None = None,
    finish: Finish | None = None,
) -> WorkloadAccount:
    """One planned workload.

    Args:
        obj: the object, with the status that it has or is about to get.
        detail: also look at each cluster: groups, gates, interventions, the earliest finish.
        most: of each group, name so many clusters of interest; None: name every cluster.
        finish: the earliest one, where it has been worked out for this instant.

    Cost: O(clusters of the workload), O(stages) without ``detail``.
    """
    scope = _AccountScope(fleet=fleet, workload=workload, now=now, detail=detail, most=most)
    placements = tuple(scope.placement(share) for share in workload.shares.values())
    whole = _whole(scope, obj, placements)
    return replace(
        whole,
        finish=_finish(scope, whole) if detail and finish is None else finish,
        interventions=(
            interventions(fleet, workload, now)
            if detail
            else tuple(of_all(fleet, workload.intents, now))
        ),
        notes=notes,
        away_since=away_since,
        channels=channels(fleet, workload) if detail else (),
    )


def _whole(
    scope: "_AccountScope", obj: Obj, placements: tuple[PlacementAccount, ...]
) -> WorkloadAccount:
    """What is told of the workload as a whole, from its parts and its conditions."""
    workload, meta = scope.workload, obj["metadata"]
    ref, revisions, stages = workload.ref, workload.revisions, _stages(placements)
    phases = added_up(stage.phases for stage in stages)
    current = next((stage for stage in stages if not stage.passed), None)
    state = state_of(obj)
    kept = scope.fleet.records.revisions(ref, uid_of(obj)).get(revisions[0])
    since, condition = _carrier(obj, state.reason)
    nexts = [each.next for each in placements if each.next is not None]
    soonest = min(nexts, key=lambda each: (each.at, each.cluster), default=None)
    return WorkloadAccount(
        kind=ref.kind.name,
        namespace=ref.namespace,
        name=ref.name,
        key=ref.key,
        now=scope.now,
        created=parse_instant(meta.get("creationTimestamp")),
        generation=meta.get("generation") or 0,
        strategy=strategy_line(obj),
        revision=", ".join(revisions),
        number=kept.number if kept else None,
        began=earliest(*(stage.began for stage in stages)),
        code=state.code,
        reason=state.reason,
        message=state.message,
        condition=condition,
        done=state.is_done,
        wait=_whole_wait(scope, state, since, soonest),
        next=soonest,
        members=sum(s.members for s in stages) or sum(each.selected for each in placements),
        updated=sum(each.updated for each in placements),
        failed=sum(n for phase, n in phases.items() if phase.is_failure),
        phases=phases,
        stage=current.title if current else "",
        budget=_budget(workload, current),
        placements=placements,
    )


def _finish(scope: "_AccountScope", whole: WorkloadAccount) -> Finish:
    """The earliest finish. What has failed, or waits for a person alone, does not finish by itself."""
    if whole.code is Code.FAILED or (whole.code is Code.PERSON and whole.wait.until is None):
        return Finish(None, None, f"{whole.reason}: not until {whole.wait.ends}")
    return finish_of(scope.workload, scope.now, scope.fleet)


def _stages(placements: Iterable[PlacementAccount]) -> list[StageAccount]:
    return [stage for each in placements for stage in each.stages]


def _budget(workload: Workload[PlacementShare], current: StageAccount | None) -> int | None:
    """How many may fail in the present stage, else over all placements together; None: any number."""
    if current is not None:
        return current.budget
    stagings = [share.live.ledger.rollout.staging for share in workload.shares.values()]
    bounded = [s.budget.of(s.total) for s in stagings if s.budget is not None]
    return sum(bounded) if bounded else None


# -- the workload as a whole -------------------------------------------------------------------

_ENDED_BY_DELETING = (
    Reason.REJECTED,
    Reason.ROLLING_BACK,
    Reason.ROLLED_BACK,
    Reason.ROLLBACK_HALTED,
)


def _whole_wait(
    scope: "_AccountScope", state: WorkloadState, since: datetime | None, soonest: NextChange | None
) -> WaitAccount:
    """The wait of a workload as a whole."""
    workload, reason = scope.workload, any_reason(state.reason)
    if state.is_done:
        return WaitAccount(reason, since, "")
    lives = [share.live for share in workload.shares.values()]
    if reason in (Reason.ROLLING_OUT, Reason.WAITING):
        return _rolling(lives, reason, since, soonest)
    holds = [live.last.hold for live in lives if live.last.hold is not None]
    until = earliest(*(hold.until for hold in holds if hold.reason == reason))
    if reason is Reason.MAX_FAILURES_EXCEEDED:
        until = earliest(*(recovers(live) for live in lives))
    refused = []
    if reason in _ENDED_BY_DELETING:
        refused = refusals(scope.fleet, workload, scope.now)
    return WaitAccount(reason, since, unless_deleted(reason, state.message, refused), until)


def _carrier(obj: Obj, reason: str) -> tuple[datetime | None, str]:
    """When a stored condition with this reason last changed its status, and which, as ``Ready=False``.

    That is no later than the reason came: a reason can change while the status stays.
    """
    found = [
        (c.since, f"{c.type}={c.status}")
        for _, c in conditions_of(obj, reason)
        if c.since is not None
    ]
    return max(found, default=(None, ""))


def _rolling(
    lives: Sequence[LiveRollout],
    reason: AnyReason,
    since: datetime | None,
    soonest: NextChange | None,
) -> WaitAccount:
    if any(live.last.touch for live in lives):
        return WaitAccount(reason, since, "the engine, to write to the clusters whose turn it is")
    if soonest is None:
        unmeasured = (unmeasured_wait(live) for live in lives)
        return WaitAccount(reason, since, next(filter(None, unmeasured), "the report of an agent"))
    return WaitAccount(reason, since, "the report of an agent, or the next timer", soonest.at)


_OPTIONS = ("maxConcurrency", "minSuccessTime", "progressDeadline", "maxFailures")


def strategy_line(obj: Obj) -> str:
    """The strategy of each placement reference with the options that are set, as they are written."""
    parts = []
    spec = obj.get("spec") or {}
    install = spec.get("installStrategy") or {}
    references = spec.get("placementRefs") or install.get("placements") or []
    for reference in references:
        strategy = reference.get("rolloutStrategy") or {}
        kind = strategy.get("type") or "All"
        member = strategy.get(kind[:1].lower() + kind[1:]) or {}
        said = [f"{each} {member[each]}" for each in _OPTIONS if _says_something(member.get(each))]
        name = key_of(reference.get("namespace") or "", str(reference.get("name")))
        prefix = f"{name}: " if len(references) > 1 else ""
        parts.append(prefix + ", ".join([kind, *said]))
    return "; ".join(parts)


def _says_something(written: Any) -> bool:
    """Whether an option is set: OCM writes ``None`` for no deadline, and ``0`` (text) for no soak."""
    return written is not None and written not in ("", "None", "0")


# -- its parts ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _AccountScope:
    """What all parts of an account have in common."""

    fleet: Fleet
    workload: Workload[PlacementShare]
    now: datetime
    detail: bool
    most: int | None

    def placement(self, share: PlacementShare) -> PlacementAccount:
        live = share.live
        stages = {stage.key: stage for stage in live.ledger.rollout.staging.stages}
        return PlacementAccount(
            placement=live.placement,
            strategy=share.strategy,
            revision=live.revision,
            selected=share.selected,
            updated=share.updated - self._waived(live),
            next=next_change(live),
            rollback=rollback(live),
            stages=tuple(
                self._stage(live, report, stages.get(report.key), is_first=i == 0)
                for i, report in enumerate(live.last.stages)
            ),
        )

    def _waived(self, live: LiveRollout) -> int:
        """Clusters that carry the revision and are skipped: they are no members of a stage."""
        workload = self.workload
        found = ((cluster, workload.carried(cluster)) for cluster in live.ledger.rollout.skipped)
        return sum(
            carried is not None
            and workload.members.get(cluster) == live.placement
            and carried.revision == workload.revision_at(cluster)
            for cluster, carried in found
        )

    def _stage(
        self, live: LiveRollout, report: StageReport, stage: Stage | None, *, is_first: bool
    ) -> StageAccount:
        found = stage_account(live, report, stage)
        if not self.detail or stage is None:
            return found
        keys = {report.key, UNKNOWN_STAGE} if is_first else {report.key}
        return replace(
            found,
            began=_began(live, stage),
            gates=gates(self.fleet, self.workload, live, stage, now=self.now),
            groups=tuple(groups(live, stage, report, keys, most=self.most)),
        )


def stage_account(live: LiveRollout, report: StageReport, stage: Stage | None) -> StageAccount:
    """A stage as the last step has it, without gates and clusters."""
    staging = live.ledger.rollout.staging
    own = stage.budget if stage else None
    whole = staging.budget if own is None and stage is not None else None
    asked = own or whole
    counted = live.last.stages if whole is not None else (report,)
    wait = _stage_wait(live, report)
    reason, halted = wait.reason if wait else "", live.last.halt is not None
    return StageAccount(
        title=report.title,
        members=report.members,
        phases=report.phases,
        state=stage_state(report, reason, halted=halted),
        limit=report.limit,
        asked_limit=str(stage.limit) if stage and stage.limit else "",
        budget=whole.of(staging.total) if whole is not None else report.budget,
        asked_budget=str(asked) if asked is not None else "",
        failures=sum(each.failures for each in counted),
        passed=report.passed,
        wait=wait,
    )


def _began(live: LiveRollout, stage: Stage) -> datetime | None:
    standings = live.ledger.standings
    return min(
        (
            standing.touched
            for group in stage.groups
            for cluster in group.clusters
            if (standing := standings.get(cluster)) is not None
            and standing.of_revision == live.revision
        ),
        default=None,
    )


def _stage_wait(live: LiveRollout, report: StageReport) -> WaitAccount | None:
    """What a stage waits for: a block, else its clusters in flight; None where it is done."""
    if report.blocked is not None:
        return block_wait(live, report)
    if report.in_flight:
        due = live.next_due()
        until = due[0] if due else None
        return WaitAccount(
            ClusterReason.IN_FLIGHT, None, f"{report.in_flight} clusters in flight are done", until
        )
    if report.phases.get(Phase.WAITING):
        return block_wait(live, report)
    return None


def stage_state(report: StageReport, reason: str, *, halted: bool) -> StageState:
    """The worst that is going on in a stage, else how far it is.

    Args:
        reason: what it waits for; "" for nothing.
        halted: more clusters of the placement failed than are tolerated.
    """
    if report.passed:
        return StageState.PASSED
    has_failed = halted and report.failures
    is_over = report.budget is not None and report.failures > report.budget
    if has_failed or is_over or report.blocked is Reason.MAX_FAILURES_EXCEEDED:
        return StageState.HALTED
    if reason not in USUAL_WAITS:
        return StageState.HELD
    if report.phases.get(Phase.PROGRESSING) or report.phases.get(Phase.OUTDATED):
        return StageState.PROGRESSING
    if report.phases.get(Phase.FAILING):
        return StageState.FAILING
    if report.phases.get(Phase.SOAKING):
        return StageState.SOAKING
    is_soaked = report.members and report.phases.get(Phase.SOAKED) == report.members
    return StageState.SOAKED if is_soaked else StageState.WAITING
