"""Keeps the objects of a hub current by its own watches, for commands and pages that follow them.

Each kind is listed once and watched from there; only where a watch has expired is it listed again. A
`Lookout` is read like a hub, so `rollout.analysis.snapshot.snapshot_of` can look at it as often as wanted. Events
may come from another thread; they are taken in by `changed`, on the thread that asks.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping

from rollout.hub.base import EmbeddedHub, Listing
from rollout.hub.watching import ListWatch, version_of
from rollout.model.events import Change, Event
from rollout.model.kinds import Kind, Obj, Ref

LOOK_SECONDS = 0.25
"""Between two looks at a state file that other processes write; a server tells by itself."""


class _WatchedKind:
    """The objects of one kind, and the watch that keeps them."""

    def __init__(self, watch: ListWatch) -> None:
        self.watch = watch
        self.objects: dict[Ref, Obj] = {}
        self.expired = False


class Lookout:
    """The objects of a hub. For one thread; close it to end its watches."""

    def __init__(
        self, hub: EmbeddedHub, pause: Callable[[threading.Event], object] | None = None
    ) -> None:
        """``pause``: what to do between two looks; by default it waits `LOOK_SECONDS`, or for news."""
        self._hub = hub
        self._state: dict[str, bytes | None] = {}
        self._kept: dict[Kind, _WatchedKind] = {}
        self._events: deque[tuple[_WatchedKind, Event]] = deque()
        self._fresh: list[Event] | None = []  # None: something was listed anew
        self._news = threading.Event()
        self._pause = pause or (lambda news: news.wait(LOOK_SECONDS))

    def list(
        self, kind: Kind, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Listing:
        """As `rollout.hub.base.Hub.list`; the first time a kind is asked for, it begins to be watched."""
        kept = self._kept.get(kind)
        if kept is None:
            kept = self._kept[kind] = self._begun(kind)
        wanted = (labels or {}).items()
        found = (obj for _, obj in sorted(kept.objects.items(), key=lambda pair: pair[0].key))
        return Listing(tuple(o for o in found if _is_in(o, namespace) and _has(o, wanted)), 0)

    def get_state(self, key: str) -> bytes | None:
        """As `rollout.hub.base.EmbeddedHub.get_state`, as it was when it was first asked for."""
        if key not in self._state:
            self._state[key] = self._hub.get_state(key)
        return self._state[key]

    def changed(self) -> bool:
        """Take in what has happened since the last call. Returns: whether anything that counts has."""
        self._news.clear()
        self._hub.poll()
        changed = False
        while self._events:
            kept, event = self._events.popleft()
            changed = self._take(kept, event) or changed
        for kept in self._kept.values():
            if kept.expired:
                self._list(kept)
                changed = True
        return changed

    def taken(self) -> tuple[Event, ...] | None:
        """The events that `changed` has taken in since this was last asked.

        Returns: None where that is not known, since a kind was listed anew or is watched only now.
        """
        found, self._fresh = self._fresh, []
        return tuple(found) if found is not None else None

    def wait(self, seconds: float) -> bool:
        """Wait for a change, for about so long. Returns: as `changed`."""
        for _ in range(max(1, round(seconds / LOOK_SECONDS))):
            self._pause(self._news)
            if self.changed():
                return True
        return False

    def rest(self, seconds: float) -> None:
        """Do nothing for so long; what happens meanwhile is taken in afterwards, together."""
        threading.Event().wait(seconds)

    def close(self) -> None:
        for kept in self._kept.values():
            kept.watch.end()
        self._kept.clear()

    def _begun(self, kind: Kind) -> _WatchedKind:
        def heard(event: Event) -> None:
            self._events.append((kept, event))
            self._news.set()

        def expired() -> None:
            kept.expired = True
            self._news.set()

        kept = _WatchedKind(ListWatch(self._hub, kind, heard, expired))
        self._list(kept)
        return kept

    def _list(self, kept: _WatchedKind) -> None:
        kept.expired = False
        self._fresh = None
        kept.objects = {event.ref: event.obj for event in kept.watch.again()}

    def _take(self, kept: _WatchedKind, event: Event) -> bool:
        known = kept.objects.get(event.ref)
        if event.version <= kept.watch.version or (
            known is not None and version_of(known) > event.version
        ):
            return False  # listed anew since
        if event.change is Change.DELETED:
            if kept.objects.pop(event.ref, None) is None:
                return False
        else:
            kept.objects[event.ref] = event.obj
        if self._fresh is not None:
            self._fresh.append(event)
        return True


def _is_in(obj: Obj, namespace: str | None) -> bool:
    return namespace is None or obj["metadata"].get("namespace", "") == namespace


def _has(obj: Obj, wanted: Iterable[tuple[str, str]]) -> bool:
    labels = obj["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in wanted)
