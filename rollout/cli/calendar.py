"""`rollout calendar list` and `show`: when calendars are open.

They need no engine: calendars are read from files, a state file or an API server.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import click

from rollout.analysis.calendars import (
    Day,
    ZoneStanding,
    known_calendars,
    week,
    week_svg,
    zone_standing,
    zone_standings,
)
from rollout.analysis.sentences import standing_line
from rollout.calendars.calendar import Calendar, Timetable, openings
from rollout.calendars.windows import CalendarWindow, Dated
from rollout.calendars.zones import find_zone
from rollout.cli.documents import read_documents
from rollout.cli.naming import missing
from rollout.cli.options import Stop, options
from rollout.cli.store import open_hub
from rollout.cli.tables import Table, lines, widths
from rollout.cli.text import put, say
from rollout.clock import SystemClock
from rollout.fleet.closings import KnownCalendar
from rollout.model.instants import rfc3339
from rollout.model.kinds import (
    CALENDAR,
    CLUSTER_CALENDAR,
    DEFAULT_NAMESPACE,
    MANAGED_CLUSTER,
    Kind,
    Obj,
    Ref,
    key_of,
)
from rollout.model.problems import joined
from rollout.model.waits import Reason
from rollout.planning.calendars import what_follows

_SEEN = (CALENDAR, CLUSTER_CALENDAR, MANAGED_CLUSTER)
_WEEK_DAYS = 7


@dataclass(frozen=True, slots=True)
class CalendarSource:
    """Objects by kind, and the instant at which they are looked at."""

    objects: dict[Kind, list[Obj]]
    now: datetime

    def calendars(self, namespace: str | None) -> list[KnownCalendar]:
        """Those of a namespace (None: of all) and those of the whole hub, in the order of names."""
        known = known_calendars(self.objects, self.now).known
        found = [
            each for each in known if namespace is None or each.ref.namespace in ("", namespace)
        ]
        return sorted(found, key=lambda each: (each.ref.namespace, each.ref.name))


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
        wire = [_wire(each, zone_standings(each, known.now)) for each in found]
        put(json.dumps(wire, indent=2))
        return
    if not found:
        say("there is no calendar; `rollout apply -f PATH` makes one", err=True)
        return
    rows = tuple(_list_row(each, zone_standings(each, known.now)) for each in found)
    shown = Table(("NAMESPACE", "NAME", "OPEN", "NEXT CHANGE", "BLOCKS"), rows)
    for line in lines(shown, widths(shown)):
        say(line)


def _list_row(known: KnownCalendar, standings: list[ZoneStanding]) -> tuple[str, ...]:
    namespace, name, blocks = known.ref.namespace, known.ref.name, _blocks(known.shown)
    if known.problems:
        return namespace, name, "Misconfigured", "", blocks
    openings_now = [s.opening for s in standings if s.opening is not None]
    is_open = sum(opening.is_open for opening in openings_now)
    changes = [opening.until for opening in openings_now if opening.until is not None]
    change = rfc3339(min(changes)) if changes else ""
    return namespace, name, f"{is_open}/{len(standings)}", change, blocks


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

    NAME is a Calendar of the namespace or, where there is none, a ClusterCalendar. Of one that cannot be
    read, its last readable version is shown, if an engine has seen one.
    """
    source = _known(paths, namespace, at)
    known = _named(source, name, namespace or DEFAULT_NAMESPACE)
    standings = zone_standings(known, source.now)
    for zone in zones:
        if find_zone(zone) is None:
            raise click.UsageError(f"there is no time zone {zone!r}")
    if zones:
        standings = _of_zones(known, zones, standings, source.now)
    week_from = source.now if with_week and not known.problems else None
    match output:
        case "json":
            put(json.dumps(_wire(known, standings, week_from), indent=2))
        case "svg" if not known.problems:
            put(_drawn(known.shown, standings, source.now))
        case "text" if known.calendar is not None:
            for line in _text(known.shown, standings, week_from):
                say(line)
    if known.problems:
        follows = what_follows(is_known=known.calendar is not None)
        raise Stop(1, f"calendar {known.ref.key}: {joined(known.problems)}; {follows}")


def _named(known: CalendarSource, name: str, namespace: str) -> KnownCalendar:
    found = [each for each in known.calendars(namespace) if each.ref.name == name]
    if not found:
        raise missing(Ref(CALENDAR, key_of(namespace, name)), listing="calendar list -A")
    return max(found, key=lambda each: each.ref.namespace)


def _of_zones(
    known: KnownCalendar, zones: Iterable[str], standings: list[ZoneStanding], now: datetime
) -> list[ZoneStanding]:
    there = {standing.zone: standing for standing in standings}
    return [there.get(name) or zone_standing(known, name, (), now) for name in zones]


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
    known: KnownCalendar, standings: list[ZoneStanding], week_from: datetime | None = None
) -> dict[str, Any]:
    calendar = known.shown
    return {
        "kind": known.ref.kind.name,
        "namespace": known.ref.namespace,
        "name": known.ref.name,
        "blocks": sorted(block.value for block in calendar.blocks),
        "problems": [str(problem) for problem in known.problems],
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
    if standing.unread:
        is_open = opening is not None and opening.is_open
        return {**found, "open": is_open, "reason": Reason.MISCONFIGURED}
    if opening is None or zone is None:
        return {**found, "open": False, "reason": Reason.UNKNOWN_TIME_ZONE}
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
