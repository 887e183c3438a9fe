"""Is a cluster open now, until when, and by which window? Calendars in zones, alone and together."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from zoneinfo import ZoneInfo

from rollout.calendars.windows import LOOK_AHEAD, CalendarWindow, Spans, WindowAction, spans
from rollout.calendars.zones import find_zone, instant, seconds
from rollout.model.placement import Predicate
from rollout.model.problems import Problem
from rollout.model.selectors import EVERYTHING, Selector

DEFAULT_ZONE = "UTC"


class Block(Enum):
    """What a calendar keeps from a cluster while it is closed there."""

    TOUCH = "Touch"
    REMOVAL = "Removal"
    ROLLBACK = "Rollback"
    RESTORE = "Restore"


DEFAULT_BLOCKS = frozenset({Block.TOUCH, Block.REMOVAL})


@dataclass(frozen=True, slots=True)
class WorkloadFilter:
    """Which workloads a calendar concerns. Unset parts leave nobody out.

    ``kinds`` is empty for every kind. A ``namespaces`` selector leaves out what has no namespace.
    """

    kinds: frozenset[str] = frozenset()
    namespaces: Selector | None = None
    labels: Selector = EVERYTHING


@dataclass(frozen=True, slots=True)
class ZoneSource:
    """The zone of a cluster: what its label or claim says, else ``zone``; "" where there is none."""

    zone: str = DEFAULT_ZONE
    label: str = ""
    claim: str = ""

    def of(self, labels: Mapping[str, str], claims: Mapping[str, str]) -> str:
        """The name that is asked for, which need not be that of a zone.

        Values of labels cannot hold a slash: ``Europe.Berlin`` is Europe/Berlin.
        """
        said = labels.get(self.label) if self.label else claims.get(self.claim)
        return said.replace(".", "/") if said else self.zone


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """A Calendar or, without a namespace, a ClusterCalendar.

    ``clusters`` is None where it concerns every cluster. A calendar with problems is not to be
    evaluated: what it concerns stays as it was decided last.
    """

    name: str
    namespace: str = ""
    windows: tuple[CalendarWindow, ...] = ()
    zones: ZoneSource = ZoneSource()
    clusters: Predicate | None = None
    workloads: WorkloadFilter = WorkloadFilter()
    blocks: frozenset[Block] = DEFAULT_BLOCKS
    problems: tuple[Problem, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How one calendar, or several together, stand at an instant.

    ``until`` is the next instant at which ``is_open`` changes; None where none is in sight up to
    ``known_to``, from which on somebody has to ask again. ``calendar`` and ``window`` say what
    closes: no window where it is closed outside of all that allow.
    """

    is_open: bool
    until: datetime | None
    known_to: datetime
    calendar: Calendar | None = None
    window: CalendarWindow | None = None

    @property
    def ask_again(self) -> datetime:
        return self.until or self.known_to


class Timetable:
    """One calendar in one zone. What it works out is kept; its answers depend on ``now`` alone."""

    def __init__(self, calendar: Calendar, zone: ZoneInfo) -> None:
        self._calendar = calendar
        made = [(window, spans(window, zone)) for window in calendar.windows]
        self._denies = [(w, s) for w, s in made if w.action is WindowAction.DENY]
        self._allows = [s for w, s in made if w.action is WindowAction.ALLOW]

    def at(self, now: datetime) -> Opening:
        """Whether it is open now, and until when."""
        at = seconds(now)
        closing = next((w for w, s in self._denies if s.end_of(at) != at), None)
        is_open = closing is None and self._is_allowed(at)
        until, known_to = self._closes(at) if is_open else self._opens(at)
        return Opening(
            is_open=is_open,
            until=None if until is None else instant(until),
            known_to=instant(known_to),
            calendar=None if is_open else self._calendar,
            window=closing,
        )

    def _is_allowed(self, at: int) -> bool:
        return not self._allows or any(s.end_of(at) != at for s in self._allows)

    def _opens(self, at: int) -> tuple[int | None, int]:
        """When it opens, of a time at which it is closed; and up to when that was looked for."""
        known_to, steps = at + LOOK_AHEAD, 0
        while at < known_to and steps < _MOST_STEPS:
            steps += 1
            denied_until = _end(at, (s for _, s in self._denies))
            if denied_until is None:
                return None, known_to
            if denied_until > at:
                at = denied_until
            elif self._is_allowed(at):
                return at, known_to
            else:
                start = _earliest(s.next_start(at) for s in self._allows)
                if start is None:
                    return None, known_to
                at = start
        return None, min(at, known_to)

    def _closes(self, at: int) -> tuple[int | None, int]:
        """When it closes, of a time at which it is open; and up to when that was looked for."""
        known_to = at + LOOK_AHEAD
        denied = _earliest(s.next_start(at) for _, s in self._denies)
        if not self._allows:
            return denied, known_to
        end = _covered_until(at, self._allows, known_to if denied is None else denied)
        return _earliest((denied, end)), known_to


