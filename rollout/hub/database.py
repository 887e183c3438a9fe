"""Stores objects in a SQLite file, and makes their writes durable.

One row of ``revision`` for each version of an object, body and all; ``object`` points at the version
each object is at. So ``revision`` is the watch history too: old rows go, those pointed at stay.
Write-ahead log with a sync at each commit: what was committed survives a kill and a power cut.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rollout.errors import ConfigError, Unavailable
from rollout.hub.feed import check_kept
from rollout.hub.state_locks import RunnerLock, WriteTurns


def _look_like_ours(path: Path, *, create: bool) -> None:
    """Raises: ConfigError where this can be no state file; nothing is made, or put beside it, then."""
    if path.is_dir():
        raise ConfigError(f"{path} is a directory: name a file in it, as {path / 'state.db'}")
    if not create and not path.exists():
        raise ConfigError(f"there is no state file {path}")
    if not path.parent.is_dir():
        raise ConfigError(f"cannot make the state file {path}: there is no such directory")
    if path.is_file():
        with path.open("rb") as file:
            begins = file.read(len(_MAGIC))
        if begins and begins != _MAGIC[: len(begins)]:
            raise ConfigError(f"{path} is not a state file; choose another path, or a new one")


_MAGIC = b"SQLite format 3\0"
_OURS = 0x726F6C6C  # "roll", as the file's application id

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE revision (
        version INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL,
        change TEXT NOT NULL, body BLOB NOT NULL);
    CREATE TABLE object (
        kind TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL,
        PRIMARY KEY (kind, key)) WITHOUT ROWID;
    CREATE TABLE state (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    INSERT INTO setting VALUES ('forgotten', '0');
    """,
)
"""What brings a file from schema n to n + 1. Never edited once released; only appended to."""


_NOW = "SELECT r.* FROM object o JOIN revision r ON r.version = o.version"


class ObjectRow(NamedTuple):
    """One version of an object. ``change`` is ADDED, MODIFIED or DELETED, ``body`` JSON."""

    version: int
    kind: str
    key: str
    change: str
    body: bytes


def _connected(path: Path, patience: float) -> sqlite3.Connection:
    """A connection that reads also where nothing may be written beside the file, while nobody writes."""
    sql = sqlite3.connect(path, timeout=patience, isolation_level=None)
    try:
        sql.execute("PRAGMA schema_version")
    except sqlite3.OperationalError:
        sql.close()
        if os.access(path.parent, os.W_OK):
            raise
        if Path(f"{path}-wal").exists():
            raise ConfigError(
                f"cannot read the state file {path}: you may not write in its folder, and it is in use "
                f"({path}-wal); wait until it is not, or copy both files to a folder of your own"
            ) from None
        uri = f"{path.absolute().as_uri()}?immutable=1"
        sql = sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None)
    return sql


