"""The commands `run`, `demo` and `agents simulate`, without their bodies.

A body is loaded when its command runs: who asks for help waits for no engine.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from rollout.cli.clocks import CLOCK_ACCEPTED, ClockMode, parse_mode
from rollout.cli.options import (
    agents_option,
    duration,
    files_option,
    namespace_option,
    seed_option,
    shared,
)
from rollout.model.amounts import DURATION_ACCEPTED

RUN_HELP = """Apply files and run their rollouts on this machine.

The hub is our own and the clusters' agents are simulated. With --state everything is kept in that
file: killed at any moment and started again, the run goes on where it was (-f may then be left out).

\b
Exit codes: the worst of all workloads, as `rollout status` gives them
  0  all rolled out
  1  one failed or halted
  3  one is not done, and nothing more would happen
  4  one waits for a person
  5  rolled out, with failures within the budget
"""


def _mode(ctx: click.Context, param: click.Parameter, value: str) -> ClockMode:
    found = parse_mode(value)
    if found is None:
        raise click.BadParameter(f"{value!r} is not {CLOCK_ACCEPTED}", ctx, param)
    return found


def _span(ctx: click.Context, param: click.Parameter, value: str | None) -> timedelta | None:
    found = duration(ctx, param, value)
    if found == timedelta(0):
        raise click.BadParameter(f"{value!r} is over at once: {DURATION_ACCEPTED}", ctx, param)
    return found


@click.command(help=RUN_HELP)
@files_option(required=False)
@namespace_option
@agents_option
@click.option(
    "--clock",
    "mode",
    default="real",
    metavar="real|virtual|xN",
    callback=_mode,
    help="How fast time goes; virtual jumps from event to event.  [default: real]",
)
@click.option(
    "--for",
    "lasts",
    metavar="SPAN",
    callback=_span,
    help="Stop after this time of the run's clock (10m), done or not; run it again to go on.",
)
@seed_option
@click.option(
    "--profile",
    "--semantics",
    "profile",
    type=click.Choice(["strict", "ocm"]),
    help="Which rules decide if an object does not say: the safe ones, or OCM's own.  [default: that of"
    " the last run on the state file, else strict]",
)
@click.option(
    "--values-settle-seconds",
    "values_settle",
    type=click.FloatRange(0, 86_400, min_open=True),
    metavar="SECONDS",
    help="What ClusterValues render for a cluster has to stay the same for this long before the cluster"
    " gets it: labels can flap.  [default: 60]",
)
@click.option(
    "--decision-log",
    "log",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write every decision down; `rollout replay FILE` makes them again.",
)
@shared
def run(**values: Any) -> int:
    """Apply files to a hub of one's own and run their rollouts there."""
    from rollout.cli.run import run as body

    return body(**values)


@click.command()
@click.option(
    "--files",
    "folder",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Run nothing: write the example's files into FOLDER, a new one, to look at and to edit.",
)
@shared
def demo(**values: Any) -> int:
    """Run the example with 310 clusters, at once.

    It is examples/canary on virtual time: two canary groups, then the rest, 25% at a time. Nothing is
    kept, unless --state is given with this command; ROLLOUT_STATE does not count here.
    """
    from rollout.cli.run import demo as body

    return body(**values)


@click.group(name="agents")
def agents_command() -> None:
    """Simulate the agents of clusters that have none."""


@agents_command.command(name="simulate")
@click.option(
    "--agents",
    metavar="SCENARIO.yaml",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="How they behave; without it all are healthy.",
)
@seed_option
@shared
def simulate_agents_command(**values: Any) -> None:
    """Act for the agents of every cluster of a hub, until interrupted, to try the hub with nothing else.

    Clusters get their namespace and what an agent says when it joins. A hub on which a real agent is at
    work is refused.
    """
    from rollout.cli.agents import simulate as body

    body(**values)
