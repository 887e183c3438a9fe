"""Wires a controller together from its settings.

`assemble` takes any hub, clock and timers, so that tests run the whole of it in virtual time; those of
a real process are made in `rollout.runtime.kube_process`.
"""

import logging
from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from rollout.api.models import prepare
from rollout.clock import Clock
from rollout.fleet.fleet import Fleet
from rollout.hub.base import Hub
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER,
    PLACEMENT,
    SHARED_DECISION,
    WORKLOADS,
    Kind,
    Ref,
)
from rollout.model.names import PROFILE_LABEL, SHARDS_LABEL
from rollout.model.policy import Policy
from rollout.model.sharding import FIRST
from rollout.placement.cel.bounds import SLICE_STEPS
from rollout.planning.placements import PlacementPlanner
from rollout.planning.plan import Note, Planner
from rollout.plugins import gates, plugins
from rollout.rollouts.witness import Witness, Witnesses
from rollout.runtime.analysis_io import NO_PROVIDERS, AnalysisIo, Measurer
from rollout.runtime.debug import Debug
from rollout.runtime.decisions import DecisionLog
from rollout.runtime.engine import Engine
from rollout.runtime.events import EventWriter
from rollout.runtime.io import FencedIo, Io
from rollout.runtime.layout import Layout, lease_of
from rollout.runtime.leader import LeaderCandidate, LeaseTerms
from rollout.runtime.measured import (
    MeasuredFleet,
    MeasuredIo,
    MeasuredPlanner,
    News,
    measured_plugins,
)
from rollout.runtime.metrics import ControllerFigures, Metrics, counting, figures
from rollout.runtime.notification_io import NOBODY_TOLD, Deliverer, NotificationIo
from rollout.runtime.pace import Pace
from rollout.runtime.planners import planners, trackers
from rollout.runtime.process import Controller
from rollout.runtime.reviews import Reviews
from rollout.runtime.spans import FinishedSpan, SpanRecorder
from rollout.runtime.timers import Timers, Wake
from rollout.settings import Settings, long_enough, raised

log = logging.getLogger(__name__)

FIGURES_SECONDS = 2.0
HURRY = timedelta(milliseconds=100)
"""Events are gathered for only this long where clusters wait for nothing but other clusters."""
QUIET = timedelta(milliseconds=100)
"""A placement is decided when it has had no event for this long, and for longer after a second one
(`Pace.quiet`): labels of a hundred clusters that change together are one change."""
PLACING = 32
"""Placements whose decisions are written at once; each can have a hundred pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """What a controller runs in.

    ``hub`` is the engine's. ``side`` is for the lease, events and reviews, so that these never wait
    behind a fleet's writes. ``io`` makes the way of the writes, given who is asked right before each
    and who knows at which version an object was last heard of; ``side_io`` is the way of the events.
    ``begin`` is called once, when this process has the lead and before it reads anything; ``settled``
    once, when everything is read. ``measurer`` asks providers of metrics, ``deliverer`` tells people,
    ``export`` takes spans (None: nobody wants them). ``steady`` measures leases, and ``lease_timers``
    go by it (None: ``clock`` never steps).
    """

    hub: Hub
    side: Hub
    side_io: Io
    io: Callable[[Callable[[], bool], Callable[[Ref], int]], Io]
    clock: Clock
    timers: Callable[[Wake], Timers]
    lease_timers: Callable[[Wake], Timers]
    in_touch: Callable[[Container[Kind]], bool] = lambda _: True
    sweep: Callable[[], None] = lambda: None
    settled: Callable[[], None] = lambda: None
    begin: Callable[[], None] = lambda: None
    measurer: Measurer = NO_PROVIDERS
    deliverer: Deliverer = NOBODY_TOLD
    export: Callable[[FinishedSpan], None] | None = None
    steady: Clock | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """A controller, and what looks at it."""

    controller: Controller
    metrics: Metrics
    events: EventWriter
    debug: Debug
    reviews: Reviews


def policy_of(settings: Settings, namespace: str) -> Policy:
    """The engine's own waits and limits."""
    return Policy(
        profile=settings.profile,
        failure_grace=timedelta(seconds=long_enough(settings, "failure_grace_seconds")),
        settle=timedelta(seconds=long_enough(settings, "settle_seconds")),
        values_settle=timedelta(seconds=settings.values_settle_seconds),
        quiet=timedelta(seconds=settings.quiet_seconds),
        lease=timedelta(seconds=settings.lease_duration_seconds),
        brake_share_percent=settings.brake_share_percent,
        brake_least=settings.brake_least_clusters,
        brake_window=timedelta(seconds=settings.brake_window_seconds),
        tell_every=timedelta(seconds=settings.gather_seconds),
        namespace=namespace,
        schedules_here=settings.schedule_placements,
        sharding=settings.sharding(namespace),
    )


