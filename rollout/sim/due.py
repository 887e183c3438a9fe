"""A queue of keys in the order of the instants at which they are due."""

import heapq
from datetime import datetime


class DueQueue:
    """One instant per key; putting a key again replaces it. O(log n)."""

    __slots__ = ("_due", "_heap")

    def __init__(self) -> None:
        self._due: dict[str, datetime] = {}
        self._heap: list[tuple[datetime, str]] = []

    def arm(self, key: str, at: datetime) -> None:
        if self._due.get(key) != at:
            self._due[key] = at
            heapq.heappush(self._heap, (at, key))

    def cancel(self, key: str) -> None:
        self._due.pop(key, None)

    def next_at(self) -> datetime | None:
        """The earliest instant; drops entries that were replaced or cancelled."""
        heap, due = self._heap, self._due
        while heap:
            at, key = heap[0]
            if due.get(key) == at:
                return at
            heapq.heappop(heap)
        return None

    def take(self, now: datetime) -> str | None:
        """The first key that is due, which is removed; None where nothing is due by ``now``."""
        heap, due = self._heap, self._due
        while heap and heap[0][0] <= now:
            at, key = heapq.heappop(heap)
            if due.get(key) == at:
                del due[key]
                return key
        return None

    def at(self, key: str) -> datetime | None:
        return self._due.get(key)
