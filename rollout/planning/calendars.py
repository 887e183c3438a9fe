"""Plans the status of a Calendar or a ClusterCalendar: where it is open, and its next change."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rollout.calendars.calendar import Calendar, Opening
from rollout.model.conditions import Condition, merge
from rollout.model.instants import rfc3339
from rollout.model.kinds import Kind, Obj, Ref
from rollout.model.names import MISCONFIGURED, UNKNOWN_TIME_ZONE
from rollout.model.problems import Problem, joined
from rollout.model.writes import PatchStatus
from rollout.placement.cel import expressions
from rollout.planning.plan import NOTHING, Plan


def unread_expressions(calendar: Calendar) -> tuple[Problem, ...]:
    """The expressions of a calendar that cannot be compiled. None knows the time: they are asked when a
    cluster or the calendar changes.
    """
    texts = calendar.clusters.cel if calendar.clusters is not None else ()
    found: list[Problem] = []
    for i, text in enumerate(texts):
        path = f"spec.clusters.celSelector.celExpressions[{i}]"
        why = expressions.program(text).problem
        if why is not None:
            said, _, _ = why.partition("\n")
            found.append(Problem(path, text, f"{EXPRESSION_ACCEPTED} ({said})"))
    return tuple(found)


EXPRESSION_ACCEPTED = "a CEL expression about managedCluster"


@dataclass(frozen=True, slots=True)
class ZoneState:
    """One zone of a calendar. ``opening`` is None where there is no such zone."""

    name: str
    clusters: int
    opening: Opening | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarState:
    """A calendar and its zones. With problems its clusters stay as they were at ``unread_since``.

    ``readable`` is the last spec that could be read; None where none could.
    """

    ref: Ref
    raw: Obj
    version: int
    problems: tuple[Problem, ...]
    zones: tuple[ZoneState, ...]
    readable: Obj | None
    unread_since: datetime | None


class CalendarView(Protocol):
    """What the planner reads."""

    def calendar(self, key: str, now: datetime) -> CalendarState | None: ...


class CalendarPlanner:
    """Plans the status of one calendar, at each opening and closing."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def plan(self, key: str, view: CalendarView, now: datetime) -> Plan:
        """The status, where it is another one; and a look at the next change."""
        state = view.calendar(key, now)
        if state is None:
            return NOTHING
        known = [zone.opening for zone in state.zones if zone.opening is not None]
        changes = [opening.until for opening in known if opening.until is not None]
        change = None if state.problems else min(changes, default=None)
        old: Obj = state.raw.get("status") or {}
        status: Obj = {
            "conditions": merge(old.get("conditions") or [], _conditions(state), now),
            "open": f"{sum(opening.is_open for opening in known)}/{len(state.zones)}",
            "nextChange": rfc3339(change) if change is not None else None,
            "next": [_zone(zone, is_frozen=bool(state.problems)) for zone in state.zones],
            "lastReadable": _written(state.readable),
            "unreadableSince": rfc3339(state.unread_since) if state.unread_since else None,
        }
        looks = [opening.ask_again for opening in known if not state.problems]
        recheck_at = min(looks, default=None)
        if all(old.get(name) == value for name, value in status.items()):
            return Plan(recheck_at=recheck_at)
        return Plan(
            ((PatchStatus(state.ref, status, state.version or None),),), recheck_at=recheck_at
        )


def _written(spec: Obj | None) -> str | None:
    """As text: a merge patch would leave fields of an older one in it."""
    return None if spec is None else json.dumps(spec, sort_keys=True, separators=(",", ":"))


def _zone(zone: ZoneState, *, is_frozen: bool) -> Obj:
    opening = zone.opening
    found: Obj = {"timeZone": zone.name, "open": opening is not None and opening.is_open}
    if opening is None:
        return found
    if opening.until is not None and not is_frozen:
        found["until"] = rfc3339(opening.until)
    if opening.window is not None:
        found["window"] = opening.window.name
    return found


def what_follows(*, is_known: bool) -> str:
    """What comes of a calendar that cannot be read. ``is_known``: an earlier version of it could."""
    if is_known:
        return "clusters stay as they were before"
    return "it could never be read, so all clusters are closed"


def _conditions(state: CalendarState) -> list[Condition]:
    generation = (state.raw.get("metadata") or {}).get("generation")
    if state.problems:
        text = f"{joined(state.problems)}; {what_follows(is_known=state.readable is not None)}"
        readable = Condition(
            MISCONFIGURED, "True", "InvalidSpec", text, observed_generation=generation
        )
    else:
        readable = Condition(
            MISCONFIGURED, "False", "ValidSpec", "It can be read", observed_generation=generation
        )
    unknown = [zone for zone in state.zones if zone.opening is None]
    if unknown:
        count = sum(zone.clusters for zone in unknown)
        named = ", ".join(repr(zone.name) for zone in unknown[:5])
        closed = "1 cluster is" if count == 1 else f"{count} clusters are"
        text = f"{closed} closed: {named} is not a time zone"
        zones = Condition(
            UNKNOWN_TIME_ZONE, "True", "ClustersClosed", text, observed_generation=generation
        )
    else:
        text = "The zone of every cluster is known"
        zones = Condition(
            UNKNOWN_TIME_ZONE, "False", "ZonesKnown", text, observed_generation=generation
        )
    return [readable, zones]
