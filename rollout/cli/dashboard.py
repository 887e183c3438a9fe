"""What is going on, on a page? `rollout dashboard`."""

import getpass
import os
import shlex
import webbrowser
from functools import partial

import click

from rollout.cli.options import Options, Stop, options, shared
from rollout.cli.store import open_hub
from rollout.cli.text import say
from rollout.errors import ConfigError

TOKEN_VARIABLE = "ROLLOUT_DASHBOARD_TOKEN"  # noqa: S105  (the name of a variable)
_MISSING = "the dashboard needs packages that are not installed: pip install 'rollout[ui]'"


@click.command(name="dashboard", short_help="Show rollouts in a browser, and act on them.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port.  [default: a free one]"
)
@click.option("--open", "opened", is_flag=True, help="Open it in the browser of this machine.")
@click.option(
    "--by",
    metavar="NAME",
    default="",
    help="Who asks for what is pressed.  [default: the user of this machine]",
)
@shared
def dashboard(port: int, opened: bool, by: str) -> None:
    """Serve a page that shows every rollout as it goes, and has a button for each verb.

    It answers on this machine only (127.0.0.1), to whoever has the address that is printed: that
    carries a random token. What is pressed is done with the rights of whoever started it.
    """
    try:
        from rollout.dashboard.serve import LOCAL, listening, own_token, serve_own  # noqa: PLC0415
    except ModuleNotFoundError as fault:
        raise Stop(1, f"{_MISSING} ({fault.name} is missing)") from fault
    chosen = options()
    with open_hub(chosen):
        pass  # says what is wrong with the options before anything is served
    try:
        listen = listening(LOCAL, port)
    except OSError as fault:
        raise ConfigError(f"port {port} cannot be had: {fault.strerror}") from fault

    def ready(address: str) -> None:
        say(f"the dashboard is at {address}")
        if opened:
            webbrowser.open(address)

    serve_own(
        partial(open_hub, chosen),
        chosen.context or chosen.kubeconfig or chosen.state,
        by or getpass.getuser(),
        options=_naming(chosen),
        token=os.environ.get(TOKEN_VARIABLE) or own_token(),
        listen=listen,
        ready=ready,
    )


def _naming(chosen: Options) -> str:
    """The options that name the same hub, as one types them."""
    pairs = (("--kubeconfig", chosen.kubeconfig), ("--context", chosen.context))
    words = [word for option, value in pairs if value for word in (option, value)]
    return shlex.join(words or ["--state", chosen.state])
