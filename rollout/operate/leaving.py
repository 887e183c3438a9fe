"""Removes our conditions from statuses, before OCM's controllers take over.

Nobody but us writes the conditions `Progressing` and `Ready` of a ManifestWorkReplicaSet, `RolloutHalted` of
an install progression, `Rendered` of a ManagedClusterAddOn and `Misconfigured` of a ManagedClusterSet; left
behind they would say for ever what was so once. Everything else that is ours goes with its workload, or says
nothing to anybody but us.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rollout.errors import Conflict, Gone, NotServed
from rollout.hub.base import Hub
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    CLUSTER_SET,
    MANAGED_CLUSTER_ADDON,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    WORKLOADS,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.names import (
    CALENDARS_FOLLOWED,
    MISCONFIGURED,
    PROGRESSING,
    READY,
    RENDERED,
    ROLLOUT_HALTED,
)

_TRIES = 5
_NUMBERS = ("desiredTotal", "updated")


@dataclass(frozen=True, slots=True)
class Leftover:
    """An object with something of ours in its status. ``parts`` names what, for a person."""

    ref: Ref
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeptObjects:
    """So many objects of a kind that are ours stay, and go with their workloads."""

    kind: Kind
    count: int


def remains(hub: Hub) -> Iterator[Leftover]:
    """Every object with something of ours in its status. Raises: HubError."""
    for kind in (*WORKLOADS, *_OF_OTHERS):
        for obj in _all(hub, kind):
            found = _ours(kind, obj)
            if found:
                yield Leftover(ref_of(kind, obj), found)


def stays(hub: Hub) -> Iterator[KeptObjects]:
    """What is kept beside workloads. Raises: HubError."""
    for kind in (ROLLOUT_RECORD, ROLLOUT_REVISION):
        count = len(_all(hub, kind))
        if count:
            yield KeptObjects(kind, count)


def take_out(hub: Hub, left: Leftover) -> bool:
    """Take what is ours out of one status; False where it is not there (any more). Raises: HubError."""
    for attempt in range(_TRIES):
        try:
            obj = hub.get(left.ref)
            if not _ours(left.ref.kind, obj):
                return False
            version = int(obj["metadata"]["resourceVersion"])
            hub.patch_status(left.ref, {"status": _without(left.ref.kind, obj)}, version)
        except Gone:
            return False
        except Conflict:
            if attempt == _TRIES - 1:
                raise
            continue
        return True
    raise AssertionError("the last try returns or raises")


def _all(hub: Hub, kind: Kind) -> tuple[Obj, ...]:
    try:
        return hub.list(kind).items
    except (Gone, NotServed):
        return ()


_OF_ADDONS = (ROLLOUT_HALTED, CALENDARS_FOLLOWED)
_OF_SETS = (PROGRESSING, READY, CALENDARS_FOLLOWED)
_OF_OTHERS = {MANAGED_CLUSTER_ADDON: (RENDERED,), CLUSTER_SET: (MISCONFIGURED,)}
"""Of kinds whose conditions alone can be ours: which ones."""


def _ours(kind: Kind, obj: Obj) -> tuple[str, ...]:
    status: Obj = obj.get("status") or {}
    if kind is CLUSTER_MANAGEMENT_ADDON:
        progressions = status.get("installProgressions") or []
        return tuple(
            f"condition {name}"
            for name in _OF_ADDONS
            if any(_has(progression, (name,)) for progression in progressions)
        )
    types = _OF_OTHERS.get(kind, _OF_SETS)
    found = [f"condition {name}" for name in types if _has(status, (name,))]
    if kind in _OF_OTHERS:
        return tuple(found)
    found += [f"status.{name}" for name in _REVISIONS if status.get(name)]
    summary = status.get("summary") or {}
    return (*found, *(f"status.summary.{name}" for name in _NUMBERS if summary.get(name)))


_REVISIONS = ("currentRevision", "updateRevision", "abortedTime")


def _has(status: Obj, types: tuple[str, ...]) -> bool:
    return any(condition.get("type") in types for condition in status.get("conditions") or [])


def _without(kind: Kind, obj: Obj) -> Obj:
    """What is to be changed of the status."""
    status: Obj = obj["status"]
    if kind is CLUSTER_MANAGEMENT_ADDON:
        kept = [_stripped(p, _OF_ADDONS) for p in status["installProgressions"]]
        return {"installProgressions": kept}
    if kind in _OF_OTHERS:
        return {"conditions": _stripped(status, _OF_OTHERS[kind])["conditions"]}
    changes: Obj = {"conditions": _stripped(status, _OF_SETS).get("conditions") or []}
    changes.update(dict.fromkeys((name for name in _REVISIONS if name in status), None))
    if status.get("summary"):
        changes["summary"] = dict.fromkeys(_NUMBERS, 0)
    if status.get("placementSummary"):
        changes["placementSummary"] = [
            {**each, "summary": {**(each.get("summary") or {}), **dict.fromkeys(_NUMBERS, 0)}}
            for each in status["placementSummary"]
        ]
    return changes


def _stripped(status: Obj, types: tuple[str, ...]) -> Obj:
    if "conditions" not in status:
        return status
    kept = [each for each in status["conditions"] or [] if each.get("type") not in types]
    return {**status, "conditions": kept}
