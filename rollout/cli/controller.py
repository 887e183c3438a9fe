"""How does one run the engine on a Kubernetes hub? `rollout controller`."""

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, get_args, get_origin

import click

from rollout.cli.options import Stop, options, shared, was_typed
from rollout.errors import Fenced
from rollout.hub.kube_access import Access
from rollout.runtime.kube_process import on_kubernetes
from rollout.runtime.logs import start_logging
from rollout.settings import Settings, settings

PREFIX = "ROLLOUT_"
LOST = 3
"""The exit code of a process that has lost the lead: it is to be started again."""


def _option(name: str, field: Any) -> Callable[[Any], Any]:
    """The flag and the environment variable of one setting. What it may be is checked afterwards."""
    flag = "--" + name.replace("_", "-")
    words = f"{field.description}"
    default = field.default
    shown = f"  [default: {default}]" if default not in ("", True, False) else ""
    more: dict[str, Any] = {"envvar": PREFIX + name.upper(), "show_envvar": True, "default": None}
    if field.annotation is bool:
        on = "  [default: on]" if default else "  [default: off]"
        return click.option(f"{flag}/--no-{flag[2:]}", name, help=words + on, **more)
    if get_origin(field.annotation) is not None and isinstance(default, str):
        kind: Any = click.Choice([str(choice) for choice in get_args(field.annotation)])
    else:
        kind = field.annotation
    return click.option(flag, name, type=kind, help=words + shown, **more)


def with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an option for each setting."""
    for name, field in reversed(Settings.model_fields.items()):
        command = _option(name, field)(command)
    return command


CONTROLLER_HELP = f"""Decide and roll out on a Kubernetes hub, until told to stop.

Several may run at once: the one that holds the Lease works, the others stand by.

\b
Exit codes:
  0  stopped by SIGTERM or SIGINT, in good order
  1  it could not start
  2  the command was typed wrongly
  {LOST}  it lost the lead, or could not renew it: start it again
"""


@click.command(help=CONTROLLER_HELP)
@with_settings
@shared
def controller(**values: Any) -> int:
    """Run the controller."""
    chosen = settings({name: value for name, value in values.items() if value is not None})
    start_logging(chosen.log_format, "debug" if options().verbose else chosen.log_level)
    asked = options()
    if was_typed("state"):
        raise Stop(2, "a controller works on an API server: --state is for `rollout run`")
    try:
        on_kubernetes(chosen, Access(asked.kubeconfig or None, asked.context or None), _on_signals)
    except Fenced as fault:
        raise Stop(LOST, str(fault)) from fault
    return 0


def _on_signals(stop: Callable[[], None]) -> None:
    """End in good order at the first SIGTERM or SIGINT; the second one ends the process at once."""

    def told(_number: int, _frame: FrameType | None) -> None:
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_DFL)
        stop()

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, told)
