"""What do the objects of a history look like? Templates that say which revision they are."""

from datetime import datetime, timedelta

from rollout.model.kinds import Obj
from rollout.model.names import (
    GROUP_INDEX_LABEL,
    GROUP_NAME_LABEL,
    PLACEMENT_LABEL,
    SCHEDULING_DISABLED,
)
from tests.safety.instants import instant
from tests.safety.windows import zone_label

NAMESPACE = "default"


def cluster(name: str, ring: str) -> Obj:
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name, "labels": {"ring": ring, "zone": zone_label(name)}},
        "spec": {"hubAcceptsClient": True},
    }


def availability(status: str, now: datetime) -> Obj:
    return {
        "status": {
            "conditions": [
                {
                    "type": "ManagedClusterConditionAvailable",
                    "status": status,
                    "reason": "Said",
                    "message": "",
                    "lastTransitionTime": f"{now:%Y-%m-%dT%H:%M:%S.%fZ}",
                }
            ]
        }
    }


def placement(name: str, foreign: bool, group_size: object, without: str = "") -> Obj:
    """Named groups canary and early by label; decided by the engine, or (``foreign``) by others."""
    groups = [
        {
            "groupName": ring,
            "groupClusterSelector": {"labelSelector": {"matchLabels": {"ring": ring}}},
        }
        for ring in ("canary", "early")
    ]
    strategy = {"clustersPerDecisionGroup": group_size, "decisionGroups": groups}
    meta: Obj = {"name": name, "namespace": NAMESPACE}
    spec: Obj = {
        "decisionStrategy": {"groupStrategy": strategy},
        "tolerations": [{"operator": "Exists"}],
    }
    if without:
        spec["predicates"] = leaves_out(without)
    if foreign:
        meta["annotations"] = {SCHEDULING_DISABLED: "true"}
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": meta,
        "spec": spec,
    }


def leaves_out(ring: str) -> list[Obj]:
    """Predicates that leave one ring out."""
    found = {"matchExpressions": [{"key": "ring", "operator": "NotIn", "values": [ring]}]}
    return [{"requiredClusterSelector": {"labelSelector": found}}]


def page(placement_name: str, name: str, index: int, group: str) -> Obj:
    """An empty page of decisions."""
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "PlacementDecision",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {
                PLACEMENT_LABEL: placement_name,
                GROUP_INDEX_LABEL: str(index),
                GROUP_NAME_LABEL: group,
            },
        },
    }


def instant_of(obj: Obj, annotation: str) -> datetime | None:
    return instant((obj["metadata"].get("annotations") or {}).get(annotation))


def wire(at: datetime) -> str:
    """As people and agents write an instant: in whole seconds."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def duration(text: str) -> timedelta:
    """Of the few forms that settings use: "90s", "3m"; "0" is what an API server puts for none."""
    if text == "0":
        return timedelta(0)
    return timedelta(seconds=int(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]])
