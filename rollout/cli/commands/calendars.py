"""The commands of calendars, without their bodies.

A body is loaded when its command runs: who asks for help waits for no engine.
"""

from datetime import datetime
from typing import Any

import click

from rollout.cli.options import F, decorated, files_option, namespace_option, output_option, shared
from rollout.model.instants import parse_instant


def _instant(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    found = parse_instant(value)
    if value is not None and found is None:
        raise click.BadParameter(
            f'{value!r} is not an instant such as "2026-11-21T08:00:00Z"', ctx, param
        )
    return found


def _asking(command: F) -> F:
    """The options that both commands have."""
    at = click.option(
        "--at",
        metavar="INSTANT",
        callback=_instant,
        help="Look at this instant, such as 2026-12-24T18:00:00Z.  [default: now]",
    )
    return decorated(command, files_option(required=False), namespace_option, at)


@click.group(name="calendar")
@shared
def calendar_command() -> None:
    """Show when calendars let clusters be touched."""


@calendar_command.command(name="list")
@_asking
@click.option("-A", "--all-namespaces", is_flag=True, help="Calendars of every namespace.")
@output_option
@shared
def list_command(**values: Any) -> None:
    """Show every calendar: in how many of its zones it is open, and what changes next.

    Calendars of the whole hub (ClusterCalendar) are always among them.
    """
    from rollout.cli.calendar import list_command as body

    body(**values)


@calendar_command.command(name="show")
@click.argument("name")
@_asking
@click.option("--week", "with_week", is_flag=True, help="Draw the seven days from today on.")
@click.option("--zone", "zones", multiple=True, metavar="ZONE", help="Show these zones only.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "svg"]),
    default="text",
    help="How to print the answer; svg draws the week of one zone.  [default: text]",
)
@shared
def show_command(**values: Any) -> None:
    """Show one calendar: its windows, and in each of its zones whether it is open and until when.

    NAME is a Calendar of the namespace or, where there is none, a ClusterCalendar.
    """
    from rollout.cli.calendar import show_command as body

    body(**values)
