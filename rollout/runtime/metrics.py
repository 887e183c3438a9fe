"""The Prometheus metrics; none is ever labelled with a cluster's name.

Counted where it happens, by wrappers around what the engine is given (`runtime/measured.py`), so that
nothing that decides knows of metrics. Gauges of rollouts come from `ControllerFigures`, a value
that the engine's thread makes when somebody asks. Source for ``scheduling_*``: OCM placement spec 5.2.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric

from rollout.fleet.fleet import Fleet
from rollout.model.kinds import MANAGED_CLUSTER
from rollout.model.writes import Create, Delete, Patch, PatchStatus, PatchWork, RemoveFinalizer
from rollout.planning.plan import Note, Write
from rollout.rollouts.share import PlacementShare
from rollout.rollouts.workload import Workload
from rollout.runtime.io import WriteOutcome, WriteResult
from rollout.strategies.base import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadFigures:
    """One workload of any kind. ``blocked`` counts waiting clusters by reason."""

    kind: str
    namespace: str
    name: str
    phases: Mapping[str, int]
    blocked: Mapping[str, int]
    budget_used: float
    finished: bool


@dataclass(frozen=True, slots=True)
class ControllerFigures:
    """Everything at one instant."""

    workloads: tuple[WorkloadFigures, ...] = ()
    _: KW_ONLY
    queued: int = 0
    retrying: int = 0
    """Objects that failed to be planned or written, and are tried again after a pause."""
    in_flight: int = 0
    clusters: int = 0
    runs: Mapping[str, int] = field(default_factory=dict)
    """Runs of analyses by phase."""
    zones: Mapping[tuple[str, str, str, str], bool] = field(default_factory=dict)
    """By kind, namespace and name of a calendar, and zone: whether it is open there."""


def figures(
    fleet: Fleet, now: datetime, *, queued: int, retrying: int, in_flight: int
) -> ControllerFigures:
    """Count. Cost: O(workloads x stages + calendars x zones) and one pass over the known clusters."""
    found = [w for ref in fleet.rolled_out() if (w := fleet.rollout(ref)) is not None]
    workloads = tuple(_workload(w, fleet.is_done(w.ref)) for w in found)
    zones = {
        (state.ref.kind.name, state.ref.namespace, state.ref.name, zone.name): zone.opening
        is not None
        and zone.opening.is_open
        for state in fleet.calendars.standings(now)
        for zone in state.zones
    }
    return ControllerFigures(
        workloads,
        queued=queued,
        retrying=retrying,
        in_flight=in_flight,
        clusters=len(fleet.versions.known(MANAGED_CLUSTER)),
        runs={phase.value: number for phase, number in fleet.measured.phases.items()},
        zones=zones,
    )


def _workload(workload: Workload[PlacementShare], is_done: bool) -> WorkloadFigures:
    phases = {phase.value: 0 for phase in Phase}  # every phase, so that no series comes and goes
    blocked: dict[str, int] = {}
    used = 0.0
    for share in workload.shares.values():
        reports = share.live.last.stages
        for report in reports:
            for phase, number in report.phases.items():
                phases[phase.value] += number
            if report.blocked is not None:
                waiting = blocked.get(report.blocked, 0) + report.phases.get(Phase.WAITING, 0)
                blocked[report.blocked] = waiting
        budget = share.live.ledger.rollout.staging.budget  # of all stages together
        members = sum(report.members for report in reports)
        failures = sum(report.failures for report in reports)
        scopes = [(r.failures, r.budget) for r in reports]
        scopes.append((failures, budget.of(members) if budget else None))
        used = max(used, *(_used(*scope) for scope in scopes))
    ref = workload.ref
    kind = ref.kind.name
    return WorkloadFigures(
        kind=kind,
        namespace=ref.namespace,
        name=ref.name,
        phases=phases,
        blocked=blocked,
        budget_used=used,
        finished=is_done,
    )


def _used(failures: int, budget: int | None) -> float:
    if budget is None:
        return 0.0
    return failures / budget if budget else float(failures)


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OCM_BUCKETS = [1e-6 * 10**k for k in range(10)]
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SCHEDULING = "placement_scheduling"
"""The value of OCM's label ``name``."""

