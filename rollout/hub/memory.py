"""An API server in memory: everything controllers rely on, for tests, simulations and short runs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from rollout.clock import Clock
from rollout.errors import Expired
from rollout.hub.base import Admit, Changes, Expire, Listing, Sink
from rollout.hub.feed import Feed, Journal
from rollout.hub.objects import Objects
from rollout.model.events import Change, Event
from rollout.model.kinds import KINDS, Kind, Obj, Ref, ref_of


class MemoryHub:
    """An `EmbeddedHub` that lives as long as the process. For one thread.

    Args:
        clock: gives creation and deletion timestamps.
        seed: uids and generated names are the same in every run with the same seed and writes.
        history: how many events are kept for watches from an older version.
        admit: validates and defaults every object before it is stored.
        kinds: the kinds that owners can be of, by name.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        seed: str = "rollout",
        history: int = 50_000,
        admit: Admit | None = None,
        kinds: Mapping[str, Kind] = KINDS,
    ) -> None:
        self._objects, self._kinds = Objects(clock, seed, admit, kinds), kinds
        self._journal = Journal(history)
        self._feed = Feed()
        self._state: dict[str, bytes] = {}
        self._in_batch = False

    def get(self, ref: Ref) -> Obj:
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
        return self._objects.select(kind, namespace, labels, label_selector, field_selector)

    def create(self, ref: Ref, obj: Obj) -> Obj:
        stored = self._objects.create(ref, obj)
        self._publish()
        return stored

    def patch(self, ref: Ref, changes: Changes, version: int | None = None) -> Obj:
        stored = self._objects.patch(ref, changes, version)
        self._publish()
        return stored

    def patch_status(self, ref: Ref, changes: Changes, version: int | None = None) -> Obj:
        stored = self._objects.patch_status(ref, changes, version)
        self._publish()
        return stored

    def replace(self, ref: Ref, obj: Obj, version: int | None = None) -> Obj:
        stored = self._objects.replace(ref, obj, version)
        self._publish()
        return stored

    def delete(self, ref: Ref, uid: str | None = None, version: int | None = None) -> None:
        self._objects.delete(ref, uid, version)
        self._publish()

    def watch(
        self, kind: Kind, since: int, sink: Sink, expired: Expire | None = None
    ) -> Callable[[], None]:
        if since > self._objects.version:
            raise Expired(f"cannot watch from version {since}: it is not there yet; list again")
        return self._feed.watch(kind, since, sink, expired, self._journal.after)

    def batch(self) -> AbstractContextManager[None]:
        return self._batch()

    @contextmanager
    def _batch(self) -> Iterator[None]:
        if self._in_batch:
            yield
            return
        self._publish()  # whatever an interrupt kept from being told
        state = dict(self._state)
        self._in_batch = True
        try:
            yield
        except BaseException:
            self._objects.undo()
            self._state = state
            raise
        finally:
            self._in_batch = False
        self._publish()

    def adopt(self, objects: Iterable[tuple[Ref, Obj]]) -> None:
        """Take over objects as another hub stores them: uids, versions and statuses stay as they are.

        For an empty hub, before anybody watches it.
        """
        found = [(int(obj["metadata"]["resourceVersion"]), ref, obj) for ref, obj in objects]
        for version, ref, obj in sorted(found, key=lambda each: each[0]):
            self._objects.load(Event(ref, Change.ADDED, obj, version))

    def everything(self) -> Iterator[tuple[Ref, Obj]]:
        """All objects there are, for `adopt`."""
        for kind in self._kinds.values():
            for obj in self.list(kind).items:
                yield ref_of(kind, obj), obj

    def poll(self) -> int:
        return 0

    def put_state(self, key: str, value: bytes) -> None:
        self._state[key] = value

    def get_state(self, key: str) -> bytes | None:
        return self._state.get(key)

    def close(self) -> None:
        """Nothing is held that must be let go."""

    def _publish(self) -> None:
        if self._in_batch:
            return
        for record in self._objects.take():
            self._journal.append(record.event)
            self._feed.enqueue(record.event)
        self._feed.drain()