def lease_terms(settings: Settings) -> LeaseTerms:
    return LeaseTerms(
        timedelta(seconds=settings.lease_duration_seconds),
        timedelta(seconds=settings.renew_deadline_seconds),
        timedelta(seconds=settings.retry_seconds),
    )


def filters_of(settings: Settings) -> Sequence[str]:
    return [name.strip() for name in settings.filters.split(",") if name.strip()]


def assemble(settings: Settings, around: Connections, me: str, namespace: str) -> Assembly:
    """Wire everything. Nothing is read or written yet. Raises: PluginError."""
    settings = _in_force(settings)
    metrics, clock, news = Metrics(), around.clock, News()
    made, placing = _planners(settings, metrics, clock)
    fleet = _fleet(settings, namespace, news, made, export=around.export)
    layout = _layout(settings, around, me=me, namespace=namespace)
    candidate = _candidate(settings, around, layout, me=me, namespace=namespace)
    fenced, telling = _io(around, candidate, fleet, metrics)
    events = _events(around, fleet, metrics, me)
    engine = Engine(
        around.hub,
        clock,
        around.timers,
        {kind: MeasuredPlanner(each, metrics, clock, news) for kind, each in made.items()},
        fleet=fleet,
        io=telling,
        pace=_pace(settings),
        notes=_teller(metrics, events if settings.events else None),
    )
    controller = Controller(
        engine,
        candidate,
        fenced,
        clock,
        in_touch=lambda: around.in_touch(fleet.essential),
        sweep=around.sweep,
        settled=around.settled,
        begin=around.begin,  # the clock runs steadily from here on
        agree=layout.begin,
        last_sign=lambda: layout.last_sign(candidate.predecessor),
    )
    reviews = Reviews(around.side, clock)
    debug = Debug(
        reviews, fleet, placing, clock, ask=controller.ask, ready=lambda: controller.leads
    )
    metrics.follow(lambda: _figures(controller, fenced, clock), lambda: controller.leads)
    return Assembly(
        controller=controller, metrics=metrics, events=events, debug=debug, reviews=reviews
    )


def _in_force(settings: Settings) -> Settings:
    """What this process goes by: what is in no namespace is looked after by shard 0."""
    for sentence in raised(settings):
        log.warning("%s", sentence)
    if settings.shard == FIRST:
        return settings
    return settings.model_copy(update={"roll_addons": False, "watch_health": False})


def _io(
    around: Connections, candidate: LeaderCandidate, fleet: MeasuredFleet, metrics: Metrics
) -> tuple[FencedIo, NotificationIo]:
    """The way of the writes: the fence, and what goes through it and tells people besides."""
    clock = around.clock
    io = MeasuredIo(around.io(candidate.may_write, fleet.versions.of), metrics, clock)
    measuring = AnalysisIo(io, around.measurer, clock, counting(metrics.measurements))
    fenced = FencedIo(measuring, candidate.check, fleet.versions.of)
    told = counting(metrics.notifications)
    return fenced, NotificationIo(fenced, around.deliverer, clock, told)


def _pace(settings: Settings) -> Pace:
    gather = timedelta(seconds=settings.gather_seconds)
    return Pace(
        least_interval=dict.fromkeys((*WORKLOADS, PLACEMENT, SHARED_DECISION), gather),
        from_landing=(PLACEMENT, CLUSTER_MANAGEMENT_ADDON),
        quiet=dict.fromkeys((PLACEMENT, SHARED_DECISION), QUIET),
        hurry=HURRY,
        most_out={PLACEMENT: PLACING},
    )


