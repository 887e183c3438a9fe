"""What is put on the server? Clusters, placements and workloads, as JSON."""

from typing import Any

from rollout.model import names
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT,
    REPLICA_SET,
    Kind,
    Obj,
)

NAMESPACE = "default"
SIDE = "bench.example.com/side"
"""The label that placements select by; relabelled clusters leave them."""
IN, OUT = "in", "out"
WORKLOAD = "web"
ALL = "all"
"""The placement of the workload: every cluster, whatever its labels."""
BARE, FLOOR = "bare", "floor"
"""Works of nobody: agents report those called `FLOOR`."""


def cluster_names(count: int) -> list[str]:
    return [f"c{number:05d}" for number in range(count)]


def _object(kind: Kind, name: str, spec: Obj, namespace: str = "", **meta: Any) -> Obj:
    where = {"namespace": namespace} if kind.namespaced else {}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {"name": name, **where, **meta},
        "spec": spec,
    }


def cluster(name: str) -> Obj:
    labels = {SIDE: IN, "region": f"r{int(name[1:]) % 7}"}
    return _object(
        MANAGED_CLUSTER, name, {"hubAcceptsClient": True, "leaseDurationSeconds": 60}, labels=labels
    )


def cluster_status() -> Obj:
    conditions = [
        _condition(kind, "True")
        for kind in (names.CLUSTER_ACCEPTED, names.CLUSTER_JOINED, names.CLUSTER_AVAILABLE)
    ]
    return {
        "status": {
            "conditions": conditions,
            "version": {"kubernetes": "v1.33.4"},
            "capacity": {"cpu": "64", "memory": "256Gi"},
            "allocatable": {"cpu": "60", "memory": "240Gi"},
        }
    }


def _condition(kind: str, status: str, generation: int | None = None, since: str = "") -> Obj:
    said = {
        "type": kind,
        "status": status,
        "reason": "AsMeasured",
        "message": "",
        "lastTransitionTime": since or "2026-01-01T00:00:00Z",
    }
    return said if generation is None else {**said, "observedGeneration": generation}


def cluster_set() -> Obj:
    selector = {"selectorType": "LabelSelector", "labelSelector": {}}
    return _object(CLUSTER_SET, "global", {"clusterSelector": selector})


def binding() -> Obj:
    return _object(CLUSTER_SET_BINDING, "global", {"clusterSet": "global"}, NAMESPACE)


def placement(name: str, *, sided: bool = False) -> Obj:
    """All clusters, or those on the side `IN`."""
    spec: Obj = {"clusterSets": ["global"]}
    if sided:
        selector = {"labelSelector": {"matchLabels": {SIDE: IN}}}
        spec["predicates"] = [{"requiredClusterSelector": selector}]
    return _object(PLACEMENT, name, spec, NAMESPACE)


def template(version: str) -> Obj:
    """One ConfigMap of about 1.5 KB, the version in it. No condition rules."""
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "default", "name": "app"},
        "data": {"version": version, "text": "x" * 1_400},
    }
    return {"workload": {"manifests": [manifest]}}


def workload(version: str, strategy: Obj) -> Obj:
    spec = {
        "manifestWorkTemplate": template(version),
        "placementRefs": [{"name": ALL, "rolloutStrategy": strategy}],
    }
    return _object(REPLICA_SET, WORKLOAD, spec, NAMESPACE)


EVERYWHERE: Obj = {"type": "All", "all": {}}
TENTHS: Obj = {"type": "Progressive", "progressive": {"maxConcurrency": "10%"}}
HALVES: Obj = {"type": "Progressive", "progressive": {"maxConcurrency": "50%"}}


def bare_work(cluster: str, name: str) -> Obj:
    """A work like those that a workload makes, of nobody."""
    labels = {"bench.example.com/owner": "nobody", "bench.example.com/placement": ALL}
    notes = {f"bench.example.com/{key}": "x" * 30 for key in ("owner", "revision", "started-at")}
    return _object(MANIFEST_WORK, name, template("1"), cluster, labels=labels, annotations=notes)


def work_status(generation: int, since: str) -> Obj:
    """An instant agent's words: applied, available, and no longer progressing."""
    told = {names.APPLIED: "True", names.AVAILABLE: "True", names.PROGRESSING: "False"}
    conditions = [_condition(kind, status, generation, since) for kind, status in told.items()]
    manifest = {
        "resourceMeta": {
            "ordinal": 0,
            "group": "",
            "version": "v1",
            "kind": "ConfigMap",
            "resource": "configmaps",
            "name": "app",
            "namespace": "default",
        },
        "conditions": [_condition(kind, "True", None, since) for kind in ("Applied", "Available")],
    }
    return {"status": {"conditions": conditions, "resourceStatus": {"manifests": [manifest]}}}
