"""The controller as a process of its own on an API server.

Who it is, what it answers on, its clock and alarms. What it does is put together in
`rollout.runtime.assembly`.
"""

import logging
import os
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rollout.clock import CLOCK_TOLERANCE, Clock, HubClock, SteadyClock, since_boot
from rollout.errors import ConfigError
from rollout.fleet.heartbeats import CLUSTER_NAME_LABEL
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.hub.kube_session import Times
from rollout.model.kinds import LEASE, MANIFEST_WORK, Kind
from rollout.providers.deliverer import ChannelDeliverer
from rollout.providers.hosts import policy_of
from rollout.providers.kinds import installed
from rollout.providers.measurer import ProviderMeasurer
from rollout.providers.sinks import installed_sinks
from rollout.runtime.assembly import Assembly, Connections, assemble
from rollout.runtime.debug import PREFIX
from rollout.runtime.health import Address, health_routes, metrics_routes
from rollout.runtime.kube_io import KubeIo
from rollout.runtime.process import quiet_collector
from rollout.runtime.server import Server
from rollout.runtime.timers import ApsTimers, Timers, Wake
from rollout.settings import Settings, address

if TYPE_CHECKING:
    from rollout.runtime.otel import OtelExport

log = logging.getLogger(__name__)

LATE = timedelta(seconds=1)
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


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
    health = health_routes(controller.is_alive, controller.readiness)
    metrics = metrics_routes(
        parts.metrics.text, parts.reviews if settings.metrics_reviewed else None
    )
    tls = (settings.tls_certificate, settings.tls_key) if settings.tls_certificate else None
    wanted = (
        (settings.health_listen, health, None),
        (settings.listen, metrics, None),
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


def go_by(clock: HubClock) -> None:
    """From now on decisions follow the API server's time. Says so where this machine's is another one."""
    clock.settle()
    error = clock.own_error()
    if error is not None and abs(error) > CLOCK_TOLERANCE:
        log.warning(
            "this machine's clock is %+.1f s off the API server's; the server's time counts",
            error.total_seconds(),
        )


class _Alarms:
    """The timers of a real process: two, so that looking after the lease never waits.

    Those of the lease go by ``steady``.
    """

    def __init__(self, clock: Clock, steady: Clock) -> None:
        self._clock, self.steady = clock, steady
        self._engine: ApsTimers | None = None
        self._lease: ApsTimers | None = None

    def engine(self, wake: Wake) -> Timers:
        self._engine = ApsTimers(wake, clock=self._clock)
        return self._engine

    def lease(self, wake: Wake) -> Timers:
        self._lease = ApsTimers(wake, clock=self.steady)
        return self._lease

    def sweep(self) -> None:
        """Wake what a step of the wall clock has delayed; the lease only where it really is late,
        since it is then looked after on the caller's thread.
        """
        if self._engine is not None:
            self._engine.sweep()
        due = self._lease.next_at() if self._lease is not None else None
        if self._lease is not None and due is not None and self.steady.now() > due + LATE:
            self._lease.sweep()

    def close(self) -> None:
        for each in (self._engine, self._lease):
            if each is not None:
                each.scheduler.shutdown(wait=False)


def _export() -> "OtelExport":
    """Raises: ConfigError where the extra is not installed."""
    try:
        from rollout.runtime.otel import OtelExport  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise ConfigError("traces need an extra: pip install 'rollout[otel]'") from error
    return OtelExport()


def _watched(settings: Settings) -> Mapping[Kind, str]:
    """The kinds of which this process sees only what a label selector names."""
    works = settings.sharding(own_namespace()).selector
    return {LEASE: CLUSTER_NAME_LABEL, **({MANIFEST_WORK: works} if works else {})}


@contextmanager
def _surroundings(settings: Settings, access: Access) -> Iterator[Connections]:
    """The connections, clock and alarms of this process, closed at the end. Raises: ConfigError."""
    seconds = settings.write_timeout_seconds
    times = Times(connect=min(5.0, seconds), write=seconds)
    clock = HubClock()
    hub = KubeHub(access, only=_watched(settings), times=times, heard=clock.heard, compressed=False)
    side_times = Times(min(5.0, seconds), seconds, seconds)
    side = KubeHub(access, times=side_times, patience=0.0, heard=clock.heard)
    alarms = _Alarms(clock, SteadyClock(elapsed=since_boot))
    measurer = ProviderMeasurer(side, clock, installed(), policy_of(settings.measure_hosts))
    deliverer = ChannelDeliverer(side, clock, installed_sinks(), policy_of(settings.notify_hosts))
    export = _export() if settings.traces else None
    try:
        yield Connections(
            hub=hub,
            side=side,
            side_io=KubeIo(side),
            io=partial(KubeIo, hub),
            clock=clock,
            timers=alarms.engine,
            lease_timers=alarms.lease,
            in_touch=hub.is_watching,
            sweep=alarms.sweep,
            settled=quiet_collector,
            begin=lambda: go_by(clock),
            measurer=measurer,
            deliverer=deliverer,
            export=export,
            steady=alarms.steady,
        )
    finally:
        alarms.close()
        measurer.close()
        deliverer.close()
        if export is not None:
            export.close()
        side.close()
        hub.close()


def on_kubernetes(
    settings: Settings, access: Access, until: Callable[[Callable[[], None]], None]
) -> None:
    """Run a controller on an API server.

    Args:
        until: called with the function that ends the run in good order.
    Raises: Fenced where the lead is lost; ConfigError.
    """
    servers: list[Server] = []
    with _surroundings(settings, access) as around:
        try:
            parts = assemble(settings, around, identity(), own_namespace())
            if isinstance(around.clock, HubClock):
                parts.metrics.follow_clock(around.clock.own_error)
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
