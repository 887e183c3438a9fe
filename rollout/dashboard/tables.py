"""Filters, sorts and pages the rows of a table, as the address of its page asks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from rollout.model.amounts import parse_digits

T = TypeVar("T")

PAGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedColumn(Generic[T]):
    """One column: its title, and by which value of a row it is sorted; ``by`` None: it is not.

    ``falls``: who sorts by it wants the greatest first.
    """

    key: str
    title: str
    by: Callable[[T], Any] | None = None
    falls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """What is asked of a table. ``sort`` is the key of a column, "" where the order is that of the rows."""

    text: str = ""
    sort: str = ""
    is_falling: bool = False
    page: int = 1


class PagedTable(Generic[T]):
    """What a table has, whatever its rows are.

    Args:
        name: tells its parameters in the address from those of another table of the page.
        words: in what of a row a text is looked for; None: it has no filter.
        default: the column that it is sorted by where nothing else is asked for.
        size: rows of a page.
    """

    def __init__(
        self,
        *columns: PagedColumn[T],
        name: str = "",
        words: Callable[[T], Iterable[str]] | None = None,
        default: str = "",
        size: int = PAGE,
    ) -> None:
        self.columns, self.name, self.size = columns, name, size
        self._words, self._default = words, default

    def parameter(self, what: str) -> str:
        """What ``page``, ``sort`` or ``q`` of this table is called in the address."""
        return f"{self.name}-{what}" if self.name else what

    def asked(self, query: Mapping[str, str]) -> TableQuery:
        """What a query string asks for; what is not understood is left at its default."""
        sort = query.get(self.parameter("sort"), "")
        key = sort.removeprefix("-")
        if not any(each.key == key and each.by for each in self.columns):
            sort = key = self._default
        return TableQuery(
            text=query.get(self.parameter("q"), "").strip(),
            sort=key,
            is_falling=sort.startswith("-"),
            page=parse_digits(query.get(self.parameter("page"), ""), most=6) or 1,
        )

    def page(self, rows: Iterable[T], query: Mapping[str, str]) -> "TablePage[T]":
        """The page of these rows that is asked for."""
        asked, words = self.asked(query), self._words
        found = list(rows)
        if words is not None and asked.text:
            sought = asked.text.lower().split()
            found = [row for row in found if _has(words(row), sought)]
        for column in self.columns:
            if column.key == asked.sort and column.by is not None:
                found = _sorted(found, column.by, is_falling=asked.is_falling)
        last = max(-(-len(found) // self.size), 1)
        start = (min(asked.page, last) - 1) * self.size
        return self.part(found[start : start + self.size], len(found), asked)

    def part(self, rows: Sequence[T], total: int, asked: TableQuery) -> "TablePage[T]":
        """A page whose rows were found elsewhere."""
        return TablePage(table=self, rows=rows, total=total, asked=asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePage(Generic[T]):
    """Some rows of all that match. ``total`` counts those."""

    table: PagedTable[T]
    rows: Sequence[T]
    total: int
    asked: TableQuery

    @property
    def pages(self) -> int:
        return max(-(-self.total // self.table.size), 1)

    @property
    def page(self) -> int:
        return min(self.asked.page, self.pages)

    def at(self, page: int) -> dict[str, object]:
        """What is different in the address of another page of it."""
        return {self.table.parameter("page"): page}

    def by(self, column: PagedColumn[T]) -> dict[str, object]:
        """What is different in the address where it is sorted by this column, else the other way round."""
        is_this = self.asked.sort == column.key
        falls = not self.asked.is_falling if is_this else column.falls
        sort = f"-{column.key}" if falls else column.key
        return {self.table.parameter("sort"): sort, self.table.parameter("page"): ""}


def _has(words: Iterable[str], sought: Iterable[str]) -> bool:
    text = " ".join(words).lower()
    return all(word in text for word in sought)


def _sorted(rows: Sequence[T], by: Callable[[T], Any], *, is_falling: bool) -> list[T]:
    """Rows that have no value come last, whatever the order."""
    values = [(by(row), row) for row in rows]
    known = [each for each in values if each[0] is not None]
    known.sort(key=lambda each: each[0], reverse=is_falling)
    return [row for _, row in known] + [row for value, row in values if value is None]


def since(at: datetime | None) -> float | None:
    """What is sorted by where a page says how long ago something was."""
    return -at.timestamp() if at is not None else None
