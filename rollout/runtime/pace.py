"""Decides when an object is planned again, so that one plan answers many events.

Used by the engine's thread alone. Timers only wake: what fires too early is set again here.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from rollout.model.events import Change, Event
from rollout.model.kinds import REPLICA_SET, Kind, Ref
from rollout.runtime.timers import Timers

BLINK = timedelta(seconds=5)
"""The hub is out of touch where it was not heard of, or not watched, for longer than this."""
LEISURE = 9
"""Of the time of the engine's thread, one object in a hurry takes no more than a tenth."""
BURST = 3
"""It has to be quiet for so many times as long after a second event. Where two came, more are likely:
somebody changes one cluster after the other, and the API server answers now sooner, now later."""
_ASKED = ("generation", "annotations", "labels")
"""Fields of the metadata that change when somebody asks for something else."""
_GATHERED = "gathered"
"""The name of the timer after which gathered events are planned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How the engine behaves, apart from what it decides."""

    least_interval: Mapping[Kind, timedelta] = field(
        default_factory=lambda: {REPLICA_SET: timedelta(seconds=1)}
    )
    """An object is planned at the first event; then events and due timers are gathered for this long.

    An edit of the object itself (spec, annotations, labels, deletion) is planned at once as well, but
    only one in each interval; further edits are gathered. So constant edits cause at most one more
    plan in each interval.
    """
    from_landing: Container[Kind] = ()
    """Kinds whose ``least_interval`` is measured from the last write of a plan, not from the plan, so
    that one object is written at most once in each interval, after edits too. Other planners bound
    their own writes."""
    quiet: Mapping[Kind, timedelta] = field(default_factory=dict)
    """Objects of these kinds are planned not at the first event, but when none has come for this long,
    or after the least interval: one plan then covers many events. After a second event that is
    `BURST` times as long."""
    hurry: timedelta | None = None
    """They are gathered only this long where they can let more be done at once (`Plan.pressing`),
    and for at least `LEISURE` times as long as the plan took to make. None: as all others."""
    most_out: Mapping[Kind, int] = field(default_factory=dict)
    """How many plans of these kinds are carried out at once. The others are made when their turn
    comes: a plan whose writes wait for long is out of date, and takes memory meanwhile."""
    strict: bool = False
    """Raise what a planner raises (tests, simulation) instead of logging, counting and backing off."""


USUAL = Pace()


class Gathering:
    """Until when the events of each object are gathered; for the timers of the engine."""

    def __init__(self, pace: Pace, timers: Timers) -> None:
        self._pace, self._timers = pace, timers
        self._last_pass: dict[Ref, datetime] = {}
        self._intervals: dict[Ref, timedelta] = {}  # of objects in a hurry
        self._until: dict[Ref, datetime] = {}
        self._heard: dict[Ref, tuple[datetime, datetime]] = {}  # first and last, where quiet is due
        self._asked: dict[Ref, int] = {}  # a hash of what people asked of it when last heard
        self._hastened: dict[Ref, datetime] = {}  # when an edit of it last did not wait

    def interval(self, ref: Ref) -> timedelta:
        """The least time between two plans of the object that events cause."""
        usual = self._pace.least_interval.get(ref.kind, timedelta(0))
        return min(usual, self._intervals.get(ref, usual))

    def is_edit(self, event: Event) -> bool:
        """Whether somebody edited an object whose edits are planned at once. A change of its status alone,
        also one that this process wrote, is no edit.
        """
        ref, meta, pace = event.ref, event.obj.get("metadata") or {}, self._pace
        waits = ref.kind not in pace.least_interval or ref.kind in pace.from_landing
        if waits or event.change is Change.DELETED:
            return False
        asked = hash(repr([meta.get(name) for name in _ASKED]))
        before, self._asked[ref] = self._asked.get(ref), asked
        return before is not None and before != asked

    def is_due(self, ref: Ref, now: datetime, *, edited: bool = False) -> bool:
        """Whether to plan an object now after an event; if not, a timer is set."""
        soonest = now
        last = self._last_pass.get(ref)
        if last is not None and not (edited and self._hastens(ref, now)):
            soonest = max(soonest, last + self.interval(ref))
        quiet = self._pace.quiet.get(ref.kind)
        if quiet is not None:
            self._heard[ref] = self._heard.get(ref, (now, now))[0], now
            soonest = max(soonest, now + quiet)
        if soonest > now and ref not in self._until:
            self._gather(ref, soonest)
        return soonest <= now

    def is_over(self, ref: Ref, timer: str, now: datetime) -> bool:
        """Whether to plan an object now after its timer; if not, the timer is set again or was not needed."""
        if timer == _GATHERED:
            until = self._until.pop(ref, None)
            if until is None:
                return False  # it fired, and before that was taken in all was planned
            if now < until:  # or another one was set
                self._gather(ref, until)
                return False
        heard = self._heard.get(ref)
        if heard is not None:
            first, last = heard
            longest = first + self._pace.least_interval.get(ref.kind, timedelta(0))
            pause = self._pace.quiet[ref.kind] * (1 if last == first else BURST)
            quiet_at = min(last + pause, longest)
            if now < quiet_at:
                self._gather(ref, quiet_at)
                return False
        return True

    def planned(self, ref: Ref, now: datetime) -> None:
        """The object is planned now, with all that was heard of it."""
        self._last_pass[ref] = now
        self._heard.pop(ref, None)
        if self._until.pop(ref, None) is not None:
            self._timers.cancel((_GATHERED, ref))

    def hurry(self, ref: Ref, took: timedelta | None) -> None:
        """Its plan presses, and took so long to make; None: it does not press."""
        if took is None or self._pace.hurry is None:
            self._intervals.pop(ref, None)
        else:
            self._intervals[ref] = max(self._pace.hurry, LEISURE * took)

    def is_from_landing(self, ref: Ref) -> bool:
        """Whether its interval is measured from the last write of a plan."""
        return ref.kind in self._pace.from_landing and bool(self.interval(ref))

    def landed(self, ref: Ref, now: datetime, wanted: bool) -> None:
        """The last write of its plan came back now; ``wanted``: an event came meanwhile."""
        self._last_pass[ref] = now
        if wanted or ref in self._until:
            self._gather(ref, now + self.interval(ref))

    def forget(self, ref: Ref) -> None:
        """The object is gone: if it comes again, it is planned at once."""
        self._last_pass.pop(ref, None)
        self._asked.pop(ref, None)
        self._hastened.pop(ref, None)

    def _hastens(self, ref: Ref, now: datetime) -> bool:
        """Whether this edit is the first in an interval, and so does not wait."""
        last = self._hastened.get(ref)
        if last is not None and now < last + self.interval(ref):
            return False
        self._hastened[ref] = now
        return True

    def _gather(self, ref: Ref, until: datetime) -> None:
        self._until[ref] = until
        self._timers.arm((_GATHERED, ref), until)
