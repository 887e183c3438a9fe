"""One function per kind of object, with every default filled: a test says only what matters to it.

Objects are JSON, as a hub stores them. `fleet` makes what every rollout needs besides its workload.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rollout.model import names
from rollout.model.kinds import Obj

CLUSTER_API = "cluster.open-cluster-management.io"
WORK_API = "work.open-cluster-management.io"
SINCE = "2026-01-01T00:00:00Z"
GROUP = "ring"
"""The label whose values are the decision groups that `placement` names."""


def meta(name: str, namespace: str = "", **more: Any) -> Obj:
    """Metadata; what is None or empty is left out."""
    fields: Obj = {"namespace": namespace, "name": name, **more}
    return {key: value for key, value in fields.items() if value not in (None, "", {}, [])}


def condition(kind: str, status: str = "True", generation: int | None = None, **more: str) -> Obj:
    said: Obj = {
        "type": kind,
        "status": status,
        "reason": more.get("reason", "AsTheTestSays"),
        "message": more.get("message", ""),
        "lastTransitionTime": more.get("since", SINCE),
    }
    return said if generation is None else {**said, "observedGeneration": generation}


def cluster(
    name: str,
    labels: Mapping[str, str] | None = None,
    *,
    available: str | None = "True",
    taints: Sequence[Obj] = (),
) -> Obj:
    """A ManagedCluster. ``available`` None: nobody ever said."""
    spec: Obj = {"hubAcceptsClient": True}
    if taints:
        spec["taints"] = list(taints)
    status = [] if available is None else [condition(names.CLUSTER_AVAILABLE, available)]
    return {
        "apiVersion": f"{CLUSTER_API}/v1",
        "kind": "ManagedCluster",
        "metadata": meta(name, labels=dict(labels or {})),
        "spec": spec,
        "status": {"conditions": status},
    }


def cluster_set(name: str = "global") -> Obj:
    """A ManagedClusterSet of every cluster there is."""
    return {
        "apiVersion": f"{CLUSTER_API}/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": meta(name),
        "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}},
    }


def binding(namespace: str = "default", cluster_set: str = "global") -> Obj:
    return {
        "apiVersion": f"{CLUSTER_API}/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": meta(cluster_set, namespace),
        "spec": {"clusterSet": cluster_set},
    }


def placement(
    name: str = "p",
    namespace: str = "default",
    *,
    groups: Sequence[str] = (),
    size: int | str = "100%",
    only: Mapping[str, str] | None = None,
    ours: bool = True,
    annotations: Mapping[str, str] | None = None,
) -> Obj:
    """A Placement of all clusters, or of those with the labels ``only``.

    Args:
        groups: decision groups by name, each of the clusters with the label `GROUP` of that value.
        size: clustersPerDecisionGroup for the others.
        ours: False disables scheduling: decisions are written by the test.
    """
    notes = dict(annotations or {})
    if not ours:
        notes[names.SCHEDULING_DISABLED] = "true"
    named = [
        {"groupName": group, "groupClusterSelector": {"labelSelector": {"matchLabels": {GROUP: group}}}}
        for group in groups
    ]  # fmt: skip
    strategy: Obj = {"clustersPerDecisionGroup": size}
    if named:
        strategy["decisionGroups"] = named
    spec: Obj = {"decisionStrategy": {"groupStrategy": strategy}}
    if only is not None:
        selector = {"labelSelector": {"matchLabels": dict(only)}}
        spec["predicates"] = [{"requiredClusterSelector": selector}]
    return {
        "apiVersion": f"{CLUSTER_API}/v1beta1",
        "kind": "Placement",
        "metadata": meta(name, namespace, annotations=notes),
        "spec": spec,
    }


def decision(
    clusters: Iterable[str],
    placement: str = "p",
    namespace: str = "default",
    *,
    index: int | None = 0,
    group: str = "",
    page: int = 1,
) -> Obj:
    """A PlacementDecision: one page of one decision group, with its status."""
    labels = {names.PLACEMENT_LABEL: placement, names.GROUP_NAME_LABEL: group}
    if index is not None:
        labels[names.GROUP_INDEX_LABEL] = str(index)
    return {
        "apiVersion": f"{CLUSTER_API}/v1beta1",
        "kind": "PlacementDecision",
        "metadata": meta(f"{placement}-{index or 0}-{page}", namespace, labels=labels),
        "status": {"decisions": [{"clusterName": name, "reason": ""} for name in clusters]},
    }


def told(*groups: tuple[str, int, Sequence[str]]) -> Obj:
    """A Placement's status: (group name, clusters, names of its decisions) by index."""
    return {
        "numberOfSelectedClusters": sum(count for _, count, _ in groups),
        "decisionGroups": [
            {
                "decisionGroupIndex": index,
                "decisionGroupName": name,
                "clusterCount": count,
                "decisions": list(pages),
            }
            for index, (name, count, pages) in enumerate(groups)
        ],
    }


