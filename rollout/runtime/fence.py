"""How is it made sure that a process that leads no more writes nothing?

Every lot of writes passes here on its way to the hub. Without leadership it raises `Fenced`; with it,
each write gets the precondition that its planner could not know: the version that the object had when
this process last saw it. Source: safety contract R2.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from rollout.model.kinds import Ref
from rollout.planning.plan import Patch, PatchStatus, Write
from rollout.runtime.io import Done, Io, Outcome


class FencedIo:
    """An `Io` before another one.

    Args:
        check: raises Fenced where this process must not write.
        version_of: the version at which an object was last seen, 0 where it was never.
    """

    def __init__(
        self, inner: Io, check: Callable[[], None], version_of: Callable[[Ref], int]
    ) -> None:
        self._inner, self._check, self._version_of = inner, check, version_of
        self._lock = threading.Lock()
        self._pending = 0

    @property
    def pending(self) -> int:
        """How many writes are out."""
        return self._pending

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        """Raises: Fenced; then nothing was sent."""
        self._check()

        def back(write: Write, outcome: Outcome) -> None:
            with self._lock:
                self._pending -= 1
            done(write, outcome)

        with self._lock:
            self._pending += len(writes)
        self._inner.send([self._guarded(write) for write in writes], back, turn)

    def _guarded(self, write: Write) -> Write:
        if isinstance(write, Patch | PatchStatus) and write.version is None:
            return replace(write, version=self._version_of(write.ref) or None)
        return write
