"""What does the judge look through? The engine's planner, its fleet and its way to the hub, each watched."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from random import Random
from typing import Any, TypeVar

from rollout.fleet.fleet import Fleet
from rollout.model.events import Event
from rollout.model.kinds import Kind, Ref
from rollout.model.policy import Policy
from rollout.planning.plan import Plan, Planner
from rollout.rollouts.facts import Fact
from tests.safety.observer import Judge
from tests.safety.terms import LEASE, Waits
from tests.support.faults import Fault, RandomFaults, Rates

T = TypeVar("T")


ASKED_EVERY = 8  # plans
AHEAD = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class Watched:
    """The engine's planner of workloads, under the eyes of the judge.

    Every eighth plan is asked for beforehand, about now, later, and now again: to ask changes nothing.
    """

    judge: Judge
    inner: Planner[Fleet]
    plans: Iterator[int] = field(default_factory=count)

    @property
    def kind(self) -> Kind:
        return self.inner.kind

    def plan(self, key: str, view: Fleet, now: datetime) -> Plan:
        if next(self.plans) % ASKED_EVERY == 0:
            first, _, last = (self.inner.plan(key, view, at) for at in (now, now + AHEAD, now))
            self.judge.counts["R5.asked_ahead"] += 1
            if first != last:
                self.judge.blame("R5", f"asked twice about {key}, it answers differently")
        plan = self.inner.plan(key, view, now)
        self.judge.pending = partial(self.judge.planned, plan, view, now)
        return plan


class StartsSucceed(RandomFaults):
    """Faults on the way to the hub, but for the lists with which an engine starts."""

    starting = False
    down = False  # nothing gets through
    last = datetime.min.replace(tzinfo=UTC)  # when something went wrong

    def __init__(self, random: Random, rates: Rates, now: Callable[[], datetime]) -> None:
        super().__init__(random, rates)
        self._now = now

    def call(self, verb: str, target: Ref | Kind) -> Any:
        if self.starting:
            return None
        return self._noted(Fault.UNAVAILABLE if self.down else super().call(verb, target))

    def event(self, event: Event) -> Any:
        return self._noted(super().event(event))

    def _noted(self, fault: T | None) -> T | None:
        if fault is not None:
            self.last = self._now()
        return fault


class WatchedFleet(Fleet):
    """Tells the judge of the spans in which the engine was out of touch."""

    def __init__(self, judge: Judge, waits: Waits) -> None:
        policy = Policy(settle=waits.settle, failure_grace=waits.grace)
        super().__init__(policy, trackers=judge.told.subject.trackers)
        self._told, self._judge = judge.told, judge

    def take(self, facts: Iterable[Fact], now: datetime) -> None:
        """The plan that was asked for last is carried out: it is judged with what came of it."""
        super().take(facts, now)
        pending, self._judge.pending = self._judge.pending, None
        if pending is not None:
            pending()

    def out_of_touch(self, begin: datetime, end: datetime) -> None:
        self._told.was_out_of_touch((begin, end + LEASE))
        super().out_of_touch(begin, end)

    def blind(self, what: Hashable, since: datetime | None) -> None:
        self._told.is_blind(what, since)
        super().blind(what, since)
