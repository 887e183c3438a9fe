"""Reads everything that an engine would read when it starts, and writes nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from rollout.account.build import workload_account
from rollout.account.finish import Finish
from rollout.account.groups import MOST_CLUSTERS
from rollout.account.states import WorkloadState, state_of
from rollout.account.tree import WorkloadAccount
from rollout.api.fields import strings
from rollout.errors import Gone, NotServed
from rollout.fleet.fleet import Fleet
from rollout.fleet.watched import WATCHED
from rollout.hub.base import Kept, Listing, profile_of
from rollout.model.events import Change, Event
from rollout.model.intents import read_intents
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    CONFIG_MAP,
    CONTROLLER_REVISION,
    KINDS,
    LEASE,
    MANAGED_CLUSTER_ADDON,
    ROLLOUT_ANALYSIS,
    TEMPLATES_OF_OTHERS,
    WORKLOADS,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.policy import Policy
from rollout.model.writes import PatchStatus
from rollout.placement.grouping import Profile
from rollout.planning.placements import PlacementPlanner
from rollout.planning.plan import Plan, Planner
from rollout.plugins import gates
from rollout.rollouts.share import PlacementShare
from rollout.rollouts.workload import Workload
from rollout.runtime.planners import plan_now, planners, trackers

MOST_TURNS = 10_000
"""Turns of an engine that the plan of one object may take: far more than all expressions together need."""
_AT_NO_TIME = datetime.min.replace(tzinfo=UTC)


class HubLists(Protocol):
    """A hub, as far as it is only read."""

    def list(self, kind: Kind) -> Listing: ...


def stored(hub: HubLists, kind: Kind) -> tuple[Obj, ...]:
    """All objects of a kind; none where the hub does not know the kind."""
    try:
        return hub.list(kind).items
    except (Gone, NotServed):
        return ()


class ReadableHub(HubLists, Kept, Protocol):
    """A hub, as far as readers need it."""


def tracking(profile: Profile = "strict") -> Fleet:
    """A fleet that knows nothing yet and keeps track of workloads of every kind."""
    return Fleet(Policy(profile=profile), trackers=trackers(rolls_addons=True), gates=gates())


def read(hub: HubLists, fleet: Fleet, now: datetime) -> None:
    """Tell a fleet all that an engine reads when it starts: what is read can refer to further kinds."""
    told: set[Kind] = set()
    while lacking := [kind for kind in _wanted(fleet) if kind not in told]:
        for kind in lacking:
            told.add(kind)
            for obj in stored(hub, kind):
                fleet.apply(_seen(ref_of(kind, obj), obj), now)


def _wanted(fleet: Fleet) -> list[Kind]:
    return [*WATCHED, *sorted(fleet.wanted_kinds(), key=lambda kind: (kind.group, kind.plural))]


ASIDE = frozenset({CONFIG_MAP, CONTROLLER_REVISION, LEASE})
"""Kinds that no answer rests on, and that few may list: what older versions kept, and who leads."""
_ALWAYS = [kind for kind in KINDS.values() if kind not in ASIDE | TEMPLATES_OF_OTHERS]


def everything(hub: HubLists, further: Iterable[Kind] = ()) -> dict[Ref, Obj]:
    """All objects of our kinds, of other kinds that these refer to, and of further ones."""
    found = {ref_of(kind, obj): obj for kind in _ALWAYS for obj in stored(hub, kind)}
    for kind in {*referred(found), *further}:
        found.update((ref_of(kind, obj), obj) for obj in stored(hub, kind))
    return found


def referred(objects: Mapping[Ref, Obj]) -> frozenset[Kind]:
    """The kinds, besides ours, of configurations of add-ons, and of templates of analyses."""
    fleet = tracking()
    asked: set[str] = set()
    for ref, obj in objects.items():
        own = ref.kind is MANAGED_CLUSTER_ADDON and (obj.get("spec") or {}).get("configs")
        if ref.kind is CLUSTER_MANAGEMENT_ADDON or own:
            fleet.apply(_seen(ref, obj), _AT_NO_TIME)
        if ref.kind in WORKLOADS:
            asked |= read_intents(strings(obj["metadata"].get("annotations"))).templates
    ours = {ref.name for ref in objects if ref.kind is ROLLOUT_ANALYSIS}
    of_others = TEMPLATES_OF_OTHERS if asked - ours else frozenset()
    return of_others | (fleet.wanted_kinds() - frozenset(KINDS.values()))


def _seen(ref: Ref, obj: Obj) -> Event:
    return Event(ref, Change.ADDED, obj, int(obj["metadata"]["resourceVersion"]))


@dataclass(slots=True)
class Snapshot:
    """A fleet at one instant. Workloads are planned when they are asked for, each once."""

    fleet: Fleet
    now: datetime
    _: KW_ONLY
    placements: PlacementPlanner = field(init=False)
    """Decides, and explains, what Placements select."""
    _planners: Mapping[Kind, Planner[Fleet]] = field(init=False)
    _plans: dict[Ref, Plan] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Whoever reads goes by the profile of the engine."""
        self.placements = PlacementPlanner(profile=self.fleet.policy.profile)
        self._planners = planners(self.placements, rolls_addons=True)

    def workloads(self) -> list[Ref]:
        """The workloads that exist: ManifestWorkReplicaSets by key, then add-ons by name."""
        return self.fleet.rolled_out()

    def plan(self, ref: Ref) -> Plan:
        """What the engine would write for a workload now."""
        known = self._plans.get(ref)
        if known is None:
            known = self._plans[ref] = self._planned(ref)
        return known

    def _planned(self, ref: Ref) -> Plan:
        """Nobody else waits for a turn here, so a plan that takes several is asked for until it is there."""
        for _ in range(MOST_TURNS):
            found = plan_now(self._planners[ref.kind], self.fleet, ref, self.now)
            if not found.unfinished:
                break
        return found

    def advance(self, events: Iterable[Event], now: datetime) -> set[Ref]:
        """Take in what has happened since, instead of reading everything again.

        Between two reads it goes by what a running engine keeps in mind: what only the record tells is
        told with the next one.

        Returns: the workloads that may stand otherwise now; they are planned again when asked for.
        """
        self.now = now
        concerned = {ref for event in events for ref in self.fleet.apply(event, now)}
        self.fleet.assume_still()
        self.expire(concerned)
        return concerned.intersection(self.workloads())

    def goes_back(self, refs: Iterable[Ref]) -> bool:
        """Whether a revision of one of these is taken back: then only a new read tells who is where."""
        found = (self.workload(ref) for ref in refs)
        return any(
            share.live.head.rollback is not None
            for workload in found
            if workload is not None
            for share in workload.shares.values()
        )

    def expire(self, refs: Iterable[Ref]) -> None:
        """Plan these again when they are asked for."""
        for ref in refs:
            self._plans.pop(ref, None)

    def workload(self, ref: Ref) -> Workload[PlacementShare] | None:
        """A workload, planned; None where it does not exist."""
        self.plan(ref)
        found = self.fleet.rollout(ref)
        return found if found is not None and found.raw is not None else None

    def object_of(self, ref: Ref) -> Obj:
        """The workload's object with the status that the engine would leave now; {}: there is none."""
        workload = self.workload(ref)
        if workload is None or workload.raw is None:
            return {}
        stored: Obj = workload.raw.get("status") or {}
        for write in self.plan(ref).writes:
            if isinstance(write, PatchStatus) and write.ref == ref:
                return {**workload.raw, "status": {**stored, **write.status}}
        return workload.raw

    def state(self, ref: Ref) -> WorkloadState:
        """How the workload stands."""
        return state_of(self.object_of(ref))

    def account(
        self,
        ref: Ref,
        *,
        as_stored: bool = False,
        detail: bool = True,
        most: int | None = MOST_CLUSTERS,
        away_since: datetime | None = None,
        finish: Finish | None = None,
    ) -> WorkloadAccount | None:
        """The workload's account, as of `workload_account`; None where it does not exist.

        Args:
            as_stored: believe the stored status, instead of what the engine would make of it now.
        """
        workload = self.workload(ref)
        if workload is None or workload.raw is None:
            return None
        return workload_account(
            self.fleet,
            workload,
            workload.raw if as_stored else self.object_of(ref),
            self.now,
            detail=detail,
            most=most,
            away_since=away_since,
            finish=finish,
        )


def snapshot_of(hub: ReadableHub, now: datetime, *, away_since: datetime | None = None) -> Snapshot:
    """Read everything that an engine reads when it starts.

    Args:
        now: the hub's present instant.
        away_since: since when no engine has been running; deadlines do not run from then on
            (semantics row 20).
    """
    fleet = tracking(profile_of(hub))
    read(hub, fleet, now)
    fleet.assume_still()
    if away_since is not None and away_since < now:
        fleet.out_of_touch(away_since, now)
    return Snapshot(fleet, now)
