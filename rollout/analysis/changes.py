"""Which objects of a hub differ from those of another, and in which fields?"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rollout.hub.patching import same
from rollout.model.kinds import Obj, Ref
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
        fields: tuple[FieldChange, ...] = ()
        if before is after:
            continue
        if before is None:
            action = Action.CREATED
        elif after is None:
            action = Action.DELETED
        elif not same(_substance(before), _substance(after)):
            action = Action.CONFIGURED
            told = _differing("", _shown(before, masks), _shown(after, masks))
            fields = tuple(f for f in told if manifests or not f.path.startswith(_MANIFESTS))
        else:
            continue
        found.append(ObjectChange(ref.kind.name, ref.key, action, fields))
    return tuple(found)


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
