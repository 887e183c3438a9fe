"""Describes a calendar in each of its zones, draws its week, and finds likely mistakes in its file."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from zoneinfo import ZoneInfo

from rollout.api.calendar import decode_calendar
from rollout.api.cluster import decode_cluster
from rollout.api.preflight import Finding
from rollout.api.preflight.findings import Item, World
from rollout.calendars.calendar import (
    DEFAULT_ZONE,
    Calendar,
    Opening,
    Timetable,
    local_text,
    openings,
)
from rollout.calendars.windows import Dated
from rollout.calendars.zones import DAY, find_zone, instant, local_day, seconds, start_on
from rollout.fleet.calendars import Calendars
from rollout.fleet.closings import KnownCalendar
from rollout.model.cluster import Cluster
from rollout.model.events import Change, Event
from rollout.model.kinds import CALENDAR, CLUSTER_CALENDAR, MANAGED_CLUSTER, Kind, Obj, ref_of
from rollout.planning.calendars import unread_expressions, what_follows

CELL = 1_800
"""Seconds of a day that are one cell of the picture of a week."""
_WEEK = 7


@dataclass(frozen=True, slots=True)
class ZoneStanding:
    """One zone of a calendar. ``opening`` is None where there is no such zone.

    ``unread`` says what follows where the calendar cannot be read: then nothing opens or closes.
    """

    zone: str
    clusters: tuple[str, ...]
    opening: Opening | None
    unread: str = ""


@dataclass(frozen=True, slots=True)
class Day:
    """A local day. Each cell is the share of it that is open; None where the clock skips it."""

    title: str
    cells: tuple[float | None, ...]


def known_calendars(objects: Mapping[Kind, Iterable[Obj]], now: datetime) -> Calendars:
    """Calendars and ManagedClusters as an engine that has read them knows them."""
    found = Calendars()
    for kind in (CALENDAR, CLUSTER_CALENDAR):
        for obj in objects[kind]:
            found.take_calendar(Event(ref_of(kind, obj), Change.ADDED, obj, 1), now)
    for cluster in map(decode_cluster, objects[MANAGED_CLUSTER]):
        found.take_cluster(cluster.name, cluster, now)
    return found


def zone_standings(known: KnownCalendar, now: datetime) -> list[ZoneStanding]:
    """How a calendar stands now in its own zone, and in the zones of the clusters that it concerns."""
    own = known.shown.zones.zone
    names = sorted({*known.members, *([own] if own else [])})
    return [zone_standing(known, name, sorted(known.members.get(name, ())), now) for name in names]


def zone_standing(
    known: KnownCalendar, zone: str, clusters: Iterable[str], now: datetime
) -> ZoneStanding:
    """How a calendar stands in the zone of these clusters; as it stood when it could be read last."""
    calendar, unread = known.calendar, ""
    if known.unread is not None:
        unread = what_follows(is_known=calendar is not None)
    opening = _opening(calendar, zone, known.unread_since or now) if calendar else None
    return ZoneStanding(zone, tuple(clusters), opening, unread)


def concerns(calendar: Calendar, cluster: Cluster) -> bool:
    """Whether the labels and claims of a cluster are those that a calendar asks for."""
    wanted = calendar.clusters
    return wanted is None or (
        wanted.labels.matches(cluster.labels) and wanted.claims.matches(cluster.claims)
    )


def _opening(calendar: Calendar, name: str, now: datetime) -> Opening | None:
    zone = find_zone(name)
    return None if zone is None else Timetable(calendar, zone).at(now)


def calendar_findings(world: World) -> Iterator[Finding]:
    """What is wrong with calendars in files, or looks like a mistake."""
    for item in (each for kind in (CALENDAR, CLUSTER_CALENDAR) for each in world.of(kind)):
        calendar = decode_calendar(item.document.obj)
        if not calendar.problems:  # of fields it is told elsewhere
            for problem in unread_expressions(calendar):
                yield item.error(problem.path, problem.fault, f"accepted: {problem.accepted}")
            mine = [each for each in world.clusters if concerns(calendar, each)]
            yield from _without_label(item, calendar, mine)
            yield from _never_open(item, calendar, mine)


def _without_label(item: Item, calendar: Calendar, mine: list[Cluster]) -> Iterator[Finding]:
    """A label that is to name zones, and that nobody has. Claims are not written in files."""
    label, zone = calendar.zones.label, calendar.zones.zone
    if label and mine and not any(label in each.labels for each in mine):
        follows = f"all are taken to be in {zone}" if zone else "all of them stay closed"
        yield item.warning(
            "spec.timeZoneFrom.label",
            f"no cluster in these files that it concerns has label {label!r}: {follows}",
            "correct the name of the label, or give the clusters one that names their zone",
        )


def _never_open(item: Item, calendar: Calendar, mine: list[Cluster]) -> Iterator[Finding]:
    """Windows of which those that deny leave nothing open, whatever day it is."""
    named = [calendar.zones.of(each.labels, each.claims) for each in mine]
    for name in sorted({*named, calendar.zones.zone or DEFAULT_ZONE}):
        zone = find_zone(name)
        if zone is not None and not _ever_opens(calendar, zone):
            yield item.warning(
                "spec.windows",
                f"it never opens in {name}: what it concerns would never be touched there",
                "let windows that allow last longer than those that deny",
            )
            return


_ANY_DAY = datetime(2026, 1, 1, tzinfo=UTC)


def _ever_opens(calendar: Calendar, zone: ZoneInfo) -> bool:
    """Whether it is open some day, be it past or to come: from any day on, or once a dated window begins."""
    dated = [w.when for w in calendar.windows if isinstance(w.when, Dated)]
    ends = [at for when in dated for at in (when.start, when.end)]
    starts = [at if at.tzinfo else at.replace(tzinfo=zone) for at in ends]
    table = Timetable(calendar, zone)
    found = (table.at(at) for at in (_ANY_DAY, *starts))
    return any(opening.is_open or opening.until is not None for opening in found)


def week(calendar: Calendar, zone: ZoneInfo, now: datetime) -> Iterator[Day]:
    """The seven local days from today on."""
    table, today = Timetable(calendar, zone), local_day(seconds(now), zone)
    for day in range(today, today + _WEEK):
        edges = [start_on(day, time, zone) for time in range(0, DAY + CELL, CELL)]
        spans = [
            (seconds(since), seconds(until))
            for since, until in openings(table, instant(edges[0]), instant(edges[-1]))
        ]
        cells = tuple(_share(edges[i], edges[i + 1], spans) for i in range(len(edges) - 1))
        title = local_text(instant(edges[0]), zone)[: len("Mon 2026-06-01")]
        yield Day(title, cells)


def _share(start: int, end: int, spans: list[tuple[int, int]]) -> float | None:
    if start == end:
        return None
    inside = sum(max(0, min(end, until) - max(start, since)) for since, until in spans)
    return inside / (end - start)


_LEFT, _TOP, _ROW, _CELL = 130, 60, 22, 14


def week_svg(title: str, days: Iterable[Day]) -> str:
    """The picture of a week as SVG: a row for each day, green where it is open."""
    rows = list(days)
    width = _LEFT + _CELL * (DAY // CELL) + 24
    height = _TOP + _ROW * len(rows) + 20
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="24" font-size="15">{escape(title)}</text>',
    ]
    for hour in range(0, 25, 6):
        x = _LEFT + hour * 3600 // CELL * _CELL
        parts.append(f'<text x="{x}" y="{_TOP - 8}" text-anchor="middle">{hour:02}:00</text>')
    for i, day in enumerate(rows):
        parts += _row(day, _TOP + i * _ROW)
    return "\n".join([*parts, "</svg>", ""])


def _row(day: Day, top: int) -> Iterator[str]:
    yield f'<text x="16" y="{top + 14}">{escape(day.title)}</text>'
    for i, share in enumerate(day.cells):
        if share is None:
            continue
        x, size = _LEFT + i * _CELL, f'width="{_CELL}" height="{_ROW - 4}"'
        yield f'<rect x="{x}" y="{top}" {size} fill="#e6e6e6"/>'
        if share:
            yield f'<rect x="{x}" y="{top}" {size} fill="#4caf6a" opacity="{share:.2f}"/>'
