"""Finds the spans in which the windows of a calendar are open in a time zone.

A span is half open: it has its first second and not its last. Its start is local, its length is
elapsed time: four hours are 240 minutes on every day of the year.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol
from zoneinfo import ZoneInfo

from rollout.calendars.schedules import Schedule
from rollout.calendars.zones import (
    DAY,
    first_instant,
    last_instant,
    local_day,
    local_seconds,
    midnight,
    seconds,
    start_on,
)
from rollout.model.amounts import parse_duration

LOOK_AHEAD = 400 * DAY
"""How far ahead the next change is looked for. What does not change for so long has none in sight."""


class WindowAction(Enum):
    """What a window says of the clusters that it concerns."""

    ALLOW = "Allow"
    DENY = "Deny"


@dataclass(frozen=True, slots=True)
class Recurring:
    """Opens at each start of a schedule, for ``duration`` seconds of elapsed time."""

    schedule: Schedule
    duration: int


@dataclass(frozen=True, slots=True)
class Dated:
    """Opens once. Each end is aware, or a local time without a zone."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class CalendarWindow:
    """One window of a calendar."""

    name: str
    action: WindowAction
    when: Recurring | Dated
    reason: str = ""


_MOMENT = re.compile(
    r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2})?\Z",
    re.ASCII,
)
MOMENT_ACCEPTED = (
    'a local time such as "2026-12-18T00:00", or an instant such as "2026-12-18T00:00+01:00"'
)


DURATION_ACCEPTED = 'a duration of whole seconds from "1m" to "8784h", such as "6h" or "1h30m"'
_SHORTEST, _LONGEST = 60, 366 * DAY


def parse_window_duration(text: str) -> int | None:
    """The seconds of a window's duration; None where it is none, or too short or too long."""
    found = parse_duration(text)
    if found is None or found.microseconds or not _SHORTEST <= found.total_seconds() <= _LONGEST:
        return None
    return int(found.total_seconds())


def parse_moment(text: str) -> datetime | None:
    """A ``from`` or ``until``: aware where it carries an offset, else local; None for neither."""
    if not _MOMENT.match(text):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:  # no such day or time
        return None
    return found if 1970 <= found.year < 9000 else None


class Spans(Protocol):
    """When one window is open in one zone. Instants are seconds; None is beyond what is in sight."""

    def end_of(self, at: int) -> int | None:
        """The end of the span that covers this instant; ``at`` itself where none does."""
        ...

    def next_start(self, at: int) -> int | None:
        """The first start later than ``at``, where no span covers ``at``."""
        ...


def spans(window: CalendarWindow, zone: ZoneInfo) -> Spans:
    """The spans of a window in a zone."""
    if isinstance(window.when, Recurring):
        return _RecurringSpans(window.when, zone)
    return _DatedSpan(*_ends(window.when, window.action, zone))


def _ends(when: Dated, action: WindowAction, zone: ZoneInfo) -> tuple[int, int]:
    """A local time that comes twice is taken so that clusters are closed for longer."""
    is_allow = action is WindowAction.ALLOW
    start = _moment(when.start, zone, last=is_allow)
    return start, _moment(when.end, zone, last=not is_allow)


def _moment(at: datetime, zone: ZoneInfo, *, last: bool) -> int:
    if at.tzinfo is not None:
        return seconds(at)
    return (last_instant if last else first_instant)(local_seconds(at), zone)


@dataclass(frozen=True, slots=True)
class _DatedSpan:
    start: int
    end: int

    def end_of(self, at: int) -> int | None:
        return self.end if self.start <= at < self.end else at

    def next_start(self, at: int) -> int | None:
        return self.start if at < self.start < self.end else None


class _RecurringSpans:
    """Spans that overlap or touch are one. They are worked out day by day, as far as was asked.

    What was worked out is kept, so a question costs no more than a search in a sorted list. The
    answers do not depend on what was asked before.
    """

    def __init__(self, when: Recurring, zone: ZoneInfo) -> None:
        self._when = when
        self._zone = zone
        self._runs = _runs(when)
        self._since = _NEVER  # spans are known from here
        self._known = 0  # to here
        self._day = 0  # the first day that is not worked out
        self._starts: list[int] = []
        self._ends: list[int] = []

    def end_of(self, at: int) -> int | None:
        i = self._find(at)
        if i < 0 or self._ends[i] <= at:
            return at
        while i == len(self._ends) - 1 and self._known <= self._ends[i]:
            if not self._extend(at + LOOK_AHEAD):
                return None
        end = self._ends[i]
        return end if end <= at + LOOK_AHEAD else None

    def next_start(self, at: int) -> int | None:
        i = self._find(at) + 1
        while i == len(self._starts):
            if not self._extend(at + LOOK_AHEAD):
                return None
        start = self._starts[i]
        return start if start <= at + LOOK_AHEAD else None

    def _find(self, at: int) -> int:
        """The index of the last span that begins at ``at`` or before; -1 for none."""
        if at < self._since or at > self._known + LOOK_AHEAD:
            self._begin(at)
        while self._known <= at:
            self._extend(at + DAY)
        if len(self._starts) > _MANY and self._ends[_MANY // 2] < at - DAY:
            self._since = self._ends[_MANY // 2]
            del self._starts[: _MANY // 2], self._ends[: _MANY // 2]
        return bisect_right(self._starts, at) - 1

    def _begin(self, at: int) -> None:
        """Forget all, and work out spans from ``at`` on."""
        self._since = at
        self._starts.clear()
        self._ends.clear()
        # A start that still has its window open at ``at`` is no older than the duration.
        self._day = local_day(max(0, at - self._when.duration), self._zone)
        self._known = start_on(self._day, 0, self._zone)

    def _extend(self, limit: int) -> bool:
        """Work out the next day that has a start, ``limit`` at most; False where that is reached."""
        if self._known > limit:
            return False
        last = local_day(limit, self._zone) + 1
        day = next(self._when.schedule.days(self._day, last), None)
        if day is not None:
            self._take(day)
        self._day = (last if day is None else day) + 1
        self._known = start_on(self._day, 0, self._zone)
        return True

    def _take(self, day: int) -> None:
        begin, duration = midnight(day, self._zone), self._when.duration
        if begin is not None:
            for first, last in self._runs:
                self._add(begin + first, begin + last + duration)
            return
        for time in self._when.schedule.times:  # the clock changes: what is a run may be none
            start = start_on(day, time, self._zone)
            self._add(start, start + duration)

    def _add(self, start: int, end: int) -> None:
        if self._ends and start <= self._ends[-1]:
            self._ends[-1] = end
        else:
            self._starts.append(start)
            self._ends.append(end)


_MANY = 4_096
"""From how many spans on the older half of them is forgotten."""
_NEVER = 2**62


def _runs(when: Recurring) -> list[tuple[int, int]]:
    """The times of a day in runs, first and last, in which each start falls into the window before."""
    found: list[tuple[int, int]] = []
    for time in when.schedule.times:
        if found and time <= found[-1][1] + when.duration:
            found[-1] = (found[-1][0], time)
        else:
            found.append((time, time))
    return found
