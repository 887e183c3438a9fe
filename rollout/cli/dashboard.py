"""`rollout dashboard`: serves the pages that show rollouts in a browser."""

import html
import os
import shlex
import signal
import socket
import webbrowser
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from rollout.cli.options import Options, Stop, options, shared, user
from rollout.cli.store import check_state, open_hub
from rollout.cli.text import say
from rollout.clock import Clock
from rollout.errors import ConfigError
from rollout.hub.base import EmbeddedHub
from rollout.model.amounts import parse_digits

TOKEN_VARIABLE = "ROLLOUT_DASHBOARD_TOKEN"  # noqa: S105  (the name of a variable)
_MISSING = "the dashboard needs packages that are not installed: pip install 'rollout[ui]'"
_HIGHEST_PORT = 65535


@click.command(name="dashboard", short_help="Show rollouts in a browser, and act on them.")
@click.option(
    "--port",
    type=click.IntRange(0, _HIGHEST_PORT),
    default=0,
    help="The port.  [default: a free one]",
)
@click.option("--open", "opened", is_flag=True, help="Open it in the browser of this machine.")
@click.option(
    "--by",
    metavar="NAME",
    default="",
    help="The name that is noted with each verb.  [default: the user of this machine]",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="",
    help="Serve all users of the API server, each with their own token and rights.",
)
@click.option(
    "--host",
    "hosts",
    metavar="HOST[:PORT]",
    multiple=True,
    help="With --listen: answer to this name alone.  [default: to any]",
)
@click.option(
    "--health-listen",
    metavar="HOST:PORT",
    default="",
    help="With --listen: answer /healthz and /readyz there, for probes.",
)
@click.option(
    "--decision-log",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The log that page Replay shows, from `rollout run` or `rollout controller --decision-log`.",
)
@shared
def dashboard(
    port: int,
    opened: bool,
    by: str,
    listen: str,
    hosts: tuple[str, ...],
    health_listen: str,
    decision_log: Path | None,
) -> None:
    """Serve pages that show every rollout live, with a button for each verb.

    It answers on this machine only (127.0.0.1), and only to the printed address, which has a random token
    in it. Buttons act with the rights of the user who started it.

    With --listen it serves a hub to many users: each logs in with their own bearer token, sees what they
    may list, and acts with that token.
    """
    try:
        import rollout.dashboard.serve  # noqa: F401, PLC0415  (an extra)
    except ModuleNotFoundError as fault:
        raise Stop(1, f"{_MISSING} ({fault.name} is missing)") from fault
    signal.signal(signal.SIGTERM, _leave)
    if listen:
        if port or opened or by:
            raise click.UsageError("--listen goes without --port, --open and --by")
        _serve_everybody(options(), listen, hosts, health_listen, decision_log=decision_log)
        return
    if hosts or health_listen:
        raise click.UsageError("--host and --health-listen go with --listen")
    _serve_one(options(), port, by, opened=opened, decision_log=decision_log)


def _leave(number: int, _: object) -> None:
    """End, and let everybody on the way out clean up."""
    raise SystemExit(128 + number)


def _serve_one(
    chosen: Options, port: int, by: str, *, opened: bool, decision_log: Path | None
) -> None:
    from rollout.dashboard.serve import LOCAL, own_token, serve_own  # noqa: PLC0415  (an extra)

    def ready(address: str) -> None:
        say(f"the dashboard is at {address}")
        if opened:
            _open(address, Path(folder))

    with _asking(chosen) as access, TemporaryDirectory(prefix="rollout-dashboard-") as folder:
        serve_own(
            partial(open_hub, chosen),
            chosen.context or chosen.kubeconfig or chosen.state,
            by or user(),
            options=_naming(chosen),
            token=os.environ.get(TOKEN_VARIABLE) or own_token(),
            access=access,
            decision_log=decision_log,
            listen=_bound(f"{LOCAL}:{port}"),
            ready=ready,
        )


def _open(address: str, folder: Path) -> None:
    """Open an address in the browser of this machine: by a file, which nobody else may read.

    What a browser is started with can be read by everybody on the machine.
    """
    file = folder / "open.html"
    file.touch(mode=0o600)
    to = html.escape(address)
    file.write_text(
        f'<!doctype html><meta charset="utf-8"><title>rollout</title>'
        f'<meta http-equiv="refresh" content="0;url={to}"><a href="{to}">The dashboard</a>'
    )
    webbrowser.open(file.as_uri())


@contextmanager
def _asking(chosen: Options) -> Iterator[EmbeddedHub | None]:
    """The server that is asked for rights; None on a state file, where everything is allowed.

    Raises: Stop, ConfigError where the options name nothing that can be opened.
    """
    if chosen.on_server:
        with open_hub(chosen) as (hub, _):
            yield hub
        return
    check_state(chosen)  # opened, all that it holds would be in memory twice
    yield None


def _serve_everybody(
    chosen: Options,
    address: str,
    hosts: tuple[str, ...],
    health: str,
    *,
    decision_log: Path | None,
) -> None:
    from rollout.cli.remote import RemoteHub  # noqa: PLC0415  (0.3 s that no other command needs)
    from rollout.dashboard.serve import serve_many  # noqa: PLC0415  (an extra)
    from rollout.hub.kube_access import Access  # noqa: PLC0415  (as above)
    from rollout.runtime.health import Address  # noqa: PLC0415  (as above)

    if chosen.state:
        raise Stop(2, "--listen serves an API server: leave out --state")
    kubeconfig, context = chosen.kubeconfig or None, chosen.context or None

    @contextmanager
    def opened() -> Iterator[tuple[EmbeddedHub, Clock]]:
        with closing(RemoteHub(Access(kubeconfig, context))) as hub:
            yield hub, hub.clock

    @contextmanager
    def opened_as(token: str) -> Iterator[EmbeddedHub]:
        with closing(RemoteHub(Access(kubeconfig, context, token))) as hub:
            yield hub

    with opened() as (hub, _):
        serve_many(
            opened,
            hub,
            opened_as,
            context or "this cluster",
            options=_naming(chosen),
            hosts=hosts,
            decision_log=decision_log,
            listen=_bound(address),
            health=Address(*_host_and_port(health)) if health else None,
            ready=lambda: say(f"the dashboard answers on {address}"),
        )


def _bound(address: str) -> socket.socket:
    """A socket that listens there. Raises: ConfigError."""
    from rollout.dashboard.serve import listening  # noqa: PLC0415  (an extra)

    try:
        return listening(*_host_and_port(address))
    except OSError as fault:
        raise ConfigError(
            f"{address}: cannot listen on this address: {fault.strerror or fault}"
        ) from fault


def _host_and_port(address: str) -> tuple[str, int]:
    """Raises: ConfigError."""
    host, _, port = address.rpartition(":")
    number = parse_digits(port, most=5)
    if number is None or number > _HIGHEST_PORT:
        raise ConfigError(f"{address!r} is not an address such as 0.0.0.0:8080")
    return host.strip("[]"), number


def _naming(chosen: Options) -> str:
    """The options that name the same hub, as one types them."""
    pairs = (("--kubeconfig", chosen.kubeconfig), ("--context", chosen.context))
    words = [word for option, value in pairs if value for word in (option, value)]
    return shlex.join(words or (["--state", chosen.state] if chosen.state else []))
