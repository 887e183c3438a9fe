"""Works out which clusters some calendars close together, and what each of these waits for.

Clusters with the same zones in the same calendars open and close together: they form one cohort, which is worked out once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from rollout.calendars.calendar import (
    Calendar,
    Opening,
    Timetables,
    Zoned,
    change_text,
    closing_text,
)
from rollout.calendars.zones import find_zone
from rollout.model.kinds import CALENDAR, CLUSTER_CALENDAR, Obj, Ref
from rollout.model.problems import Problem
from rollout.model.waits import Reason, Wait
from rollout.model.wording import first_of
from rollout.strategies.base import NOTHING_SHUT, Shut

Span = tuple[datetime, datetime]
"""From an instant up to another one."""
Zones = tuple[str | None, ...]
"""The zone of a cluster in each of some calendars; None in one that does not concern it."""
NO_ZONE = ""


@dataclass(slots=True, kw_only=True)
class KnownCalendar:
    """One calendar and the clusters that it concerns.

    ``calendar`` is the version that decides; None where none could be read yet: all clusters are closed.
    ``unread`` is what is written now, where that cannot be read: clusters stay as they were at
    ``unread_since``. ``readable`` is the spec that decides, as it was written.
    """

    ref: Ref
    raw: Obj
    calendar: Calendar | None = None
    readable: Obj | None = None
    unread: Calendar | None = None
    unread_since: datetime | None = None
    zones: dict[str, str] = field(default_factory=dict)  # cluster -> zone
    members: dict[str, set[str]] = field(default_factory=dict)  # zone -> clusters

    @property
    def shown(self) -> Calendar:
        """The version that decides; where none does, what is written."""
        found = self.calendar or self.unread
        assert found is not None, "it has been read"
        return found

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why what is written now cannot be read."""
        return self.unread.problems if self.unread is not None else ()

    def place(self, cluster: str, zone: str | None) -> bool:
        """Note the zone of a cluster (None: it is not concerned). Returns: whether it is another one."""
        before = self.zones.get(cluster)
        if before == zone:
            return False
        if before is not None:
            _leave(self.members, before, cluster)
        if zone is None:
            del self.zones[cluster]
        else:
            self.zones[cluster] = zone
            self.members.setdefault(zone, set()).add(cluster)
        return True


K = TypeVar("K")


def _leave(members: dict[K, set[str]], key: K, cluster: str) -> None:
    members[key].discard(cluster)
    if not members[key]:
        del members[key]


class _Cohorts:
    """Clusters by their zones in some calendars, and who of them is closed up to the next change."""

    def __init__(self, calendars: Sequence[KnownCalendar]) -> None:
        self.calendars = calendars
        self.shut = NOTHING_SHUT
        self.shut_from: datetime | None = None  # None: it is not known
        self.shut_to: datetime | None = None  # None: it stays so
        self._zones: dict[str, Zones] = {}
        self._members: dict[Zones, set[str]] = {}
        if len(calendars) > 1:
            for cluster in set().union(*(each.zones for each in calendars)):
                self.place(cluster)

    def place(self, cluster: str) -> None:
        """The zone of a cluster is another one."""
        self.shut_from = None
        if len(self.calendars) == 1:
            return
        zones = tuple([each.zones.get(cluster) for each in self.calendars])
        before = self._zones.pop(cluster, None)
        if before is not None:
            _leave(self._members, before, cluster)
        if any(zone is not None for zone in zones):
            self._zones[cluster] = zones
            self._members.setdefault(zones, set()).add(cluster)

    def members(self) -> list[tuple[Zones, set[str]]]:
        """The clusters of each cohort, in an order that does not depend on what happened."""
        if len(self.calendars) == 1:
            found: dict[Zones, set[str]] = {(z,): m for z, m in self.calendars[0].members.items()}
        else:
            found = self._members
        return sorted(found.items(), key=lambda each: [zone or NO_ZONE for zone in each[0]])

    def is_known(self, now: datetime) -> bool:
        """Whether it is known who is closed at this instant."""
        return (
            self.shut_from is not None
            and self.shut_from <= now
            and (self.shut_to is None or now < self.shut_to)
        )


_MOST_COHORTS = 256
"""So many sets of calendars are known at once."""


