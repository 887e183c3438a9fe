"""How is the dashboard served? An observer, a guard in front, one HTTP server, until it is told to stop."""

import secrets
import socket
from collections.abc import Callable, Collection

import uvicorn

from rollout.clock import SystemClock
from rollout.dashboard.answers import Office
from rollout.dashboard.app import application
from rollout.dashboard.observer import Observer, Open
from rollout.dashboard.people import Authority, May, OwnAuthority

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
    may: May | None = None,
    listen: socket.socket,
    ready: Callable[[str], object],
) -> None:
    """Serve one person on this machine, until the process is told to stop.

    Args:
        place: what the hub is called at the head of the page.
        options: what names the hub on the command line.
        name: who is said to have asked for what is pressed.
        may: what the rights allow with which the hub is opened; None: everything.
        ready: is told the address with the token, once it answers.
    """
    port = listen.getsockname()[1]
    hosts = {f"{host}:{port}" for host in (LOCAL, "localhost")}
    observer = Observer(open_hub).start()
    serve(
        observer,
        OwnAuthority(token, name, observer, may),
        place,
        options=options,
        hosts=hosts,
        listen=listen,
        ready=lambda: ready(f"http://{LOCAL}:{port}/login?token={token}"),
    )


def serve(
    observer: Observer,
    authority: Authority,
    place: str,
    *,
    options: str,
    hosts: Collection[str],
    listen: socket.socket,
    ready: Callable[[], object],
    secure: bool = False,
) -> None:
    """Serve whoever the authority lets in, until the process is told to stop. Closes the observer."""
    office = Office(observer, authority, place, SystemClock(), options)
    server = uvicorn.Server(
        uvicorn.Config(
            application(office, hosts, ready, secure=secure),
            log_level="warning",
            access_log=False,
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=_CLOSING_SECONDS,
            server_header=False,
            lifespan="on",
        )
    )
    try:
        server.run(sockets=[listen])
    finally:
        observer.close()
