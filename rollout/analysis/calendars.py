"""How does a calendar stand in each of its zones, and what does its week look like?"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from html import escape
from zoneinfo import ZoneInfo

from rollout.calendars.calendar import Calendar, Opening, Timetable, local_text, openings
from rollout.calendars.zones import DAY, find_zone, instant, local_day, seconds, start_on
from rollout.model.cluster import Cluster

CELL = 1_800
"""Seconds of a day that are one cell of the picture of a week."""
_WEEK = 7


@dataclass(frozen=True, slots=True)
class ZoneStanding:
    """One zone of a calendar. ``opening`` is None where there is no such zone."""

    zone: str
    clusters: tuple[str, ...]
    opening: Opening | None


@dataclass(frozen=True, slots=True)
class Day:
    """A local day. Each cell is the share of it that is open; None where the clock skips it."""

    title: str
    cells: tuple[float | None, ...]


def zone_standings(
    calendar: Calendar, clusters: Iterable[Cluster], now: datetime
) -> list[ZoneStanding]:
    """How a calendar stands now in its own zone, and in the zones of the clusters that it concerns.

    Expressions (CEL) are not evaluated: a zone may be named though they leave its clusters out.
    """
    found: dict[str, list[str]] = {calendar.zones.zone: []} if calendar.zones.zone else {}
    for cluster in clusters:
        if concerns(calendar, cluster):
            name = calendar.zones.of(cluster.labels, cluster.claims)
            found.setdefault(name, []).append(cluster.name)
    return [
        ZoneStanding(name, tuple(sorted(members)), _opening(calendar, name, now))
        for name, members in sorted(found.items())
    ]


def concerns(calendar: Calendar, cluster: Cluster) -> bool:
    """Whether the labels and claims of a cluster are those that a calendar asks for."""
    wanted = calendar.clusters
    return wanted is None or (
        wanted.labels.matches(cluster.labels) and wanted.claims.matches(cluster.claims)
    )


def _opening(calendar: Calendar, name: str, now: datetime) -> Opening | None:
    zone = find_zone(name)
    return None if zone is None else Timetable(calendar, zone).at(now)


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
