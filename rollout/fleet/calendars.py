"""Keeps all calendars and the zone of every cluster in each, and tells which clusters they close now."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime

from rollout.api.decoding import decoder
from rollout.api.fields import mapping, strings, text, version_of
from rollout.calendars.calendar import DEFAULT_BLOCKS, Block, Calendar
from rollout.fleet.closings import NO_ZONE, Closings, KnownCalendar, Span
from rollout.model.cluster import Cluster
from rollout.model.events import Change, Event
from rollout.model.instants import parse_instant
from rollout.model.kinds import CLUSTER_CALENDAR, Obj, Ref
from rollout.placement.cel.expressions import Judge
from rollout.placement.framework import no_scores
from rollout.planning.calendars import (
    CalendarState,
    ZoneState,
    unread_expressions,
    what_follows,
)
from rollout.strategies.base import NOTHING_CLOSED, Closed

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label that every namespace has: its name."""
TOLD = 5
"""Calendars that cannot be read of which a workload says what is wrong."""


def read_calendar(obj: Obj) -> Calendar:
    """A calendar, with problems also where an expression of it cannot be asked about clusters.

    What somebody else wrote into its status cannot make it unreadable.
    """
    found: Calendar = decoder(CLUSTER_CALENDAR.name)(
        {key: value for key, value in obj.items() if key != "status"}
    )
    problems = unread_expressions(found)
    if not problems:
        return found
    return Calendar(name=found.name, namespace=found.namespace, problems=problems)


class Calendars:
    """All calendars, and the zone of every cluster in each of them."""

    def __init__(self) -> None:
        self._known: dict[str, KnownCalendar] = {}
        self._clusters: dict[str, Cluster] = {}
        self._closings = Closings()

    # -- what happened -------------------------------------------------------------------------

    def take_calendar(self, event: Event, now: datetime) -> bool:
        """Take in a calendar; whether that may change who is closed. Its status changes nobody."""
        key = event.ref.key
        known = self._known.get(key)
        if event.change is Change.DELETED:
            self._closings.forget(event.ref)
            return self._known.pop(key, None) is not None
        if known is not None and known.raw.get("spec") == event.obj.get("spec"):
            known.raw = event.obj
            return False
        self._closings.forget(event.ref)
        if known is None:
            known = KnownCalendar(ref=event.ref, raw=event.obj)
            self._known = dict(sorted([*self._known.items(), (key, known)]))
        known.raw = event.obj
        _read(known, now)
        for cluster in self._clusters.values():
            known.place(cluster.name, _zone_in(known.calendar, cluster, now))
        return True

    def take_cluster(self, name: str, cluster: Cluster | None, now: datetime) -> set[Ref]:
        """Take in a cluster (None: it is gone); the calendars in which that changes anything."""
        if cluster is None:
            self._clusters.pop(name, None)
        else:
            self._clusters[name] = cluster
        news = {
            known.ref
            for known in self._known.values()
            if known.place(
                name, None if cluster is None else _zone_in(known.calendar, cluster, now)
            )
        }
        if news:
            self._closings.place(name, news)
        return news

    # -- what planners read --------------------------------------------------------------------

    def calendar(self, key: str, now: datetime) -> CalendarState | None:
        """How a calendar stands in each of its zones."""
        known = self._known.get(key)
        if known is None:
            return None
        zones: list[ZoneState] = []
        if known.calendar is not None:
            own = known.calendar.zones.zone
            for name in sorted({*known.members, *([own] if own else [])}):
                opening = self._closings.opening(known, name, now)
                zones.append(ZoneState(name, len(known.members.get(name, ())), opening))
        return CalendarState(
            ref=known.ref,
            raw=known.raw,
            version=version_of(mapping(known.raw.get("metadata"))),
            problems=known.unread.problems if known.unread is not None else (),
            zones=tuple(zones),
            readable=known.readable,
            unread_since=known.unread_since,
        )

    @property
    def known(self) -> tuple[KnownCalendar, ...]:
        """All of them, in the order of their keys."""
        return tuple(self._known.values())

    def standings(self, now: datetime) -> Iterator[CalendarState]:
        """How every calendar stands. Cost: calendars x zones."""
        for key in self._known:
            if (state := self.calendar(key, now)) is not None:
                yield state

    def closed(self, workload: Ref, raw: Obj | None, now: datetime) -> Closed:
        """The clusters that calendars close to a workload now; ``raw`` is its object."""
        if not self._known:
            return NOTHING_CLOSED
        found = self._concerning(workload, raw)
        touch, removal, rollback, restore = (
            self._closings.shut([each for each in found if _blocks(each, block)], now)
            for block in (Block.TOUCH, Block.REMOVAL, Block.ROLLBACK, Block.RESTORE)
        )
        return Closed(
            touch=touch,
            removal=removal,
            rollback=rollback,
            restore=restore,
            amiss=_all_amiss([each for each in found if each.unread is not None]),
        )

    def closed_spans(
        self, workload: Ref, raw: Obj | None, start: datetime, end: datetime
    ) -> Mapping[str, tuple[Span, ...]]:
        """By cluster, when calendars close it to touches between two instants, if they do."""
        found = self._concerning(workload, raw)
        touching = [each for each in found if _blocks(each, Block.TOUCH)]
        return self._closings.spans(touching, start, end)

    def _concerning(self, workload: Ref, raw: Obj | None) -> list[KnownCalendar]:
        """The calendars that concern a workload, in the order of their keys."""
        labels = strings(mapping(mapping(raw).get("metadata")).get("labels"))
        return [each for each in self._known.values() if _concerns(each, workload, labels)]