VERBS: dict[type, str] = {
    Create: "create",
    Patch: "patch",
    PatchWork: "patch",
    PatchStatus: "patch_status",
    Delete: "delete",
    RemoveFinalizer: "remove_finalizer",
}


class Metrics:
    """All metrics of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._of_placements({"registry": self.registry, "buckets": OCM_BUCKETS})
        self._of_plans({"registry": self.registry})
        self._of_writes({"registry": self.registry})
        self.leader = Gauge("rollout_leader", "1 where this process leads.", registry=self.registry)
        self.registry.register(self)
        ProcessCollector(registry=self.registry)  # memory, CPU and files of this process
        self._figures: Callable[[], ControllerFigures | None] = lambda: None
        self._leads: Callable[[], bool] = lambda: False

    def _of_placements(self, ocm: dict[str, Any]) -> None:
        """Under OCM's names, with OCM's buckets."""
        self.scheduling = Histogram(
            "scheduling_scheduling_duration_seconds",
            "Deciding one Placement: filters, scores, groups.",
            ["name"],
            **ocm,
        )
        self.binding = Histogram(
            "scheduling_bind_duration_seconds",
            "One wave of writes of PlacementDecisions or a Placement's status, sent to answered.",
            ["name"],
            **ocm,
        )
        self.plugin = Histogram(
            "scheduling_plugin_duration_seconds",
            "One filter or prioritizer over all clusters of one evaluation.",
            ["name", "plugin_type", "plugin_name"],
            **ocm,
        )
        self.cel = Histogram(
            "scheduling_cel_runtime_duration_seconds",
            "The predicates of one evaluation of a Placement with CEL expressions.",
            ["name"],
            **ocm,
        )

    def _of_plans(self, own: dict[str, Any]) -> None:
        self.plan = Histogram(
            "rollout_plan_duration_seconds",
            "Deciding one object, whatever its kind.",
            ["kind"],
            buckets=SECONDS,
            **own,
        )
        self.lag = Histogram(
            "rollout_decision_lag_seconds",
            "From the first news that concern an object to the first write they led to, the span in"
            " which news are gathered included.",
            ["kind"],
            buckets=SECONDS,
            **own,
        )
        self.plan_failures = Counter(
            "rollout_plan_failures", "Plans that raised: a defect.", ["kind"], **own
        )

    def _of_writes(self, own: dict[str, Any]) -> None:
        self.writes = Counter(
            "rollout_writes", "Writes by what came of them.", ["verb", "kind", "result"], **own
        )
        self.conflicts = Counter(
            "rollout_write_conflicts",
            "Writes that someone else's write came before, or whose reasons were gone.",
            ["kind"],
            **own,
        )
        self.write_seconds = Histogram(
            "rollout_write_duration_seconds",
            "From handing a write over to its answer, waiting for a place included.",
            ["verb"],
            buckets=SECONDS,
            **own,
        )
        self.notes = Counter(
            "rollout_notes",
            "What happened that a person may want to read.",
            ["reason", "type"],
            **own,
        )
        self.events_dropped = Counter(
            "rollout_events_dropped", "Kubernetes Events that were not written.", ["why"], **own
        )

        self.notifications = Counter(
            "rollout_notifications",
            "Attempts to tell people something; what is given up is tried no more.",
            ["result"],
            **own,
        )
        self.measurements = Counter(
            "rollout_measurements",
            "Attempts to measure a metric of an analysis; pending ones are looked at again.",
            ["result"],
            **own,
        )

    def follow(
        self, figures: Callable[[], ControllerFigures | None], leads: Callable[[], bool]
    ) -> None:
        """Where the gauges come from; asked at each scrape, on the scraper's thread."""
        self._figures, self._leads = figures, leads

    def follow_clock(self, error: Callable[[], timedelta | None]) -> None:
        """``error``: how far this machine's clock is ahead of the server's; asked at each scrape."""
        gauge = Gauge(
            "rollout_clock_error_seconds",
            "How far this machine's clock is ahead of the API server's, by which the engine goes.",
            registry=self.registry,
        )

        def seconds() -> float:
            return (error() or timedelta()).total_seconds()

        gauge.set_function(seconds)

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        self.leader.set(self._leads())
        return generate_latest(self.registry)

    def describe(self) -> Iterable[Metric]:
        return _families(ControllerFigures())

    def collect(self) -> Iterator[Metric]:
        """The gauges of rollouts. Where the engine is too busy to be asked they are left out."""
        found = self._figures()
        if found is not None:
            yield from _families(found)

    def note(self, note: Note) -> None:
        self.notes.labels(note.reason, "Warning" if note.warning else "Normal").inc()

    def answered(self, write: Write, outcome: WriteOutcome) -> None:
        verb, kind = VERBS[type(write)], write.ref.kind.name
        self.writes.labels(verb, kind, outcome.result.value).inc()
        if outcome.result is WriteResult.STALE:
            self.conflicts.labels(kind).inc()


