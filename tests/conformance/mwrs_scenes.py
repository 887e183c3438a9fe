"""Small inputs for suite ``mwrs_sync``, in the form of its vectors.

One ManifestWorkReplicaSet ns1/set1 whose template is ``new``, over placement p1 and perhaps p2.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.conformance.suite import Json

NOW = "2026-06-01T12:00:00Z"
EARLIER = "2026-06-01T10:00:00Z"
LABEL = "work.open-cluster-management.io"
DECISION = "cluster.open-cluster-management.io"
DONE = {"Applied": "True", "Available": "True", "Progressing": "False"}
RUNNING = {"Applied": "True", "Available": "False", "Progressing": "True"}


def template(version: str) -> Json:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"}}
    return {"workload": {"manifests": [{**manifest, "data": {"version": version}}]}}


def work(
    cluster: str,
    says: Mapping[str, str] = DONE,
    *,
    version: str = "new",
    placement: str = "p1",
    name: str = "",
    deleting: bool = False,
) -> Json:
    meta: Json = {
        "namespace": cluster,
        "name": name or f"set1-{placement}",
        "generation": 4,
        "labels": {f"{LABEL}/manifestworkreplicaset": "ns1.set1"}
        | {f"{LABEL}/placementname": placement},
    }
    conditions = [
        {"type": t, "status": s, "observedGeneration": 4, "lastTransitionTime": EARLIER}
        for t, s in says.items()
    ]
    if deleting:
        meta |= {"deletionTimestamp": EARLIER, "finalizers": ["an/agent"]}
    return {"metadata": meta, "spec": template(version), "status": {"conditions": conditions}}


Groups = Sequence[tuple[str, Sequence[str]]]


def scene(
    strategy: Json,
    groups: Groups,
    works: Iterable[Json] = (),
    *,
    second: tuple[Json, Groups] | None = None,
    missing: Sequence[str] = (),
) -> Json:
    """An input: placement p1 with its groups (name, clusters), perhaps a second placement p2."""
    asked = {"p1": (strategy, groups)} | ({"p2": second} if second else {})
    meta = {
        "namespace": "ns1",
        "name": "set1",
        "generation": 2,
        "finalizers": [f"{LABEL}/manifest-work-cleanup"],
    }
    refs = [{"name": name, "rolloutStrategy": rollout} for name, (rollout, _) in asked.items()]
    spec = {"manifestWorkTemplate": template("new"), "placementRefs": refs}
    return {
        "now": NOW,
        "manifestWorkReplicaSet": {"metadata": meta, "spec": spec},
        "placements": [
            _placement(name, given) for name, (_, given) in asked.items() if name not in missing
        ],
        "placementDecisions": [
            _page(name, index, group, clusters)
            for name, (_, given) in asked.items()
            for index, (group, clusters) in enumerate(given)
        ],
        "manifestWorks": list(works),
    }


def _placement(name: str, groups: Groups) -> Json:
    told = [
        {
            "decisionGroupIndex": index,
            "decisionGroupName": group,
            "decisions": [f"{name}-{index}"],
            "clusterCount": len(clusters),
        }
        for index, (group, clusters) in enumerate(groups)
    ]
    selected = sum(len(clusters) for _, clusters in groups)
    status = {"numberOfSelectedClusters": selected, "decisionGroups": told}
    return {"metadata": {"namespace": "ns1", "name": name}, "status": status}


def _page(placement: str, index: int, group: str, clusters: Sequence[str]) -> Json:
    labels = {
        f"{DECISION}/placement": placement,
        f"{DECISION}/decision-group-index": str(index),
        f"{DECISION}/decision-group-name": group,
    }
    return {
        "metadata": {"namespace": "ns1", "name": f"{placement}-{index}", "labels": labels},
        "status": {"decisions": [{"clusterName": c, "reason": ""} for c in clusters]},
    }


def progressive(**options: Any) -> Json:
    return {"type": "Progressive", "progressive": options}


ALL: Json = {"type": "All"}
SLOTTED = progressive(maxConcurrency=1)
