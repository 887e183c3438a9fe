"""Follows one kind on any hub: list, watch from there, and list again after a gap."""

from collections.abc import Iterable, Iterator

from rollout.errors import Expired
from rollout.hub.base import EventSink, Expire, Hub, Listing
from rollout.model.events import Change, Event
from rollout.model.kinds import Kind, Obj, Ref, ref_of


class ListWatch:
    """The watch of one kind. It begins with the first call of `again`.

    Args:
        sink: is told of what happens after a list, perhaps on another thread.
        expired: is called when the watch is over and events may be missing: call `again` then.
    """

    def __init__(self, hub: Hub, kind: Kind, sink: EventSink, expired: Expire) -> None:
        self._hub, self._kind = hub, kind
        self._sink, self._expired = sink, expired
        self.end = _nothing
        """Ends the watch; `again` begins it anew."""
        self.version = 0
        """Of the last list: what happened up to it is in the list."""

    def again(self, known: Iterable[Ref] = ()) -> Iterator[Event]:
        """List, and watch from there.

        Returns: what the list says: that each object is there, then that those of ``known`` that are
        not in the list were deleted. Raises: HubError; then the watch that there was goes on.
        """
        while True:
            listing = self._hub.list(self._kind)
            self.end()
            self.version = listing.version
            try:
                self.end = self._hub.watch(self._kind, listing.version, self._sink, self._expired)
            except Expired:  # others wrote more than the hub's history holds, in between
                continue
            return _events(self._kind, listing, known)


def _nothing() -> None:
    """Ends no watch."""


def _events(kind: Kind, listing: Listing, known: Iterable[Ref]) -> Iterator[Event]:
    gone, version = set(known), listing.version
    left = list(reversed(listing.items))
    del (
        listing
    )  # each object goes when it was taken in: a large list is not held beside what is kept
    while left:
        obj = left.pop()
        ref = ref_of(kind, obj)
        gone.discard(ref)
        yield Event(ref, Change.ADDED, obj, version_of(obj))
    for ref in sorted(gone, key=str):
        yield Event(ref, Change.DELETED, last_seen(ref), version)


def version_of(obj: Obj) -> int:
    return int(obj["metadata"]["resourceVersion"])


def last_seen(ref: Ref) -> Obj:
    """What is left of an object that is gone: enough to find what to forget."""
    meta: Obj = {"name": ref.name, "resourceVersion": "0"}
    if ref.kind.namespaced:
        meta["namespace"] = ref.namespace
    return {"metadata": meta}
