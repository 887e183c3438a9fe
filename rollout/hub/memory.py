"""An API server in memory, for tests, simulations and short runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from rollout.clock import Clock
from rollout.hub.base import Admit
from rollout.hub.embedded import EmbeddedVerbs
from rollout.hub.feed import Journal
from rollout.hub.objects import Objects
from rollout.model.events import Change, Event
from rollout.model.kinds import KINDS, Kind, Obj, Ref, ref_of


class MemoryHub(EmbeddedVerbs):
    """An `EmbeddedHub` that lives as long as the process. For one thread.

    Args:
        clock: gives creation and deletion timestamps.
        seed: uids and generated names are the same in every run with the same seed and writes.
        history: how many events are kept for watches from an older version. Each of them keeps its object as
            it was then, such as a whole page of a rollout record; a watch that begins right after its list
            needs none.
        admit: validates and defaults every object before it is stored.
        kinds: the kinds that owners can be of, by name.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        seed: str = "rollout",
        history: int = 500,
        admit: Admit | None = None,
        kinds: Mapping[str, Kind] = KINDS,
    ) -> None:
        super().__init__(Objects(clock, seed, admit, kinds))
        self._kinds = kinds
        self._journal = Journal(history)
        self._state: dict[str, bytes] = {}
        self._in_batch = False

    def _refresh(self, kind: Kind | None = None) -> None:
        """Nobody else writes here."""

    def _write(self) -> AbstractContextManager[None]:
        return _Batch(self)

    def _past(self, kind: Kind, version: int) -> Sequence[Event]:
        return self._journal.after(kind, version)

    def batch(self) -> AbstractContextManager[None]:
        return _Batch(self)

    def begin(self) -> dict[str, bytes] | None:
        """Begin a batch. Returns: the state to go back to; None inside another batch."""
        if self._in_batch:
            return None
        if self._objects.mark() or self._feed.is_behind:  # an interrupt kept it from being told
            self._publish()
        self._in_batch = True
        return dict(self._state)

    def end(self, state: dict[str, bytes], *, is_done: bool) -> None:
        """End the batch: tell what was done in it, or take it back."""
        self._in_batch = False
        if is_done:
            self._publish()
        else:
            self._objects.undo()
            self._state = state

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

    def put_state(self, key: str, value: bytes | None) -> None:
        if value is None:
            self._state.pop(key, None)
        else:
            self._state[key] = value

    def get_state(self, key: str) -> bytes | None:
        return self._state.get(key)

    def get_states(self, prefix: str) -> dict[str, bytes]:
        found = self._state.items()
        return {key.removeprefix(prefix): v for key, v in found if key.startswith(prefix)}

    def close(self) -> None:
        """Nothing is held that must be let go."""

    def _publish(self) -> None:
        for record in self._objects.take():
            self._journal.append(record.event)
            self._feed.enqueue(record.event)
        self._feed.drain()


class _Batch:
    """One transaction of a `MemoryHub`; inside another it is part of that."""

    __slots__ = ("_hub", "_state")

    def __init__(self, hub: MemoryHub) -> None:
        self._hub = hub

    def __enter__(self) -> None:
        self._state = self._hub.begin()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._state is not None:
            self._hub.end(self._state, is_done=kind is None)
