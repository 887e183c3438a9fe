"""`rollout calendar list` and `show`: when calendars are open.

They need no engine: calendars are read from files, a state file or an API server.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import click

from rollout.analysis.calendars import Day, ZoneStanding, week, week_svg, zone_standings
from rollout.analysis.sentences import standing_line
from rollout.api.cluster import decode_cluster
from rollout.calendars.calendar import Calendar, Timetable, openings
from rollout.calendars.windows import CalendarWindow, Dated
from rollout.calendars.zones import find_zone
from rollout.cli.documents import read_documents
from rollout.cli.options import Stop, options
from rollout.cli.store import open_hub
from rollout.cli.tables import Table, lines, widths
from rollout.cli.text import put, say
from rollout.clock import SystemClock
from rollout.fleet.calendars import read_calendar
from rollout.model.instants import rfc3339
from rollout.model.kinds import (
    CALENDAR,
    CLUSTER_CALENDAR,
    DEFAULT_NAMESPACE,
    MANAGED_CLUSTER,
    Kind,
    Obj,
)
from rollout.model.problems import joined

_SEEN = (CALENDAR, CLUSTER_CALENDAR, MANAGED_CLUSTER)
_WEEK_DAYS = 7


@dataclass(frozen=True, slots=True)
class CalendarSource:
    """Objects by kind, and the instant at which they are looked at."""

    objects: dict[Kind, list[Obj]]
    now: datetime

    def calendars(self, namespace: str | None) -> list[Calendar]:
        """Those of a namespace (None: of all) and those of the whole hub, in the order of names."""
        found = [read_calendar(obj) for obj in self.objects[CALENDAR]]
        found = [c for c in found if namespace in (None, c.namespace)]
        found += [read_calendar(obj) for obj in self.objects[CLUSTER_CALENDAR]]
        return sorted(found, key=lambda c: (c.namespace, c.name))

    def standings(self, calendar: Calendar) -> list[ZoneStanding]:
        if calendar.problems:
            return []
        clusters = map(decode_cluster, self.objects[MANAGED_CLUSTER])
        return zone_standings(calendar, clusters, self.now)


def _known(paths: tuple[str, ...], namespace: str, at: datetime | None) -> CalendarSource:
    """What the files hold or, where there are none, what the hub does."""
    if paths:
        documents = read_documents(paths, namespace)
        unread = [fault for d in documents if d.ref is None for fault in d.complaints]
        if unread:
            raise Stop(1, *unread)
        objects = {
            kind: [d.obj for d in documents if d.ref is not None and d.ref.kind is kind]
            for kind in _SEEN
        }
        return CalendarSource(objects, at or SystemClock().now())
    with open_hub(options()) as (hub, clock):
        return CalendarSource(
            {kind: list(hub.list(kind).items) for kind in _SEEN}, at or clock.now()
        )


def list_command(
    paths: tuple[str, ...], namespace: str, at: datetime | None, all_namespaces: bool, output: str
) -> None:
    """Show every calendar: in how many of its zones it is open, and what changes next.

    Calendars of the whole hub (ClusterCalendar) are always among them.
    """
    known = _known(paths, namespace, at)
    found = known.calendars(None if all_namespaces else namespace or DEFAULT_NAMESPACE)
    if output == "json":
        put(json.dumps([_wire(c, known.standings(c)) for c in found], indent=2))
        return
    if not found:
        say("there is no calendar; `rollout apply -f PATH` makes one", err=True)
        return
    rows = tuple(_list_row(calendar, known.standings(calendar)) for calendar in found)
    shown = Table(("NAMESPACE", "NAME", "OPEN", "NEXT CHANGE", "BLOCKS"), rows)
    for line in lines(shown, widths(shown)):
        say(line)


def _list_row(calendar: Calendar, standings: list[ZoneStanding]) -> tuple[str, ...]:
    blocks = _blocks(calendar)
    if calendar.problems:
        return calendar.namespace, calendar.name, "Misconfigured", "", blocks
    known = [s.opening for s in standings if s.opening is not None]
    is_open = sum(opening.is_open for opening in known)
    changes = [opening.until for opening in known if opening.until is not None]
    change = rfc3339(min(changes)) if changes else ""
    return calendar.namespace, calendar.name, f"{is_open}/{len(standings)}", change, blocks


def _blocks(calendar: Calendar) -> str:
    return ",".join(sorted(block.value for block in calendar.blocks))


def show_command(
    name: str,
    paths: tuple[str, ...],
    namespace: str,
    at: datetime | None,
    with_week: bool,
    zones: tuple[str, ...],
    output: str,
) -> None:
    """Show one calendar: its windows, and in each of its zones whether it is open and until when.

    NAME is a Calendar of the namespace or, where there is none, a ClusterCalendar.
    """
    known = _known(paths, namespace, at)
    calendar = _named(known, name, namespace or DEFAULT_NAMESPACE)
    if calendar.problems:
        raise Stop(1, f"calendar {calendar.key}: {joined(calendar.problems)}")
    standings = known.standings(calendar)
    for zone in zones:
        if find_zone(zone) is None:
            raise click.UsageError(f"there is no time zone {zone!r}")
    if zones:
        standings = _of_zones(calendar, zones, standings, known.now)
    match output:
        case "json":
            put(json.dumps(_wire(calendar, standings, known.now if with_week else None), indent=2))
        case "svg":
            put(_drawn(calendar, standings, known.now))
        case _:
            for line in _text(calendar, standings, known.now if with_week else None):
                say(line)


def _named(known: CalendarSource, name: str, namespace: str) -> Calendar:
    found = [c for c in known.calendars(namespace) if c.name == name]
    if not found:
        raise Stop(
            1, f'calendars "{name}" not found: `rollout calendar list -A` shows which there are'
        )
    return max(found, key=lambda c: c.namespace)


def _of_zones(
    calendar: Calendar, zones: Iterable[str], standings: list[ZoneStanding], now: datetime
) -> list[ZoneStanding]:
    known = {standing.zone: standing for standing in standings}
    found = []
    for name in zones:
        zone = find_zone(name)
        opening = Timetable(calendar, zone).at(now) if zone else None
        found.append(known.get(name) or ZoneStanding(name, (), opening))
    return found


def _text(
    calendar: Calendar, standings: list[ZoneStanding], week_from: datetime | None
) -> Iterator[str]:
    yield f"{_title(calendar)}   blocks {_blocks(calendar)}"
    yield "windows"
    rows = [(w.name, w.action.value, _when(w), w.reason) for w in calendar.windows]
    shown = Table(("", "", "", ""), tuple(rows))
    yield from (f"  {line}" for line in lines(shown, widths(shown), header=False))
    yield "zones"
    for standing in standings:
        yield f"  {standing_line(standing)}"
    for standing in standings:
        zone = find_zone(standing.zone)
        if week_from is None or zone is None:
            continue
        yield ""
        yield f"{standing.zone}: # open, + partly, . closed"
        yield f"{'':14}  00          06          12          18          24"
        for day in week(calendar, zone, week_from):
            yield f"{day.title}  {_cells(day)}"


def _title(calendar: Calendar) -> str:
    return f"{'Calendar' if calendar.namespace else 'ClusterCalendar'} {calendar.key}"


def _when(window: CalendarWindow) -> str:
    when = window.when
    if isinstance(when, Dated):
        return f"from {_moment(when.start)} until {_moment(when.end)}"
    hours, minutes = divmod(when.duration // 60, 60)
    return f"{when.schedule.text} for {hours}h{minutes:02}m"


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="minutes")


def _cells(day: Day) -> str:
    signs = {None: " ", 0.0: ".", 1.0: "#"}
    return "".join(signs.get(cell, "+") for cell in day.cells)


def _drawn(calendar: Calendar, standings: list[ZoneStanding], now: datetime) -> str:
    named = [(s.zone, zone) for s in standings if (zone := find_zone(s.zone)) is not None]
    if len(named) != 1:
        names = ", ".join(name for name, _ in named) or "none"
        raise Stop(2, f"svg draws one zone: choose one with --zone (there are: {names})")
    name, zone = named[0]
    return week_svg(f"{_title(calendar)} in {name}", week(calendar, zone, now))


def _wire(
    calendar: Calendar, standings: list[ZoneStanding], week_from: datetime | None = None
) -> dict[str, Any]:
    return {
        "kind": "Calendar" if calendar.namespace else "ClusterCalendar",
        "namespace": calendar.namespace,
        "name": calendar.name,
        "blocks": sorted(block.value for block in calendar.blocks),
        "problems": [str(problem) for problem in calendar.problems],
        "windows": [
            {"name": w.name, "action": w.action.value, "when": _when(w), "reason": w.reason}
            for w in calendar.windows
        ],
        "zones": [_wire_zone(calendar, standing, week_from) for standing in standings],
    }


def _wire_zone(
    calendar: Calendar, standing: ZoneStanding, week_from: datetime | None
) -> dict[str, Any]:
    opening, zone = standing.opening, find_zone(standing.zone)
    found: dict[str, Any] = {"timeZone": standing.zone, "clusters": list(standing.clusters)}
    if opening is None or zone is None:
        return {**found, "open": False, "reason": "UnknownTimeZone"}
    found["open"] = opening.is_open
    found["until"] = rfc3339(opening.until) if opening.until else None
    found["window"] = opening.window.name if opening.window else None
    if week_from is not None:
        end = week_from + timedelta(days=_WEEK_DAYS)
        found["openings"] = [
            {"from": rfc3339(since), "until": rfc3339(until)}
            for since, until in openings(Timetable(calendar, zone), week_from, end)
        ]
    return found
