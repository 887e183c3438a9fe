"""How long does it take to choose, to group, and to find out that nothing has to be done?

The world is that of the comparison with OCM's Go code: every cluster in one set, two decisions of
other placements for every second cluster, and the placement's own decisions on a third of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import cycle

from benchmarks.figures import Figure, fastest
from rollout.api.decoding import decode
from rollout.fleet.clusters import ClusterStore
from rollout.model.amounts import Amount
from rollout.model.cluster import Cluster
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    PLACEMENT,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.placement import Coordinate, NamedGroup, Placement, Predicate
from rollout.model.selectors import EVERYTHING, Requirement, Selector
from rollout.model.writes import Create, Patch, PatchStatus
from rollout.placement.framework import Cycle, PlacementSelection
from rollout.placement.grouping import group
from rollout.placement.index import ClusterIndex
from rollout.placement.scheduler import select
from rollout.planning.placements import PlacementPlanner
from rollout.planning.plan import Plan

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SIZES = {"1k": 1_000, "10k": 10_000}
LARGEST = 100_000
"""For the plain placement alone."""
SET_LABEL = "cluster.open-cluster-management.io/clusterset"
LABEL = 'managedCluster.metadata.labels["env"] == "prod"'
FIVE = (
    LABEL,
    'managedCluster.metadata.name.matches("^cluster-[0-9]+$")',
    'managedCluster.status.clusterClaims.exists(c, c.name == "platform" && c.value != "")',
    'quantity(managedCluster.status.allocatable.cpu).isGreaterThan(quantity("2"))',
    'semver(managedCluster.status.version.kubernetes).isLessThan(semver("2.0.0"))',
)
"""Expressions of every usual sort; each is asked of the clusters that the earlier ones match."""


def document(i: int, **labels: str) -> Obj:
    have = {
        SET_LABEL: "s",
        "env": "prod" if i % 3 else "dev",
        "region": f"r{i % 7}",
        "stage": "main",
    }
    have |= {f"label-{n}": f"v{(i * n) % 5}" for n in range(8)}
    if i % 500 < 10:
        have["canary"] = "west" if i % 2 else "east"
    claims = [
        {"name": "id", "value": f"id-{i}"},
        {"name": "platform", "value": ("AWS", "GCP")[i % 2]},
    ]
    amounts = {"cpu": str(4 + i % 97), "memory": f"{8 + i % 51}Gi"}
    return {
        "metadata": {"name": f"cluster-{i:05d}", "uid": str(i), "labels": {**have, **labels}},
        "spec": {"hubAcceptsClient": True},
        "status": {
            "version": {"kubernetes": f"1.{28 + i % 4}.{i % 9}"},
            "clusterClaims": claims,
            "allocatable": amounts,
            "capacity": amounts,
        },
    }


def cluster(i: int, **labels: str) -> Cluster:
    found = decode(MANAGED_CLUSTER, document(i, **labels))
    assert isinstance(found, Cluster)
    return found


def labelled(key: str, *values: str) -> Selector:
    return Selector((Requirement(key, "In", frozenset(values)),))


def placement(*weights: tuple[Coordinate, int], cel: tuple[str, ...] = ()) -> Placement:
    selector = EVERYTHING if cel else labelled("stage", "main")
    return Placement("ns", "p", predicates=(Predicate(selector, EVERYTHING, cel),), weights=weights)


class Choosing:
    """The scheduler alone, on an index that is there."""

    def __init__(self, size: int) -> None:
        self.clusters = [cluster(i) for i in range(size)]
        self.index = ClusterIndex(self.clusters)
        names = [c.name for c in self.clusters]
        self.previous = frozenset(names[::3])
        self.counts = {name: 1 + i % 4 for i, name in enumerate(names[::2])}

    def choose(self, wanted: Placement) -> PlacementSelection:
        # A copy of the inputs, and no screening: nothing is known from the time before.
        inputs = Cycle(wanted, NOW, previous=frozenset([*self.previous]), counts={**self.counts})
        return select(inputs, self.index.pool())

    def choose_after_one_label(self, wanted: Placement) -> Callable[[], object]:
        inputs = Cycle(wanted, NOW, previous=self.previous, counts=self.counts)
        values = cycle(("other", "main"))

        def run() -> PlacementSelection:
            self.index.put(cluster(7, stage=next(values)))
            return select(inputs, self.index.pool())

        return run


def hub(size: int, specs: list[Obj]) -> tuple[ClusterStore, Callable[[Kind, Obj], object]]:
    store = ClusterStore()
    stored: dict[Ref, Obj] = {}
    version = 0

    def put(kind: Kind, obj: Obj) -> object:
        """Keeps what the new object does not say, as the server does when it is patched."""
        nonlocal version
        version += 1
        before = stored.get(ref_of(kind, obj), {"metadata": {}})
        meta = {**before["metadata"], **obj["metadata"], "resourceVersion": str(version)}
        obj = stored[ref_of(kind, obj)] = {**before, **obj, "metadata": meta}
        return store.put(kind, ref_of(kind, obj).key, decode(kind, obj))  # type: ignore[arg-type]  # kinds of placement

    exclusive = {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}
    put(CLUSTER_SET, {"metadata": {"name": "s"}, "spec": exclusive})
    put(
        CLUSTER_SET_BINDING,
        {"metadata": {"name": "s", "namespace": "ns"}, "spec": {"clusterSet": "s"}},
    )
    for i in range(size):
        put(MANAGED_CLUSTER, document(i))
    for n, spec in enumerate(specs):
        meta = {"name": f"p{n}", "namespace": "ns", "uid": f"p{n}", "generation": 1}
        put(PLACEMENT, {"metadata": meta, "spec": spec})
    return store, put


def settle(store: ClusterStore, put: Callable[[Kind, Obj], object], key: str) -> PlacementPlanner:
    planner = PlacementPlanner()
    for _ in range(4):
        plan: Plan = planner.plan(key, store, NOW)
        for write in plan.writes:
            match write:
                case Create(ref, obj):
                    put(ref.kind, obj)
                case PatchStatus(ref, changes) | Patch(ref, changes):
                    named = {"namespace": ref.namespace, "name": ref.name}
                    is_status = isinstance(write, PatchStatus)
                    body = {"status": changes} if is_status else changes
                    put(ref.kind, {**body, "metadata": {**body.get("metadata", {}), **named}})
        if not plan.writes:
            return planner
    raise AssertionError("the placement does not settle")


def unchanged(size: int) -> float:
    """A whole pass over a placement for which nothing has changed."""
    store, put = hub(size, [{}])
    planner = settle(store, put, "ns/p0")
    return fastest(lambda: planner.plan("ns/p0", store, NOW), 50)


def relabel(size: int) -> float:
    """100 placements after every tenth cluster was relabelled: events, and the selections anew."""
    matching = [
        {"matchLabels": {"region": f"r{n % 7}", "label-3": f"v{n % 5}"}} for n in range(100)
    ]
    specs = [{"predicates": [{"requiredClusterSelector": {"labelSelector": m}}]} for m in matching]
    store, _ = hub(size, specs)
    planner = PlacementPlanner()
    turn = cycle((1, 0))

    def run() -> None:
        shift = next(turn)
        woken = set()
        for i in range(0, size, 10):
            changed = cluster(i, region=f"r{(i + shift) % 7}")
            woken |= store.put(MANAGED_CLUSTER, changed.name, changed)
        for ref in woken:
            if ref.kind == PLACEMENT:
                known = store.placement(ref.key)
                assert known is not None
                planner.evaluate(known, (), store, NOW)

    return fastest(run, 3)


def named_groups(size: int) -> float:
    chosen = [cluster(i) for i in range(size)]
    groups = tuple(
        NamedGroup(f"canary-{v}", labelled("canary", v), EVERYTHING) for v in ("west", "east")
    )
    wanted = replace(placement(), groups=groups, group_size=Amount(150))
    return fastest(lambda: group(wanted, chosen))


def run() -> Iterator[Figure]:
    cpu = (Coordinate(builtin="ResourceAllocatableCPU"), 1)
    memory = (Coordinate(builtin="ResourceAllocatableMemory"), 1)
    for label, size in SIZES.items():
        ten = label == "10k"
        world = Choosing(size)
        for name, action, target in (
            ("default", lambda w=world: w.choose(placement()), 8.0),
            ("four", lambda w=world: w.choose(placement(cpu, memory)), 10.0),
            ("cel", lambda w=world: w.choose(placement(cel=(LABEL,))), 60.0),
            ("cel_five", lambda w=world: w.choose(placement(cel=FIVE)), 400.0),
            ("one_label", world.choose_after_one_label(placement()), 3.0),
        ):
            value = fastest(action, 15) * 1e3
            yield Figure(f"schedule.{name}.{label}", value, "ms", target if ten else None)
        yield Figure(
            f"schedule.unchanged.{label}", unchanged(size) * 1e3, "ms", 1.0 if ten else None
        )
        yield Figure(
            f"grouping.named.{label}", named_groups(size) * 1e3, "ms", 7.0 if ten else None
        )
        yield Figure(f"relabel.100placements.{label}", relabel(size) * 1e3, "ms")
    world = Choosing(LARGEST)
    value = fastest(lambda: world.choose(placement()), 15) * 1e3
    yield Figure("schedule.default.100k", value, "ms", 80.0)
