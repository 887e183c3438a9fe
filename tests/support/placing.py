"""A hub of dictionaries for the placement planners: applies plans write by write."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from rollout.api.decoding import decode
from rollout.fleet.clusters import ClusterStore
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_DECISION,
    SCORE,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.writes import Create, Delete, Patch, PatchStatus
from rollout.planning.placements import PlacementPlanner
from rollout.planning.plan import Plan, Write

T0 = datetime(2026, 1, 1, 12, tzinfo=UTC)

SECOND, TICK = timedelta(seconds=1), timedelta(microseconds=1)
SET_LABEL = "cluster.open-cluster-management.io/clusterset"
ENV = {"matchLabels": {"env": "prod"}}


def merged(old: Any, changes: Any) -> Any:
    """JSON merge patch."""
    if not isinstance(changes, dict):
        return changes
    kept = dict(old) if isinstance(old, dict) else {}
    for key, value in changes.items():
        if value is None:
            kept.pop(key, None)
        else:
            kept[key] = merged(kept.get(key), value)
    return kept


class World:
    """Objects, the store that is told of them, and a planner."""

    def __init__(self) -> None:
        self.objects: dict[Ref, Obj] = {}
        self.store = ClusterStore()
        self.planner = PlacementPlanner()
        self.version = 0

    def put(self, kind: Kind, obj: Obj) -> set[Ref]:
        self.version += 1
        meta = {"uid": f"uid-{self.version}", "generation": 1, **obj["metadata"]}
        stored = {**obj, "metadata": {**meta, "resourceVersion": str(self.version)}}
        ref = ref_of(kind, stored)
        self.objects[ref] = stored
        return self.store.put(kind, ref.key, decode(kind, stored))  # type: ignore[arg-type]  # kinds of placement only

    def remove(self, ref: Ref) -> set[Ref]:
        del self.objects[ref]
        return self.store.remove(ref.kind, ref.key)

    def write(self, write: Write) -> set[Ref]:
        match write:
            case Create(ref, obj):
                assert ref not in self.objects, f"{ref} is there already"
                return self.put(ref.kind, obj)
            case Patch(ref, changes, version):
                self._expect(ref, version)
                return self.put(ref.kind, merged(self.objects[ref], changes))
            case PatchStatus(ref, status, version):
                self._expect(ref, version)
                return self.put(ref.kind, merged(self.objects[ref], {"status": status}))
            case Delete(ref, uid):
                assert self.objects[ref]["metadata"]["uid"] == uid
                return self.remove(ref)
        raise AssertionError(f"a placement's plan has no {write}")

    def _expect(self, ref: Ref, version: int | None) -> None:
        if version is not None:
            assert int(self.objects[ref]["metadata"]["resourceVersion"]) == version, ref

    def plan(self, key: str = "ns/p", now: datetime = T0) -> Plan:
        return self.planner.plan(key, self.store, now)

    def settle(self, key: str = "ns/p", now: datetime = T0) -> list[Plan]:
        """Plan and write until there is nothing to write. Two passes are enough, a third is allowed."""
        plans = []
        for _ in range(4):
            plan = self.plan(key, now)
            plans.append(plan)
            if not plan.writes:
                return plans
            for write in plan.writes:
                self.write(write)
        raise AssertionError("it does not settle")

    def steps(self, key: str = "ns/p", now: datetime = T0) -> Iterator[None]:
        """Settle, with a stop after every single write."""
        for _ in range(4):
            plan = self.plan(key, now)
            if not plan.writes:
                return
            for write in plan.writes:
                self.write(write)
                yield
        raise AssertionError("it does not settle")

    # -- what there is -------------------------------------------------------------------------

    def cluster(self, name: str, labels: Mapping[str, str] | None = None, **parts: Any) -> set[Ref]:
        meta = {"name": name, "labels": {SET_LABEL: "s", **(labels or {})}, **parts.pop("meta", {})}
        return self.put(MANAGED_CLUSTER, {"metadata": meta, **parts})

    def cluster_set(
        self, name: str = "s", selector: Obj | None = None, bind: str = "ns"
    ) -> set[Ref]:
        spec = {"clusterSelector": selector or {"selectorType": "ExclusiveClusterSetLabel"}}
        refs = self.put(CLUSTER_SET, {"metadata": {"name": name}, "spec": spec})
        return refs | self.bind(name, bind) if bind else refs

    def bind(self, name: str, namespace: str) -> set[Ref]:
        meta = {"name": name, "namespace": namespace}
        return self.put(CLUSTER_SET_BINDING, {"metadata": meta, "spec": {"clusterSet": name}})

    def placement(self, spec: Obj, name: str = "p", **meta: Any) -> set[Ref]:
        old = self.objects.get(Ref(PLACEMENT, f"ns/{name}"), {})
        was = old.get("metadata", {})
        kept = {"uid": was.get("uid", f"uid-of-{name}"), "generation": was.get("generation", 0) + 1}
        status = {"status": old["status"]} if "status" in old else {}
        return self.put(
            PLACEMENT,
            {"metadata": {"name": name, "namespace": "ns", **kept, **meta}, "spec": spec, **status},
        )

    def score(
        self, cluster: str, name: str, values: Mapping[str, int], until: str | None = None
    ) -> set[Ref]:
        status: Obj = {"scores": [{"name": k, "value": v} for k, v in values.items()]}
        if until:
            status["validUntil"] = until
        return self.put(SCORE, {"metadata": {"name": name, "namespace": cluster}, "status": status})

    # -- what came of it -----------------------------------------------------------------------

    def status(self, name: str = "p") -> Obj:
        return dict(self.objects[Ref(PLACEMENT, f"ns/{name}")].get("status") or {})

    def condition(self, type_: str, name: str = "p") -> tuple[str, str, str]:
        found = next(c for c in self.status(name)["conditions"] if c["type"] == type_)
        return found["status"], found["reason"], found["message"]

    def pages(self, name: str = "p") -> dict[str, list[str]]:
        prefix = f"ns/{name}-decision-"
        return {
            ref.name: [d["clusterName"] for d in (obj.get("status") or {}).get("decisions") or ()]
            for ref, obj in sorted(self.objects.items(), key=lambda item: item[0].key)
            if ref.kind == PLACEMENT_DECISION and ref.key.startswith(prefix)
        }

    def decided(self, name: str = "p") -> list[str]:
        return sorted(c for clusters in self.pages(name).values() for c in clusters)


def simple(*names: str) -> World:
    """A world with one bound set and these clusters in it."""
    world = World()
    world.cluster_set()
    for name in names:
        world.cluster(name)
    return world


def predicate(labels: Obj | None = None, *expressions: str) -> Obj:
    selector: Obj = {"labelSelector": labels} if labels else {}
    if expressions:
        selector["celSelector"] = {"celExpressions": list(expressions)}
    return {"requiredClusterSelector": selector}


def groups(*names: str, size: Any = None) -> Obj:
    listed = [
        {"groupName": n, "groupClusterSelector": {"labelSelector": {"matchLabels": {"g": n}}}}
        for n in names
    ]
    strategy: Obj = {"decisionGroups": listed}
    if size is not None:
        strategy["clustersPerDecisionGroup"] = size
    return {"decisionStrategy": {"groupStrategy": strategy}}


def satisfied(world: World) -> tuple[str, str, str]:
    return world.condition("PlacementSatisfied")
