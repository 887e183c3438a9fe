"""What if the hub misbehaves? A wrapper that does to any embedded hub what networks do to real ones.

Calls fail before they do anything, or do it and then say that they did not. Watches repeat, go
back, lag and break. Never: an event out of order or lost for good, since no API server does that;
whoever loses events is told that the watch has expired.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from random import Random
from typing import Protocol, TypeVar

from rollout.errors import Conflict, Throttled, Unavailable
from rollout.hub.base import Changes, EmbeddedHub, EventSink, Expire, Listing
from rollout.model.events import Event
from rollout.model.kinds import Kind, Obj, Ref

T = TypeVar("T")

_REMEMBERED = 8  # events that a watch may go back


class Fault(Enum):
    """What becomes of one call."""

    CONFLICT = "conflict"  # for a read: UNAVAILABLE
    THROTTLED = "throttled"
    UNAVAILABLE = "unavailable"
    LOST = "lost"  # done, but the answer never came; for a read: UNAVAILABLE


class Delivery(Enum):
    """What becomes of one event on one watch."""

    REPEAT = "repeat"  # told twice
    REWIND = "rewind"  # told, then up to eight earlier ones and it again: a resumed watch
    HOLD = "hold"  # it and all later ones wait for `FaultyHub.release`
    CUT = "cut"  # it and all later ones are lost; `release` says that the watch has expired


class Faults(Protocol):
    """A schedule of faults; None means that all goes well. Asked once per call and per event."""

    def call(self, verb: str, target: Ref | Kind) -> Fault | None:
        """``verb`` is the method's name: get, list, create, patch, patch_status, replace, delete."""
        ...

    def event(self, event: Event) -> Delivery | None: ...


@dataclass(frozen=True, slots=True)
class Rates:
    """How many of a hundred calls, and of a hundred events, suffer each fault."""

    conflict: float = 0
    throttled: float = 0
    unavailable: float = 0
    lost: float = 0
    repeat: float = 0
    rewind: float = 0
    hold: float = 0
    cut: float = 0


class RandomFaults:
    """Faults at given rates, the same for the same ``random`` and calls. Can be switched off."""

    def __init__(self, random: Random, rates: Rates) -> None:
        self.on = True
        self._random = random
        self._calls = [(fault, getattr(rates, fault.value)) for fault in Fault]
        self._events = [(delivery, getattr(rates, delivery.value)) for delivery in Delivery]

    def call(self, verb: str, target: Ref | Kind) -> Fault | None:
        return self._draw(self._calls)

    def event(self, event: Event) -> Delivery | None:
        return self._draw(self._events)

    def _draw(self, rates: list[tuple[T, float]]) -> T | None:
        at = self._random.random() * 100
        for outcome, rate in rates if self.on else ():
            at -= rate
            if at < 0:
                return outcome
        return None


class _Line:
    """One watch through the faults: what it was told lately, what it waits for, whether it is cut."""

    def __init__(self, faults: Faults, sink: EventSink, expired: Expire | None) -> None:
        self._faults, self._sink, self._expired = faults, sink, expired
        self._told: deque[Event] = deque(maxlen=_REMEMBERED)
        self._held: deque[Event] = deque()
        self._holding = self.cut = False
        self.active = True

    def take(self, event: Event) -> None:
        """Called by the hub with each event."""
        if self.cut:
            return
        if self._holding:
            self._held.append(event)
            return
        match self._faults.event(event):
            case None:
                self._tell(event)
            case Delivery.REPEAT:
                self._tell(event)
                self._sink(event)
            case Delivery.REWIND:
                self._tell(event)
                for again in tuple(self._told):
                    self._sink(again)
            case Delivery.CUT if self._expired is not None:
                self.cut = True
            case Delivery.HOLD | Delivery.CUT:
                self._holding = True
                self._held.append(event)

    def release(self) -> int:
        """Tell what was held back, or that the watch has expired. Returns: how much was told."""
        if not self.active:
            return 0
        if self.cut and self._expired is not None:
            self.active = False
            self._expired()
            return 1
        told = 0
        while self._held and self.active:  # while they are told, later ones queue behind them
            self._tell(self._held.popleft())
            told += 1
        self._holding = False
        return told

    def _tell(self, event: Event) -> None:
        self._told.append(event)
        self._sink(event)


