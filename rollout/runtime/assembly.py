"""What is a controller made of? Everything wired together, once, from the settings.

`assemble` takes any hub, clock and timers, so that tests run the whole of it in virtual time;
`on_kubernetes` makes those of a real process.
"""

import logging
import os
import socket
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rollout.clock import Clock, SteadyClock
from rollout.errors import ConfigError
from rollout.fleet.heartbeats import CLUSTER_NAME_LABEL
from rollout.hub.base import Hub
from rollout.hub.kube import OURS, KubeHub
from rollout.hub.kube_access import Access
from rollout.hub.kube_session import Times
from rollout.model.kinds import (
    LEASE,
    MANAGED_CLUSTER,
    PLACEMENT,
    REPLICA_SET,
    Kind,
    Ref,
    key_of,
)
from rollout.planning.placements import PlacementPlanner
from rollout.planning.plan import Note, Planner
from rollout.planning.policy import Policy
from rollout.runtime.debug import PREFIX, Debug
from rollout.runtime.engine import Engine, Pace
from rollout.runtime.events import EventWriter
from rollout.runtime.fence import FencedIo
from rollout.runtime.figures import Figures, figures
from rollout.runtime.health import Address, Server, health_routes
from rollout.runtime.io import Io
from rollout.runtime.kube_io import KubeIo
from rollout.runtime.leader import Candidate, LeaseTerms
from rollout.runtime.measured import (
    MeasuredFleet,
    MeasuredIo,
    MeasuredPlanner,
    News,
    measured_plugins,
)
from rollout.runtime.metrics import Metrics
from rollout.runtime.planners import planners
from rollout.runtime.process import Controller, quiet_collector
from rollout.runtime.reviews import Reviews
from rollout.runtime.timers import ApsTimers, Timers, Wake
from rollout.settings import Settings, address

log = logging.getLogger(__name__)

FIGURES_SECONDS = 2.0
LATE = timedelta(seconds=1)
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a controller runs in.

    ``hub`` is the engine's. ``side`` is for the lease, events and reviews, so that these never wait
    behind a fleet's writes. ``io`` makes the way of the writes, given who is asked right before each.
    """

    hub: Hub
    side: Hub
    io: Callable[[Callable[[], bool]], Io]
    clock: Clock
    timers: Callable[[Wake], Timers]
    lease_timers: Callable[[Wake], Timers]
    in_touch: Callable[[], bool] = lambda: True
    sweep: Callable[[], None] = lambda: None
    settled: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Assembly:
    """A controller, and what looks at it."""

    controller: Controller
    metrics: Metrics
    events: EventWriter
    debug: Debug


def policy_of(settings: Settings) -> Policy:
    """The engine's own waits and limits."""
    return Policy(
        settings.profile,
        timedelta(seconds=settings.failure_grace_seconds),
        timedelta(seconds=settings.settle_seconds),
        timedelta(seconds=settings.quiet_seconds),
        timedelta(seconds=settings.lease_duration_seconds),
        settings.brake_share_percent,
        settings.brake_least_clusters,
        timedelta(seconds=settings.brake_window_seconds),
        settings.schedule_placements,
    )


def lease_terms(settings: Settings) -> LeaseTerms:
    return LeaseTerms(
        timedelta(seconds=settings.lease_duration_seconds),
        timedelta(seconds=settings.renew_deadline_seconds),
        timedelta(seconds=settings.retry_seconds),
    )


def filters_of(settings: Settings) -> Sequence[str]:
    return [name.strip() for name in settings.filters.split(",") if name.strip()]


def _planners(settings: Settings, metrics: Metrics, clock: Clock) -> dict[Kind, Planner[Any]]:
    found = planners(
        filters=filters_of(settings),
        keeps_sets=settings.keep_sets,
        watches_health=settings.watch_health,
    )
    placing = found[PLACEMENT]
    assert isinstance(placing, PlacementPlanner), "placements are planned by their planner"
    # Debugging needs the planner also where placements are decided elsewhere.
    found[PLACEMENT] = PlacementPlanner(measured_plugins(placing.plugins, metrics, clock))
    return found


def assemble(settings: Settings, around: Surroundings, me: str, namespace: str) -> Assembly:
    """Wire everything. Nothing is read or written yet. Raises: PluginError."""
    metrics, clock, news = Metrics(), around.clock, News()
    made = _planners(settings, metrics, clock)
    placing = made[PLACEMENT]
    assert isinstance(placing, PlacementPlanner), "just made"
    if not settings.schedule_placements:
        del made[PLACEMENT]
    fleet = MeasuredFleet(
        news,
        made,
        policy_of(settings),
        watches_health=settings.watch_health,
        has_filter_plugins=bool(filters_of(settings)),
    )
    candidate = _candidate(settings, around, me, namespace)
    io = MeasuredIo(around.io(candidate.may_write), metrics, clock)
    fenced = FencedIo(io, candidate.check, fleet.version)
    dropped = metrics.events_dropped
    events = EventWriter(
        around.side,
        clock,
        me,
        lambda ref: uid_of(fleet, ref),
        lambda why: dropped.labels(why).inc(),
    )
    engine = Engine(
        around.hub,
        clock,
        around.timers,
        {kind: MeasuredPlanner(each, metrics, clock, news) for kind, each in made.items()},
        fleet,
        io=fenced,
        pace=Pace({REPLICA_SET: timedelta(seconds=settings.gather_seconds)}),
        notes=_teller(metrics, events if settings.events else None),
    )
    controller = Controller(
        engine,
        candidate,
        fenced,
        clock,
        in_touch=around.in_touch,
        sweep=around.sweep,
        settled=around.settled,
    )

    def leads() -> bool:
        return controller.leads

    debug = Debug(Reviews(around.side, clock), fleet, placing, clock, controller.ask, leads)
    metrics.follow(lambda: _figures(controller, fenced), leads)
    return Assembly(controller, metrics, events, debug)


