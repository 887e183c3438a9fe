"""How does the engine reach the hub in a history? Through one door, where it can be watched and fail.

Every write is one transaction of its own, so that the engine can die between any two. What comes in
is told to the judge as the engine hears it.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Protocol, TypeVar

from rollout.clock import Clock
from rollout.errors import Denied, Gone, Invalid
from rollout.hub.base import EventSink, Expire, Listing
from rollout.model.events import Change, Event
from rollout.model.kinds import Kind, Obj, Ref, ref_of
from rollout.model.writes import Create, Patch, PatchStatus
from rollout.planning.plan import Write
from rollout.runtime.io import Done, InlineIo, Io, WriteOutcome, perform
from tests.support.faults import FaultyHub

T = TypeVar("T")


class Crash(BaseException):
    """The process dies here."""


class Ear(Protocol):
    """Hears what the engine hears, and of what it tries."""

    def heard(self, ref: Ref, obj: Obj | None, version: int) -> None: ...

    def listed(self, kind: Kind, found: set[Ref], version: int) -> None: ...

    def asked(self, kind: Kind, labels: Mapping[str, str]) -> None: ...

    def attempted(self, ref: Ref, changes: Obj) -> None: ...

    def writing(self, *, is_ours: bool) -> None: ...

    def refused(self, ref: Ref) -> None: ...

    def wrote(self, ref: Ref) -> None: ...


class _Line:
    """One watch. ``breaks`` tells its reader that it has expired."""

    def __init__(self) -> None:
        self.open = True
        self.breaks: Callable[[], None] = lambda: None


class Door:
    """A hub for one engine process. ``writes_left`` None: it does not die by itself.

    Admission refuses carriers (of this kind) in the namespaces of ``refusing``.
    """

    def __init__(self, hub: FaultyHub, ear: Ear, carrier: Kind, refusing: set[str]) -> None:
        self._hub, self._ear, self._carrier, self._refusing = hub, ear, carrier, refusing
        self.writes_left: int | None = None
        self.writes = 0
        self.open = True
        self.deaf: set[Kind] = set()  # kinds whose watch broke, and was not begun again so far
        self._lines: list[_Line] = []

    def expect(self, kinds: Sequence[Kind]) -> None:
        """Nothing is gained by beginning early."""

    def get(self, ref: Ref) -> Obj:
        try:
            obj = self._hub.get(ref)
        except Gone:
            self._ear.heard(ref, None, 0)
            raise
        self._hear(ref.kind, obj)
        return obj

    def list(
        self, kind: Kind, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Listing:
        listing = self._hub.list(kind, namespace, labels)
        if namespace is None and not labels:
            found = set()
            for obj in listing.items:
                found.add(ref_of(kind, obj))
                self._hear(kind, obj)
            self._ear.listed(kind, found, listing.version)
        else:
            self._ear.asked(kind, labels or {})
        return listing

    def create(self, ref: Ref, obj: Obj) -> Obj:
        return self._write(ref, obj, lambda: self._hub.create(ref, obj))

    def patch(self, ref: Ref, changes: Obj, version: int | None = None) -> Obj:
        return self._write(ref, changes, lambda: self._hub.patch(ref, changes, version))

    def patch_status(self, ref: Ref, changes: Obj, version: int | None = None) -> Obj:
        return self._write(ref, changes, lambda: self._hub.patch_status(ref, changes, version))

    def delete(self, ref: Ref, uid: str | None = None, version: int | None = None) -> None:
        self._write(ref, {}, lambda: self._hub.delete(ref, uid, version))

    def watch(
        self, kind: Kind, since: int, sink: EventSink, expired: Expire | None = None
    ) -> Callable[[], None]:
        line = _Line()

        def hear(event: Event) -> None:
            if self.open and line.open:
                gone = event.change is Change.DELETED
                self._ear.heard(event.ref, None if gone else event.obj, event.version)
                sink(event)

        def broke() -> None:
            if self.open and line.open and expired is not None:
                line.open = False
                self.deaf.add(kind)
                expired()

        line.breaks = broke
        self.deaf.discard(kind)
        self._lines = [each for each in self._lines if each.open] + [line]
        return self._hub.watch(kind, since, hear, broke)

    def cut(self) -> None:
        """Every watch breaks."""
        for line in self._lines:
            line.breaks()

    def close(self) -> None:
        self.open = False

    def io(self) -> Io:
        """How the engine's writes go through, where they take no time."""
        return InlineIo(self)

    def carry(self, write: Write) -> WriteOutcome:
        """Do one write, and say what came of it."""
        return perform(self, write, {})

    def _hear(self, kind: Kind, obj: Obj) -> None:
        self._ear.heard(ref_of(kind, obj), obj, int(obj["metadata"]["resourceVersion"]))

    def announce(self, write: Write) -> None:
        """A write that is to be carried out later: the engine counts it as tried from now on."""
        match write:
            case Create(ref, obj):
                self._ear.attempted(ref, obj)
            case Patch(ref, changes):
                self._ear.attempted(ref, changes)
            case PatchStatus(ref, status):
                self._ear.attempted(ref, {"status": status})
            case _:
                pass

    def _write(self, ref: Ref, changes: Obj, call: Callable[[], T]) -> T:
        self._ear.attempted(ref, changes)
        self._ear.writing(is_ours=True)
        if ref.kind is self._carrier and ref.namespace in self._refusing and changes:
            self._ear.writing(is_ours=False)
            self._ear.refused(ref)
            fault = Invalid if int(ref.namespace[1:]) % 2 else Denied
            raise fault(f"cannot write {ref}: refused by admission")
        try:
            answer = call()
        finally:
            self._ear.writing(is_ours=False)
            self.writes += 1
            if self.writes_left is not None:
                self.writes_left -= 1
                if self.writes_left < 0:
                    raise Crash
        if isinstance(answer, dict):
            self._hear(ref.kind, answer)
        self._ear.wrote(ref)
        return answer


class SlowIo:
    """Carries out each write a while after it was sent, in any order within its wave."""

    def __init__(self, hub: Door, clock: Clock, dice: Random, latency: timedelta) -> None:
        self._hub, self._clock, self._dice, self._latency = hub, clock, dice, latency
        self._waiting: list[tuple[datetime, int, Write, Done]] = []
        self._count = 0

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        for write in writes:
            self._hub.announce(write)
            at = self._clock.now() + self._dice.random() * self._latency
            self._count += 1
            self._waiting.append((at, self._count, write, done))
        self._waiting.sort(key=lambda item: item[:2])

    def next_at(self) -> datetime | None:
        return self._waiting[0][0] if self._waiting else None

    def run_due(self) -> int:
        ran = 0
        while self._waiting and self._waiting[0][0] <= self._clock.now():
            _, _, write, done = self._waiting.pop(0)
            done(write, self._hub.carry(write))
            ran += 1
        return ran
