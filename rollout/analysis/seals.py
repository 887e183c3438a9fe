"""Does a plan still hold? A fingerprint of all that it was made from.

It covers what is asked for (every document of the files) and what that meets: specs, labels and
annotations of workloads, placements, sets, bindings and decisions; labels, claims, taints and
availability of clusters; scores; and how far each rollout is (the record). What only tells of progress
that changes no decision, such as an agent's words or a heartbeat, is not part of it.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from rollout.analysis.reading import stored
from rollout.hub.base import Hub
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    CONFIG_MAP,
    CONTROLLER_REVISION,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    SCORE,
    Kind,
    Obj,
)
from rollout.model.names import CLUSTER_AVAILABLE, RECORD_LABEL, REVISION_LABEL

_COVERED: tuple[Kind, ...] = (
    MANAGED_CLUSTER,
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    SCORE,
    PLACEMENT,
    PLACEMENT_DECISION,
    CONFIG_MAP,
    CONTROLLER_REVISION,
    MANIFEST_WORK,
    REPLICA_SET,
)
_KEPT_META = ("name", "namespace", "uid", "labels", "annotations", "deletionTimestamp")
_FORMAT = "1"


def fingerprint(documents: Iterable[Obj], hub: Hub) -> str:
    """``sha256:...`` over the documents, in any order, and the objects of the hub."""
    digest = hashlib.sha256(_FORMAT.encode())
    for text in sorted(map(_text, documents)):
        digest.update(text.encode())
    for kind in _COVERED:
        for obj in stored(hub, kind):
            if (part := _part(kind, obj)) is not None:
                digest.update(_text(part).encode())
    return f"sha256:{digest.hexdigest()}"


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True) + "\n"


def _part(kind: Kind, obj: Obj) -> Obj | None:
    """What of an object a plan rests on; None where it rests on nothing of it."""
    meta = {key: obj["metadata"][key] for key in _KEPT_META if key in obj["metadata"]}
    labels = meta.get("labels") or {}
    part: Obj = {"kind": kind.name, "metadata": meta}
    status = obj.get("status") or {}
    match kind.name:
        case MANAGED_CLUSTER.name:
            told = {key: status.get(key) for key in ("clusterClaims", "allocatable", "capacity")}
            return {**part, "spec": obj.get("spec"), **told, "available": list(_available(status))}
        case CONFIG_MAP.name:
            return {**part, "data": obj.get("data")} if RECORD_LABEL in labels else None
        case CONTROLLER_REVISION.name:
            return part if REVISION_LABEL in labels else None
        case SCORE.name | PLACEMENT_DECISION.name:
            return {**part, "status": status}
        case MANIFEST_WORK.name | REPLICA_SET.name | PLACEMENT.name:
            return {**part, "generation": obj["metadata"].get("generation"), "spec": obj["spec"]}
    return {**part, "spec": obj.get("spec")}


def _available(status: Obj) -> Iterator[object]:
    for condition in status.get("conditions") or ():
        if isinstance(condition, dict) and condition.get("type") == CLUSTER_AVAILABLE:
            yield condition.get("status")
