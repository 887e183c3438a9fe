"""The command `rollout doctor`, without its body.

A body is loaded when its command runs: who asks for help waits for no engine.
"""

from typing import Any

import click

from rollout.cli.options import output_option, shared
from rollout.cli.setting_options import with_settings

_OF_THE_CONTROLLER = (
    "schedule_placements",
    "keep_sets",
    "roll_addons",
    "watch_health",
    "publish_decisions",
    "publish_clusters",
    "lease_name",
    "agent_status_interval_seconds",
    "settle_seconds",
    "failure_grace_seconds",
)
"""Settings that decide what it needs on a hub, and how long it waits for agents."""

DOCTOR_HELP = """Check whether a controller can work on a hub.

It looks for another controller of the same objects, missing permissions, missing or foreign
CustomResourceDefinitions, records that cannot be read, and a clock that is off. Give it the settings of
your controller. With --no-schedule-placements it assumes --no-keep-sets and --no-roll-addons, unless you
give these options.

\b
Exit codes:
  0  no problem was found
  1  problems were found, or the server could not be asked
  2  usage error
"""


@click.command(help=DOCTOR_HELP)
@click.option(
    "-n",
    "--namespace",
    metavar="NS",
    default="rollout-system",
    help="The namespace of the controller and its Lease.  [default: rollout-system]",
)
@click.option(
    "--service-account",
    "account",
    metavar="NS/NAME",
    default="",
    help="Whose permissions to look at.  [default: your own]",
)
@click.option(
    "--leave",
    "leaves",
    is_flag=True,
    help="Before going back to OCM's controllers: take our conditions out of the statuses, and say"
    " what else of ours stays.",
)
@click.option("--dry-run", is_flag=True, help="With --leave: only say what would be taken out.")
@with_settings(*_OF_THE_CONTROLLER)
@output_option
@shared
def doctor(**values: Any) -> int:
    """Look at a hub."""
    from rollout.cli.doctor import doctor as body

    return body(**values)
