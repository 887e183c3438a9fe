"""A condition on an object's status, and how two versions of it merge."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache

from msgspec import Struct

from rollout.model.instants import parse_instant, rfc3339
from rollout.model.kinds import Obj
from rollout.model.wording import shortened

LONGEST_MESSAGE = 32_768
"""Characters that an API server takes; for one message that is longer it refuses the whole status."""


class Saying(Struct, frozen=True, gc=False):
    """The part of a `Condition` that is given by place: what it says."""

    type: str
    status: str  # "True" | "False" | "Unknown"
    reason: str = ""
    message: str = ""


class Condition(Saying, frozen=True, kw_only=True):
    """A Kubernetes condition. ``since`` is its lastTransitionTime; None where none was given."""

    observed_generation: int | None = None
    since: datetime | None = None

    @property
    def is_true(self) -> bool:
        return self.status == "True"

    def to_wire(self) -> Obj:
        wire: Obj = {
            "type": self.type,
            "status": self.status,
            "reason": self.reason,
            "message": shortened(self.message, LONGEST_MESSAGE),
            "lastTransitionTime": rfc3339(self.since) if self.since else None,
        }
        if self.observed_generation is not None:
            wire["observedGeneration"] = self.observed_generation
        return wire


@lru_cache(maxsize=16_384)
def _condition_of(said: tuple[str, str, str, str, int | None, str]) -> Condition:
    """One value for equal conditions: the agents of a fleet say the same few things at once."""
    kind, status, reason, message, observed, since = said
    return Condition(
        kind, status, reason, message, observed_generation=observed, since=parse_instant(since)
    )


def read_condition(raw: object) -> Condition | None:
    """One entry of a status list; None where it has no type. Equal entries share one value."""
    if not isinstance(raw, dict):
        return None
    get = raw.get
    kind, status, reason, message = get("type"), get("status"), get("reason"), get("message")
    observed, since = get("observedGeneration"), get("lastTransitionTime")
    if not isinstance(kind, str):
        return None
    return _condition_of(
        (
            kind,
            status if isinstance(status, str) else "Unknown",
            reason if isinstance(reason, str) else "",
            message if isinstance(message, str) else "",
            observed if type(observed) is int else None,
            since if isinstance(since, str) else "",
        )
    )


def read_conditions(raw: object) -> dict[str, Condition]:
    """Conditions by type from a status list; malformed entries are left out, the first of a type wins."""
    found: dict[str, Condition] = {}
    for item in raw if isinstance(raw, list) else ():
        condition = read_condition(item)
        if condition is not None:
            found.setdefault(condition.type, condition)
    return found


def condition_in(raw: object, kind: str) -> Condition | None:
    """The condition of this type in a status list, as `read_conditions` finds it."""
    for item in raw if isinstance(raw, list) else ():
        if isinstance(item, dict) and item.get("type") == kind:
            return read_condition(item)
    return None


def merge(old: Iterable[Obj], new: Sequence[Condition], now: datetime) -> list[Obj]:
    """The condition list to write: ``new`` over ``old``, by type, foreign types kept in place.

    lastTransitionTime moves to ``now`` only where the status changed.
    """
    fresh, moved = {c.type: c for c in new}, rfc3339(now)
    merged: list[Obj] = []
    for item in old:
        condition = fresh.pop(str(item.get("type")), None)
        if condition is None:
            merged.append(item)
            continue
        wire = condition.to_wire()
        kept = item.get("lastTransitionTime") if item.get("status") == condition.status else None
        wire["lastTransitionTime"] = kept or moved
        merged.append(wire)
    merged += [
        {**condition.to_wire(), "lastTransitionTime": moved}
        for condition in new
        if condition.type in fresh
    ]
    return merged