def _planners(
    settings: Settings, metrics: Metrics, clock: Clock
) -> tuple[dict[Kind, Planner[Fleet]], PlacementPlanner]:
    """Who plans, and who would place: debugging needs that also where others decide placements."""
    measured = measured_plugins(plugins(filters_of(settings)), metrics, clock)
    placing = PlacementPlanner(measured, settings.profile, slice_steps=SLICE_STEPS)
    found = planners(
        placing,
        keeps_sets=settings.keep_sets,
        watches_health=settings.watch_health,
        rolls_addons=settings.roll_addons,
        publishes=settings.published,
    )
    if not settings.schedule_placements:
        del found[PLACEMENT]
    prepare(kind for kind in (PLACEMENT, *WORKLOADS) if kind in found)  # also where it stands by
    return found, placing


def _fleet(
    settings: Settings,
    namespace: str,
    news: News,
    planned: Collection[Kind],
    export: Callable[[FinishedSpan], None] | None,
) -> MeasuredFleet:
    fleet = MeasuredFleet(
        news,
        planned,
        policy_of(settings, namespace),
        watches_health=settings.watch_health,
        has_filter_plugins=bool(filters_of(settings)),
        trackers=trackers(rolls_addons=settings.roll_addons),
        gates=gates(),
        publishes=settings.published,
    )
    witnesses: list[Witness] = []
    if settings.decision_log:
        witnesses.append(DecisionLog(Path(settings.decision_log), settings.decision_log_lines))
    if export is not None:
        witnesses.append(SpanRecorder(lambda ref: uid_of(fleet, ref), export))
    if witnesses:
        fleet.witness = Witnesses(*witnesses)
    return fleet


def _events(around: Connections, fleet: MeasuredFleet, metrics: Metrics, me: str) -> EventWriter:
    dropped = metrics.events_dropped
    return EventWriter(
        around.side_io,
        around.clock,
        me,
        lambda ref: uid_of(fleet, ref),
        dropped=lambda why: dropped.labels(why).inc(),
    )


def _layout(settings: Settings, around: Connections, *, me: str, namespace: str) -> Layout:
    return Layout(
        around.side,
        around.steady or around.clock,
        lease_of(settings.lease_namespace or namespace, settings.lease_name, FIRST),
        me=me,
        sharding=settings.sharding(namespace),
        lasts=lease_terms(settings).duration,
    )


def _candidate(
    settings: Settings, around: Connections, layout: Layout, *, me: str, namespace: str
) -> LeaderCandidate:
    shard = settings.shard
    # Commands that ask for `rollout.hub.base.StateKey.PROFILE` read it there.
    labels: dict[str, str] = {PROFILE_LABEL: settings.profile}
    if shard != FIRST:
        labels[SHARDS_LABEL] = str(settings.shards)  # on that of shard 0 it takes two steps
    return LeaderCandidate(
        around.side,
        around.clock,
        around.lease_timers,
        lease_of(settings.lease_namespace or namespace, settings.lease_name, shard),
        me=me,
        terms=lease_terms(settings),
        labels=labels,
        agree=layout.agree,
        steady=around.steady,
    )


def _teller(metrics: Metrics, events: EventWriter | None) -> Callable[[Note, datetime], None]:
    """Counts each note and, where that is wanted, writes it as an Event."""

    def tell(note: Note, now: datetime) -> None:
        metrics.note(note)
        if events is not None:
            events.tell(note, now)

    return tell


def uid_of(fleet: Fleet, ref: Ref) -> str:
    """The uid of what a note is about, "" where it is not known."""
    if ref.kind is PLACEMENT:
        placement = fleet.placement(ref.key)
        return placement.uid if placement else ""
    if ref.kind is MANAGED_CLUSTER:
        cluster = fleet.clusters.cluster(ref.key)
        return str(cluster.raw.get("metadata", {}).get("uid") or "") if cluster else ""
    workload = fleet.rollout(ref)
    raw = workload.raw if workload else None
    return str(raw["metadata"].get("uid") or "") if raw else ""


def _figures(controller: Controller, fenced: FencedIo, clock: Clock) -> ControllerFigures | None:
    """Taken on the engine's thread; None where this process does not lead, or is too busy."""
    if not controller.leads:
        return None
    engine = controller.engine
    try:
        return controller.ask(
            lambda: figures(
                engine.fleet,
                clock.now(),
                queued=engine.waiting,
                retrying=engine.failing,
                in_flight=fenced.pending,
            ),
            FIGURES_SECONDS,
        )
    except TimeoutError:
        return None
