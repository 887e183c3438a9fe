"""Objects of every kind that the controller watches, each with one field that is of a wrong type or odd.

Made from the schemas of the CustomResourceDefinitions: whoever adds a field there adds its cases here.
"""

import copy
from collections.abc import Iterator
from typing import Any

from rollout.fleet.addons import SHARED
from rollout.fleet.fleet import Fleet
from rollout.model import names
from rollout.model.kinds import KINDS, REPLICA_SET, Kind, Obj, Ref
from rollout.rollouts.record import record_id
from rollout.runtime.planners import trackers
from tests.kube.setting import crd_objects
from tests.support import make

Path = tuple[str | int, ...]
DEEPEST = 6
"""Fields of a path."""


def nested(depth: int) -> Any:
    """A list in a list in a list ..."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


ODD_TEXTS = ("\x00\u202e\U0001f600e\u0301", "x" * 100_000, "-" * 300)
WRONG: dict[str, tuple[Any, ...]] = {
    "string": (7, {"a": 1}, *ODD_TEXTS[:1]),
    "integer": ("many", -(2**60), 2**60),
    "boolean": ("yes", 1),
    "object": ("x", [1], nested(200)),
    "array": ("x", {"a": 1}, [None, 7, "x", []]),
}
"""For each type of a field, values that are of another one, or that nobody expects."""


def schema_of(kind: Kind) -> Obj:
    """Of the version that is served."""
    for crd in crd_objects():
        if crd["spec"]["names"]["kind"] == kind.name:
            for version in crd["spec"]["versions"]:
                if version["name"] == kind.version:
                    found: Obj = version["schema"]["openAPIV3Schema"]
                    return found
    raise AssertionError(f"there is no CustomResourceDefinition of {kind.name}")


def fields(schema: Obj, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every field below, with its type. ``0`` in a path stands for an element of a list."""
    for name, below in (schema.get("properties") or {}).items():
        if path or name not in ("apiVersion", "kind", "metadata"):
            yield from _field(below, (*path, name))


def _field(schema: Obj, path: Path) -> Iterator[tuple[Path, str]]:
    if len(path) > DEEPEST:
        return
    yield path, str(schema.get("type") or "string")
    if schema.get("type") == "array":
        yield from _field(schema["items"], (*path, 0))
    else:
        yield from fields(schema, path)


