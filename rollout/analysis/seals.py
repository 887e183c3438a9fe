"""Fingerprints everything that a plan was made from, to find out later whether the plan still holds.

It covers what is asked for (every document of the files) and what that meets: specs, labels and
annotations of workloads, placements, sets, bindings and decisions; labels, claims, taints and
availability of clusters; scores; what add-ons are configured with, and what each cluster is told to
apply; Approvals and Freezes; and how far each rollout is (the record). What only tells of progress
that changes no decision, such as an agent's words or a heartbeat, is not part of it.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator
from secrets import token_bytes
from typing import Any

from rollout.analysis.snapshot import referred, stored
from rollout.fleet.watched import WATCHED
from rollout.hub.base import Hub
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    ADDON_TEMPLATE,
    APPROVAL,
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    FREEZE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    SCORE,
    WORKLOADS,
    Kind,
    Obj,
    ref_of,
)
from rollout.model.names import CLUSTER_AVAILABLE

_FURTHER = (*WORKLOADS, MANAGED_CLUSTER_ADDON, ADDON_DEPLOYMENT_CONFIG, ADDON_TEMPLATE)
_COVERED: tuple[Kind, ...] = tuple(dict.fromkeys((*WATCHED, *_FURTHER)))
_SPECIFIED = {kind.name for kind in (*WORKLOADS, PLACEMENT, MANIFEST_WORK)}
"""Kinds whose spec a plan rests on, and nothing of their status."""
_KEPT_META = ("name", "namespace", "uid", "labels", "annotations", "deletionTimestamp")
_FORMAT = "2"
_SALT_BYTES = 16
_WORK = 1 << 15
_MEMORY = 64 << 20


def fingerprint(documents: Iterable[Obj], hub: Hub) -> str:
    """``sha256:...`` over the documents, in any order, and the objects of the hub."""
    digest = hashlib.sha256(_FORMAT.encode())
    for text in sorted(map(_text, documents)):
        digest.update(text.encode())
    held = [(kind, stored(hub, kind)) for kind in _COVERED]
    known = {ref_of(kind, obj): obj for kind, objects in held for obj in objects}
    further = sorted(referred(known), key=lambda kind: (kind.group, kind.plural))
    held += [(kind, stored(hub, kind)) for kind in further]
    for kind, objects in held:
        for obj in objects:
            if (part := _part(kind, obj)) is not None:
                digest.update(_text(part).encode())
    return f"sha256:{digest.hexdigest()}"


def seal(found: str, salt: bytes | None = None) -> str:
    """A fingerprint as it may be written down and passed on: ``scrypt:SALT:...``.

    A fingerprint is also of the Secrets in the files. Whoever knows everything else could try words
    for a short one; here each try is as slow as one seal (some 0.1 s), and the salt, drawn anew for
    each seal, lets nobody prepare.
    """
    drawn = token_bytes(_SALT_BYTES) if salt is None else salt
    slow = hashlib.scrypt(found.encode(), salt=drawn, n=_WORK, r=8, p=1, maxmem=_MEMORY)
    return f"scrypt:{drawn.hex()}:{slow.hex()}"


def is_sealed(sealed: str, found: str) -> bool:
    """Whether this is a seal of that fingerprint."""
    salt = sealed.split(":")[1:2]
    try:
        again = seal(found, bytes.fromhex(*salt))
    except (TypeError, ValueError):
        return False
    return hmac.compare_digest(sealed.encode(), again.encode())


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True) + "\n"


def _part(kind: Kind, obj: Obj) -> Obj | None:
    """What of an object a plan rests on; None where it rests on nothing of it."""
    meta = {key: obj["metadata"][key] for key in _KEPT_META if key in obj["metadata"]}
    part: Obj = {"kind": kind.name, "metadata": meta}
    status = obj.get("status") or {}
    match kind.name:
        case MANAGED_CLUSTER.name:
            told = {key: status.get(key) for key in ("clusterClaims", "allocatable", "capacity")}
            return {**part, "spec": obj.get("spec"), **told, "available": list(_available(status))}
        case ROLLOUT_RECORD.name:
            return {**part, "data": obj.get("data")}
        case ROLLOUT_REVISION.name:
            return part
        case SCORE.name | PLACEMENT_DECISION.name:
            return {**part, "status": status}
        case name if name in _SPECIFIED:
            return {**part, "generation": obj["metadata"].get("generation"), "spec": obj["spec"]}
        case MANAGED_CLUSTER_ADDON.name:
            applied = [r.get("desiredConfig") for r in status.get("configReferences") or ()]
            return {**part, "spec": obj.get("spec"), "applied": applied}
        case CLUSTER_SET.name | CLUSTER_SET_BINDING.name | APPROVAL.name | FREEZE.name:
            return {**part, "spec": obj.get("spec")}
    return {**obj, "metadata": meta}  # a configuration: all of it may count


def _available(status: Obj) -> Iterator[object]:
    for condition in status.get("conditions") or ():
        if isinstance(condition, dict) and condition.get("type") == CLUSTER_AVAILABLE:
            yield condition.get("status")
