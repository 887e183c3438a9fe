"""Which clusters do calendars close now, and until when?

Fed by the fleet with calendars and clusters. What it costs to ask is a matter of calendars and zones;
until the next opening or closing an answer is looked up.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from rollout.api.decoding import decoder
from rollout.api.fields import mapping, strings, version_of
from rollout.calendars.calendar import (
    Block,
    Calendar,
    Opening,
    Timetables,
    change_text,
    closing_text,
)
from rollout.calendars.zones import find_zone
from rollout.model.cluster import Cluster
from rollout.model.events import Change, Event
from rollout.model.kinds import CLUSTER_CALENDAR, Obj, Ref
from rollout.model.waits import Reason, Wait
from rollout.placement.cel.expressions import Judge
from rollout.placement.framework import no_scores
from rollout.planning.calendars import CalendarState, ZoneState
from rollout.strategies.base import NOTHING_CLOSED, NOTHING_SHUT, Closed, Shut

Span = tuple[datetime, datetime]
"""From an instant up to another one."""
NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label that every namespace has: its name."""


@dataclass(slots=True, kw_only=True)
class _Entry:
    """One calendar and the clusters that it concerns.

    ``calendar`` is the version that decides; None where none could be read yet. ``frozen_at``: since when
    it has been unreadable; until it is corrected, clusters stay as they were then.
    """

    ref: Ref
    raw: Obj
    calendar: Calendar | None = None
    problems: Calendar | None = None
    frozen_at: datetime | None = None
    zones: dict[str, str] = field(default_factory=dict)  # cluster -> zone
    members: dict[str, set[str]] = field(default_factory=dict)  # zone -> clusters
    known: Shut | None = None
    known_from: datetime | None = None
    known_to: datetime | None = None

    def place(self, cluster: str, zone: str | None) -> bool:
        """Note the zone of a cluster (None: it is not concerned); whether that is news."""
        before = self.zones.get(cluster)
        if before == zone:
            return False
        if before is not None:
            self.members[before].discard(cluster)
            if not self.members[before]:
                del self.members[before]
        if zone is None:
            del self.zones[cluster]
        else:
            self.zones[cluster] = zone
            self.members.setdefault(zone, set()).add(cluster)
        self.known = None
        return True


