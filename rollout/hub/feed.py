"""Tells watchers of changes, in order.

Events reach every watcher in the order of their versions. A watcher that writes from inside its
callback does not overtake anything: what it causes is queued behind what is being told.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice

from rollout.errors import Expired
from rollout.hub.base import EventSink, Expire
from rollout.model.events import Event
from rollout.model.kinds import Kind

EventsSince = Callable[[Kind, int], Sequence[Event]]
"""``(kind, version) -> the events of the kind after it``, by version. Raises: Expired."""


class Journal:
    """The last ``limit`` events of all kinds, for watches that begin in the past."""

    def __init__(self, limit: int) -> None:
        self._events: deque[Event] = deque(maxlen=limit)
        self._forgotten = 0  # the version up to which events are no longer kept

    def append(self, event: Event) -> None:
        if len(self._events) == self._events.maxlen:
            self._forgotten = self._events[0].version
        self._events.append(event)

    def after(self, kind: Kind, version: int) -> list[Event]:
        """The events of a kind after ``version``. Raises: Expired where some are forgotten."""
        check_kept(version, self._forgotten)
        events = self._events
        skipped = bisect_right(events, version, key=lambda event: event.version)
        return [event for event in islice(events, skipped, None) if event.ref.kind == kind]


def check_kept(version: int, forgotten: int) -> None:
    """Raises: Expired where events after ``version`` are no longer kept."""
    if version < forgotten:
        raise Expired(f"cannot watch from version {version}: kept since {forgotten}; list again")


class _Watcher:
    """One watch: where it is, and whether it is still wanted."""

    __slots__ = ("active", "expired", "position", "sink")

    def __init__(self, sink: EventSink, expired: Expire | None, position: int) -> None:
        self.sink, self.expired, self.position = sink, expired, position
        self.active = True


class Feed:
    """The watchers by kind, and what they have still to be told."""

    def __init__(self) -> None:
        self._watchers: dict[Kind, list[_Watcher]] = {}
        self._queue: deque[tuple[_Watcher, Event | None]] = deque()
        self._draining = False

    def watch(
        self, kind: Kind, since: int, sink: EventSink, expired: Expire | None, history: EventsSince
    ) -> Callable[[], None]:
        """Tell the past, then register: a write made by ``sink`` meanwhile is past as well."""
        watcher = _Watcher(sink, expired, since)
        while events := history(kind, watcher.position):
            for event in events:
                watcher.position = event.version
                sink(event)
        self._watchers.setdefault(kind, []).append(watcher)

        def end() -> None:
            if watcher.active:
                watcher.active = False
                self._watchers[kind].remove(watcher)

        return end

    def enqueue(self, event: Event) -> None:
        """Put an event in line for the watchers there are now."""
        for watcher in self._watchers.get(event.ref.kind, ()):
            self._queue.append((watcher, event))

    @property
    def is_behind(self) -> bool:
        """Whether something is in line."""
        return bool(self._queue)

    def drain(self) -> None:
        """Tell everything that is in line. From inside a callback this does nothing: it is being done.

        What a callback raises leaves through here; the rest stays in line for the next call.
        """
        if self._draining or not self._queue:
            return
        self._draining = True
        try:
            while self._queue:
                watcher, event = self._queue.popleft()
                if event is None:
                    if watcher.expired is not None:
                        watcher.expired()
                elif watcher.active and event.version > watcher.position:
                    watcher.position = event.version
                    watcher.sink(event)
        finally:
            self._draining = False

    def expire(self) -> None:
        """End every watch; those that asked are told so when the queue is drained."""
        self._queue.clear()
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.active = False
                self._queue.append((watcher, None))
        self._watchers.clear()
