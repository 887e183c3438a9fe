"""Which objects of a hub differ from those of another?"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rollout.model.kinds import Obj, Ref
from rollout.model.names import LAST_APPLIED

_COUNTS = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")


class Action(Enum):
    """What becomes of one object."""

    CREATED = "created"
    CONFIGURED = "configured"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One object that would be different."""

    kind: str
    key: str
    action: Action

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


def object_changes(old: Mapping[Ref, Obj], new: Mapping[Ref, Obj]) -> tuple[ObjectChange, ...]:
    """The objects that differ, by kind and key. What an apply remembers of itself counts nothing."""
    found: list[ObjectChange] = []
    for ref in sorted(old.keys() | new.keys(), key=lambda r: (r.kind.name, r.key)):
        before, after = old.get(ref), new.get(ref)
        if before is after:
            continue
        if before is None:
            action = Action.CREATED
        elif after is None:
            action = Action.DELETED
        elif _substance(before) != _substance(after):
            action = Action.CONFIGURED
        else:
            continue
        found.append(ObjectChange(ref.kind.name, ref.key, action))
    return tuple(found)


def _substance(obj: Obj) -> Obj:
    """All of an object but what a server, or an apply, notes down about it."""
    meta: Mapping[str, Any] = obj["metadata"]
    kept = {key: meta[key] for key in _COUNTS if meta.get(key)}
    notes = {k: v for k, v in (kept.get("annotations") or {}).items() if k != LAST_APPLIED}
    return {**obj, "metadata": {**kept, "annotations": notes}}
