"""Keeps who may run on a state file, and whose turn it is to write, in locks of the operating system.

They lie on files beside it, and end with the process that holds them, however it ends. These files stay behind,
since to remove one could split a lock in two.
"""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from rollout.errors import ConfigError

_PAUSE = 0.002  # seconds between two looks at whose turn it is
_TRIES = 5  # to become the runner
_LOOKS = 500  # then write anyway: turns are for fairness, the database alone for safety


class RunnerLock:
    """Held by the one process that runs rollouts on a state file; ``PATH.runner`` has its pid."""

    def __init__(self, state: Path) -> None:
        """Take the lock. Raises: ConfigError, naming the process that holds it."""
        self._file = _lock_file(state).open("a+b", buffering=0)  # held open
        # More than once, since a process that only asks (`is_run`) has it for an instant.
        if not any(_locked(self._file, fcntl.LOCK_EX) for _ in _tries()):
            self._file.seek(0)
            holder = self._file.read(32).decode(errors="replace").strip() or "unknown"
            self._file.close()
            raise ConfigError(
                f"cannot run on {state}: another runner has it (pid {holder}); "
                "stop it, or use another state file"
            )
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n".encode())

    def close(self) -> None:
        self._file.close()


def is_run(state: Path) -> bool:
    """Whether a process runs rollouts on a state file now."""
    try:
        with _lock_file(state).open("rb", buffering=0) as file:
            return not _locked(file, fcntl.LOCK_SH)
    except FileNotFoundError:
        return False


def _lock_file(state: Path) -> Path:
    return Path(f"{state}.runner")


def _locked(file: FileIO, how: int) -> bool:
    """Take a lock for as long as the file is open. Returns: False where another process has it."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _tries() -> Iterator[int]:
    pause = threading.Event()
    for number in range(_TRIES):
        yield number
        pause.wait(_PAUSE)


class WriteTurns:
    """Lets writers of several processes alternate; ``PATH.turn`` belongs to who writes next.

    A runner goes from one transaction straight into the next, while SQLite lets others only look
    now and then whether the file is free. So who wants to write first takes the turn, then waits
    for the file, then gives the turn away; a runner cannot pass who is waiting.
    """

    def __init__(self, state: Path) -> None:
        self._path = Path(f"{state}.turn")
        self._file: FileIO | None = None
        self._pause = threading.Event()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait the turn, or go on without it where another process keeps it for too long."""
        if self._file is None:
            self._file = self._path.open("a+b", buffering=0)
        held = self._take(self._file)
        try:
            yield
        finally:
            if held:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _take(self, file: FileIO) -> bool:
        for _ in range(_LOOKS):
            if _locked(file, fcntl.LOCK_EX):
                return True
            self._pause.wait(_PAUSE)
        return False

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
