"""The queue of objects to plan, and the number of plans carried out at once.

* a key waits at most once, however often it is added;
* a key is never handed out twice at the same time;
* a key added while it is out is handed out once more afterwards;
* namespaces are served in turn, and the keys of one namespace in the order in which they were added;
* failures back off per key, with jitter, and `forget` resets the backoff; the keys of one namespace
  that are tried again share a rate.

Both are used by the engine's thread alone, so there is no lock.
"""

import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from rollout.model.backoff import Backoff
from rollout.model.kinds import Kind, Ref
from rollout.model.turns import Turns

K = TypeVar("K", bound=Hashable)

RETRY = Backoff(first=timedelta(milliseconds=500), longest=timedelta(minutes=5), jitter=0.2)
GAP = timedelta(milliseconds=20)
"""Between two keys of one namespace that are tried again: at most fifty a second."""
_PACED = 100  # namespaces, before those that are due again are looked for


class WorkQueue(Generic[K]):
    """Distinct keys; ``turn_of`` says whose turn a key waits for."""

    def __init__(
        self,
        seed: int | None = None,
        turn_of: Callable[[K], str] = lambda _: "",
    ) -> None:
        self._random = random.Random(seed)  # noqa: S311  (jitter, not secrets)
        self._turn_of = turn_of
        self._ready: Turns[K] = Turns()
        self._wanted: set[K] = set()
        self._out: set[K] = set()
        self._failures: dict[K, tuple[int, datetime]] = {}  # in a row, and when that pause is over
        self._paced: dict[str, datetime] = {}  # namespace -> when its next retry may be

    def add(self, key: K, turn: str | None = None) -> None:
        """``turn``: the line in which it waits, where that is not its own."""
        if key in self._wanted:
            return
        self._wanted.add(key)
        if key not in self._out:
            self._ready.put(self._turn_of(key) if turn is None else turn, key)

    def get(self) -> K | None:
        """The next key, which is out until `done`; None where none is ready."""
        found = self._ready.take()
        if found is None:
            return None
        _, key = found
        self._wanted.discard(key)
        self._out.add(key)
        return key

    def done(self, key: K, *, again: bool = True) -> bool:
        """The plan of the key has ended. Returns whether the key was added meanwhile.

        Args:
            again: whether to queue it at once in that case; else the caller adds it.
        """
        self._out.discard(key)
        wanted = key in self._wanted
        if wanted and again:
            self._ready.put(self._turn_of(key), key)
        elif wanted:
            self._wanted.discard(key)
        return wanted

    def back(self, key: K) -> None:
        """The key was handed out but not planned: queue it again."""
        self._wanted.add(key)
        self.done(key)

    def backoff(self, key: K, now: datetime) -> timedelta:
        """Count a failure. Returns: how long to wait: 0.5 s, 1 s, 2 s ... 5 min, less up to a fifth.

        If an event wakes the key before its pause is over and it fails again, that is not counted: a
        server that comes back sends many events before it takes the first write.
        """
        count, until = self._failures.get(key, (0, now))
        failures = count + 1 if now >= until else count
        wait = RETRY.wait(failures, self._random.random())
        self._failures[key] = failures, now + wait
        return wait

    @property
    def failing(self) -> int:
        """How many keys failed the last time, and are tried again after a pause."""
        return len(self._failures)

    def forget(self, key: K) -> None:
        self._failures.pop(key, None)

    def retry_at(self, key: K, wait: timedelta, now: datetime) -> datetime:
        """When a key that is to wait is tried again: later where its namespace has many of them."""
        if len(self._paced) > _PACED:
            self._paced = {turn: at for turn, at in self._paced.items() if at > now}
        turn = self._turn_of(key)
        free = max(self._paced.get(turn, now), now)
        self._paced[turn] = free + GAP
        return max(now + wait, free)

    def __len__(self) -> int:
        return len(self._ready)

    def __bool__(self) -> bool:
        """Whether any is ready; asked at every turn, and not counted for that."""
        return bool(self._ready)


class Places:
    """How many plans of a kind are carried out at once, and who waits for one of them to end.

    ``most`` has a number for each kind that is limited. A namespace of which no plan of that kind is
    out never waits for those of others.
    """

    def __init__(self, most: Mapping[Kind, int]) -> None:
        self._most = most
        self._out: Counter[Kind] = Counter()
        self._of: Counter[tuple[Kind, str]] = Counter()  # by namespace
        self._waiting: dict[Kind, Turns[Ref]] = {}

    def is_open(self, ref: Ref) -> bool:
        """Whether a plan for this object may be carried out now."""
        most = self._most.get(ref.kind)
        return most is None or self._out[ref.kind] < most or not self._of[ref.kind, ref.namespace]

    def wait(self, ref: Ref) -> None:
        """Let the object wait until `next` returns it."""
        self._waiting.setdefault(ref.kind, Turns()).put(ref.namespace, ref)

    def take(self, ref: Ref) -> None:
        """A plan for it is being carried out."""
        self._out[ref.kind] += 1
        self._of[ref.kind, ref.namespace] += 1

    def leave(self, ref: Ref) -> None:
        """That plan has ended."""
        self._out[ref.kind] -= 1
        self._of[ref.kind, ref.namespace] -= 1
        if not self._of[ref.kind, ref.namespace]:
            del self._of[ref.kind, ref.namespace]

    def next(self, ref: Ref) -> Ref | None:
        """An object that no longer has to wait since ``ref`` has ended; None if there is none."""
        waiting = self._waiting.get(ref.kind)
        if not waiting or not self.is_open(ref):
            return None
        is_full = self._out[ref.kind] >= self._most[ref.kind]
        found = waiting.take(ref.namespace if is_full else None)
        return found[1] if found else None

    def __len__(self) -> int:
        """How many wait."""
        return sum(len(waiting) for waiting in self._waiting.values())