def replaced(obj: Any, path: Path, value: Any) -> Any:
    """The object with this value there; what is missing on the way is made."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = obj if isinstance(obj, list) and obj else [None]
        return [replaced(items[0], rest, value), *items[1:]]
    known = obj if isinstance(obj, dict) else {}
    return {**known, step: replaced(known.get(step), rest, value)}


def spoilt(kind: Kind, base: Obj) -> Iterator[Obj]:
    """The good object, each time with another field spoilt; names end in a number."""
    number = 0
    for path, type_ in fields(schema_of(kind)):
        for value in WRONG[type_]:
            found = replaced(copy.deepcopy(base), path, value)
            name = f"{base['metadata']['name']}-{number}"
            yield {**found, "metadata": {**base["metadata"], "name": name}}
            number += 1


def large(base: Obj) -> Obj:
    """The good object, with nearly a megabyte of annotations."""
    meta = base["metadata"]
    notes = {f"example.com/{n}": "é" * 10_000 for n in range(12)}
    return {**base, "metadata": {**meta, "name": f"{meta['name']}-large", "annotations": notes}}


def _named(kind: str, name: str, namespace: str = "", **rest: Any) -> Obj:
    meta = make.meta(name, namespace)
    return {"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": meta, **rest}


def watched() -> frozenset[Kind]:
    """The kinds that a controller watches which rolls out add-ons too, with those that their templates need.

    Without Leases, whose schema is the API server's own, and without the objects that are published for
    readers of SIG Multicluster, which are read only to be put right.
    """
    return Fleet(trackers=trackers(rolls_addons=True)).essential | SHARED


def bases(namespace: str, cluster: str) -> dict[str, Obj]:
    """A good object of each watched kind, in this namespace, or about this cluster."""
    member = make.cluster(f"{namespace}-g", {"tenant": namespace, make.GROUP: "odd"})
    addon = _named("ManagedClusterAddOn", "g", cluster, spec={})
    installs = {"type": "Placements", "placements": [{"name": "none", "namespace": namespace}]}
    found = {
        "Placement": _named("Placement", "g", namespace, spec={}),
        "ManifestWorkReplicaSet": make.workload("g", namespace, placements=["none"]),
        "ManagedCluster": member,
        "ManagedClusterSet": make.cluster_set(f"{namespace}-g"),
        "ManagedClusterSetBinding": make.binding(namespace, f"{namespace}-g"),
        "AddOnPlacementScore": _named("AddOnPlacementScore", "g", cluster, status={}),
        "PlacementDecision": _named("PlacementDecision", "g", namespace, status={"decisions": []}),
        "ManifestWork": _named("ManifestWork", "g", cluster, spec={}, status={}),
        "Approval": _named("Approval", "g", namespace, spec={}),
        "ClusterManagementAddOn": _named(
            "ClusterManagementAddOn", f"{namespace}-g", spec={"installStrategy": installs}
        ),
        "ManagedClusterAddOn": addon,
        "AddOnDeploymentConfig": _named("AddOnDeploymentConfig", "g", namespace, spec={}),
        "Freeze": _named("Freeze", f"{namespace}-g", spec={}),
    }
    return found | _bases_of_terms(namespace) | _bases_of_memory(namespace)


_WINDOW: Obj = {
    "name": "over",
    "action": "Deny",
    "from": "2020-01-01T00:00",
    "until": "2020-01-02T00:00",
}
"""It closes nothing any more."""
_METRIC: Obj = {
    "name": "errors",
    "successCondition": "result == 0",
    "provider": {"web": {"url": "http://127.0.0.1:9/", "jsonPath": "{$.errors}"}},
}


def _bases_of_terms(namespace: str) -> dict[str, Obj]:
    """Of what tells when, with what values and after which measurements clusters are touched."""
    web = {"kind": "ManifestWorkReplicaSet", "namespace": namespace, "name": "web"}
    odd = {"labelSelector": {"matchLabels": {make.GROUP: "odd"}}}
    calendar = {"clusters": odd, "windows": [_WINDOW]}
    manifest = make.manifest()
    return {
        "Calendar": _named("Calendar", "g", namespace, spec=calendar),
        "ClusterCalendar": _named("ClusterCalendar", f"{namespace}-g", spec=calendar),
        "ClusterValues": _named(
            "ClusterValues", "g", namespace,
            spec={"workload": {"name": "g"}, "values": [{"name": "tier", "value": "'gold'"}]},
        ),
        "RolloutAnalysis": _named("RolloutAnalysis", "g", namespace, spec={"metrics": [_METRIC]}),
        "RolloutAnalysisRun": _named(
            "RolloutAnalysisRun", "g", namespace, spec={"workload": web, "metrics": [_METRIC]}
        ),
        "RolloutNotification": _named(
            "RolloutNotification", "g", namespace, spec={"workload": web, "channel": "none"}
        ),
        "AddOnTemplate": _named(
            "AddOnTemplate", f"{namespace}-g",
            spec={"addonName": "g", "agentSpec": {"workload": {"manifests": [manifest]}}},
        ),
    }  # fmt: skip


def _bases_of_memory(namespace: str) -> dict[str, Obj]:
    """Of what the engine remembers: these say that they are about the namespace's workload ``web``."""
    web = Ref(REPLICA_SET, f"{namespace}/web")
    page = _named("RolloutRecord", "g", namespace, data={})
    page["metadata"]["labels"] = {names.RECORD_LABEL: record_id(web, "p")}
    kept = _named("RolloutRevision", "g", namespace, revision=1, template=make.template())
    kept["metadata"]["labels"] = {names.REVISION_LABEL: record_id(web, "")}
    for each in (page, kept):
        each["metadata"]["annotations"] = {names.OWNER: web.key, names.RECORD_PLACEMENT: "p"}
    return {"RolloutRecord": page, "RolloutRevision": kept}


def all_spoilt(namespace: str, cluster: str, *, freezes: bool = False) -> Iterator[Obj]:
    """Of every kind.

    ``freezes``: also Freezes. One that cannot be read holds the whole hub, as it has to, so good rollouts
    come to no end beside spoilt ones.
    """
    for name, base in bases(namespace, cluster).items():
        if name != "Freeze" or freezes:
            yield from spoilt(KINDS[name], base)
            yield large(base)