class FaultyHub:
    """An `EmbeddedHub` in front of another one, with faults.

    What a watch holds back, or lost, stays so until `release`: call it where simulated time would
    pass, and at the end, or a run may wait for ever. A watch without ``expired`` is never cut, it
    is held instead. State, batches and polls pass through unharmed.
    """

    def __init__(self, inner: EmbeddedHub, faults: Faults) -> None:
        self._inner, self._faults = inner, faults
        self._lines: list[tuple[_Line, Callable[[], None]]] = []

    def expect(self, kinds: Sequence[Kind]) -> None:
        """Nothing is gained by beginning early."""

    def get(self, ref: Ref) -> Obj:
        return self._read("get", ref, lambda: self._inner.get(ref))

    def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Listing:
        return self._read(
            "list",
            kind,
            lambda: self._inner.list(
                kind,
                namespace,
                labels,
                label_selector=label_selector,
                field_selector=field_selector,
            ),
        )

    def create(self, ref: Ref, obj: Obj) -> Obj:
        return self._write("create", ref, lambda: self._inner.create(ref, obj))

    def patch(self, ref: Ref, changes: Changes, version: int | None = None) -> Obj:
        return self._write("patch", ref, lambda: self._inner.patch(ref, changes, version))

    def patch_status(self, ref: Ref, changes: Changes, version: int | None = None) -> Obj:
        return self._write(
            "patch_status", ref, lambda: self._inner.patch_status(ref, changes, version)
        )

    def replace(self, ref: Ref, obj: Obj, version: int | None = None) -> Obj:
        return self._write("replace", ref, lambda: self._inner.replace(ref, obj, version))

    def delete(self, ref: Ref, uid: str | None = None, version: int | None = None) -> None:
        self._write("delete", ref, lambda: self._inner.delete(ref, uid, version))

    def watch(
        self, kind: Kind, since: int, sink: EventSink, expired: Expire | None = None
    ) -> Callable[[], None]:
        line = _Line(self._faults, sink, expired)

        def broken() -> None:
            line.active = False
            if expired is not None:
                expired()

        stop = self._inner.watch(kind, since, line.take, broken)
        entry = (line, stop)
        self._lines.append(entry)

        def end() -> None:
            line.active = False
            stop()
            if entry in self._lines:
                self._lines.remove(entry)

        return end

    def release(self) -> int:
        """Tell every watch what it was not told. Returns: how much; 0 when nothing was held back."""
        told = 0
        for entry in tuple(self._lines):
            line, stop = entry
            if line.cut:
                stop()
            told += line.release()
        self._lines = [entry for entry in self._lines if entry[0].active]
        return told

    def batch(self) -> AbstractContextManager[None]:
        return self._inner.batch()

    def poll(self) -> int:
        return self._inner.poll()

    def put_state(self, key: str, value: bytes | None) -> None:
        self._inner.put_state(key, value)

    def get_state(self, key: str) -> bytes | None:
        return self._inner.get_state(key)

    def get_states(self, prefix: str) -> Mapping[str, bytes]:
        return self._inner.get_states(prefix)

    def written_since(self, version: int) -> bool | None:
        return self._inner.written_since(version)

    def close(self) -> None:
        self._inner.close()

    def _read(self, verb: str, target: Ref | Kind, call: Callable[[], T]) -> T:
        match self._faults.call(verb, target):
            case None:
                return call()
            case Fault.THROTTLED:
                raise _throttled(verb, target)
            case _:
                raise _unavailable(verb, target)

    def _write(self, verb: str, ref: Ref, call: Callable[[], T]) -> T:
        match self._faults.call(verb, ref):
            case None:
                return call()
            case Fault.CONFLICT:
                raise Conflict(f"cannot {verb} {ref}: an injected conflict")
            case Fault.THROTTLED:
                raise _throttled(verb, ref)
            case Fault.UNAVAILABLE:
                raise _unavailable(verb, ref)
            case Fault.LOST:
                call()
                raise _unavailable(verb, ref)


def _throttled(verb: str, target: Ref | Kind) -> Throttled:
    return Throttled(f"cannot {verb} {target}: injected throttling", timedelta(seconds=1))


def _unavailable(verb: str, target: Ref | Kind) -> Unavailable:
    return Unavailable(f"cannot {verb} {target}: an injected cut; the outcome is unknown")
