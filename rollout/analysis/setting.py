"""Collects what a simulation starts from: every rollout of a hub, and the agents of its clusters.

A rehearsal keeps no objects: decisions are the engine's own, agents are drawn as the simulated ones
are. That holds where nothing but agents acts, and every work that exists is done with. What else there
is takes the whole simulation; `Setting.why_whole` says what it was.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from rollout.account.finish import Closing, closing
from rollout.analysis.copies import placed
from rollout.analysis.snapshot import Snapshot
from rollout.clock import VirtualClock
from rollout.fleet.closings import Span
from rollout.fleet.fleet import Fleet
from rollout.hub.base import EmbeddedHub, StateKey
from rollout.model import names
from rollout.model.intents import RollbackMode
from rollout.model.kinds import MANAGED_CLUSTER, Obj, Ref
from rollout.model.replicaset import ReplicaSet
from rollout.model.work import Work, work_name
from rollout.rollouts.replicaset_workload import ReplicaSetShare, ReplicaSetWorkload
from rollout.rollouts.share import PlacementShare
from rollout.rollouts.workload import Workload
from rollout.sim.members import Member, Members
from rollout.sim.scenario import Behaviour, Scenario
from rollout.sim.template import WorkTemplate
from rollout.sim.work import SavedAgents, decode_saved
from rollout.strategies.base import Rollout, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """One cluster's agent: the work that it will see, and how it behaves then.

    ``said`` are the conditions that the work carries already, ``begun`` how many generations of it the
    agent has begun to its own knowledge (None: it has yet to look at the present one).
    """

    key: str
    generation: int
    member: Member
    behaviour: Behaviour
    said: tuple[Obj, ...] = ()
    begun: int | None = 0

    def attempt(self, start: datetime, now: datetime) -> int:
        """Which generation of the work this is to its agent, which began to look at ``start``."""
        if self.begun is not None:
            return self.begun + 1
        back = self.member.back_at(start)
        return 1 if back is not None and now <= back else 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One (workload, placementRef): the rollout as it stands, its template, its agents."""

    workload: Ref
    placement: str
    rollout: Rollout
    template: WorkTemplate
    rules: frozenset[str]
    actors: Mapping[str, Actor]
    closing: Closing


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """All that a rehearsal needs. ``why_whole``: why it would not be the truth ("": it would be).

    ``assumed`` are metrics that the scenario does not (always) give, as ``template/metric``: what they measure
    is taken to be good. ``closed`` tells by cluster when calendars close it to a workload, from one instant to
    another.
    """

    start: datetime
    parts: tuple[Part, ...]
    closed: Callable[[Ref, datetime, datetime], Mapping[str, tuple[Span, ...]]]
    assumed: tuple[str, ...] = ()
    why_whole: str = ""


def setting_of(hub: EmbeddedHub, clock: VirtualClock, scenario: Scenario) -> Setting:
    """Read a hub of our own, after letting its placements be decided.

    Raises: what a planner raises.
    """
    now = clock.now()
    before = _Before(hub.get_state(StateKey.AGENTS))
    snapshot = Snapshot(placed(hub, clock), now)
    roster = Members(scenario, before.started_at or now)
    for obj in hub.list(MANAGED_CLUSTER).items:
        roster.saw(obj["metadata"]["name"], obj, 0)
    parts: list[Part] = []
    why = _beyond_agents(scenario, before.events_done)
    if snapshot.fleet.freeze(now) is not None:
        why = why or "the hub is frozen"
    assumed: set[str] = set()
    for ref in snapshot.workloads():
        workload = snapshot.workload(ref)
        assumed.update(_assumed(snapshot, workload, scenario))
        if not isinstance(workload, ReplicaSetWorkload) or workload.replicaset is None:
            why = why or "there are add-ons to roll out"  # whose managers act, too
            continue
        why = why or _not_plain(workload, workload.replicaset, scenario)
        if before.is_at_work(workload):
            why = why or f"agents of {ref.key} are at work on what they have"
        cast = _Cast(workload, workload.replicaset, roster, before)
        parts += _parts(cast, closing(snapshot.fleet.closed, workload))
    return Setting(
        start=now,
        parts=tuple(parts),
        closed=partial(_closed, snapshot.fleet),
        assumed=tuple(sorted(assumed)),
        why_whole=why,
    )


class _Before:
    """What the agents of an earlier run have done, as it was kept; nothing where there was none."""

    def __init__(self, kept: bytes | None) -> None:
        saved = decode_saved(kept) if kept else SavedAgents()
        self.started_at, self.events_done = saved.started_at, len(saved.events_done)
        self._gone = saved.attempts
        self._works = {entry.key: entry for entry in saved.works}

    def begun(self, key: str, work: Work | None) -> int | None:
        """How many generations of a work its agent has begun; None where it has not seen this one yet."""
        if work is None:
            return self._gone.get(key, 0)
        entry = self._works.get(work.key)
        return entry.attempt if entry is not None else None

    def is_at_work(self, workload: ReplicaSetWorkload) -> bool:
        """Whether an agent has still something to report, or has not seen what its work is now."""
        found = ((self._works.get(w.key), w) for w in map(workload.work, workload.members) if w)
        return any(
            bool(saved.steps or saved.due is not None)
            or (saved.uid, saved.generation) != (work.uid, work.generation)
            for saved, work in found
            if saved is not None
        )


