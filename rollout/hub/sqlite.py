"""The embedded hub on a file: what was acknowledged is there after a kill, and others may write too.

Objects are served from memory, where they are as the file has them: every write begins a transaction
of the file, first takes over what other processes wrote, then checks and writes. So preconditions
are checked against the file, and no two processes can both believe that they were first.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from rollout.clock import Clock
from rollout.errors import ConfigError, Expired, Invalid
from rollout.hub.base import Admit
from rollout.hub.database import MIGRATIONS, Database, ObjectRow, RunnerLock
from rollout.hub.embedded import EmbeddedVerbs
from rollout.hub.objects import ChangeRecord, Objects
from rollout.model.events import Change, Event
from rollout.model.kinds import KINDS, Kind, Obj, Ref

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Obj).decode


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
            self._load()
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

    def put_state(self, key: str, value: bytes) -> None:
        with self._batch():
            self._database.put_state(key, value)

    def get_state(self, key: str) -> bytes | None:
        return self._database.get_state(key)

    def close(self) -> None:
        """Close the file and let the runner's lock go; the hub cannot be used after."""
        self._database.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    # What other processes wrote

    def _refresh(self) -> None:
        if not self._in_batch:
            self._catch_up()

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
            self._load()
            self._brought_in += 1
            self._feed.expire()
            rows = []
        for row in rows:
            event = self._event(row)
            self._objects.load(event)
            self._feed.enqueue(event)
        self._brought_in += len(rows)
        self._seen = seen

    def _load(self) -> None:
        version, rows = self._database.load()
        self._objects.clear()
        for row in rows:
            self._objects.load(self._event(row))
        self._objects.version = version

    def _past(self, kind: Kind, version: int) -> Sequence[Event]:
        return [self._event(row) for row in self._database.after(version, kind.name)]

    def _event(self, row: ObjectRow) -> Event:
        kind = self._kinds.get(row.kind)
        if kind is None:
            raise ConfigError(
                f"the state file holds a {row.kind}, a kind this program does not know"
            )
        return Event(Ref(kind, row.key), Change(row.change), _decode(row.body), row.version)


def _row(record: ChangeRecord) -> ObjectRow:
    event = record.event
    try:
        body = _encode(event.obj)
    except (TypeError, ValueError, OverflowError) as fault:
        raise Invalid(f"cannot store {event.ref} as JSON: {fault}") from fault
    return ObjectRow(
        event.version, event.ref.kind.name, event.ref.key, event.change.value, body=body
    )
