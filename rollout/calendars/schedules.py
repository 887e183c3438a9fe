"""Finds the local days and times at which a cron expression starts a window.

The library reads the expression and tells the days and times, on a clock without a zone. What a
zone's clock makes of them is decided in `zones`: cron libraries differ where clocks change.
"""

import calendar
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache

from cronsim import CronSim, CronSimError

SCHEDULE_ACCEPTED = (
    'five fields of cron, minute hour day-of-month month day-of-week, such as "0 22 * * mon-fri"'
)
_LONGEST = 256
_FIRST = datetime(2000, 1, 1)  # noqa: DTZ001  # any day of a clock without a zone will do


@dataclass(frozen=True, slots=True)
class Schedule:
    """A cron expression. ``times`` are seconds after local midnight, the same on each of its days."""

    text: str
    times: tuple[int, ...]
    dates: str

    def days(self, first: int, last: int) -> Iterator[int]:
        """The ordinals of its days from ``first`` to ``last``, both included."""
        month = date.fromordinal(first).replace(day=1)
        while month.toordinal() <= last:
            for day in _days_of(self.dates, month.year, month.month):
                if first <= day <= last:
                    yield day
            month = (month + timedelta(days=31)).replace(day=1)


@lru_cache(maxsize=4_096)
def parse_schedule(text: str) -> Schedule | None:
    """Read a cron expression; None where it is none, or one that never starts anything."""
    fields = text.split()
    if len(fields) != 5 or len(text) > _LONGEST or not text.isascii():
        return None
    minute, hour, *days = fields
    dates = " ".join(("0", "0", *days))
    try:
        if next(CronSim(dates, _FIRST), None) is None:
            return None
        times = tuple(_times(f"{minute} {hour} * * *"))
    except (CronSimError, ValueError, IndexError):
        return None
    return Schedule(text, times, dates)


def _times(expression: str) -> Iterator[int]:
    before = _FIRST - timedelta(seconds=1)  # the library gives what comes later than its start
    for at in CronSim(expression, before):
        if at.date() != _FIRST.date():
            return
        yield at.hour * 3600 + at.minute * 60


@lru_cache(maxsize=65_536)
def _days_of(dates: str, year: int, month: int) -> tuple[int, ...]:
    """The ordinals of the days of one month."""
    first = datetime(year, month, 1)  # noqa: DTZ001  # a day on a clock without a zone
    last = first.replace(day=calendar.monthrange(year, month)[1]).toordinal()
    found: list[int] = []
    for at in CronSim(dates, first - timedelta(seconds=1)):
        if at.toordinal() > last:
            break
        found.append(at.toordinal())
    return tuple(found)