def _read(known: KnownCalendar, now: datetime) -> None:
    """Read what is written. Where that cannot be read what could be read last goes on deciding: a new
    process finds it in the status.
    """
    calendar = read_calendar(known.raw)
    if not calendar.problems:
        known.calendar, known.readable = calendar, mapping(known.raw.get("spec"))
        known.unread = known.unread_since = None
        return
    known.unread = calendar
    if known.calendar is None:
        status = mapping(known.raw.get("status"))
        known.unread_since = parse_instant(status.get("unreadableSince"))
        spec = _spec_in(text(status.get("lastReadable")))
        last = read_calendar({**known.raw, "spec": spec})
        if not last.problems:
            known.calendar, known.readable = last, spec
    known.unread_since = known.unread_since or now


def _spec_in(words: str) -> Obj:
    """The spec that is written there; an empty one, which is no calendar, where none is."""
    try:
        return mapping(json.loads(words))
    except (ValueError, RecursionError):
        return {}


def _all_amiss(unread: list[KnownCalendar]) -> str:
    """What is wrong with the first ones, and how many there are: every workload says it in its status."""
    told = [_amiss(each) for each in unread[:TOLD]]
    if len(unread) > TOLD:
        told.append(f"and {len(unread) - TOLD} more calendars cannot be read")
    return "; ".join(told)


def _amiss(known: KnownCalendar) -> str:
    """What is wrong with a calendar that cannot be read, and what follows."""
    assert known.unread is not None
    follows = what_follows(is_known=known.calendar is not None)
    return f"{known.ref} is Misconfigured ({known.unread.problems[0]}); {follows}"


def _zone_in(calendar: Calendar | None, cluster: Cluster, now: datetime) -> str | None:
    """The name of the cluster's zone in a calendar; None where the calendar does not concern it. One that
    could never be read concerns every cluster.
    """
    if calendar is None:
        return NO_ZONE
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


def _blocks(known: KnownCalendar, block: Block) -> bool:
    """One that was never read may block whatever calendars block where unset."""
    return block in (DEFAULT_BLOCKS if known.calendar is None else known.calendar.blocks)


def _concerns(known: KnownCalendar, workload: Ref, labels: Mapping[str, str]) -> bool:
    if known.ref.kind is not CLUSTER_CALENDAR and known.ref.namespace != workload.namespace:
        return False
    if known.calendar is None:
        return True
    wanted = known.calendar.workloads
    if wanted.kinds and workload.kind.name not in wanted.kinds:
        return False
    if wanted.namespaces is not None and not (
        workload.namespace and wanted.namespaces.matches({NAMESPACE_NAME: workload.namespace})
    ):
        return False
    return wanted.labels.matches(labels)
