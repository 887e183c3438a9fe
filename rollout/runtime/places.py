"""How many plans of a kind are carried out at once, and who waits for one of them to end?

A namespace of which no plan of that kind is out never waits for those of others.
"""

from collections import Counter
from collections.abc import Mapping

from rollout.model.kinds import Kind, Ref
from rollout.model.turns import Turns


class Places:
    """So many places for each kind of ``most``; kinds that it does not name have no limit."""

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
        """It waits until `next` returns it."""
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
        """One that need not wait any more, now that ``ref`` has ended; None where there is none."""
        waiting = self._waiting.get(ref.kind)
        if not waiting or not self.is_open(ref):
            return None
        is_full = self._out[ref.kind] >= self._most[ref.kind]
        found = waiting.take(ref.namespace if is_full else None)
        return found[1] if found else None

    def __len__(self) -> int:
        """How many wait."""
        return sum(len(waiting) for waiting in self._waiting.values())