class Closings:
    """Who is closed by which calendars. What it works out is kept up to the next opening or closing."""

    def __init__(self) -> None:
        self._tables = Timetables()
        self._cohorts: dict[tuple[Ref, ...], _Cohorts] = {}

    def forget(self, calendar: Ref) -> None:
        """A calendar is no more, or says something else."""
        self._tables.forget(calendar.key)
        for key in [key for key in self._cohorts if calendar in key]:
            del self._cohorts[key]

    def place(self, cluster: str, calendars: Iterable[Ref]) -> None:
        """The zone of a cluster in these calendars is another one."""
        news = set(calendars)
        for key, cohorts in self._cohorts.items():
            if not news.isdisjoint(key):
                cohorts.place(cluster)

    def opening(self, known: KnownCalendar, zone: str, now: datetime) -> Opening | None:
        """How a calendar that could be read once stands in a zone; None where there is no such zone."""
        if known.calendar is None:
            return None
        return self._tables.at([(known.calendar, zone)], known.unread_since or now)

    def shut(self, calendars: Sequence[KnownCalendar], now: datetime) -> Shut:
        """The clusters that any of these calendars closes now. Cost: cohorts, and one entry for each
        cluster; until the next change none.
        """
        if not calendars:
            return NOTHING_SHUT
        cohorts = self._of(calendars)
        if not cohorts.is_known(now):
            cohorts.shut, cohorts.shut_to = self._worked_out(cohorts, now)
            cohorts.shut_from = now
        return cohorts.shut

    def _of(self, calendars: Sequence[KnownCalendar]) -> _Cohorts:
        key = tuple([each.ref for each in calendars])
        known = self._cohorts.get(key)
        if known is None:
            if len(self._cohorts) >= _MOST_COHORTS:
                self._cohorts.clear()
            known = self._cohorts[key] = _Cohorts(calendars)
        return known

    def _worked_out(self, cohorts: _Cohorts, now: datetime) -> tuple[Shut, datetime | None]:
        """Who is closed, and up to when that is so."""
        waits: dict[str, Wait] = {}
        changes: list[datetime] = []
        opens: list[datetime] = []
        for zones, members in cohorts.members():
            wait, changes_at = self._wait(cohorts.calendars, zones, now)
            later = [changes_at] if changes_at is not None else []
            changes += later
            if wait is not None:
                opens += later
                waits.update(dict.fromkeys(members, wait))
        return Shut(waits, min(opens, default=None)), min(changes, default=None)

    def _wait(
        self, calendars: Sequence[KnownCalendar], zones: Zones, now: datetime
    ) -> tuple[Wait | None, datetime | None]:
        """What a cohort waits for, None where it is open; and up to when that is so."""
        zoned: list[Zoned] = []
        for known, zone in zip(calendars, zones, strict=True):
            if zone is None:
                continue
            if known.calendar is None:
                text = f"{known.ref} could never be read: all clusters are closed"
                return Wait(Reason.WINDOW_CLOSED, text), None
            if find_zone(zone) is None:
                return _unknown(known.ref, zone), None
            if known.unread is None:
                zoned.append((known.calendar, zone))
            elif (was := self.opening(known, zone, now)) is not None and not was.is_open:
                text = f"{known.ref} cannot be read: the cluster stays closed as it was"
                return Wait(Reason.WINDOW_CLOSED, text), None
        opening = self._tables.at(zoned, now) if zoned else None
        if opening is None:
            return None, None
        return None if opening.is_open else _closed(zoned, opening), opening.ask_again

    def spans(
        self, calendars: Sequence[KnownCalendar], start: datetime, end: datetime
    ) -> Mapping[str, tuple[Span, ...]]:
        """By cluster, when these calendars close it between two instants, if they do.

        Cost: cohorts x changes, and one look-up for each cluster.
        """
        found: dict[str, tuple[Span, ...]] = {}
        for zones, members in self._of(calendars).members() if calendars else ():
            shut = tuple(self._shut_in(calendars, zones, start=start, end=end))
            if shut:
                found.update(dict.fromkeys(members, shut))
        return found

    def _shut_in(
        self, calendars: Sequence[KnownCalendar], zones: Zones, *, start: datetime, end: datetime
    ) -> Iterator[Span]:
        at, since = start, None
        while at < end:
            wait, changes_at = self._wait(calendars, zones, at)
            if wait is not None:
                since = since or at
            elif since is not None:
                yield since, at
                since = None
            at = end if changes_at is None else changes_at
        if since is not None:
            yield since, end


def _unknown(calendar: Ref, zone: str) -> Wait:
    said = f"{zone!r} is not a time zone" if zone else "its time zone is not known"
    return Wait(Reason.UNKNOWN_TIME_ZONE, f"{calendar}: {said}; the cluster stays closed")


def _closed(zoned: Sequence[Zoned], opening: Opening) -> Wait:
    """What is said of a closed cohort: what closes it now, and when all of its calendars are open."""
    closing = opening.calendar
    assert closing is not None, "something closes"
    zone = find_zone(next(name for calendar, name in zoned if calendar is closing))
    assert zone is not None, "it has a timetable"
    change = change_text(opening, zone)
    if opening.until is None and len(zoned) > 1:
        others = [str(_ref(calendar)) for calendar, _ in zoned if calendar is not closing]
        named = first_of(others, _NAMED)
        change = f"never open together with {named}, as far as can be foreseen"
    text = f"{_ref(closing)}: {closing_text(opening)}; {change}"
    return Wait(Reason.WINDOW_CLOSED, text, opening.until)


_NAMED = 3
"""Other calendars that are named."""


def _ref(calendar: Calendar) -> Ref:
    return Ref(CALENDAR if calendar.namespace else CLUSTER_CALENDAR, calendar.key)