class Calendars:
    """All calendars, and the zone of every cluster in each of them."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._clusters: dict[str, Cluster] = {}
        self._tables = Timetables()
        self._merged: dict[tuple[int, ...], tuple[tuple[Shut, ...], Shut]] = {}

    # -- what happened -------------------------------------------------------------------------

    def take_calendar(self, event: Event, now: datetime) -> set[Ref]:
        """Take in a calendar."""
        key = event.ref.key
        self._tables.forget(key)
        self._merged.clear()
        if event.change is Change.DELETED:
            self._entries.pop(key, None)
            return {event.ref}
        entry = self._entries.setdefault(key, _Entry(ref=event.ref, raw=event.obj))
        entry.raw, entry.known = event.obj, None
        calendar: Calendar = decoder(event.ref.kind.name)(event.obj)
        if calendar.problems:
            entry.problems = calendar
            entry.frozen_at = entry.frozen_at or now
        else:
            entry.calendar, entry.problems, entry.frozen_at = calendar, None, None
        for cluster in self._clusters.values():
            entry.place(cluster.name, _zone_in(entry.calendar, cluster, now))
        return {event.ref}

    def take_cluster(self, name: str, cluster: Cluster | None, now: datetime) -> set[Ref]:
        """Take in a cluster (None: it is gone); the calendars in which that changes anything."""
        if cluster is None:
            self._clusters.pop(name, None)
        else:
            self._clusters[name] = cluster
        return {
            entry.ref
            for entry in self._entries.values()
            if entry.place(
                name, None if cluster is None else _zone_in(entry.calendar, cluster, now)
            )
        }

    # -- what planners read --------------------------------------------------------------------

    def calendar(self, key: str, now: datetime) -> CalendarState | None:
        """How a calendar stands in each of its zones."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        zones: list[ZoneState] = []
        if entry.calendar is not None:
            at = entry.frozen_at or now
            own = entry.calendar.zones.zone
            for name in sorted({*entry.members, *([own] if own else [])}):
                opening = self._tables.at(entry.calendar, name, at)
                zones.append(ZoneState(name, len(entry.members.get(name, ())), opening))
        return CalendarState(
            ref=entry.ref,
            raw=entry.raw,
            version=version_of(mapping(entry.raw.get("metadata"))),
            problems=entry.problems.problems if entry.problems is not None else (),
            zones=tuple(zones),
        )

    def standings(self, now: datetime) -> Iterator[CalendarState]:
        """How every calendar stands. Cost: calendars x zones."""
        for key in self._entries:
            if (state := self.calendar(key, now)) is not None:
                yield state

    def closed(self, workload: Ref, raw: Obj | None, now: datetime) -> Closed:
        """The clusters that calendars close to a workload now; ``raw`` is its object."""
        if not self._entries:
            return NOTHING_CLOSED
        labels = strings(mapping(mapping(raw).get("metadata")).get("labels"))
        return Closed(
            touch=self.shut(workload, labels, Block.TOUCH, now),
            removal=self.shut(workload, labels, Block.REMOVAL, now),
            rollback=self.shut(workload, labels, Block.ROLLBACK, now),
            restore=self.shut(workload, labels, Block.RESTORE, now),
            amiss="; ".join(self._amiss(workload)),
        )

    def _amiss(self, workload: Ref) -> Iterator[str]:
        """The calendars that cannot be read and may concern a workload, each with its first fault."""
        for entry in self._entries.values():
            if entry.problems is not None and _may_concern(entry, workload):
                first = entry.problems.problems[0]
                yield f"{entry.ref} is Misconfigured ({first}); clusters stay as they were before"

    def shut(self, workload: Ref, labels: Mapping[str, str], block: Block, now: datetime) -> Shut:
        """The clusters that calendars close to a workload now, for what ``block`` names."""
        found = [
            self._closed(entry, now)
            for entry in self._entries.values()
            if _concerns(entry, workload, labels, block)
        ]
        found = [shut for shut in found if shut.waits]
        if len(found) <= 1:
            return found[0] if found else NOTHING_SHUT
        key = tuple(map(id, found))
        known = self._merged.get(key)
        if known is None:
            if len(self._merged) > _MOST_MERGED:
                self._merged.clear()
            known = self._merged[key] = (tuple(found), _merged(found))
        return known[1]

    def closed_spans(
        self, workload: Ref, raw: Obj | None, start: datetime, end: datetime
    ) -> Mapping[str, tuple[Span, ...]]:
        """By cluster, when calendars close it to touches between two instants, if they do.

        Cost: calendars x zones x changes, and one look-up for each cluster.
        """
        labels = strings(mapping(mapping(raw).get("metadata")).get("labels"))
        found: dict[str, tuple[tuple[Span, ...], ...]] = {}
        for entry in self._entries.values():
            if not _concerns(entry, workload, labels, Block.TOUCH):
                continue
            if entry.calendar is None:
                found.update((c, (*found.get(c, ()), ((start, end),))) for c in self._clusters)
                continue
            for zone, members in entry.members.items():
                shut = tuple(self._shut_in(entry, entry.calendar, zone, start=start, end=end))
                if shut:
                    found.update((cluster, (*found.get(cluster, ()), shut)) for cluster in members)
        return {cluster: _joined(several) for cluster, several in found.items()}

    def _shut_in(
        self, entry: _Entry, calendar: Calendar, zone: str, *, start: datetime, end: datetime
    ) -> Iterator[Span]:
        """When a calendar is not open in one zone; one that cannot be read stays as it was."""
        at = start
        while at < end:
            opening = self._tables.at(calendar, zone, entry.frozen_at or at)
            is_over = opening is None or entry.frozen_at is not None
            until = end if opening is None or is_over else min(opening.ask_again, end)
            if opening is None or not opening.is_open:
                yield at, until
            at = until

    def _closed(self, entry: _Entry, now: datetime) -> Shut:
        at = entry.frozen_at or now
        if (
            entry.known is not None
            and entry.known_from is not None
            and entry.known_from <= at
            and (entry.known_to is None or at < entry.known_to)
        ):
            return entry.known
        if entry.calendar is None:
            wait = Wait(
                Reason.WINDOW_CLOSED, f"{entry.ref} cannot be read: all clusters are closed"
            )
            shut, entry.known_to = Shut(dict.fromkeys(self._clusters, wait)), None
        else:
            shut, entry.known_to = self._of_zones(entry, entry.calendar, at)
        entry.known, entry.known_from = shut, at
        return shut

    def _of_zones(
        self, entry: _Entry, calendar: Calendar, at: datetime
    ) -> tuple[Shut, datetime | None]:
        """Who is closed, and up to when that is so."""
        waits: dict[str, Wait] = {}
        opens: list[datetime] = []
        changes: list[datetime] = []
        for name, members in entry.members.items():
            opening = self._tables.at(calendar, name, at)
            if opening is not None:
                changes.append(opening.ask_again)
            if opening is not None and opening.is_open:
                continue
            wait = _wait(entry, name, opening)
            if wait.until is not None:
                opens.append(wait.until)
            waits.update(dict.fromkeys(members, wait))
        return Shut(waits, min(opens, default=None)), min(changes, default=None)


