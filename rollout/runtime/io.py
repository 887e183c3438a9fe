"""Performs a write on a hub: preconditions, live reads, the call, and what the answer means.

`Attempt` has the steps of one write, without doing any I/O: which live reads come before it, and what
each answer means. Drivers perform what it asks for: `perform` one after the other, on the caller's
thread; `rollout.runtime.kube_io` many side by side, on an event loop. `FencedIo` stands before either.
"""

import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rollout.api.work import UNREADABLE, decode_work
from rollout.errors import (
    Conflict,
    Denied,
    Gone,
    HubError,
    Invalid,
    Throttled,
    Unauthenticated,
)
from rollout.hub.base import Hub, Listing
from rollout.hub.watching import version_of
from rollout.measuring.values import Measure
from rollout.model.kinds import PLACEMENT_DECISION, Kind, Obj, Ref
from rollout.model.names import PLACEMENT_LABEL
from rollout.model.writes import (
    Create,
    Delete,
    Deliver,
    Patch,
    PatchStatus,
    PatchWork,
    RemoveFinalizer,
)
from rollout.planning.plan import Write

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class WriteResult(Enum):
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
    HEARD = "heard"  # no need: something newer than what the write rested on is known already


class WriteOutcome(Struct, frozen=True, kw_only=True):
    """What came of one write; ``obj`` is the object as stored, where the hub returned it."""

    result: WriteResult
    obj: Obj | None = None
    message: str = ""
    after: timedelta | None = None
    read_back: ReadBack = ReadBack.LEFT


Done = Callable[[Write, WriteOutcome], None]


class Io(Protocol):
    """Carries writes to a hub. ``done`` is called once per write, on the engine's thread or not.

    ``turn`` is the namespace of what was planned ("": of something cluster-scoped): where writes have
    to wait for others, namespaces are served in turn.
    """

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None: ...


@dataclass(frozen=True, slots=True)
class ReadSelected:
    """Asks which clusters the decisions of a Placement name at this moment: a ``frozenset[str]``."""

    placement: str

    @property
    def where(self) -> tuple[Kind, str, dict[str, str]]:
        """What to list for the answer: kind, namespace and labels."""
        namespace, _, name = self.placement.rpartition("/")
        return PLACEMENT_DECISION, namespace, {PLACEMENT_LABEL: name}

    @staticmethod
    def answer(listing: Listing) -> frozenset[str]:
        return frozenset(
            str(decision.get("clusterName"))
            for obj in listing.items
            for decision in ((obj.get("status") or {}).get("decisions") or [])
        )


@dataclass(frozen=True, slots=True)
class ReadLabelled:
    """Asks for the objects of a kind, in any namespace, that have this label: ``Iterable[Obj]``."""

    kind: Kind
    label: tuple[str, str]


@dataclass(frozen=True, slots=True)
class ReadObject:
    """Asks for an object as it is now: ``Obj``, or `Gone`."""

    ref: Ref


HubRequest = ReadSelected | ReadLabelled | ReadObject | Write
"""A write asks to be done; it is answered by the object as stored, or by None."""


class Attempt:
    """One write on its way: answer ``request`` until there is none any more, then read ``outcome``."""

    def __init__(self, write: Write) -> None:
        self.write = write
        self.outcome = WriteOutcome(result=WriteResult.UNKNOWN)
        self._steps = _steps(write)
        self.request: HubRequest | None = next(self._steps)

    def answered(self, answer: object) -> None:
        """``request`` was performed, and this is what it asks for."""
        self._go_on(self._steps.send, answer)

    def failed(self, error: HubError) -> None:
        """``request`` could not be performed."""
        self._go_on(self._steps.throw, error)

    def _go_on(self, step: Callable[[T], HubRequest], given: T) -> None:
        try:
            self.request = step(given)
        except StopIteration as end:
            self.request, self.outcome = None, end.value
        except Exception as error:  # a fault of ours: nobody knows what became of the write
            self.request = None
            self.outcome = WriteOutcome(
                result=WriteResult.UNKNOWN, message=f"{type(error).__name__}: {error}"
            )
            raise


def _steps(write: Write) -> Generator[HubRequest, Any, WriteOutcome]:
    """What a write asks for, one after the other; the type of an answer depends on the request."""
    try:
        match write:
            case Delete(unless_selected_by=placements, cluster=cluster):
                for placement in placements:
                    if cluster in (yield ReadSelected(placement)):
                        return WriteOutcome(
                            result=WriteResult.STALE, message=f"{cluster} is selected after all"
                        )
            case RemoveFinalizer(kind=kind, label=label):
                left = write.left_of((yield ReadLabelled(kind, label)))
                if left:
                    return WriteOutcome(
                        result=WriteResult.STALE, message=f"{left} {kind.plural} are left"
                    )
            case PatchWork():
                return (yield from _patch_past_agent(write))
        stored = yield write
    except HubError as error:
        return outcome_of(write, error)
    return WriteOutcome(result=WriteResult.LANDED, obj=stored)


