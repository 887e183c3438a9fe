"""`rollout controller`: runs the engine on a Kubernetes hub."""

import gc
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

import click

from rollout.cli.options import Stop, options, shared, was_typed
from rollout.cli.setting_options import given, with_settings
from rollout.errors import Fenced
from rollout.settings import settings

LOST = 3
"""The exit code of a process that has lost the lead: it is to be started again."""


CONTROLLER_HELP = f"""Run the engine on a Kubernetes hub until it is told to stop.

Several may run at once: the one that holds the Lease works, the others stand by.

\b
Exit codes:
  0  stopped by SIGTERM or SIGINT, in good order
  1  it could not start
  2  usage error
  {LOST}  it lost the lead, or could not renew it: start it again
"""


@click.command(help=CONTROLLER_HELP)
@with_settings()
@shared
def controller(**values: Any) -> int:
    """Run the controller."""
    gc.disable()  # what is imported stays: a look for garbage in it takes a tenth of a start
    # Here, since nobody who asks for help should wait for them.
    from rollout.hub.kube_access import Access  # noqa: PLC0415
    from rollout.runtime.kube_process import on_kubernetes  # noqa: PLC0415
    from rollout.runtime.logs import start_logging  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    chosen = settings(given(values))
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