class Database:
    """One connection to a state file. Raises: Unavailable where the file cannot be used now."""

    def __init__(
        self,
        path: Path,
        *,
        seed: str,
        create: bool = True,
        patience: float = 10.0,
        migrations: Sequence[str] = MIGRATIONS,
    ) -> None:
        """Open the file and bring it to the newest schema.

        Args:
            path: the file; its directory must exist.
            seed: kept in the file when it is made; later ones are ignored.
            create: whether a file that is not there is made.
            patience: seconds to wait for another process's transaction.
            migrations: see `MIGRATIONS`.
        Raises: ConfigError where the file is not ours, damaged, or of a newer schema.
        """
        self._path, self._logs = path, False
        self._turns = WriteTurns(path)
        try:
            _look_like_ours(path, create=create)
            if not path.exists():
                path.touch(0o600)  # it may hold Secrets
            self._sql = _connected(path, patience)
        except (OSError, sqlite3.OperationalError) as fault:
            words = (getattr(fault, "strerror", None) or str(fault)).lower()
            raise ConfigError(f"cannot open the state file {path}: {words}") from fault
        try:
            with self._faults():
                known = self._schema(len(migrations))
                self._sql.execute("PRAGMA synchronous = FULL")
                if known < len(migrations):
                    with self._turns.turn():
                        self._prepare(known, seed, migrations)
        except BaseException:
            self.close()
            raise

    def _schema(self, newest: int) -> int:
        """The schema of the file. Raises: ConfigError where it is not ours, or newer than ``newest``."""
        ours, known = self._pragma("application_id"), self._pragma("user_version")
        if ours != _OURS and self._one("SELECT count(*) FROM sqlite_master"):
            raise ConfigError(f"{self._path} is a database of something else")
        if known > newest:
            raise ConfigError(
                f"{self._path} has schema {known}, this program knows {newest}: "
                "use the newer version of rollout that wrote it"
            )
        return known

    def _prepare(self, known: int, seed: str, migrations: Sequence[str]) -> None:
        sql = self._sql
        sql.execute("PRAGMA journal_mode = WAL")
        # A runner of an older release must not find the tables changed under it.
        alone = contextlib.closing(RunnerLock(self._path)) if known else contextlib.nullcontext()
        with alone, self._undone_on_failure():
            sql.execute("BEGIN IMMEDIATE")
            for script in migrations[self._pragma("user_version") :]:
                for statement in filter(str.strip, script.split(";")):
                    sql.execute(statement)
            sql.execute("INSERT OR IGNORE INTO setting VALUES ('seed', ?)", (seed,))
            sql.execute(f"PRAGMA application_id = {_OURS}")
            sql.execute(f"PRAGMA user_version = {len(migrations)}")
            sql.execute("COMMIT")

    # Transactions

    def begin(self) -> None:
        """Begin to write: from here to the end no other process does."""
        with self._faults(), self._turns.turn():
            if not self._logs:  # a copy that another program made may have lost the mode
                self._sql.execute("PRAGMA journal_mode = WAL")
                self._logs = True
            self._sql.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """End the transaction; what it wrote lasts. Where this fails nothing is written."""
        with self._faults(), self._undone_on_failure():
            self._sql.execute("COMMIT")

    def rollback(self) -> None:
        if self._sql.in_transaction:
            self._sql.execute("ROLLBACK")

    # Reading

    def data_version(self) -> int:
        """A number that differs from the last one given where another process has committed since."""
        with self._faults():
            return self._pragma("data_version")

    def seed(self) -> str:
        return str(self._setting("seed"))

    def forgotten(self) -> int:
        """The version up to which history may be incomplete."""
        return int(self._setting("forgotten"))

    def version(self) -> int:
        """The version of the last write."""
        with self._faults():
            return int(self._one("SELECT coalesce(max(version), 0) FROM revision"))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """All that is read inside is of one instant."""
        if self._sql.in_transaction:
            yield
            return
        with self._faults():
            self._sql.execute("BEGIN")
        try:
            yield
        finally:
            self.rollback()

    def kinds(self) -> list[str]:
        """The names of the kinds of which there are objects. Cost: O(kinds)."""
        query = """WITH RECURSIVE found(kind) AS (SELECT min(kind) FROM object UNION ALL
            SELECT (SELECT min(kind) FROM object WHERE kind > found.kind) FROM found
            WHERE found.kind IS NOT NULL) SELECT kind FROM found WHERE kind IS NOT NULL"""
        with self._faults():
            return [str(kind) for (kind,) in self._sql.execute(query)]

    def load(self, kind: str) -> list[ObjectRow]:
        """All objects of a kind as they are now."""
        with self._faults():
            return [
                ObjectRow(*row) for row in self._sql.execute(f"{_NOW} WHERE o.kind = ?", (kind,))
            ]

    def one(self, kind: str, key: str) -> ObjectRow | None:
        """One object as it is now; None where it is not there."""
        with self._faults():
            found = self._sql.execute(f"{_NOW} WHERE o.kind = ? AND o.key = ?", (kind, key))
            row = found.fetchone()
        return None if row is None else ObjectRow(*row)

    def after(self, version: int, kind: str | None = None) -> list[ObjectRow]:
        """What was written after ``version``, in order. Raises: Expired where some is forgotten."""
        query = "SELECT * FROM revision WHERE version > ?"
        with self._faults():
            if kind is None:
                found = self._sql.execute(f"{query} ORDER BY version", (version,))
            else:
                found = self._sql.execute(f"{query} AND kind = ? ORDER BY version", (version, kind))
            rows = [ObjectRow(*row) for row in found]
        check_kept(version, self.forgotten())  # read last: what is gone by now was not in the rows
        return rows

    # Writing, inside a transaction

    def write(self, rows: Sequence[ObjectRow], superseded: Iterable[int]) -> None:
        """Append rows, and point each object at its last one.

        Args:
            rows: by version, all newer than what is there.
            superseded: the versions that objects were at before.
        """
        last = {(row.kind, row.key): row for row in rows}
        forgotten = self.forgotten()
        dead = [(v,) for v in superseded if v <= forgotten]
        deleted = [at for at, row in last.items() if row.change == "DELETED"]
        live = [(*at, row.version) for at, row in last.items() if row.change != "DELETED"]
        with self._faults():
            self._sql.executemany("INSERT INTO revision VALUES (?, ?, ?, ?, ?)", rows)
            self._sql.executemany("INSERT OR REPLACE INTO object VALUES (?, ?, ?)", live)
            if deleted:
                self._sql.executemany("DELETE FROM object WHERE kind = ? AND key = ?", deleted)
            if dead:
                self._sql.executemany("DELETE FROM revision WHERE version = ?", dead)

    def forget(self, keep: int) -> None:
        """Drop history older than the last ``keep`` versions, an eighth of them at a time.

        Cost: O(objects + rows dropped), seldom.
        """
        forgotten, until = self.forgotten(), self.version() - keep
        if until - forgotten <= keep // 8:
            return
        with self._faults():
            self._sql.execute(
                "DELETE FROM revision WHERE version > ? AND version <= ? "
                "AND version NOT IN (SELECT version FROM object)",
                (forgotten, until),
            )
            self._sql.execute("UPDATE setting SET value = ? WHERE key = 'forgotten'", (str(until),))

    def put_state(self, key: str, value: bytes | None) -> None:
        with self._faults():
            if value is None:
                self._sql.execute("DELETE FROM state WHERE key = ?", (key,))
            else:
                self._sql.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (key, value))

    def get_state(self, key: str) -> bytes | None:
        with self._faults():
            row = self._sql.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def get_states(self, prefix: str) -> dict[str, bytes]:
        query = "SELECT key, value FROM state WHERE substr(key, 1, ?) = ?"
        with self._faults():
            rows = self._sql.execute(query, (len(prefix), prefix)).fetchall()
        return {key.removeprefix(prefix): bytes(value) for key, value in rows}

    def close(self) -> None:
        self._sql.close()
        self._turns.close()

    # How

    def _pragma(self, name: str) -> int:
        return int(self._one(f"PRAGMA {name}"))

    def _setting(self, key: str) -> str:
        with self._faults():
            row = self._sql.execute("SELECT value FROM setting WHERE key = ?", (key,)).fetchone()
        return str(row[0])

    def _one(self, query: str) -> int:
        return int(self._sql.execute(query).fetchone()[0])

    @contextlib.contextmanager
    def _undone_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.rollback()
            raise

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        """Say a fault of SQLite in our terms."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise  # a closed hub, or another thread: a fault of the caller's code
        except OSError as fault:
            raise Unavailable(
                f"cannot write the state file {self._path}: {fault.strerror}"
            ) from fault
        except sqlite3.OperationalError as fault:
            raise Unavailable(f"cannot use the state file {self._path}: {fault}") from fault
        except sqlite3.DatabaseError as fault:
            raise ConfigError(f"the state file {self._path} is damaged: {fault}") from fault