_MOST_STEPS = 2_000
"""How many openings and closings are looked through for one that changes anything."""


def _end(at: int, all_spans: Iterable[Spans]) -> int | None:
    """The latest end of the spans that cover ``at``; ``at`` where none does, None beyond sight."""
    latest = at
    for one in all_spans:
        end = one.end_of(at)
        if end is None:
            return None
        latest = max(latest, end)
    return latest


def _covered_until(at: int, all_spans: list[Spans], limit: int) -> int | None:
    """Until when there is always a span of one or another; None where that is later than ``limit``."""
    while at <= limit:
        end = _end(at, all_spans)
        if end is None:
            return None
        if end == at:
            return at
        at = end
    return None


def _earliest(found: Iterable[int | None]) -> int | None:
    return min((at for at in found if at is not None), default=None)


class Timetables:
    """All calendars in all zones in which they are asked for: the cost is theirs, not the clusters'.

    Between two changes an answer is looked up, nothing is worked out.
    """

    def __init__(self) -> None:
        self._tables: dict[tuple[str, str], tuple[Calendar, Timetable]] = {}
        self._kept: dict[tuple[str, str], tuple[datetime, Opening]] = {}

    def at(self, calendar: Calendar, zone: str, now: datetime) -> Opening | None:
        """How a calendar stands in a zone; None where there is no such zone."""
        key = (calendar.key, zone)
        known = self._tables.get(key)
        if known is None or known[0] is not calendar:
            found = find_zone(zone)
            if found is None:
                return None
            known = self._tables[key] = (calendar, Timetable(calendar, found))
            self._kept.pop(key, None)
        since, opening = self._kept.get(key, (None, None))
        if since is None or opening is None or not since <= now < opening.ask_again:
            opening = known[1].at(now)
            self._kept[key] = (now, opening)
        return opening

    def forget(self, calendar_key: str) -> None:
        """Of a calendar that is no more."""
        for key in [key for key in self._tables if key[0] == calendar_key]:
            del self._tables[key]
            self._kept.pop(key, None)


def together(timetables: Iterable[Timetable], now: datetime) -> Opening:
    """How a cluster stands that several calendars concern: open where every one of them is open.

    What closes it is named by the first that does.
    """
    tables = list(timetables)
    openings = [table.at(now) for table in tables]
    closed = [each for each in openings if not each.is_open]
    known_to = min((each.known_to for each in openings), default=instant(_END))
    if not closed:
        until = min((each.until for each in openings if each.until), default=None)
        return Opening(is_open=True, until=until, known_to=known_to)
    first, at = closed[0], now
    for _ in range(_MOST_STEPS):
        ends = [each.until for each in closed if each.until is not None]
        if len(ends) < len(closed):
            return replace(first, until=None, known_to=known_to)
        at = max(ends)
        closed = [each for table in tables if not (each := table.at(at)).is_open]
        if not closed:
            return replace(first, until=at, known_to=known_to)
    return replace(first, until=None, known_to=at)


_END = 2**37
"""An instant later than all that calendars speak of."""


def openings(
    timetable: Timetable, start: datetime, end: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """The spans in which a calendar is open, cut to ``[start, end)``."""
    at = start
    while at < end:
        now = timetable.at(at)
        until = min(now.ask_again, end)
        if now.is_open:
            yield at, until
        at = until


def local_text(at: datetime, zone: ZoneInfo) -> str:
    """An instant on a zone's clock and in UTC: ``Mon 2026-06-01 22:00 Europe/Berlin (20:00Z)``."""
    there = at.astimezone(zone)
    same_day = there.date() == at.astimezone(UTC).date()
    in_utc = f"{at.astimezone(UTC):{'%H:%MZ' if same_day else '%Y-%m-%dT%H:%MZ'}}"
    return f"{_WEEKDAYS[there.weekday()]} {there:%Y-%m-%d %H:%M} {zone.key} ({in_utc})"


_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")  # not those of the locale


def change_text(opening: Opening, zone: ZoneInfo) -> str:
    """When it opens or closes next, in words."""
    verb = "closes" if opening.is_open else "opens"
    if opening.until is None:
        return f"no window {verb} it before {local_text(opening.known_to, zone)}"
    return f"{verb} {local_text(opening.until, zone)}"


def closing_text(opening: Opening) -> str:
    """Which window closes, and why, in words."""
    if opening.window is None:
        return "outside of all windows that allow"
    reason = f": {opening.window.reason}" if opening.window.reason else ""
    return f"window {opening.window.name}{reason}"
