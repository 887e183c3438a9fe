"""A line of waiting items for each namespace; the lines are served in turn.

However many items one namespace has waiting, another one's next item comes after at most one item of
each namespace.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """First in, first out within a line. A line is named by a namespace, "" for what has none."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, deque[T]] = OrderedDict()  # whose turn is next comes first

    def put(self, turn: str, item: T) -> None:
        self._lines.setdefault(turn, deque()).append(item)

    def take(self, turn: str | None = None) -> tuple[str, T] | None:
        """The next item, or the next one of this line, with the line's name; None where none waits."""
        if turn is None:
            turn = next(iter(self._lines), None)
        line = self._lines.pop(turn, None) if turn is not None else None
        if turn is None or line is None:
            return None
        item = line.popleft()
        if line:
            self._lines[turn] = line  # behind all others
        return turn, item

    def clear(self) -> None:
        self._lines.clear()

    def __iter__(self) -> Iterator[T]:
        return (item for line in self._lines.values() for item in line)

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def __bool__(self) -> bool:
        return bool(self._lines)