def _candidate(settings: Settings, around: Surroundings, me: str, namespace: str) -> Candidate:
    lease = Ref(LEASE, key_of(settings.lease_namespace or namespace, settings.lease_name))
    terms = lease_terms(settings)
    return Candidate(around.side, around.clock, around.lease_timers, lease, me, terms)


def _teller(metrics: Metrics, events: EventWriter | None) -> Callable[[Note, datetime], None]:
    """Counts each note and, where that is wanted, writes it as an Event."""

    def tell(note: Note, now: datetime) -> None:
        metrics.note(note)
        if events is not None:
            events.tell(note, now)

    return tell


def uid_of(fleet: MeasuredFleet, ref: Ref) -> str:
    """The uid of what a note is about, "" where it is not known."""
    if ref.kind is REPLICA_SET:
        workload = fleet.peek(ref.key)
        return workload.replicaset.uid if workload and workload.replicaset else ""
    if ref.kind is PLACEMENT:
        placement = fleet.placement(ref.key)
        return placement.uid if placement else ""
    if ref.kind is MANAGED_CLUSTER:
        cluster = fleet.clusters.cluster(ref.key)
        return str(cluster.raw.get("metadata", {}).get("uid") or "") if cluster else ""
    return ""


def _figures(controller: Controller, fenced: FencedIo) -> Figures | None:
    """Taken on the engine's thread; None where this process does not lead, or is too busy."""
    if not controller.leads:
        return None
    engine = controller.engine
    try:
        return controller.ask(
            lambda: figures(engine.fleet, engine.waiting, fenced.pending), FIGURES_SECONDS
        )
    except TimeoutError:
        return None


def identity() -> str:
    """One that no other process has, nor a later one in the same pod."""
    place = os.environ.get("POD_NAME") or socket.gethostname()
    return f"{place}_{uuid.uuid4().hex[:8]}"


def own_namespace() -> str:
    """The pod's namespace; ``default`` outside of one."""
    said = os.environ.get("POD_NAMESPACE")
    if said:
        return said
    try:
        return _NAMESPACE_FILE.read_text().strip() or "default"
    except OSError:
        return "default"


def serve(settings: Settings, parts: Assembly) -> list[Server]:
    """Begin to answer. Raises: ConfigError where an address cannot be had."""
    controller = parts.controller
    routes = health_routes(controller.is_alive, controller.readiness, parts.metrics.text)
    tls = (settings.tls_certificate, settings.tls_key) if settings.tls_certificate else None
    wanted = (
        (settings.listen, routes, None),
        (settings.debug_listen, {PREFIX: parts.debug}, tls),
    )
    servers: list[Server] = []
    for text, mounted, secured in wanted:
        place = address(text)
        if place is None:
            continue
        try:
            servers.append(Server(Address(*place), mounted, secured))
        except OSError as error:
            for server in servers:
                server.close()
            raise ConfigError(f"listen on {text}: {error}") from error
    return servers


class _Alarms:
    """The timers of a real process: two, so that looking after the lease never waits."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._engine: ApsTimers | None = None
        self._lease: ApsTimers | None = None

    def engine(self, wake: Wake) -> Timers:
        self._engine = ApsTimers(wake, clock=self._clock)
        return self._engine

    def lease(self, wake: Wake) -> Timers:
        self._lease = ApsTimers(wake, clock=self._clock)
        return self._lease

    def sweep(self) -> None:
        """Wake what a step of the wall clock has delayed; the lease only where it really is late,
        since it is then looked after on the caller's thread.
        """
        if self._engine is not None:
            self._engine.sweep()
        due = self._lease.next_at() if self._lease is not None else None
        if self._lease is not None and due is not None and self._clock.now() > due + LATE:
            self._lease.sweep()

    def close(self) -> None:
        for each in (self._engine, self._lease):
            if each is not None:
                each.scheduler.shutdown(wait=False)


def on_kubernetes(
    settings: Settings, access: Access, until: Callable[[Callable[[], None]], None]
) -> None:
    """Run a controller on an API server.

    Args:
        until: called with the function that ends the run in good order.
    Raises: Fenced where the lead is lost; ConfigError.
    """
    seconds = settings.write_timeout_seconds
    hub = KubeHub(
        access,
        only={**OURS, LEASE: CLUSTER_NAME_LABEL},
        times=Times(connect=min(5.0, seconds), write=seconds),
    )
    side = KubeHub(access, times=Times(min(5.0, seconds), seconds, seconds), patience=0.0)
    clock = SteadyClock()
    alarms = _Alarms(clock)
    around = Surroundings(
        hub,
        side,
        lambda allowed: KubeIo(hub, allowed),
        clock,
        alarms.engine,
        alarms.lease,
        hub.is_watching,
        alarms.sweep,
        quiet_collector,
    )
    servers: list[Server] = []
    try:
        parts = assemble(settings, around, identity(), own_namespace())
        servers = serve(settings, parts)
        parts.events.start()
        until(parts.controller.stop)
        try:
            parts.controller.run(timedelta(seconds=settings.stop_within_seconds))
        finally:
            parts.events.stop()
    finally:
        for server in servers:
            server.close()
        alarms.close()
        side.close()
        hub.close()
