"""Writes notes as Kubernetes Events: few, in order, and no rollout waits for them.

`Chronicle` decides without I/O what is written for a note: a new Event, the count of one that is there,
or nothing yet. `EventWriter` has a thread of its own and a queue that drops rather than waits.
Reasons and texts are the planners'; those of placements are OCM's (placement spec 3.6).
"""

import hashlib
import heapq
import logging
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from rollout.clock import Clock
from rollout.model.instants import rfc3339_micro
from rollout.model.kinds import MANAGED_CLUSTER, PLACEMENT, Kind, Obj, Ref, key_of
from rollout.model.writes import Create, Patch
from rollout.planning.plan import Note
from rollout.runtime.io import Io, WriteOutcome, WriteResult

log = logging.getLogger(__name__)

EVENT = Kind(
    "Event", "events", "events.k8s.io", "v1", namespaced=True, short=("ev",), has_status=False
)

CONTROLLERS: Mapping[Kind, str] = {
    PLACEMENT: "placement-controller",
    MANAGED_CLUSTER: "registration-controller",
}
"""Under whose name OCM's users know these events; all others are ``rollout-controller``'s."""

WINDOW = timedelta(minutes=10)
"""A note that comes again within this span is counted; no new Event is written."""
COUNT_EVERY = timedelta(seconds=30)
"""A count that has changed is written this often."""
BURST, REFILL = 25, timedelta(seconds=10)
"""So many events about one object at once, then one for each such span."""
KEPT = 4096
"""Objects, and notes, that are remembered."""
NOTE_LENGTH, NAME_LENGTH = 1000, 200
QUEUED = 1000
AT_ONCE = 2
"""Events that are on their way at a time: they never crowd out anything."""
_IDLE_SECONDS = 5.0
_ANSWER_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    """One Event that was written, how often it was meant, and how often it says so."""

    ref: Ref
    count: int
    last: datetime
    written_at: datetime
    written_count: int = 1


@dataclass(frozen=True, slots=True)
class _Allowance:
    """How many more events an object may have, as of an instant."""

    left: float
    at: datetime


class Chronicle:
    """What is written for each note. For one thread."""

    def __init__(self, instance: str) -> None:
        """``instance``: which process says it."""
        self._instance = instance[:128]
        self._series: OrderedDict[Note, _Series] = OrderedDict()
        self._latest: OrderedDict[tuple[Ref, str], Note] = OrderedDict()
        self._allowances: OrderedDict[Ref, _Allowance] = OrderedDict()
        self._due: list[tuple[datetime, int, Note]] = []  # heap of counts to be written
        self._number = 0
        self.dropped = 0

    def add(self, note: Note, uid: str, now: datetime) -> Create | Patch | None:
        """The write that tells of a note; None where it is only counted, or too many were told.

        A note that comes too often with ever new words is counted on the last one of its reason.
        """
        known = self._series.get(note)
        if known is not None and now < known.last + WINDOW:
            return self._counted(note, now)
        if not self._allowed(note.ref, now):
            latest = self._latest.get((note.ref, note.reason))
            if latest is not None and latest in self._series:
                return self._counted(latest, now)
            self.dropped += 1
            return None
        self._number += 1
        ref = Ref(EVENT, key_of(_namespace(note.ref), self._name(note, now)))
        _keep(self._series, note, _Series(ref=ref, count=1, last=now, written_at=now))
        _keep(self._latest, (note.ref, note.reason), note)
        return Create(ref, event_object(ref, note, uid, self._instance, now=now))

    def due(self, now: datetime, *, all_of_them: bool = False) -> list[Patch]:
        """Counts that have changed and are to be written now."""
        found: list[Patch] = []
        while self._due and (all_of_them or self._due[0][0] <= now):
            note = heapq.heappop(self._due)[2]
            series = self._series.get(note)
            if series is None or series.count == series.written_count:
                continue  # forgotten, or written meanwhile
            if all_of_them or now >= series.written_at + COUNT_EVERY:
                found.append(self._written(note, series, now))
        return found

    def forget(self, ref: Ref) -> None:
        """The Event is not there: the next note like it is told anew."""
        for note in [note for note, series in self._series.items() if series.ref == ref]:
            del self._series[note]

    def _counted(self, note: Note, now: datetime) -> Patch | None:
        series = self._series[note]
        due_at = series.written_at + COUNT_EVERY
        if series.count == series.written_count and now < due_at:
            self._number += 1
            heapq.heappush(self._due, (due_at, self._number, note))
        series = self._series[note] = replace(series, count=series.count + 1, last=now)
        return self._written(note, series, now) if now >= due_at else None

    def _written(self, note: Note, series: _Series, now: datetime) -> Patch:
        self._series[note] = replace(series, written_at=now, written_count=series.count)
        said = {"count": series.count, "lastObservedTime": rfc3339_micro(series.last)}
        return Patch(series.ref, {"series": said})

    def _allowed(self, ref: Ref, now: datetime) -> bool:
        before = self._allowances.get(ref, _Allowance(BURST, now))
        left = min(float(BURST), before.left + (now - before.at) / REFILL)
        allowed = left >= 1
        _keep(self._allowances, ref, _Allowance(left - allowed, now))
        return allowed

    def _name(self, note: Note, now: datetime) -> str:
        said = f"{self._instance} {self._number} {now.isoformat()} {note.reason}"
        return f"{note.ref.name[:NAME_LENGTH]}.{hashlib.sha256(said.encode()).hexdigest()[:16]}"


