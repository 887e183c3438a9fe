"""Measures what the engine does, by wrappers around planners, plugins and I/O.

Each answers exactly what it wraps answers. Spans are taken on the engine's clock, which is steady.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from rollout.clock import Clock
from rollout.fleet.fleet import Fleet
from rollout.fleet.tracker import Tracker
from rollout.model.cluster import Cluster
from rollout.model.events import Event
from rollout.model.kinds import PLACEMENT, PLACEMENT_DECISION, Kind, Ref
from rollout.model.policy import DEFAULT, Policy
from rollout.placement.framework import (
    Admission,
    Cycle,
    Filter,
    IndexedFilter,
    IndexedPrioritizer,
    Prioritizer,
    Rejection,
    ScoreColumn,
)
from rollout.placement.index import Pool
from rollout.placement.scheduler import Plugins
from rollout.planning.plan import Plan, Planner, Write
from rollout.runtime.io import Done, Io, WriteOutcome
from rollout.runtime.metrics import SCHEDULING, VERBS, Metrics
from rollout.strategies.gate_kinds import GATES
from rollout.strategies.gates import Gate

PREDICATE = "Predicate"  # the filter that runs CEL


class News(dict[Ref, datetime]):
    """When each object was first heard of since it was last planned. The engine's thread alone."""


class MeasuredFleet(Fleet):
    """A fleet that notes when it first hears of what is worth planning."""

    def __init__(
        self,
        news: News,
        kinds: Collection[Kind],
        policy: Policy = DEFAULT,
        *,
        watches_health: bool = False,
        has_filter_plugins: bool = False,
        trackers: Sequence[Callable[[Fleet], Tracker]],
        gates: Mapping[str, Gate] = GATES,
        publishes: Collection[Kind] = (),
    ) -> None:
        """``kinds``: those that are planned."""
        super().__init__(
            policy,
            watches_health=watches_health,
            has_filter_plugins=has_filter_plugins,
            trackers=trackers,
            gates=gates,
            publishes=publishes,
        )
        self._news, self._kinds = news, frozenset(kinds)

    def apply(self, event: Event, now: datetime) -> set[Ref]:
        found = super().apply(event, now)
        for ref in found:
            if ref.kind in self._kinds:
                self._news.setdefault(ref, now)
        return found


class MeasuredPlanner:
    """A planner, measured: how long it takes, how late it comes, whether it raises."""

    def __init__(self, inner: Planner[Fleet], metrics: Metrics, clock: Clock, news: News) -> None:
        self._inner, self._metrics, self._clock, self._news = inner, metrics, clock, news
        self._spent: dict[str, float] = {}  # seconds, on plans that are not finished

    @property
    def kind(self) -> Kind:
        return self._inner.kind

    def plan(self, key: str, view: Fleet, now: datetime) -> Plan:
        kind = self._inner.kind
        began = self._clock.now()
        heard = self._news.pop(Ref(kind, key), None)
        try:
            plan = self._inner.plan(key, view, now)
        except Exception:
            self._metrics.plan_failures.labels(kind.name).inc()
            raise
        ended = self._clock.now()
        took = self._spent.pop(key, 0.0) + (ended - began).total_seconds()
        if plan.unfinished:
            self._spent[key] = took
            if heard is not None:
                self._news.setdefault(Ref(kind, key), heard)
            return plan
        self._metrics.plan.labels(kind.name).observe(took)
        if kind is PLACEMENT:
            self._metrics.scheduling.labels(SCHEDULING).observe(took)
        if heard is not None and plan.waves:
            self._metrics.lag.labels(kind.name).observe((ended - heard).total_seconds())
        return plan


class MeasuredIo:
    """An `Io` before another one, measured."""

    def __init__(self, inner: Io, metrics: Metrics, clock: Clock) -> None:
        self._inner, self._metrics, self._clock = inner, metrics, clock

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        began = self._clock.now()
        left = [len(writes)]
        binds = any(w.ref.kind in (PLACEMENT, PLACEMENT_DECISION) for w in writes)

        def back(write: Write, outcome: WriteOutcome) -> None:
            took = (self._clock.now() - began).total_seconds()
            self._metrics.answered(write, outcome)
            self._metrics.write_seconds.labels(VERBS[type(write)]).observe(took)
            left[0] -= 1
            if binds and not left[0]:
                self._metrics.binding.labels(SCHEDULING).observe(took)
            done(write, outcome)

        self._inner.send(writes, back, turn)


class Stopwatch:
    """Observes how long plugins take."""

    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._metrics, self._clock = metrics, clock

    def now(self) -> datetime:
        return self._clock.now()

    def observe(self, kind: str, name: str, began: datetime, *, cel: bool = False) -> None:
        took = (self._clock.now() - began).total_seconds()
        self._metrics.plugin.labels(SCHEDULING, kind, name).observe(took)
        if cel:
            self._metrics.cel.labels(SCHEDULING).observe(took)


class _MeasuredFilter:
    """A filter over whole pools, measured."""

    def __init__(self, inner: Filter, indexed: IndexedFilter, watch: Stopwatch) -> None:
        self.name = inner.name
        self._inner, self._indexed, self._watch = inner, indexed, watch

    def admit(self, cycle: Cycle, cluster: Cluster) -> Rejection | None:
        return self._inner.admit(cycle, cluster)

    def admit_all(self, cycle: Cycle, pool: Pool) -> Admission:
        began = self._watch.now()
        found = self._indexed.admit_all(cycle, pool)
        cel = self.name == PREDICATE and any(p.cel for p in cycle.placement.predicates)
        self._watch.observe("filter", self.name, began, cel=cel)
        return found


class _MeasuredPrioritizer:
    """A prioritizer over whole pools, measured."""

    def __init__(self, inner: Prioritizer, indexed: IndexedPrioritizer, watch: Stopwatch) -> None:
        self.name = inner.name
        self._inner, self._indexed, self._watch = inner, indexed, watch

    def score(self, cycle: Cycle, feasible: Sequence[Cluster]) -> Mapping[str, int]:
        return self._inner.score(cycle, feasible)

    def column(self, cycle: Cycle, pool: Pool) -> ScoreColumn:
        began = self._watch.now()
        found = self._indexed.column(cycle, pool)
        self._watch.observe("prioritizer", self.name, began)
        return found


def measured_plugins(plugins: Plugins, metrics: Metrics, clock: Clock) -> Plugins:
    """The same plugins, measured. Those that judge cluster by cluster stay as they are."""
    watch = Stopwatch(metrics, clock)

    def factory(make: Callable[[], Prioritizer]) -> Callable[[], Prioritizer]:
        def measured() -> Prioritizer:
            made = make()
            if isinstance(made, IndexedPrioritizer):
                return _MeasuredPrioritizer(made, made, watch)
            return made

        return measured

    filters = tuple(
        _MeasuredFilter(each, each, watch) if isinstance(each, IndexedFilter) else each
        for each in plugins.filters
    )
    made = {name: factory(make) for name, make in plugins.prioritizers.items()}
    return Plugins(filters, made)
