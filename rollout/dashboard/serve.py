"""Serves the dashboard until it is told to stop: an observer, and one HTTP server with a guard in front."""

import secrets
import signal
import socket
from collections.abc import Callable, Collection
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from rollout.clock import SystemClock
from rollout.dashboard.answers import Office
from rollout.dashboard.app import application
from rollout.dashboard.observer import Observer, Open
from rollout.dashboard.people import OwnAuthority
from rollout.dashboard.reviewed import OpenAs, OwnAccess, ReviewedAuthority
from rollout.dashboard.security import LOCAL_NAMES
from rollout.hub.base import Hub

LOCAL = "127.0.0.1"
CONNECTIONS = 1_000
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
    access: Hub | None,
    decision_log: Path | None,
    listen: socket.socket,
    ready: Callable[[str], object],
) -> None:
    """Serve one person on this machine, until the process is told to stop.

    Args:
        place: what the hub is called at the head of the page.
        name: who is said to have asked for what is pressed.
        options: what names the hub on the command line.
        access: where rights are asked for; None: everything is allowed, as it is on a state file.
        decision_log: what page Replay shows; None: nothing.
        ready: is told the address with the token, once it answers.
    """
    port = listen.getsockname()[1]
    observer = Observer(open_hub).start()
    may = OwnAccess(access, SystemClock()).may if access is not None else None
    authority = OwnAuthority(token, name, observer, may)
    address = f"http://{LOCAL}:{port}/login?token={token}"
    office = Office(observer, authority, place, SystemClock(), options=options)
    hosts = {f"{host}:{port}" for host in LOCAL_NAMES[:2]}
    app = application(office, hosts, lambda: ready(address), decision_log=decision_log)
    _serve(office, app, listen)


def serve_many(
    open_hub: Open,
    hub: Hub,
    open_as: OpenAs,
    place: str,
    *,
    options: str,
    hosts: Collection[str],
    decision_log: Path | None,
    listen: socket.socket,
    ready: Callable[[], object],
) -> None:
    """Serve whoever the API server knows, until the process is told to stop.

    Args:
        hub: where tokens and rights are reviewed, with the account of the dashboard.
        open_as: opens the hub with the token of a person.
        hosts: what the Host header may say; empty: anything.
    Other arguments: as of `serve_own`.
    """
    observer = Observer(open_hub).start()
    authority = ReviewedAuthority(hub, open_as, SystemClock())
    office = Office(observer, authority, place, SystemClock(), options=options, secure=True)
    app = application(office, hosts, ready, decision_log=decision_log)
    _serve(office, app, listen)


def _serve(office: Office, app: ASGIApp, listen: socket.socket) -> None:
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=_CLOSING_SECONDS,
            server_header=False,
            lifespan="on",
        )
    )
    signal.signal(signal.SIGTERM, _leave)  # what it is asked to end by, once it has closed all
    try:
        server.run(sockets=[listen])
    finally:
        office.observer.close()


def _leave(number: int, _: object) -> None:
    """End, and let everybody on the way out clean up."""
    raise SystemExit(128 + number)
