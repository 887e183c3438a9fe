"""How does a write reach the hub, and what came of it?

Errors of the hub are turned into outcomes here, once.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Protocol

from rollout.errors import Conflict, Denied, Gone, HubError, Invalid, Throttled
from rollout.hub.base import Hub
from rollout.model.kinds import PLACEMENT_DECISION, Obj
from rollout.model.names import PLACEMENT_LABEL
from rollout.planning.plan import Create, Delete, Patch, PatchStatus, RemoveFinalizer, Write


class Result(Enum):
    """What came of a write."""

    LANDED = "landed"  # done, or already so
    STALE = "stale"  # someone wrote first, or what it rests on is no longer so: plan again
    REFUSED = "refused"  # the server will not have it, now or as it is
    WAIT = "wait"  # the server asks to come back later
    UNKNOWN = "unknown"  # it may or may not have been written


class ReadBack(Enum):
    """Whether what is there after a write that was stale, or of unknown outcome, was looked at."""

    LEFT = "left"  # no: whoever takes the outcome may do it
    DONE = "done"  # ``obj`` is there; None: nothing
    FAILED = "failed"  # the server could not say


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one write; ``obj`` is the object as stored, where the hub returned it."""

    result: Result
    obj: Obj | None = None
    message: str = ""
    after: timedelta | None = None
    read_back: ReadBack = ReadBack.LEFT


Done = Callable[[Write, Outcome], None]


class Io(Protocol):
    """Carries writes to a hub. ``done`` is called once per write, on the engine's thread or not.

    ``turn`` is the namespace of what was planned ("": of something cluster-scoped): where writes have
    to wait for others, namespaces are served in turn.
    """

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None: ...


class InlineIo:
    """Writes at once, on the caller's thread; a wave is one batch where the hub has batches."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._batch: Callable[[], AbstractContextManager[None]] = getattr(hub, "batch", nullcontext)

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        live: dict[str, frozenset[str]] = {}
        with self._batch():
            outcomes = [perform(self._hub, write, live) for write in writes]
        for write, outcome in zip(writes, outcomes, strict=True):
            done(write, outcome)


def perform(hub: Hub, write: Write, live: dict[str, frozenset[str]]) -> Outcome:
    """Do one write. ``live`` keeps the decisions that were read live for writes of one wave."""
    try:
        return _perform(hub, write, live)
    except HubError as error:
        return outcome_of(write, error)


def outcome_of(write: Write, error: HubError) -> Outcome:
    """What an error of the hub says of a write."""
    match error:
        case Conflict():
            return Outcome(Result.STALE, message=str(error))
        case Gone() if isinstance(write, Create):
            return Outcome(Result.REFUSED, message=str(error))  # there is no such namespace
        case Gone():
            gone = Result.LANDED if isinstance(write, Delete) else Result.STALE
            return Outcome(gone, message=str(error))
        case Invalid() | Denied():
            return Outcome(Result.REFUSED, message=str(error))
        case Throttled(after=after):
            return Outcome(Result.WAIT, message=str(error), after=after)
    return Outcome(Result.UNKNOWN, message=str(error))


def _perform(hub: Hub, write: Write, live: dict[str, frozenset[str]]) -> Outcome:
    match write:
        case Create(ref, obj):
            return Outcome(Result.LANDED, hub.create(ref, obj))
        case Patch(ref, changes, version):
            return Outcome(Result.LANDED, hub.patch(ref, changes, version))
        case PatchStatus(ref, status, version):
            return Outcome(Result.LANDED, hub.patch_status(ref, {"status": status}, version))
        case Delete(ref, uid, placements, cluster):
            for placement in placements:
                if cluster in _selected_live(hub, placement, live):
                    return Outcome(Result.STALE, message=f"{cluster} is selected after all")
            hub.delete(ref, uid)
            return Outcome(Result.LANDED)
        case RemoveFinalizer():
            return _release(hub, write)


def _selected_live(hub: Hub, placement: str, live: dict[str, frozenset[str]]) -> frozenset[str]:
    if placement not in live:
        namespace, _, name = placement.rpartition("/")
        listing = hub.list(PLACEMENT_DECISION, namespace, {PLACEMENT_LABEL: name})
        live[placement] = frozenset(
            str(decision.get("clusterName"))
            for obj in listing.items
            for decision in ((obj.get("status") or {}).get("decisions") or [])
        )
    return live[placement]


def _release(hub: Hub, write: RemoveFinalizer) -> Outcome:
    left = write.left_of(hub.list(write.kind, None, dict([write.label])).items)
    if left:
        return Outcome(Result.STALE, message=still_there(write, left))
    return Outcome(Result.LANDED, hub.patch(write.ref, write.changes, write.version))


def still_there(write: RemoveFinalizer, count: int) -> str:
    """Why a finalizer was not removed."""
    return f"{count} {write.kind.plural} are left"
