"""The page of calendars, freezes and approvals: what they keep back, and who has to act."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response

from rollout.account.states import Code
from rollout.analysis.calendars import Day, ZoneStanding, week, zone_standings
from rollout.analysis.sentences import standing_line
from rollout.analysis.snapshot import stored
from rollout.api.own import decode_approval, decode_freeze
from rollout.calendars.zones import find_zone
from rollout.dashboard.actions import address
from rollout.dashboard.answers import PageRequest
from rollout.dashboard.fleet_pages import calendars_of, may_see_calendar
from rollout.dashboard.tables import PAGE, PagedColumn, PagedTable
from rollout.dashboard.verbs import OF_HUB, VERBS
from rollout.dashboard.view import HubReading
from rollout.fleet.closings import KnownCalendar
from rollout.model.approvals import Approval, Freeze
from rollout.model.kinds import APPROVAL, FREEZE

MOST_ZONES_DRAWN = 3


@dataclass(frozen=True, slots=True)
class ZoneWeek:
    """One zone of a calendar, and its week where it is drawn."""

    standing: ZoneStanding
    days: Sequence[Day]


@dataclass(frozen=True, slots=True)
class CalendarWeek:
    """One calendar in its zones."""

    calendar: KnownCalendar
    zones: Sequence[ZoneWeek]


FREEZES = PagedTable[Freeze](
    PagedColumn(key="freeze", title="Freeze", by=lambda each: each.name),
    PagedColumn(key="state", title="State"),
    PagedColumn(key="until", title="Until", by=lambda each: each.until),
    PagedColumn(key="by", title="By", by=lambda each: each.actor),
    PagedColumn(key="why", title="Why"),
    name="freezes",
)
APPROVALS = PagedTable[Approval](
    PagedColumn(
        key="workload", title="Workload", by=lambda each: f"{each.namespace}/{each.workload}"
    ),
    PagedColumn(key="decision", title="Decision", by=lambda each: each.decision.value),
    PagedColumn(key="gate", title="Gate", by=lambda each: each.gate),
    PagedColumn(key="revision", title="Revision", by=lambda each: each.revision),
    PagedColumn(key="by", title="By", by=lambda each: each.actor),
    PagedColumn(key="why", title="Why"),
    PagedColumn(key="expires", title="Expires", by=lambda each: each.expires),
    name="approvals",
    words=lambda each: (
        f"{each.namespace}/{each.workload}",
        each.decision.value,
        each.gate,
        each.revision,
        each.actor,
        each.reason,
    ),
)
CALENDARS = PagedTable[KnownCalendar](name="calendars", size=10)


def consents(asked: PageRequest) -> Response:
    """Who keeps what back, and who has to act."""
    query, observer = asked.request.query_params, asked.office.observer
    calendars, freezes, approvals = observer.ask(_consents, "consents")
    waiting = [row for row in asked.rows if row.account.code is Code.PERSON and asked.may_see(row)]
    verbs = [
        verb
        for name in OF_HUB
        if asked.may((verb := VERBS[name]).writes[0], verb.kind(None))
        and (name == "freeze" or asked.view.frozen)
    ]
    shown = CALENDARS.page([each for each in calendars if may_see_calendar(asked, each)], query)
    weeks = observer.ask(
        lambda reading: _weeks(reading, shown.rows),
        ("weeks", tuple(each.ref.key for each in shown.rows)),
    )
    return asked.page(
        "consents.html",
        calendars=shown,
        weeks=weeks,
        freezes=FREEZES.page(freezes if asked.may("list", FREEZE) else (), query),
        approvals=APPROVALS.page(
            [each for each in approvals if asked.may("list", APPROVAL, each.namespace)], query
        ),
        waiting=waiting[:PAGE],
        all_waiting=len(waiting),
        verbs=verbs,
        address=address,
        standing_line=standing_line,
    )


def _consents(reading: HubReading) -> tuple[list[KnownCalendar], list[Freeze], list[Approval]]:
    freezes = [decode_freeze(obj) for obj in stored(reading.objects, FREEZE)]
    approvals = [decode_approval(obj) for obj in stored(reading.objects, APPROVAL)]
    freezes.sort(key=lambda each: (not each.stands(reading.snapshot.now), each.name))
    return calendars_of(reading), freezes, approvals


def _weeks(reading: HubReading, calendars: Sequence[KnownCalendar]) -> list[CalendarWeek]:
    return [_week(calendar, reading.snapshot.now) for calendar in calendars]


def _week(known: KnownCalendar, now: datetime) -> CalendarWeek:
    zones = []
    for i, standing in enumerate(zone_standings(known, now)):
        zone = find_zone(standing.zone)
        drawn = zone is not None and not standing.unread and i < MOST_ZONES_DRAWN
        days = list(week(known.shown, zone, now)) if drawn and zone else []
        zones.append(ZoneWeek(standing, days))
    return CalendarWeek(known, zones)