_MOST_MERGED = 256


@lru_cache(maxsize=_MOST_MERGED)
def _joined(several: tuple[tuple[Span, ...], ...]) -> tuple[Span, ...]:
    """All spans in order; those that overlap or touch are one."""
    found: list[Span] = []
    for start, end in sorted(span for spans in several for span in spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return tuple(found)


def _merged(several: Iterable[Shut]) -> Shut:
    """Closed where any closes; until the last of those that close a cluster opens."""
    waits: dict[str, Wait] = {}
    for shut in several:
        for cluster, wait in shut.waits.items():
            before = waits.get(cluster)
            waits[cluster] = wait if before is None else _longer(before, wait)
    instants = {wait.until for wait in waits.values() if wait.until is not None}
    return Shut(waits, min(instants, default=None))


def _longer(one: Wait, other: Wait) -> Wait:
    if one.until is None or other.until is None:
        return one if one.until is None else other
    return one if one.until >= other.until else other


def _wait(entry: _Entry, name: str, opening: Opening | None) -> Wait:
    zone = find_zone(name)
    if zone is None or opening is None:
        said = f"{name!r} is no time zone" if name else "its time zone is not known"
        return Wait(Reason.UNKNOWN_TIME_ZONE, f"{entry.ref}: {said}; the cluster stays closed")
    if entry.frozen_at is not None:
        text = f"{entry.ref} cannot be read: the cluster stays closed as it was"
        return Wait(Reason.WINDOW_CLOSED, text)
    text = f"{entry.ref}: {closing_text(opening)}; {change_text(opening, zone)}"
    return Wait(Reason.WINDOW_CLOSED, text, opening.ask_again)


def _zone_in(calendar: Calendar | None, cluster: Cluster, now: datetime) -> str | None:
    """The name of the cluster's zone in a calendar; None where the calendar does not concern it."""
    if calendar is None:
        return None
    wanted = calendar.clusters
    if wanted is not None:
        labels, claims = wanted.labels, wanted.claims
        if not labels.matches(cluster.labels) or not claims.matches(cluster.claims):
            return None
        judge = Judge(no_scores, now)
        # An expression that fails closes the cluster, as whatever is unclear does.
        if any(judge.verdict(text, cluster)[0] is False for text in wanted.cel):
            return None
    return calendar.zones.of(cluster.labels, cluster.claims)


def _may_concern(entry: _Entry, workload: Ref) -> bool:
    return entry.ref.kind is CLUSTER_CALENDAR or entry.ref.namespace == workload.namespace


def _concerns(entry: _Entry, workload: Ref, labels: Mapping[str, str], block: Block) -> bool:
    if not _may_concern(entry, workload):
        return False
    calendar = entry.calendar
    if calendar is None:  # never read: it may block whatever calendars block where unset
        return block in (Block.TOUCH, Block.REMOVAL)
    wanted = calendar.workloads
    if block not in calendar.blocks or (wanted.kinds and workload.kind.name not in wanted.kinds):
        return False
    if wanted.namespaces is not None and not (
        workload.namespace and wanted.namespaces.matches({NAMESPACE_NAME: workload.namespace})
    ):
        return False
    return wanted.labels.matches(labels)
