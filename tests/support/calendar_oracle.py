"""When is a calendar open? Counted minute by minute, by code that shares nothing with the package.

The clock is only ever asked what it shows at an instant. A start happens in the minute in which the
clock first shows its local time or, where that is skipped, a later one.

``python -m tests.support.calendar_oracle [FIRST_YEAR LAST_YEAR]`` sweeps every transition of every zone.
"""

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from rollout.api.calendar import CalendarObject
from rollout.calendars.calendar import Timetable, openings
from rollout.calendars.zones import find_zone, zone_names

MINUTE = timedelta(minutes=1)
Json = dict[str, Any]
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


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


def cron(text: str) -> Callable[[datetime], bool]:
    """Whether a local minute is a start."""
    minute, hour, day, month, weekday = text.lower().split()
    for number, name in enumerate(WEEKDAYS):
        weekday = weekday.replace(name, str(number))
    minutes, hours = listed(minute, 0, 59), listed(hour, 0, 23)
    days, months = listed(day, 1, 31), listed(month, 1, 12)
    weekdays = {each % 7 for each in listed(weekday, 0, 7)}
    both = day[0] == "*" or weekday[0] == "*"

    def starts(at: datetime) -> bool:
        if at.minute not in minutes or at.hour not in hours or at.month not in months:
            return False
        on_day, on_weekday = at.day in days, at.isoweekday() % 7 in weekdays
        return (on_day and on_weekday) if both else (on_day or on_weekday)

    return starts


@dataclass(frozen=True)
class Minutes:
    """What a zone's clock shows at each minute from ``start`` on."""

    start: datetime
    shown: list[datetime]

    @classmethod
    def of(cls, zone: ZoneInfo, start: datetime, count: int) -> "Minutes":
        at = [start + MINUTE * i for i in range(count)]
        return cls(start, [each.astimezone(zone).replace(tzinfo=None) for each in at])

    def first(self, local: datetime) -> int:
        """The first minute that shows this time or a later one."""
        return next((i for i, at in enumerate(self.shown) if at >= local), len(self.shown))

    def last(self, local: datetime) -> int:
        """The last minute that shows this time; as `first` where none does."""
        shown = [i for i, at in enumerate(self.shown) if at == local]
        return shown[-1] if shown else self.first(local)

    def starts(self, schedule: str) -> Iterator[int]:
        """Of each start the first minute at which the clock has reached it."""
        matches = cron(schedule)
        reached = self.shown[0] - MINUTE
        for i, at in enumerate(self.shown):
            while reached < at:
                reached += MINUTE
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
    start, end = (datetime.fromisoformat(window[key]) for key in ("from", "until"))
    denies = window["action"] == "Deny"
    first = (minutes.first if denies else minutes.last)(start)
    last = (minutes.last if denies else minutes.first)(end)
    if first < last:
        yield first, last


def evaluate(zone: ZoneInfo, start: datetime, count: int, windows: list[Json]) -> list[bool]:
    """What the package says of the same minutes."""
    named = [{"name": f"w{i}", **window} for i, window in enumerate(windows)]
    wire = {"metadata": {"name": "oracle"}, "spec": {"windows": named}}
    table = Timetable(CalendarObject.model_validate(wire).to_model(), zone)
    found = [False] * count
    for since, until in openings(table, start, start + MINUTE * count):
        first, last = ((each - start) // MINUTE for each in (since, until))
        found[first:last] = [True] * (last - first)
    return found


def transitions(zone: ZoneInfo, first: int, last: int) -> Iterator[datetime]:
    """The instants (to the minute) at which the offset changes, from one year to another."""
    at, end = datetime(first, 1, 1, tzinfo=UTC), datetime(last + 1, 1, 1, tzinfo=UTC)
    day = timedelta(days=1)
    while at < end:
        if at.astimezone(zone).utcoffset() != (at + day).astimezone(zone).utcoffset():
            low, high = at, at + day
            while high - low > MINUTE:
                middle = low + (high - low) // 2 // MINUTE * MINUTE
                same = middle.astimezone(zone).utcoffset() == low.astimezone(zone).utcoffset()
                low, high = (middle, high) if same else (low, middle)
            yield high
        at += day


def windows_around(at: datetime, zone: ZoneInfo, draw: random.Random) -> list[Json]:
    """Windows whose starts and ends lie about a transition."""
    local = at.astimezone(zone).replace(tzinfo=None)
    found: list[Json] = []
    for _ in range(draw.randint(1, 3)):
        action = draw.choice(("Allow", "Deny"))
        near = local + timedelta(minutes=15 * draw.randint(-10, 10))
        if draw.random() < 0.3:
            until = near + timedelta(minutes=15 * draw.randint(1, 40))
            ends = {"from": near.isoformat()[:16], "until": until.isoformat()[:16]}
            found.append({"action": action, **ends})
            continue
        minute = draw.choice((str(near.minute), "*/20", "0,30", "*"))
        hour = draw.choice((str(near.hour), "*", "*/2", "0-4", f"{near.hour},23"))
        day = draw.choice(("*", "*", "*", str(near.day), "*/2", "1-31"))
        weekday = draw.choice(("*", "*", "*", "sat,sun", "mon-fri", str(near.isoweekday())))
        length = draw.choice((1, 30, 60, 90, 240, 1440, 1441))
        schedule = f"{minute} {hour} {day} * {weekday}"
        found.append({"action": action, "schedule": schedule, "duration": f"{length}m"})
    return found


BEFORE, AFTER = 2_100, 1_500
"""Minutes counted before a transition, more than the longest window; and after it."""
SEEN_FROM = 1_500


def difference(name: str, at: datetime, seed: int) -> str:
    """What the two say differently about the time around a transition; "" where nothing."""
    zone = find_zone(name)
    assert zone is not None
    windows = windows_around(at, zone, random.Random(f"{name} {at} {seed}"))
    start = at - MINUTE * BEFORE
    counted = count_open(Minutes.of(zone, start, BEFORE + AFTER), windows)[SEEN_FROM:]
    said = evaluate(zone, start + MINUTE * SEEN_FROM, BEFORE + AFTER - SEEN_FROM, windows)
    if said == counted:
        return ""
    first = next(i for i, (a, b) in enumerate(zip(counted, said, strict=True)) if a != b)
    when = start + MINUTE * (SEEN_FROM + first)
    return f"{name}: {windows}: open is {counted[first]} at {when}, not {said[first]}"


def main(first: int, last: int) -> int:
    wrong = count = 0
    for name in sorted(zone_names()):
        zone = find_zone(name)
        assert zone is not None
        for at in transitions(zone, first, last):
            count += 1
            found = difference(name, at, seed=0)
            if found:
                wrong += 1
                print(found)
    print(f"{len(zone_names())} zones, {count} transitions, {wrong} differences")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3] or ("2017", "2026"))))
