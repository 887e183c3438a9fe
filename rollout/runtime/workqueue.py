"""Which object is planned next? A queue of distinct keys.

* a key waits at most once, however often it is added;
* a key is never handed out twice at the same time;
* a key added while it is out is handed out once more afterwards;
* failures back off per key, with jitter, and `forget` resets the backoff.

Used by the engine's thread alone, so there is no lock.
"""

import random
from collections import deque
from collections.abc import Hashable
from datetime import timedelta
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

FIRST, LONGEST = timedelta(milliseconds=500), timedelta(minutes=5)


class WorkQueue(Generic[K]):
    """FIFO of distinct keys."""

    def __init__(
        self,
        seed: int | None = None,
        first: timedelta = FIRST,
        longest: timedelta = LONGEST,
    ) -> None:
        self._first, self._longest = first, longest
        self._random = random.Random(seed)  # noqa: S311  (jitter, not secrets)
        self._ready: deque[K] = deque()
        self._wanted: set[K] = set()
        self._out: set[K] = set()
        self._failures: dict[K, int] = {}

    def add(self, key: K) -> None:
        if key in self._wanted:
            return
        self._wanted.add(key)
        if key not in self._out:
            self._ready.append(key)

    def get(self) -> K | None:
        """The next key, which is out until `done`; None where none is ready."""
        if not self._ready:
            return None
        key = self._ready.popleft()
        self._wanted.discard(key)
        self._out.add(key)
        return key

    def done(self, key: K, *, again: bool = True) -> bool:
        """The key is out no more. Returns whether it was added meanwhile.

        Args:
            again: whether it is ready for that; else it is up to the caller to add it.
        """
        self._out.discard(key)
        wanted = key in self._wanted
        if wanted and again:
            self._ready.append(key)
        elif wanted:
            self._wanted.discard(key)
        return wanted

    def back(self, key: K) -> None:
        """A key that is out was not looked at: it is ready again."""
        self._wanted.add(key)
        self.done(key)

    def backoff(self, key: K) -> timedelta:
        """Count a failure; returns how long to wait: 0.5 s, 1 s, 2 s ... 5 min, less up to a fifth."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        wait = min(self._first * (1 << min(failures - 1, 20)), self._longest)
        return wait * (1 - 0.2 * self._random.random())

    def forget(self, key: K) -> None:
        self._failures.pop(key, None)

    def __len__(self) -> int:
        return len(self._ready)
