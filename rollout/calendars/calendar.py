"""Tells whether calendars, alone or together, let a cluster be touched now, until when, and by which window."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from zoneinfo import ZoneInfo

from rollout.calendars.windows import LOOK_AHEAD, CalendarWindow, Spans, WindowAction, spans
from rollout.calendars.zones import DAY, find_zone, instant, seconds
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

    ``until`` is the next instant at which ``is_open`` changes; None where none is in sight. ``calendar``
    and ``window`` say what closes: no window where it is closed outside of all that allow. All of this
    holds up to ``ask_again``, which does not depend on when it is asked.
    """

    is_open: bool
    until: datetime | None
    ask_again: datetime
    calendar: Calendar | None = None
    window: CalendarWindow | None = None


@dataclass(frozen=True, slots=True)
class _ClosingCause:
    """What closes at an instant, and up to when it is that."""

    calendar: Calendar
    window: CalendarWindow | None
    changes: int | None


class Timetable:
    """One calendar in one zone. What it works out is kept; its answers depend on ``now`` alone."""

    def __init__(self, calendar: Calendar, zone: ZoneInfo) -> None:
        made = [(window, spans(window, zone)) for window in calendar.windows]
        self._denies = [(calendar, w, s) for w, s in made if w.action is WindowAction.DENY]
        allows = [s for w, s in made if w.action is WindowAction.ALLOW]
        self._allows = [(calendar, allows)] if allows else []
        self._found: tuple[int, int, int | None] = _NOTHING_FOUND

    def along_with(self, others: Iterable["Timetable"]) -> "Timetable":
        """That of several calendars which concern the same cluster: open where every one of them is."""
        found = copy(self)
        found._found = _NOTHING_FOUND
        for other in others:
            found._denies = [*found._denies, *other._denies]
            found._allows = [*found._allows, *other._allows]
        return found

    def at(self, now: datetime) -> Opening:
        """Whether it is open now, and until when. A window that denies is named before all else."""
        at = seconds(now)
        closing = self._closing(at)
        if closing is None:
            until, asked = self._closes(at), _next(at, _PERIOD)
        else:
            until, asked = self._opening_after(at)
        changes = closing.changes if closing is not None else None
        again = _earliest((until if until is not None else asked, changes))
        assert again is not None, "an instant is asked for"
        return Opening(
            is_open=closing is None,
            until=None if until is None else instant(until),
            ask_again=instant(again),
            calendar=None if closing is None else closing.calendar,
            window=None if closing is None else closing.window,
        )

    def _closing(self, at: int) -> _ClosingCause | None:
        """What closes; None where it is open."""
        sooner: int | None = None  # when one that is named before it closes, too
        for calendar, window, denied in self._denies:
            end = denied.end_of(at)
            if end != at:
                return _ClosingCause(calendar, window, _earliest((end, sooner)))
            sooner = _earliest((denied.next_start(at), sooner))
        for calendar, allowed in self._allows:
            if not _covers(allowed, at):
                starts = (each.next_start(at) for each in allowed)
                return _ClosingCause(calendar, None, _earliest((sooner, *starts)))
            sooner = _earliest((sooner, _covered_until(at, allowed, at + LOOK_AHEAD)))
        return None

    def _opening_after(self, at: int) -> tuple[int | None, int]:
        """As `_opens`; looked up where it was found out while it was closed."""
        since, asked, until = self._found
        if not since <= at < (asked if until is None else until):
            until, asked = self._opens(at)
            self._found = at, asked, until
        return until, asked

    def _opens(self, at: int) -> tuple[int | None, int]:
        """When it opens, of a time at which it is closed; and when to ask again where that is not in sight."""
        begin, limit = at, at + LOOK_AHEAD
        for _ in range(_MOST_STEPS):
            later = self._not_before(at)
            if later == at:
                return at, at
            if later is None or later >= limit:
                return None, _next(begin, _PERIOD)
            at = later
        return None, min(at, _next(begin, DAY))

    def _not_before(self, at: int) -> int | None:
        """An instant before which it stays closed; ``at`` where it is open then, None beyond sight."""
        latest = _end(at, (denied for _, _, denied in self._denies))
        for _, allowed in self._allows:
            if latest is None:
                return None
            if not _covers(allowed, at):
                start = _earliest(each.next_start(at) for each in allowed)
                latest = None if start is None else max(latest, start)
        return latest

    def _closes(self, at: int) -> int | None:
        """When it closes, of a time at which it is open."""
        found = _earliest(denied.next_start(at) for _, _, denied in self._denies)
        for _, allowed in self._allows:
            end = _covered_until(at, allowed, at + LOOK_AHEAD if found is None else found)
            found = _earliest((found, end))
        return found


