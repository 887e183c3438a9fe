"""The command `rollout notify test`, without its body.

The body is loaded when the command runs: who asks for help waits for no network library.
"""

from typing import Any

import click

from rollout.cli.naming import workload_argument
from rollout.cli.options import namespace_option, shared


@click.group(name="notify")
@shared
def notify_command() -> None:
    """Try the channels on which people are told of rollouts."""


@notify_command.command(name="test")
@workload_argument("[mwrs|cma] NAME")
@namespace_option
@click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="NAME",
    help="Try this channel, whether the workload names it or not.  [default: all that it names]",
)
@click.option(
    "--notify-hosts",
    "hosts",
    metavar="HOSTS",
    envvar="ROLLOUT_NOTIFY_HOSTS",
    default="",
    help="Allowed hosts, in the form of the controller's setting --notify-hosts.",
)
@shared
def test_command(**values: Any) -> int:
    """Send a test to the channels of a workload, from this machine.

    It reads the Secrets of the channels, with your rights. Exit code 1 where one of them fails.
    """
    from rollout.cli.notify import test_channels

    return test_channels(**values)
