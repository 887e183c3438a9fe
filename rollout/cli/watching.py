"""What has changed since I last looked, whoever changed it?"""

import threading
from collections.abc import Callable

from rollout.hub.base import EmbeddedHub
from rollout.hub.watching import ListWatch
from rollout.model.events import Event
from rollout.model.kinds import Kind, Obj

PAUSE_SECONDS = 0.25  # between two looks at what other processes wrote


def pauses(seconds: float = PAUSE_SECONDS) -> Callable[[], bool]:
    """A pause to call between two looks; it is always True: look again."""
    never = threading.Event()
    return lambda: not never.wait(seconds)


class Follow:
    """The objects of one kind that change from the moment this is made."""

    def __init__(self, hub: EmbeddedHub, kind: Kind) -> None:
        self._hub = hub
        self._events: list[Event] = []
        self._expired = False
        self._watch = ListWatch(hub, kind, self._events.append, self._expire)
        self._known = {event.ref: event.version for event in self._watch.again()}

    def _expire(self) -> None:
        self._expired = True

    def changed(self) -> list[Obj]:
        """Each object that changed since the last call, as it is now; of a removed one, its last state."""
        self._hub.poll()
        events = self._events[:]
        self._events.clear()
        if self._expired:
            self._expired = False
            listed = self._watch.again()
            events += [e for e in listed if self._known.get(e.ref) != e.version]
        self._known.update((event.ref, event.version) for event in events)
        return list({event.ref: event.obj for event in events}.values())
