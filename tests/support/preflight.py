"""A sound set of files, object by object, and what is found in it."""

from typing import Any

import yaml

from rollout.api.load import Loaded, load_text
from rollout.api.preflight import Finding, preflight
from rollout.model.kinds import KINDS, Obj


def of(kind: str, name: str, **parts: Any) -> Obj:
    meta = {"name": name, **({"namespace": "apps"} if KINDS[kind].namespaced else {})}
    return {"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": meta, **parts}


def manifest(kind: str = "Deployment", name: str = "web", version: str = "apps/v1") -> Obj:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"}}


def identifier(name: str = "web", **more: str) -> Obj:
    return {
        "group": "apps",
        "resource": "deployments",
        "name": name,
        "namespace": "default",
        **more,
    }


PROGRESSING = {
    "condition": "Progressing",
    "type": "CEL",
    "celExpressions": ["object.status.x != 1"],
}
RULES = {"resourceIdentifier": identifier(), "conditionRules": [PROGRESSING]}


def workload(
    *manifests: Obj,
    configs: list[Obj] | None = None,
    refs: list[Obj] | None = None,
    name: str = "web",
    annotations: Obj | None = None,
) -> Obj:
    template: Obj = {"workload": {"manifests": list(manifests or [manifest()])}}
    template["manifestConfigs"] = [RULES] if configs is None else configs
    obj = of("ManifestWorkReplicaSet", name)
    obj["metadata"] = {**obj["metadata"], "annotations": annotations or {}}
    strategy = {"type": "Progressive", "progressive": {"progressDeadline": "10m"}}
    default = [{"name": "fleet", "rolloutStrategy": strategy}]
    return {**obj, "spec": {"manifestWorkTemplate": template, "placementRefs": refs or default}}


def ref(name: str = "fleet", kind: str = "Progressive", **fields: Any) -> Obj:
    member = {
        "All": "all",
        "Progressive": "progressive",
        "ProgressivePerGroup": "progressivePerGroup",
    }
    strategy = {"type": kind, member[kind]: {"progressDeadline": "10m", **fields}}
    return {"name": name, "rolloutStrategy": strategy}


def placement(name: str = "fleet", **spec: Any) -> Obj:
    return of("Placement", name, spec=spec)


def cluster(name: str, **labels: str) -> Obj:
    obj = of("ManagedCluster", name, spec={"hubAcceptsClient": True})
    member = {"cluster.open-cluster-management.io/clusterset": "prod"}
    obj["metadata"] = {**obj["metadata"], "labels": {**member, **labels}}
    return obj


SET = of("ManagedClusterSet", "prod")
BINDING = of("ManagedClusterSetBinding", "prod", spec={"clusterSet": "prod"})
CLUSTERS = [cluster("c1", tier="canary"), cluster("c2"), cluster("c3")]
SURROUNDINGS = [SET, BINDING, *CLUSTERS]


def findings(*objects: Obj) -> list[Finding]:
    documents, errors = load_text(yaml.safe_dump_all(objects), "f.yaml")
    return preflight(Loaded(tuple(documents), tuple(errors)))


def told(*objects: Obj) -> list[tuple[str, str]]:
    """Severity and path of each finding."""
    return [(f.severity.name.lower(), f.path) for f in findings(*objects)]


def the_one(*objects: Obj) -> Finding:
    (found,) = findings(*objects)
    return found