_QueuedNote = tuple[Note, str, datetime]
"""A note, the uid of what it is about, and when it was told."""

K = TypeVar("K")
V = TypeVar("V")


def _keep(kept: "OrderedDict[K, V]", key: K, value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > KEPT:
        kept.popitem(last=False)


def _namespace(ref: Ref) -> str:
    """Events about a cluster lie in the cluster's namespace, as OCM's do."""
    if ref.kind.namespaced:
        return ref.namespace
    return ref.name if ref.kind is MANAGED_CLUSTER else "default"


def event_object(ref: Ref, note: Note, uid: str, instance: str, now: datetime) -> Obj:
    """The Event that tells of a note, as events.k8s.io/v1 has it."""
    controller = CONTROLLERS.get(note.ref.kind, "rollout-controller")
    obj: Obj = {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.name,
        "metadata": {"namespace": ref.namespace, "name": ref.name},
        "eventTime": rfc3339_micro(now),
        "reportingController": controller,
        "reportingInstance": instance,
        "action": (note.action or note.reason)[:128],
        "reason": note.reason[:128],
        "regarding": _pointer(note.ref, uid),
        "note": _shortened(note.message),
        "type": "Warning" if note.warning else "Normal",
    }
    return {**obj, "related": _pointer(note.related)} if note.related is not None else obj


def _pointer(ref: Ref, uid: str = "") -> Obj:
    """An object, always with a namespace: up to Kubernetes 1.20 an Event in ``default`` may not be
    about one that has none.
    """
    said = {
        "apiVersion": ref.kind.api_version,
        "kind": ref.kind.name,
        "namespace": _namespace(ref),
        "name": ref.name,
        "uid": uid,
    }
    return {key: value for key, value in said.items() if value}


def _shortened(text: str) -> str:
    """At most as many bytes as an API server takes."""
    raw = text.encode()
    if len(raw) <= NOTE_LENGTH:
        return text
    return raw[: NOTE_LENGTH - 3].decode("utf-8", "ignore") + "..."


class EventWriter:
    """Writes events on a thread of its own; nobody waits for it. What fails is counted and forgotten.

    Args:
        io: carries the writes; at most `AT_ONCE` of them at a time.
        uid_of: the uid of an object, "" where it is not known; asked on the teller's thread.
        dropped: called with a reason for each note that comes to nothing.
    """

    def __init__(
        self,
        io: Io,
        clock: Clock,
        instance: str,
        uid_of: Callable[[Ref], str] = lambda _: "",
        dropped: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._io, self._clock, self._uid_of, self._dropped = io, clock, uid_of, dropped
        self._chronicle = Chronicle(instance)
        self._queue: queue.Queue[_QueuedNote | None] = queue.Queue(QUEUED)
        self._thread = threading.Thread(target=self._serve, name="events", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def tell(self, note: Note, now: datetime) -> None:
        """Take a note; returns at once."""
        try:
            self._queue.put_nowait((note, self._uid_of(note.ref), now))
        except queue.Full:
            self._dropped("queue")

    def stop(self, seconds: float = 2.0) -> None:
        """Write what is known, for at most so long."""
        try:
            self._queue.put_nowait(None)
        except queue.Full:
            return
        self._thread.join(seconds)

    def _serve(self) -> None:
        stopping = False
        while not stopping:
            told = self._next()
            stopping = None in told
            self._write([write for item in told if item and (write := self._told(*item))])
            due = self._chronicle.due(self._clock.now(), all_of_them=stopping)
            for first in range(0, len(due), AT_ONCE):
                self._write(due[first : first + AT_ONCE])

    def _next(self) -> "list[_QueuedNote | None]":
        """What waits, at most as much as is written at once; nothing after a while without."""
        found: list[_QueuedNote | None] = []
        with suppress(queue.Empty):
            found.append(self._queue.get(timeout=_IDLE_SECONDS))
            while len(found) < AT_ONCE and found[-1] is not None:
                found.append(self._queue.get_nowait())
        return found

    def _told(self, note: Note, uid: str, now: datetime) -> Create | Patch | None:
        before = self._chronicle.dropped
        write = self._chronicle.add(note, uid, now)
        if write is None and self._chronicle.dropped > before:
            self._dropped("rate")
        return write

    def _write(self, writes: Sequence[Create | Patch]) -> None:
        """Send them, and wait for what comes of them."""
        left = {write.ref for write in writes}
        answers: queue.SimpleQueue[tuple[Ref, WriteOutcome]] = queue.SimpleQueue()
        try:
            if writes:
                self._io.send(writes, lambda write, outcome: answers.put((write.ref, outcome)))
            while left:
                ref, outcome = answers.get(timeout=_ANSWER_SECONDS)
                left.discard(ref)
                if outcome.result is not WriteResult.LANDED:
                    self._failed(ref, outcome.message)
        except queue.Empty:
            for ref in left:
                self._failed(ref, "no answer")
        except Exception:  # nothing may end this thread
            log.exception("events were not written")
            for ref in left:
                self._failed(ref, "a defect")

    def _failed(self, ref: Ref, why: str) -> None:
        self._dropped("refused")
        self._chronicle.forget(ref)
        log.debug("event %s was not written: %s", ref, why)
