"""Sets keep themselves, and silent clusters leave placements: through the whole engine."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rollout.clock import VirtualClock
from rollout.fleet.fleet import Fleet
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    LEASE,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_DECISION,
    Kind,
    Ref,
    key_of,
)
from rollout.model.names import TAINT_UNREACHABLE
from rollout.runtime.engine import Engine
from rollout.runtime.pace import Pace
from rollout.runtime.planners import planners
from rollout.runtime.timers import VirtualTimers

T0 = datetime(2030, 1, 1, tzinfo=UTC)
SEC = timedelta(seconds=1)
GRACE = 300 * SEC


class World:
    """Ten accepted clusters in the global set, a placement of all, and an engine that keeps sets."""

    def __init__(self, *, watches_health: bool) -> None:
        self.clock = VirtualClock(T0)
        self.hub = MemoryHub(self.clock)
        self.put(CLUSTER_SET_BINDING, "ns", "global", {"clusterSet": "global"})
        self.put(PLACEMENT, "ns", "all", {})
        for i in range(10):
            name = f"c{i}"
            self.put(MANAGED_CLUSTER, "", name, {"hubAcceptsClient": True})
            condition = {"status": "True", "reason": "R", "message": ""}
            types = ("HubAcceptedManagedCluster", "ManagedClusterConditionAvailable")
            status = {"conditions": [{"type": kind, **condition} for kind in types]}
            self.hub.patch_status(Ref(MANAGED_CLUSTER, name), {"status": status})
            self.put(LEASE, name, "managed-cluster-lease", {"renewTime": "at first"})
        self.engine = Engine(
            self.hub,
            self.clock,
            self._timers,
            planners(watches_health=watches_health),
            Fleet(watches_health=watches_health),
            pace=Pace(least_interval={}, strict=True),
        )
        self.engine.start()
        self.engine.run_until_idle()

    def _timers(self, wake: Any) -> VirtualTimers:
        self.timers = VirtualTimers(self.clock, wake)
        return self.timers

    def put(self, kind: Kind, namespace: str, name: str, spec: dict[str, Any]) -> None:
        meta = {"name": name, **({"namespace": namespace} if namespace else {})}
        obj = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": meta, "spec": spec}
        self.hub.create(Ref(kind, key_of(namespace, name)), obj)

    def renew(self, *names: str) -> None:
        for name in names:
            ref = Ref(LEASE, f"{name}/managed-cluster-lease")
            self.hub.patch(ref, {"spec": {"renewTime": self.clock.now().isoformat()}})

    def move_to(self, after: timedelta) -> None:
        """Run everything up to and at the instant ``after`` the start."""
        while (at := self.timers.next_at()) is not None and at <= T0 + after:
            self.clock.advance(max(at - self.clock.now(), timedelta(0)))
            self.timers.run_due()
            self.engine.run_until_idle()
        self.clock.advance(T0 + after - self.clock.now())
        self.engine.run_until_idle()

    def selected(self) -> set[str]:
        return {
            decision["clusterName"]
            for page in self.hub.list(PLACEMENT_DECISION).items
            for decision in page["status"]["decisions"]
        }

    def tainted(self) -> set[str]:
        return {
            cluster["metadata"]["name"]
            for cluster in self.hub.list(MANAGED_CLUSTER).items
            for taint in cluster["spec"].get("taints") or []
            if taint["key"] == TAINT_UNREACHABLE
        }


ALL = {f"c{i}" for i in range(10)}


def test_the_standard_sets_are_made_and_say_how_many_they_have() -> None:
    world = World(watches_health=False)

    stored = {s["metadata"]["name"]: s for s in world.hub.list(CLUSTER_SET).items}
    assert set(stored) == {"default", "global"}
    (said,) = stored["global"]["status"]["conditions"]
    assert (said["status"], said["message"]) == ("False", "10 ManagedClusters selected")
    assert world.selected() == ALL


def test_a_standard_set_that_was_deleted_is_made_again() -> None:
    world = World(watches_health=False)

    world.hub.delete(Ref(CLUSTER_SET, "global"))
    world.engine.run_until_idle()

    assert world.hub.get(Ref(CLUSTER_SET, "global"))["spec"]["clusterSelector"]


def test_a_silent_cluster_leaves_at_the_end_of_its_grace_and_not_before() -> None:
    world = World(watches_health=True)
    world.move_to(100 * SEC)
    world.renew(*(ALL - {"c3"}))

    world.move_to(GRACE - timedelta(microseconds=1))
    assert (world.tainted(), world.selected()) == (set(), ALL)
    world.move_to(GRACE)
    assert (world.tainted(), world.selected()) == ({"c3"}, ALL - {"c3"})


def test_when_all_fall_silent_at_once_nobody_is_evicted() -> None:
    world = World(watches_health=True)

    world.move_to(3 * GRACE)

    assert (world.tainted(), world.selected()) == (set(), ALL)


def test_leases_mean_nothing_where_others_watch_them() -> None:
    world = World(watches_health=False)
    world.renew("c1")

    world.move_to(3 * GRACE)

    assert (world.tainted(), world.selected()) == (set(), ALL)


def silent_but_for_the_rest(world: World, after: timedelta) -> None:
    """Nobody hears of c3 for more than its grace; all others renew."""
    for step in range(1, 8):
        world.move_to(after + step * 60 * SEC)
        world.renew(*(ALL - {"c3"}))


def test_a_cluster_that_is_dead_leaves_though_its_lease_was_deleted() -> None:
    world = World(watches_health=True)
    world.move_to(100 * SEC)
    world.renew(*(ALL - {"c3"}))

    world.hub.delete(Ref(LEASE, "c3/managed-cluster-lease"))
    silent_but_for_the_rest(world, 100 * SEC)

    assert (world.tainted(), world.selected()) == ({"c3"}, ALL - {"c3"})


def test_a_cluster_whose_lease_is_made_again_is_heard_by_that() -> None:
    world = World(watches_health=True)
    world.hub.delete(Ref(LEASE, "c3/managed-cluster-lease"))
    world.move_to(250 * SEC)
    world.renew(*(ALL - {"c3"}))
    world.put(LEASE, "c3", "managed-cluster-lease", {"renewTime": "anew"})

    world.move_to(GRACE + SEC)
    assert world.tainted() == set()
    silent_but_for_the_rest(world, GRACE)
    assert world.tainted() == {"c3"}


def test_a_cluster_that_is_dead_leaves_though_it_was_deleted_and_restored_meanwhile() -> None:
    world = World(watches_health=True)
    restored = world.hub.get(Ref(MANAGED_CLUSTER, "c3"))
    world.move_to(100 * SEC)
    world.renew(*ALL)

    world.hub.delete(Ref(MANAGED_CLUSTER, "c3"))
    world.engine.run_until_idle()
    world.put(MANAGED_CLUSTER, "", "c3", restored["spec"])
    world.hub.patch_status(Ref(MANAGED_CLUSTER, "c3"), {"status": restored["status"]})
    world.engine.run_until_idle()

    assert world.selected() == ALL
    silent_but_for_the_rest(world, 100 * SEC)
    assert (world.tainted(), world.selected()) == ({"c3"}, ALL - {"c3"})


def test_a_lease_that_is_seen_before_its_cluster_counts_from_when_the_cluster_is_seen() -> None:
    world = World(watches_health=True)
    world.put(LEASE, "late", "managed-cluster-lease", {"renewTime": "at first"})
    world.move_to(200 * SEC)
    world.renew(*ALL)
    joined = world.hub.get(Ref(MANAGED_CLUSTER, "c0"))
    world.put(MANAGED_CLUSTER, "", "late", {"hubAcceptsClient": True})
    world.hub.patch_status(Ref(MANAGED_CLUSTER, "late"), {"status": joined["status"]})
    world.engine.run_until_idle()

    world.move_to(200 * SEC + GRACE - SEC)
    world.renew(*ALL)
    assert world.tainted() == set()
    world.move_to(200 * SEC + GRACE + SEC)
    assert world.tainted() == {"late"}


def test_a_cluster_that_never_had_a_lease_is_not_judged_by_one() -> None:
    world = World(watches_health=True)
    joined = world.hub.get(Ref(MANAGED_CLUSTER, "c0"))
    world.put(MANAGED_CLUSTER, "", "plain", {"hubAcceptsClient": True})
    world.hub.patch_status(Ref(MANAGED_CLUSTER, "plain"), {"status": joined["status"]})

    for step in range(1, 8):
        world.move_to(step * 100 * SEC)
        world.renew(*ALL)

    assert "plain" in world.selected()