def _patch_past_agent(write: PatchWork) -> Generator[HubRequest, Any, WriteOutcome]:
    """Patch a work; once more where only what its agent says has changed since it was read."""
    try:
        stored = yield write
    except Conflict as conflict:
        try:
            found = yield ReadObject(write.ref)
        except HubError:
            raise conflict from None
        later = decode_work({**found, "status": {}})  # hashed anew: a restored hub counts again
        if later.content == UNREADABLE or not write.known.differs_at_most_in_status(later):
            return WriteOutcome(
                result=WriteResult.STALE,
                obj=found,
                message=str(conflict),
                read_back=ReadBack.DONE,
            )
        stored = yield replace(write, version=version_of(found))
    return WriteOutcome(result=WriteResult.LANDED, obj=stored)


def outcome_of(write: Write, error: HubError) -> WriteOutcome:
    """What an error of the hub says of a write."""
    match error:
        case Conflict():
            return WriteOutcome(result=WriteResult.STALE, message=str(error))
        case Gone() if isinstance(write, Create):
            return WriteOutcome(
                result=WriteResult.REFUSED, message=str(error)
            )  # there is no such namespace
        case Gone():
            gone = WriteResult.LANDED if isinstance(write, Delete) else WriteResult.STALE
            return WriteOutcome(result=gone, message=str(error))
        case Unauthenticated():
            pass  # the server does not know us now; no cluster is at fault (row 19)
        case Invalid() | Denied():
            return WriteOutcome(result=WriteResult.REFUSED, message=str(error))
        case Throttled(after=after):
            return WriteOutcome(result=WriteResult.WAIT, message=str(error), after=after)
    return WriteOutcome(result=WriteResult.UNKNOWN, message=str(error))


class Writes(Protocol[T_co]):
    """The writing verbs of `rollout.hub.base.Hub`, which return at once, or something to await."""

    def create(self, ref: Ref, obj: Obj) -> T_co: ...

    def patch(self, ref: Ref, changes: Obj, version: int | None = None) -> T_co: ...

    def patch_status(self, ref: Ref, changes: Obj, version: int | None = None) -> T_co: ...

    def delete(self, ref: Ref, uid: str | None = None) -> T_co: ...


def call(verbs: Writes[T], write: Write) -> T:
    """Do a write, and nothing else. Returns: the object as stored; None for a delete."""
    match write:
        case Create(ref, obj):
            return verbs.create(ref, obj)
        case Patch(ref, changes, version):
            return verbs.patch(ref, changes, version)
        case PatchStatus(ref, status, version):
            return verbs.patch_status(ref, {"status": status}, version)
        case Delete(ref, uid):
            return verbs.delete(ref, uid)
        case RemoveFinalizer():
            return verbs.patch(write.ref, write.changes, write.version)
        case Measure():
            raise TypeError(f"measure {write.ref}: that is not a request; `AnalysisIo` does it")
        case Deliver():
            raise TypeError(f"deliver {write.ref}: that is not a request; `NotificationIo` does it")


class InlineIo:
    """Writes at once, on the caller's thread; a wave is one batch where the hub has batches."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._batch: Callable[[], AbstractContextManager[None]] = getattr(hub, "batch", nullcontext)

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        selected: dict[ReadSelected, frozenset[str]] = {}
        with self._batch():
            outcomes = [perform(self._hub, write, selected) for write in writes]
        for write, outcome in zip(writes, outcomes, strict=True):
            done(write, outcome)


def perform(
    hub: Hub, write: Write, selected: dict[ReadSelected, frozenset[str]] | None = None
) -> WriteOutcome:
    """Do one write. ``selected`` keeps what was read live for the other writes of a wave."""
    attempt, known = Attempt(write), {} if selected is None else selected
    while (request := attempt.request) is not None:
        try:
            answer = _answer(hub, request, known)
        except HubError as error:
            attempt.failed(error)
        else:
            attempt.answered(answer)
    return attempt.outcome


def _answer(
    hub: Hub, request: HubRequest, selected: dict[ReadSelected, frozenset[str]]
) -> frozenset[str] | Iterable[Obj] | Obj | None:
    match request:
        case ReadSelected():
            if request not in selected:
                selected[request] = request.answer(hub.list(*request.where))
            return selected[request]
        case ReadLabelled(kind, label):
            return hub.list(kind, None, dict([label])).items
        case ReadObject(ref):
            return hub.get(ref)
    return call(hub, request)


class FencedIo:
    """An `Io` before another one: a process that leads no more writes nothing.

    Without leadership it raises `Fenced`; with it, each write gets the precondition that its planner
    could not know, the version of the object when this process last saw it. Source: safety contract R2.

    Args:
        check: raises Fenced where this process must not write.
        version_of: the version at which an object was last seen, 0 where it was never.
    """

    def __init__(
        self, inner: Io, check: Callable[[], None], version_of: Callable[[Ref], int]
    ) -> None:
        self._inner, self._check, self._version_of = inner, check, version_of
        self._lock = threading.Lock()
        self._pending = 0

    @property
    def pending(self) -> int:
        """How many writes are out."""
        return self._pending

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        """Raises: Fenced; then nothing was sent."""
        self._check()

        def back(write: Write, outcome: WriteOutcome) -> None:
            with self._lock:
                self._pending -= 1
            done(write, outcome)

        with self._lock:
            self._pending += len(writes)
        self._inner.send([self._guarded(write) for write in writes], back, turn)

    def _guarded(self, write: Write) -> Write:
        if isinstance(write, Patch | PatchStatus) and write.version is None:
            return replace(write, version=self._version_of(write.ref) or None)
        return write
