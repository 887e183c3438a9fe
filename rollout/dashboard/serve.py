"""Serves the dashboard until it is told to stop: an observer, and one HTTP server with a guard in front."""

import asyncio
import secrets
import socket
from collections.abc import Callable, Collection
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from rollout.clock import SystemClock
from rollout.dashboard.answers import Office
from rollout.dashboard.app import application
from rollout.dashboard.observer import Observer, Open
from rollout.dashboard.people import OwnAuthority
from rollout.dashboard.reviewed import OpenAs, OwnAccess, ReviewedAuthority
from rollout.dashboard.security import LOCAL_NAMES
from rollout.errors import ConfigError
from rollout.hub.base import EmbeddedHub
from rollout.runtime.health import Address, Route, health_routes
from rollout.runtime.process import Readiness
from rollout.runtime.server import Server

LOCAL = "127.0.0.1"
CONNECTIONS = 1_000
REQUEST_SECONDS = 10.0
"""Within which a request must have come in whole, from the connection or its first byte on."""
ALIVE_SECONDS = 30.0
_BEAT_SECONDS = 1.0
_TOKEN_BYTES = 24
_CLOSING_SECONDS = 2


def own_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one. Raises: OSError."""
    return socket.create_server((host, port), backlog=128)


def serve_own(
    open_hub: Open,
    place: str,
    name: str,
    *,
    options: str,
    token: str,
    access: EmbeddedHub | None,
    decision_log: Path | None,
    listen: socket.socket,
    ready: Callable[[str], object],
) -> None:
    """Serve one person on this machine, until the process is told to stop.

    Args:
        place: what the hub is called at the head of the page.
        name: who is said to have asked for what is pressed.
        options: what names the hub on the command line.
        access: where rights and Events are asked for; None: everything is allowed, as it is on a state
            file.
        decision_log: what page Replay shows; None: nothing.
        ready: is told the address with the token, once it answers.
    """
    port = listen.getsockname()[1]
    may = OwnAccess(access, SystemClock()).may if access is not None else None
    address = f"http://{LOCAL}:{port}/login?token={token}"
    hosts = {f"{host}:{port}" for host in LOCAL_NAMES[:2]}
    with Observer(open_hub) as observer:
        authority = OwnAuthority(token, name, observer, may)
        office = Office(observer, authority, place, SystemClock(), options=options)
        app = application(
            office, hosts, lambda: ready(address), decision_log=decision_log, events=access
        )
        _serve(app, listen)


def serve_many(
    open_hub: Open,
    hub: EmbeddedHub,
    open_as: OpenAs,
    place: str,
    *,
    options: str,
    hosts: Collection[str],
    decision_log: Path | None,
    listen: socket.socket,
    health: Address | None,
    ready: Callable[[], object],
) -> None:
    """Serve whoever the API server knows, until the process is told to stop.

    Args:
        hub: where tokens and rights are reviewed, and Events asked for, with the account of the dashboard.
        open_as: opens the hub with the token of a person.
        hosts: what the Host header may say; empty: anything.
        health: where probes are answered whatever becomes of the pages; None: nowhere.
    Other arguments: as of `serve_own`.

    Raises: ConfigError where the address of the probes cannot be had.
    """
    pulse = Pulse()

    def begun() -> None:
        pulse.begin()
        ready()

    authority = ReviewedAuthority(hub, open_as, SystemClock())
    with ExitStack() as ends:
        observer = ends.enter_context(Observer(open_hub))
        office = Office(observer, authority, place, SystemClock(), options=options, secure=True)
        app = application(office, hosts, begun, decision_log=decision_log, events=hub)
        if health is not None:
            ends.enter_context(closing(_answering(health, probed(office, pulse))))
        _serve(app, listen)


class Pulse:
    """Whether the loop that answers requests comes round."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._last = self._clock.now()

    def begin(self) -> None:
        """Beat from now on. To be called on the loop."""
        self._last = self._clock.now()
        asyncio.get_running_loop().call_later(_BEAT_SECONDS, self.begin)

    def beats(self) -> bool:
        return self._clock.now() < self._last + timedelta(seconds=ALIVE_SECONDS)


def probed(office: Office, pulse: Pulse) -> dict[str, Route]:
    """What probes are answered: whether requests are, and whether there is anything to show."""

    def readiness() -> Readiness:
        if not pulse.beats():
            return Readiness(False, "requests are not answered")
        is_known = office.observer.view.is_known
        return Readiness(is_known, "ready" if is_known else "the hub has not been read yet")

    return health_routes(pulse.beats, readiness)


def _answering(address: Address, routes: dict[str, Route]) -> Server:
    try:
        return Server(address, routes)
    except OSError as fault:
        raise ConfigError(
            f"{address}: cannot listen on this address: {fault.strerror or fault}"
        ) from fault


def configured(app: ASGIApp) -> uvicorn.Config:
    """How the application is served."""
    return uvicorn.Config(
        app,
        http=ImpatientProtocol,
        log_level="warning",
        access_log=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=_CLOSING_SECONDS,
        server_header=False,
        lifespan="on",
    )


class ImpatientProtocol(H11Protocol):
    """uvicorn's protocol, but it does not wait for ever for clients that send nothing, or half a request.

    A connection is cut when its request is not complete after `REQUEST_SECONDS`. When `CONNECTIONS` are
    open, a new one replaces the one that has been idle for the longest time.
    """

    _late: asyncio.TimerHandle | None = None
    _heard = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._look()
        if len(self.connections) >= CONNECTIONS:
            idle = [c for c in self.connections if isinstance(c, ImpatientProtocol) and c.is_idle]
            min(idle, key=lambda each: each._heard).cut()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self._set(None)
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """Whether no whole request has come in that is not answered yet."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def cut(self) -> None:
        self.connections.discard(self)
        self.transport.abort()

    def _look(self) -> None:
        self._heard = self.loop.time()
        if not self.is_idle:
            self._set(None)
        elif self._late is None:
            self._set(self.loop.call_later(REQUEST_SECONDS, self.cut))

    def _set(self, late: asyncio.TimerHandle | None) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late = late


def _serve(app: ASGIApp, listen: socket.socket) -> None:
    uvicorn.Server(configured(app)).run(sockets=[listen])
