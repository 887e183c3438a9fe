"""What has changed since I last looked, whoever changed it?"""

import threading
from collections.abc import Callable

from rollout.errors import Expired
from rollout.hub.base import EmbeddedHub
from rollout.model.events import Event
from rollout.model.kinds import Kind, Obj, Ref, ref_of

PAUSE_SECONDS = 0.25  # between two looks at what other processes wrote


def pauses(seconds: float = PAUSE_SECONDS) -> Callable[[], bool]:
    """A pause to call between two looks; it is always True: look again."""
    never = threading.Event()
    return lambda: not never.wait(seconds)


class Follow:
    """The objects of one kind that change from the moment this is made."""

    def __init__(self, hub: EmbeddedHub, kind: Kind) -> None:
        self._hub, self._kind = hub, kind
        self._events: list[Event] = []
        self._expired = False
        self._known: dict[Ref, str] = {}
        self._begin()

    def _begin(self) -> None:
        """Watch from what there is now."""
        while True:
            listing = self._hub.list(self._kind)
            try:
                self._hub.watch(self._kind, listing.version, self._events.append, self._expire)
            except Expired:  # others wrote more than the history holds, in between
                continue
            break
        self._known = {
            ref_of(self._kind, obj): obj["metadata"]["resourceVersion"] for obj in listing.items
        }

    def _expire(self) -> None:
        self._expired = True

    def changed(self) -> list[Obj]:
        """Each object that changed since the last call, as it is now; of a removed one, its last state."""
        self._hub.poll()
        latest: dict[Ref, Obj] = {}
        for event in self._events:
            latest[event.ref] = event.obj
        self._events.clear()
        if self._expired:
            self._expired = False
            before = self._known
            self._begin()
            for obj in self._hub.list(self._kind).items:
                ref = ref_of(self._kind, obj)
                if before.get(ref) != obj["metadata"]["resourceVersion"]:
                    latest[ref] = obj
        for ref, obj in latest.items():
            self._known[ref] = obj["metadata"]["resourceVersion"]
        return list(latest.values())
