"""Finds the objects, and their fields, in which two hubs differ."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rollout.analysis.excerpt import placements_of
from rollout.hub.patching import same
from rollout.model.kinds import PLACEMENT, WORKLOADS, Obj, Ref
from rollout.model.names import LAST_APPLIED
from rollout.model.secrets import Masks

_COUNTS = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")


class Action(Enum):
    """What becomes of one object."""

    CREATED = "created"
    CONFIGURED = "configured"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that would be different. None: it is not there."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One object that would be different; one that is configured, in these fields.

    Manifests of a workload are among them only where they are asked for: a plan shows these as a diff.
    """

    kind: str
    key: str
    action: Action
    fields: tuple[FieldChange, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


def object_changes(
    old: Mapping[Ref, Obj],
    new: Mapping[Ref, Obj],
    masks: Masks | None = None,
    *,
    manifests: bool = False,
) -> tuple[ObjectChange, ...]:
    """The objects that differ, by kind and key. What an apply remembers of itself counts nothing.

    Args:
        masks: hide the data of Secrets in the fields; None: show it.
        manifests: tell the fields of a workload's manifests too.
    """
    found: list[ObjectChange] = []
    for ref in sorted(old.keys() | new.keys(), key=lambda r: (r.kind.name, r.key)):
        before, after = old.get(ref), new.get(ref)
        action = _action(before, after)
        fields: tuple[FieldChange, ...] = ()
        if action is None:
            continue
        if before is not None and after is not None:
            told = _differing("", _shown(before, masks), _shown(after, masks))
            fields = tuple(f for f in told if manifests or not f.path.startswith(_MANIFESTS))
        found.append(ObjectChange(ref.kind.name, ref.key, action, fields))
    return tuple(found)


def _action(before: Obj | None, after: Obj | None) -> Action | None:
    """What becomes of an object; None: nothing."""
    if before is after:
        return None
    if before is None:
        return Action.CREATED
    if after is None:
        return Action.DELETED
    return None if same(_substance(before), _substance(after)) else Action.CONFIGURED


def concerned(old: Mapping[Ref, Obj], new: Mapping[Ref, Obj]) -> frozenset[Ref]:
    """The workloads that a change bears on: those it edits, and those that name a Placement it edits.

    All of them where it edits anything else, or nothing.
    """
    workloads = [ref for ref in new if ref.kind in WORKLOADS]
    edited = {r for r in old.keys() | new.keys() if _action(old.get(r), new.get(r)) is not None}
    if not edited or any(ref.kind not in (*WORKLOADS, PLACEMENT) for ref in edited):
        return frozenset(workloads)
    places = {ref.key for ref in edited if ref.kind is PLACEMENT}
    return frozenset(r for r in workloads if r in edited or placements_of(r, new[r]) & places)


_MANIFESTS = "spec.manifestWorkTemplate.workload"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]*")


def _shown(obj: Obj, masks: Masks | None) -> Obj:
    """What of an object people write, and what they set in its metadata."""
    found: Obj = {k: v for k, v in _substance(obj).items() if k not in ("status", "apiVersion")}
    return masks.over(found) if masks is not None else found


def _differing(path: str, before: Any, after: Any) -> Iterator[FieldChange]:
    """Each field that differs, as deep as both sides have the same shape."""
    if same(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            step = f".{key}" if _PLAIN.fullmatch(key) else f"[{key}]"
            yield from _differing((path + step).lstrip("."), before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differing(f"{path}[{i}]", one, other)
    else:
        yield FieldChange(path, before, after)


def _substance(obj: Obj) -> Obj:
    """All of an object but what a server, or an apply, notes down about it."""
    meta: Mapping[str, Any] = obj["metadata"]
    kept = {key: meta[key] for key in _COUNTS if meta.get(key)}
    notes = {k: v for k, v in (kept.get("annotations") or {}).items() if k != LAST_APPLIED}
    return {**obj, "metadata": {**kept, "annotations": notes}}