def progressive(**fields: Any) -> Obj:
    """A rolloutStrategy of type Progressive; ``mandatory`` are names of decision groups."""
    return {"type": "Progressive", "progressive": _options(fields)}


def per_group(**fields: Any) -> Obj:
    return {"type": "ProgressivePerGroup", "progressivePerGroup": _options(fields)}


def everywhere(**fields: Any) -> Obj:
    return {"type": "All", "all": _options(fields)}


def _options(fields: Mapping[str, Any]) -> Obj:
    options = {key: value for key, value in fields.items() if key != "mandatory"}
    mandatory = fields.get("mandatory", ())
    if mandatory:
        options["mandatoryDecisionGroups"] = [{"groupName": name} for name in mandatory]
    return options


def manifest(version: str = "1", name: str = "app") -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "default", "name": name},
        "data": {"version": version},
    }


def template(version: str = "1", *, rules: Sequence[str] = ("Progressing", "Degraded")) -> Obj:
    """A manifestWorkTemplate of one ConfigMap. ``rules``: the conditions that its rules set."""
    spec: Obj = {"workload": {"manifests": [manifest(version)]}}
    if rules:
        found = {"group": "", "resource": "configmaps", "namespace": "default", "name": "app"}
        told = [
            {"condition": kind, "type": "CEL", "celExpressions": ["object.data.version == ''"]}
            for kind in rules
        ]
        spec["manifestConfigs"] = [{"resourceIdentifier": found, "conditionRules": told}]
    return spec


def workload(
    name: str = "web",
    namespace: str = "default",
    *,
    strategy: Obj | None = None,
    placements: Sequence[str] = ("p",),
    refs: Sequence[Obj] | None = None,
    version: str = "1",
    rules: Sequence[str] = ("Progressing", "Degraded"),
    spec: Obj | None = None,
    cascade: str = "Background",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Obj:
    """A ManifestWorkReplicaSet. ``refs`` in place of ``placements`` with one ``strategy`` for all."""
    all_refs = refs or [
        {"name": placement, "rolloutStrategy": strategy or everywhere()} for placement in placements
    ]
    return {
        "apiVersion": f"{WORK_API}/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": meta(
            name, namespace, labels=dict(labels or {}), annotations=dict(annotations or {})
        ),
        "spec": {
            "cascadeDeletionPolicy": cascade,
            "manifestWorkTemplate": spec or template(version, rules=rules),
            "placementRefs": list(all_refs),
        },
    }


def work(
    cluster: str,
    owner: str = "default.web",
    placement: str = "p",
    *,
    name: str = "webx7k2p",
    spec: Obj | None = None,
    conditions: Sequence[Obj] = (),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Obj:
    """A ManifestWork as OCM's own controller makes it: generated name, two labels, no annotations."""
    whose = {names.WORK_OWNER_LABEL: owner, names.WORK_PLACEMENT_LABEL: placement}
    return {
        "apiVersion": f"{WORK_API}/v1",
        "kind": "ManifestWork",
        "metadata": meta(
            name,
            cluster,
            labels={**whose, **(labels or {})},
            annotations=dict(annotations or {}),
        ),
        "spec": spec or template(),
        "status": {"conditions": list(conditions)},
    }


def clusters(count: int, **groups: int) -> list[Obj]:
    """Clusters c00, c01, ...; the first of them in the groups given, ``canary=2`` and so on."""
    rings = [ring for ring, size in groups.items() for _ in range(size)]
    rings += ["rest"] * (count - len(rings))
    return [cluster(f"c{n:02d}", {GROUP: ring}) for n, ring in enumerate(rings)]


def fleet(count: int, namespace: str = "default", **groups: int) -> list[Obj]:
    """Clusters (see `clusters`), a set of them all, its binding, and the placement ``p``."""
    return [
        *clusters(count, **groups),
        cluster_set(),
        binding(namespace),
        placement(namespace=namespace, groups=tuple(groups)),
    ]
