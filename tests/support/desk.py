"""One planner, one fleet, one hub, and no engine: each plan is looked at before it is carried out."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from rollout.clock import VirtualClock
from rollout.fleet.fleet import Fleet
from rollout.fleet.replicasets import ReplicaSets
from rollout.fleet.watched import WATCHED
from rollout.hub.memory import MemoryHub
from rollout.model.content import content_hash
from rollout.model.events import Change, Event
from rollout.model.kinds import KINDS, MANIFEST_WORK, REPLICA_SET, Kind, Obj, Ref, ref_of
from rollout.model.policy import DEFAULT, Policy
from rollout.planning.plan import Plan, Write
from rollout.rollouts.replicaset_workload import ReplicaSetWorkload
from rollout.runtime.io import WriteResult, perform
from rollout.runtime.planners import plan_now, planners
from tests.support import make

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SEC, MIN = timedelta(seconds=1), timedelta(minutes=1)

WEB = Ref(REPLICA_SET, "default/web")


class Desk:
    """The fleet hears of everything that is written to the hub, at once. The documents have been there
    for as long as decisions must be still (row 15).
    """

    def __init__(self, documents: Iterable[Obj] = (), policy: Policy = DEFAULT) -> None:
        self.clock = VirtualClock(T0 - policy.quiet)
        self.hub = MemoryHub(self.clock)
        self._policy = policy
        self.restarted()
        for document in documents:
            self.add(document)
        self.clock.advance(policy.quiet)

    def restarted(self) -> "Desk":
        """The fleet forgets everything, and hears again only of what is there: for so long already that
        decisions count as still.
        """
        self.fleet = fleet = Fleet(self._policy)
        for kind in WATCHED:
            listing = self.hub.list(kind)
            for obj in listing.items:
                version = int(obj["metadata"]["resourceVersion"])
                seen = self.clock.now() - self._policy.quiet
                fleet.apply(Event(ref_of(kind, obj), Change.ADDED, obj, version), seen)
            self.hub.watch(kind, listing.version, self._heard)
        return self

    def _heard(self, event: Event) -> None:
        self.fleet.apply(event, self.clock.now())

    def add(self, document: Obj) -> Obj:
        ref = ref_of(KINDS[document["kind"]], document)
        stored = self.hub.create(ref, document)
        if document.get("status"):
            stored = self.hub.patch_status(ref, {"status": document["status"]})
        return stored

    def later(self, span: timedelta) -> "Desk":
        self.clock.advance(span)
        return self

    def plan(self, key: str = "default/web") -> Plan:
        return plan_now(
            planners()[REPLICA_SET], self.fleet, Ref(REPLICA_SET, key), self.clock.now()
        )

    def do(self, *writes: Write) -> None:
        """Carry writes out as the engine does; each must land."""
        for write in writes:
            self.fleet.attempted(write, self.clock.now(), WEB)
        for write in writes:
            assert perform(self.hub, write, {}).result is WriteResult.LANDED, write
            self.fleet.landed(write, self.clock.now())

    def converge(self, key: str = "default/web") -> "Desk":
        """Plan and carry out until nothing is left to do at this instant."""
        for _ in range(20):
            plan = self.plan(key)
            if not plan.writes:
                return self
            for wave in plan.waves:
                self.do(*wave)
        raise AssertionError(f"plans never end: {plan}")

    def report(self, cluster: str, **conditions: str) -> None:
        (work,) = self.hub.list(MANIFEST_WORK, cluster).items
        generation = work["metadata"]["generation"]
        said = [make.condition(kind, status, generation) for kind, status in conditions.items()]
        self.hub.patch_status(ref_of(MANIFEST_WORK, work), {"status": {"conditions": said}})

    def edit(self, changes: Obj, ref: Ref = WEB) -> None:
        self.hub.patch(ref, changes)

    def template(self, spec: Obj) -> None:
        obj = self.hub.get(WEB)
        self.hub.replace(WEB, {**obj, "spec": {**obj["spec"], "manifestWorkTemplate": spec}})

    def works(self) -> dict[str, Obj]:
        """By ``cluster/name``."""
        found = self.hub.list(MANIFEST_WORK).items
        return {ref_of(MANIFEST_WORK, obj).key: obj for obj in found}


def kinds(plan: Plan) -> list[list[tuple[str, Kind]]]:
    """The verb and kind of every write, wave by wave."""
    return [[(type(w).__name__, w.ref.kind) for w in wave] for wave in plan.waves]


def verbs(plan: Plan, kind: Kind = MANIFEST_WORK) -> list[tuple[str, str]]:
    """The verb of every write of a kind, and the namespace of its object."""
    return [(type(w).__name__, w.ref.namespace) for w in plan.writes if w.ref.kind is kind]


def decided(*clusters: str, placement: str = "p") -> list[Obj]:
    """A placement that somebody else decided for these clusters, its status in agreement."""
    status = make.told(("", len(clusters), [f"{placement}-0-1"]))
    return [
        {**make.placement(placement, ours=False), "status": status},
        make.decision(clusters, placement),
    ]


def redecide(desk: Desk, *clusters: str, placement: str = "p") -> None:
    """The other scheduler decides anew."""
    said, page = decided(*clusters, placement=placement)
    for document in (page, said):
        ref = ref_of(KINDS[document["kind"]], document)
        desk.hub.patch_status(ref, {"status": document["status"]})


CONTENT = content_hash(make.template())


def desk(*clusters: str, extra: tuple[Obj, ...] = (), **workload: Any) -> Desk:
    return Desk([*decided(*clusters), *extra, make.workload(**workload)])


def workload_in(fleet: Fleet, key: str = "default/web") -> ReplicaSetWorkload | None:
    """One ManifestWorkReplicaSet as the fleet knows it."""
    return fleet.tracker(ReplicaSets).workload(key)
