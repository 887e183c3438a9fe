"""Counts minute by minute when a calendar is open, by code that shares nothing with the package.

A clock is only ever asked what it shows at an instant, and is read by `zone_files`. A start happens in the
minute in which the clock first shows its local time or, where that is skipped, a later one.

``python -m tests.support.calendar_oracle [FIRST_YEAR LAST_YEAR]`` asks the package about the time around
every change of every zone's clock, and around a leap day. Zones that are one file are one. Clocks that
change alike are given the same windows, so that these are counted once.
"""

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any

from rollout.api.calendar import CalendarObject
from rollout.calendars.calendar import Timetable, openings
from rollout.calendars.zones import find_zone
from tests.support import zone_files
from tests.support.zone_files import LocalClock

MINUTE = timedelta(minutes=1)
DAY_MINUTES = 1440
Json = dict[str, Any]
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
EPOCH = date(1970, 1, 1).toordinal()


def listed(field: str, least: int, most: int) -> set[int]:
    """The values of one field of cron."""
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        low, _, high = span.partition("-")
        first = least if low == "*" else int(low)
        last = most if low == "*" or (step and not high) else int(high or low)
        found |= set(range(first, last + 1, int(step or 1)))
    return found


def cron(text: str) -> Callable[[int], bool]:
    """Whether a local minute (since 1970-01-01T00:00 on the clock) is a start."""
    minute, hour, day, month, weekday = text.lower().split()
    for number, name in enumerate(WEEKDAYS):
        weekday = weekday.replace(name, str(number))
    times = {60 * h + m for h in listed(hour, 0, 23) for m in listed(minute, 0, 59)}
    days, months = listed(day, 1, 31), listed(month, 1, 12)
    weekdays = {each % 7 for each in listed(weekday, 0, 7)}
    both = day[0] == "*" or weekday[0] == "*"

    @cache
    def is_on(number: int) -> bool:
        at = date.fromordinal(EPOCH + number)
        on_day, on_weekday = at.day in days, at.isoweekday() % 7 in weekdays
        is_day = (on_day and on_weekday) if both else (on_day or on_weekday)
        return is_day and at.month in months

    return lambda local: local % DAY_MINUTES in times and is_on(local // DAY_MINUTES)


def local_minute(text: str) -> int:
    """``2026-03-29T02:30`` as minutes of the local clock."""
    day, _, time = text.partition("T")
    hour, minute = map(int, time.split(":"))
    return (date.fromisoformat(day).toordinal() - EPOCH) * DAY_MINUTES + 60 * hour + minute


@dataclass(frozen=True)
class Minutes:
    """What a clock shows at each minute from ``start`` (a minute since 1970 in UTC) on."""

    start: int
    shown: list[int]

    @classmethod
    def of(cls, clock: LocalClock, start: int, count: int) -> "Minutes":
        return cls(start, [at + clock.offset(at * 60) // 60 for at in range(start, start + count)])

    def first(self, local: int) -> int:
        """The first minute that shows this time or a later one."""
        return next((i for i, at in enumerate(self.shown) if at >= local), len(self.shown))

    def last(self, local: int) -> int:
        """The last minute that shows this time; as `first` where none does."""
        shown = [i for i, at in enumerate(self.shown) if at == local]
        return shown[-1] if shown else self.first(local)

    def starts(self, schedule: str) -> Iterator[int]:
        """Of each start the first minute at which the clock has reached it."""
        matches = cron(schedule)
        reached = self.shown[0] - 1
        for i, at in enumerate(self.shown):
            while reached < at:
                reached += 1
                if matches(reached):
                    yield i


def count_open(minutes: Minutes, windows: list[Json]) -> list[bool]:
    """Whether each minute is open."""
    size = len(minutes.shown)
    allowed, denied = [False] * size, [False] * size
    for window in windows:
        covered = denied if window["action"] == "Deny" else allowed
        for first, last in _covered(minutes, window):
            covered[first:last] = [True] * (min(last, size) - first)
    if all(window["action"] == "Deny" for window in windows):
        allowed = [True] * size
    return [a and not d for a, d in zip(allowed, denied, strict=True)]


def _covered(minutes: Minutes, window: Json) -> Iterator[tuple[int, int]]:
    if "schedule" in window:
        length = int(window["duration"].removesuffix("m"))
        yield from ((i, i + length) for i in minutes.starts(window["schedule"]))
        return
    start, end = (local_minute(window[key]) for key in ("from", "until"))
    denies = window["action"] == "Deny"
    first = (minutes.first if denies else minutes.last)(start)
    last = (minutes.last if denies else minutes.first)(end)
    if first < last:
        yield first, last


def evaluate(name: str, start: int, count: int, windows: list[Json]) -> list[bool]:
    """What the package says of the same minutes."""
    named = [{"name": f"w{i}", **window} for i, window in enumerate(windows)]
    wire = {"metadata": {"name": "oracle"}, "spec": {"windows": named}}
    zone = find_zone(name)
    assert zone is not None
    table = Timetable(CalendarObject.model_validate(wire).to_model(), zone)
    begin = datetime.fromtimestamp(start * 60, UTC)
    found = [False] * count
    for since, until in openings(table, begin, begin + MINUTE * count):
        first, last = ((each - begin) // MINUTE for each in (since, until))
        found[first:last] = [True] * (last - first)
    return found


def windows_around(local: int, draw: random.Random) -> list[Json]:
    """Windows whose starts and ends lie about a local minute."""
    found: list[Json] = []
    for _ in range(draw.randint(1, 3)):
        action = draw.choice(("Allow", "Deny"))
        near = local + 15 * draw.randint(-10, 10)
        if draw.random() < 0.3:
            until = near + 15 * draw.randint(1, 40)
            found.append({"action": action, "from": _written(near), "until": _written(until)})
            continue
        at = datetime.fromisoformat(_written(near))
        minute = draw.choice((str(at.minute), "*/20", "0,30", "*"))
        hour = draw.choice((str(at.hour), "*", "*/2", "0-4", f"{at.hour},23"))
        day = draw.choice(("*", "*", "*", str(at.day), "*/2", "1-31"))
        weekday = draw.choice(("*", "*", "*", "sat,sun", "mon-fri", str(at.isoweekday())))
        length = draw.choice((1, 30, 60, 90, 240, 1440, 1441))
        schedule = f"{minute} {hour} {day} * {weekday}"
        found.append({"action": action, "schedule": schedule, "duration": f"{length}m"})
    return found


def _written(local: int) -> str:
    day, minute = divmod(local, DAY_MINUTES)
    return f"{date.fromordinal(EPOCH + day)}T{minute // 60:02}:{minute % 60:02}"


BEFORE, AFTER = 2_100, 1_500
"""Minutes counted before an instant, more than the longest window; and after it."""
SEEN_FROM = 1_500
Shape = tuple[int, int, tuple[tuple[int, int, int], ...]]
"""An instant (a minute), what is added to it there, and the changes of the clock around it."""


def shape(clock: LocalClock, at: int) -> Shape:
    around = tuple(clock.changes((at - BEFORE) * 60, (at + AFTER) * 60))
    return at, clock.offset(at * 60) // 60, around


Counted = tuple[list[Json], list[bool]]


def counted(clock: LocalClock, form: Shape, seed: int) -> Counted:
    """Windows around an instant, and whether each minute that is seen is open."""
    at, offset, _ = form
    windows = windows_around(at + offset, random.Random(f"{form} {seed}"))
    minutes = Minutes.of(clock, at - BEFORE, BEFORE + AFTER)
    return windows, count_open(minutes, windows)[SEEN_FROM:]


def difference(name: str, at: int, expected: Counted) -> str:
    """What the package says differently about the time around an instant; "" where nothing."""
    windows, is_open = expected
    start = at - BEFORE + SEEN_FROM
    said = evaluate(name, start, len(is_open), windows)
    if said == is_open:
        return ""
    first = next(i for i, (a, b) in enumerate(zip(is_open, said, strict=True)) if a != b)
    when = datetime.fromtimestamp((start + first) * 60, UTC)
    return f"{name}: {windows}: open is {is_open[first]} at {when}, not {said[first]}"


def instants(clock: LocalClock, first: int, last: int) -> list[int]:
    """The minutes from one year to another at which a clock changes, and that of a leap day."""
    begin, end = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (first, last + 1))
    leap_day = int(datetime(2024, 2, 29, 12, tzinfo=UTC).timestamp())
    return [at // 60 for at in (*(at for at, _, _ in clock.changes(begin, end)), leap_day)]


def zones() -> dict[str, bytes]:
    """The zones that are files of their own, each by the first of its names."""
    found: dict[bytes, str] = {}
    for name in zone_files.names():
        found.setdefault(zone_files.content(name), name)
    return {name: content for content, name in found.items()}


def sweep(files: dict[str, bytes], first: int, last: int, seed: int) -> Iterator[str]:
    """Of each zone and each change of its clock what the package says differently; "" for nothing."""
    known: dict[Shape, Counted] = {}
    for name, content in files.items():
        clock = zone_files.clock(content)
        for at in instants(clock, first, last):
            form = shape(clock, at)
            if form not in known:
                known[form] = counted(clock, form, seed)
            yield difference(name, at, known[form])


def main(first: int, last: int) -> int:
    found = list(sweep(zones(), first, last, seed=0))
    wrong = [each for each in found if each]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(
        f"oracle of calendars: {len(found) - len(wrong)} of {len(found)} changes of clocks "
        f"in {len(zone_files.names())} zones, {first} to {last}"
    )
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3] or ("2017", "2026"))))