def _beyond_agents(scenario: Scenario, events_done: int) -> str:
    spec = scenario.spec
    if len(spec.fleet_events) > events_done:
        return "the scenario has fleetEvents"
    behaviours = (spec.defaults, *(rule.behaviour for rule in spec.rules))
    if any(behaviour.availability is not None for behaviour in behaviours):
        return "agents change the availability of their clusters"
    return ""


def _closed(
    fleet: Fleet, workload: Ref, start: datetime, end: datetime
) -> Mapping[str, tuple[Span, ...]]:
    """By cluster, when calendars close it to the workload between two instants."""
    known = fleet.rollout(workload)
    if known is None:
        return {}
    since = known.intents.overridden_until(start) or start
    return fleet.calendars.closed_spans(workload, known.raw, since, end)


def _assumed(
    snapshot: Snapshot, workload: Workload[PlacementShare] | None, scenario: Scenario
) -> Iterator[str]:
    """The metrics of a workload's analyses that the scenario does not give at all times, for everybody."""
    measured = snapshot.fleet.measured
    if workload is None:
        return
    for name in sorted(workload.intents.templates):
        template = measured.template(measured.home(workload.ref), name)
        for metric in template.raw["spec"]["metrics"] if template and not template.problems else ():
            if not any(each.is_whole(name, metric["name"]) for each in scenario.spec.measurements):
                yield f"{name}/{metric['name']}"


def _not_plain(workload: ReplicaSetWorkload, replicaset: ReplicaSet, scenario: Scenario) -> str:
    if replicaset.deleting:
        return f"{workload.ref.key} is being deleted"
    if workload.is_ocm:
        return f"{workload.ref.key} is decided in profile ocm"
    intents = replicaset.intents
    for asked, told in (
        (intents.gates, "has gates"),
        (intents.undo, "has been undone"),
        (intents.aborted, "has been aborted"),
        (intents.retry, "has been retried"),
        (workload.contents.written, "has ClusterValues"),
    ):
        if asked:
            return f"{workload.ref.key} {told}"
    if intents.cluster_analysis or (intents.analysis and scenario.spec.measurements):
        return f"{workload.ref.key} is measured"
    if intents.rollback is RollbackMode.AUTOMATIC:
        return f"{workload.ref.key} rolls back by itself"
    if workload.strays or workload.twins:
        return f"{workload.ref.key} has works to remove"
    for share in workload.shares.values():
        live = share.live
        if share.reading.quiet_until is not None or live.lost or live.astray:
            return f"{workload.ref.key} is in the middle of a change"
        if any(s.verdict is not Verdict.SOAKED for s in live.ledger.standings.values()):
            return f"{workload.ref.key} has clusters in flight, or failed"
        if live.ledger.standings and names.COMPLETE in replicaset.template.rules:
            return f"the agents of {workload.ref.key} may be done for good"
    return ""


@dataclass(frozen=True, slots=True)
class _Cast:
    """A workload, and what is known of the clusters that act in it."""

    workload: ReplicaSetWorkload
    replicaset: ReplicaSet
    roster: Members
    before: _Before


def _parts(cast: _Cast, shut: Closing) -> Iterator[Part]:
    template = WorkTemplate(cast.replicaset.template.spec)
    for name, share in cast.workload.shares.items():
        if not share.selected and share.overlapped:
            continue  # all its clusters belong to earlier placementRefs
        rollout = share.live.ledger.rollout
        yield Part(
            workload=cast.workload.ref,
            placement=name,
            rollout=Rollout(
                revision=rollout.revision,
                staging=rollout.staging,
                standings=dict(rollout.standings),
                timing=rollout.timing,
                passed=rollout.passed
                - frozenset(share.live.last.passed),  # they pass in the rehearsal
                skipped=rollout.skipped,
                lost=dict(rollout.lost),
                hold=rollout.hold,
                strict_tolerance=rollout.strict_tolerance,
                held=rollout.held,
            ),
            template=template,
            rules=cast.replicaset.template.rules,
            actors=_actors(cast, share, template),
            closing=shut,
        )


def _actors(cast: _Cast, share: ReplicaSetShare, template: WorkTemplate) -> dict[str, Actor]:
    fresh = work_name(cast.replicaset.key)
    found: dict[str, Actor] = {}
    for group in share.reading.selection.groups:
        for cluster in group.clusters:
            member, work = cast.roster.of(cluster), cast.workload.work(cluster)
            key = work.key if work is not None else f"{cluster}/{fresh}"
            said = work.conditions.values() if work is not None else ()
            found[cluster] = Actor(
                key=key,
                generation=work.generation + 1 if work is not None else 1,
                member=member,
                behaviour=cast.roster.behaviour(member, template, share.live.revision),
                said=tuple(condition.to_wire() for condition in said),
                begun=cast.before.begun(key, work),
            )
    return found
