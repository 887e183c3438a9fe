"""Keeps the newest version seen of every object, to pass over old events."""

from rollout.model.events import Change, Event
from rollout.model.kinds import Kind, Ref

_TOMBSTONES = 5_000


class Versions:
    """Versions by object; those of objects deleted lately too, against events that come late."""

    def __init__(self) -> None:
        self._present: dict[Ref, int] = {}
        self._gone: dict[Ref, int] = {}

    def take(self, event: Event) -> bool:
        """Note the event; False where something as new is known of the object already."""
        if event.version <= self.of(event.ref):
            return False
        if event.change is Change.DELETED:
            self._present.pop(event.ref, None)
            self._gone[event.ref] = event.version
            if len(self._gone) > _TOMBSTONES:
                self._gone.pop(next(iter(self._gone)))
        else:
            self._present[event.ref] = event.version
        return True

    def found(self, ref: Ref, version: int) -> None:
        """A read shows that the object is there, so that its next event in this version is news.

        One that left the label selector of a watch was told of as deleted, in the version that it has.
        """
        if self._gone.get(ref) == version:
            del self._gone[ref]

    def of(self, ref: Ref) -> int:
        """The newest version seen of an object, 0 where it was never seen."""
        return self._present.get(ref) or self._gone.get(ref, 0)

    def exists(self, ref: Ref) -> bool:
        return ref in self._present

    def known(self, kind: Kind) -> set[Ref]:
        """All objects of a kind that are there, to find those that a new list lacks."""
        return {ref for ref in self._present if ref.kind is kind}

    def forget(self, kind: Kind) -> None:
        """When the kind is read again, all of it is news."""
        for seen in (self._present, self._gone):
            for ref in [ref for ref in seen if ref.kind is kind]:
                del seen[ref]
