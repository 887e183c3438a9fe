"""The embedded hub on a file: it survives a kill, and other processes may write too.

Objects are served from memory, where they are as the file has them: every write begins a transaction
of the file, first takes over what other processes wrote, then checks and writes. So preconditions
are checked against the file, and no two processes can both believe that they were first. A kind is read
when it is first listed, everything when something is first written; a single object is looked up.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from rollout.clock import Clock
from rollout.errors import ConfigError, Expired, Gone, Invalid, Unavailable
from rollout.hub.base import Admit
from rollout.hub.database import MIGRATIONS, Database, ObjectRow
from rollout.hub.embedded import EmbeddedVerbs
from rollout.hub.kube_objects import ObjectDecoder
from rollout.hub.objects import ChangeRecord, Objects
from rollout.hub.state_locks import RunnerLock
from rollout.model.events import Change, Event
from rollout.model.kinds import KINDS, Kind, Obj, Ref

_encode = msgspec.json.Encoder().encode


class SqliteHub(EmbeddedVerbs):
    """An `EmbeddedHub` on a SQLite file. For one thread of each process that opens it.

    Reads see what other processes wrote; watchers hear of it at the next `poll` or write.

    Args:
        path: the state file; ``.runner`` and ``.turn`` beside it are locks, ``-wal`` and ``-shm``
            are SQLite's.
        clock: gives creation and deletion timestamps.
        runner: take the lock of the one process that runs rollouts on the file.
        create: make the file where it is not there.
        seed: kept in a new file; uids and generated names follow from it.
        history: how many events are kept for watches from an older version, at least.
        patience: seconds to wait for another process's transaction.
        admit: validates and defaults every object that this process writes.
        kinds: the kinds that the file can hold, by name.
        migrations: see `rollout.hub.database.MIGRATIONS`.

    Raises: ConfigError where another runner has the file, or the file cannot be read.
    """

    def __init__(
        self,
        path: Path | str,
        clock: Clock,
        *,
        runner: bool = False,
        create: bool = True,
        seed: str = "rollout",
        history: int = 50_000,
        patience: float = 10.0,
        admit: Admit | None = None,
        kinds: Mapping[str, Kind] = KINDS,
        migrations: Sequence[str] = MIGRATIONS,
    ) -> None:
        self._kinds, self._history = kinds, history
        self._loaded: set[str] = set()  # kinds whose objects are in memory, by name
        self._decoder = ObjectDecoder()
        self._rows: list[ObjectRow] = []
        self._superseded: list[int] = []
        self._brought_in = 0
        self._in_batch = False
        self._database = Database(
            Path(path), seed=seed, create=create, patience=patience, migrations=migrations
        )
        self._lock: RunnerLock | None = None
        try:
            self._lock = RunnerLock(Path(path)) if runner else None
            super().__init__(Objects(clock, self._database.seed(), admit, kinds))
            self._seen = self._database.data_version()
            self._objects.version = self._database.version()
            self._check_kinds()
        except BaseException:
            self.close()
            raise

    def batch(self) -> AbstractContextManager[None]:
        return self._batch()

    @contextmanager
    def _batch(self) -> Iterator[None]:
        if self._in_batch:
            yield
            return
        self._publish()  # whatever an interrupt kept from being told
        self._database.begin()
        self._in_batch = True
        try:
            self._catch_up()
            yield
            self._commit()
        except BaseException:
            self._database.rollback()
            self._objects.undo()
            self._seen = -1  # look at the file anew: a failed commit may have been one
            raise
        finally:
            self._in_batch = False
            self._rows.clear()
            self._superseded.clear()
        self._publish()

    def _publish(self) -> None:
        for record in self._objects.take():
            self._feed.enqueue(record.event)
        self._feed.drain()

    def _commit(self) -> None:
        if self._rows:
            self._database.write(self._rows, self._superseded)
            self._database.forget(self._history)
        self._database.commit()

    @contextmanager
    def _write(self) -> Iterator[None]:
        """One write: all that it does is made ready for the file, or nothing of it happened."""
        with self._batch():
            self._load(None)
            mark = self._objects.mark()
            try:
                yield
                records = self._objects.since(mark)
                rows = [_row(record) for record in records]
            except BaseException:
                self._objects.undo(mark)
                raise
            self._rows += rows
            self._superseded += [
                int(record.old["metadata"]["resourceVersion"]) for record in records if record.old
            ]

    def poll(self) -> int:
        self._refresh()
        count, self._brought_in = self._brought_in, 0
        self._feed.drain()
        return count

    def put_state(self, key: str, value: bytes | None) -> None:
        with self._batch():
            self._database.put_state(key, value)

    def get_state(self, key: str) -> bytes | None:
        return self._database.get_state(key)

    def get_states(self, prefix: str) -> dict[str, bytes]:
        return self._database.get_states(prefix)

    def close(self) -> None:
        """Close the file and let the runner's lock go; the hub cannot be used after."""
        self._database.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def get(self, ref: Ref) -> Obj:
        self._refresh()
        if ref.kind.name in self._loaded:
            return self._objects.get(ref)
        row = self._database.one(ref.kind.name, ref.key)
        if row is None:
            raise Gone(f"{ref} is not there")
        return self._event(row).obj

    # What the file has

    def _refresh(self, kind: Kind | None = None) -> None:
        if not self._in_batch:
            self._catch_up()
        if kind is not None:
            self._load(kind)

    def _load(self, kind: Kind | None) -> None:
        """Bring the objects of a kind, or of all kinds, into memory, unless they are there."""
        names = list(self._kinds) if kind is None else [kind.name]
        lacking = [name for name in names if name not in self._loaded]
        if not lacking:
            return
        with self._database.reading():
            self._catch_up()
            for name in lacking:
                for row in self._database.load(name):
                    self._objects.put(self._event(row))
        self._loaded.update(lacking)

    # What other processes wrote

    def _catch_up(self) -> None:
        """Take over what other processes have committed; watchers are told when the feed is drained."""
        seen = (
            self._database.data_version()
        )  # first: what comes in between is read twice, not never
        if seen == self._seen:
            return
        try:
            rows = self._database.after(self._objects.version)
        except Expired:
            self._objects.clear()
            self._loaded.clear()
            self._objects.version = self._database.version()
            self._check_kinds()
            self._brought_in += 1
            self._feed.expire()
            rows = []
        for row in rows:
            event = self._event(row)
            if row.kind in self._loaded:
                self._objects.load(event)
            self._objects.version = row.version
            self._feed.enqueue(event)
        self._brought_in += len(rows)
        self._seen = seen

    def _check_kinds(self) -> None:
        """Raises: ConfigError where the file holds a kind that is not known here."""
        for name in self._database.kinds():
            self._kind(name)

    def _kind(self, name: str) -> Kind:
        kind = self._kinds.get(name)
        if kind is None:
            raise ConfigError(f"the state file holds a {name}, a kind this program does not know")
        return kind

    def _past(self, kind: Kind, version: int) -> Sequence[Event]:
        return [self._event(row) for row in self._database.after(version, kind.name)]

    def _event(self, row: ObjectRow) -> Event:
        kind = self._kind(row.kind)
        try:
            obj = self._decoder.object(kind, row.body)
        except Unavailable as fault:
            raise ConfigError(
                f"the state file is damaged: {row.kind} {row.key} is not an object"
            ) from fault
        return Event(Ref(kind, row.key), Change(row.change), obj, row.version)


def _row(record: ChangeRecord) -> ObjectRow:
    event = record.event
    try:
        body = _encode(event.obj)
    except (TypeError, ValueError, OverflowError) as fault:
        raise Invalid(f"cannot store {event.ref} as JSON: {fault}") from fault
    return ObjectRow(
        event.version, event.ref.kind.name, event.ref.key, event.change.value, body=body
    )
