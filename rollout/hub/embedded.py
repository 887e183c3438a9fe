"""The verbs and watches that hubs in this process share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from rollout.errors import Expired
from rollout.hub.base import Changes, EventSink, Expire, Listing
from rollout.hub.feed import Feed
from rollout.hub.objects import Objects
from rollout.model.events import Event
from rollout.model.kinds import Kind, Obj, Ref


class EmbeddedVerbs(ABC):
    """The part of `rollout.hub.base.EmbeddedHub` that is the same wherever the objects are kept."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._feed = Feed()

    @abstractmethod
    def _refresh(self, kind: Kind | None = None) -> None:
        """Bring the objects, and all of this kind, up to date, right before they are read."""

    @abstractmethod
    def _write(self) -> AbstractContextManager[None]:
        """One write: what is done inside is told when it ends; where it raises nothing has happened."""

    @abstractmethod
    def _past(self, kind: Kind, version: int) -> Sequence[Event]:
        """The events of a kind after a version. Raises: Expired where some are no longer kept."""

    def get(self, ref: Ref) -> Obj:
        self._refresh()
        return self._objects.get(ref)

    def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Listing:
        self._refresh(kind)
        return self._objects.select(
            kind, namespace, labels, label_selector, field_selector=field_selector
        )

    def expect(self, kinds: Sequence[Kind]) -> None:
        """Nothing is gained by beginning early."""
        return

    def written_since(self, version: int) -> bool:
        self._refresh()
        return self._objects.version > version

    def create(self, ref: Ref, obj: Obj) -> Obj:
        with self._write():
            return self._objects.create(ref, obj)

    def patch(self, ref: Ref, changes: Changes, version: int | None = None) -> Obj:
        with self._write():
            return self._objects.patch(ref, changes, version)

    def patch_status(self, ref: Ref, changes: Changes, version: int | None = None) -> Obj:
        with self._write():
            return self._objects.patch_status(ref, changes, version)

    def replace(self, ref: Ref, obj: Obj, version: int | None = None) -> Obj:
        with self._write():
            return self._objects.replace(ref, obj, version)

    def delete(self, ref: Ref, uid: str | None = None, version: int | None = None) -> None:
        with self._write():
            self._objects.delete(ref, uid, version)

    def watch(
        self, kind: Kind, since: int, sink: EventSink, expired: Expire | None = None
    ) -> Callable[[], None]:
        self._refresh()
        if since > self._objects.version:
            raise Expired(f"cannot watch from version {since}: it is not there yet; list again")
        return self._feed.watch(kind, since, sink, expired, history=self._past)