_NOTHING_FOUND = (0, 0, None)
_MOST_STEPS = 2_000
"""How many openings and closings are looked through for one that changes anything."""
_PERIOD = 28 * DAY
"""What is not in sight is looked for again at the end of each of these."""


def _next(at: int, span: int) -> int:
    """The next multiple of a span."""
    return (at // span + 1) * span


def _covers(all_spans: Iterable[Spans], at: int) -> bool:
    return any(each.end_of(at) != at for each in all_spans)


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


Zoned = tuple[Calendar, str]
"""A calendar, and the name of a zone in which it is asked for."""


class Timetables:
    """All calendars in all zones in which they are asked for: the cost is theirs, not the clusters'.

    Between two changes an answer is looked up, nothing is worked out.
    """

    def __init__(self) -> None:
        self._tables: dict[tuple[tuple[str, str], ...], Timetable] = {}
        self._kept: dict[Timetable, tuple[datetime, Opening]] = {}

    def at(self, zoned: Sequence[Zoned], now: datetime) -> Opening | None:
        """How calendars stand together, each in its zone; None where one of these is no time zone."""
        table = self.table(zoned)
        if table is None:
            return None
        since, opening = self._kept.get(table, (None, None))
        if since is None or opening is None or not since <= now < opening.ask_again:
            opening = table.at(now)
            self._kept[table] = (now, opening)
        return opening

    def table(self, zoned: Sequence[Zoned]) -> Timetable | None:
        """The one of these calendars; None where one of the zones is none."""
        key = tuple((calendar.key, zone) for calendar, zone in zoned)
        known = self._tables.get(key)
        if known is None:
            known = self._made(zoned)
            if known is not None:
                self._tables[key] = known
        return known

    def _made(self, zoned: Sequence[Zoned]) -> Timetable | None:
        if len(zoned) == 1:
            ((calendar, name),) = zoned
            zone = find_zone(name)
            return None if zone is None else Timetable(calendar, zone)
        single = [self.table((each,)) for each in zoned]
        known = [table for table in single if table is not None]
        return known[0].along_with(known[1:]) if len(known) == len(single) else None

    def forget(self, calendar_key: str) -> None:
        """Of a calendar that is no more, or another one."""
        for key in [key for key in self._tables if any(name == calendar_key for name, _ in key)]:
            self._kept.pop(self._tables.pop(key), None)


def openings(
    timetable: Timetable, start: datetime, end: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """The spans in which a calendar is open, cut to ``[start, end)``."""
    at, since = start, None
    while at < end:
        now = timetable.at(at)
        if now.is_open:
            since = since or at
        elif since is not None:
            yield since, at
            since = None
        at = now.ask_again
    if since is not None:
        yield since, end


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
        return f"never {verb}, as far as can be foreseen"
    return f"{verb} {local_text(opening.until, zone)}"


def closing_text(opening: Opening) -> str:
    """Which window closes, and why, in words."""
    if opening.window is None:
        return "outside of all windows that allow"
    reason = f": {opening.window.reason}" if opening.window.reason else ""
    return f"window {opening.window.name}{reason}"