def counting(counter: Counter) -> Callable[[str], None]:
    """What counts by its one label."""
    return lambda value: counter.labels(value).inc()


def _families(figures: ControllerFigures) -> Iterator[Metric]:
    workload = ["kind", "namespace", "name"]
    clusters = GaugeMetricFamily(
        "rollout_clusters", "Clusters of a workload by phase.", labels=[*workload, "phase"]
    )
    budget = GaugeMetricFamily(
        "rollout_budget_used_ratio",
        "Failures as a share of those tolerated, in the stage where it is highest; where none is"
        " tolerated, the number of failures.",
        labels=workload,
    )
    blocked = GaugeMetricFamily(
        "rollout_blocked",
        "Clusters that wait, by the reason why they are not touched now.",
        labels=[*workload, "reason"],
    )
    finished = GaugeMetricFamily(
        "rollout_finished", "1 where the workload is rolled out.", labels=workload
    )
    for each in figures.workloads:
        key = [each.kind, each.namespace, each.name]
        for phase, number in each.phases.items():
            clusters.add_metric([*key, phase], number)
        for reason, number in each.blocked.items():
            blocked.add_metric([*key, reason], number)
        budget.add_metric(key, each.budget_used)
        finished.add_metric(key, each.finished)
    yield from (clusters, budget, blocked, finished)
    yield from _of_gates(figures)
    yield from _of_the_process(figures)


def _of_the_process(figures: ControllerFigures) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "rollout_queue_depth", "Objects that wait to be planned.", value=figures.queued
    )
    yield GaugeMetricFamily(
        "rollout_queue_retrying",
        "Objects that failed to be planned or written, and are tried again after a pause.",
        value=figures.retrying,
    )
    yield GaugeMetricFamily(
        "rollout_writes_in_flight", "Writes that are out.", value=figures.in_flight
    )
    yield GaugeMetricFamily(
        "rollout_managed_clusters", "ManagedClusters that are known.", value=figures.clusters
    )


def _of_gates(figures: ControllerFigures) -> Iterator[Metric]:
    runs = GaugeMetricFamily(
        "rollout_analysis_runs", "Runs of analyses by phase.", labels=["phase"]
    )
    for phase, number in figures.runs.items():
        runs.add_metric([phase], number)
    calendars = GaugeMetricFamily(
        "rollout_calendar_open",
        "1 where a calendar is open in a zone, 0 where it is closed there.",
        labels=["kind", "namespace", "name", "zone"],
    )
    for calendar, is_open in figures.zones.items():
        calendars.add_metric(calendar, is_open)
    yield from (runs, calendars)
