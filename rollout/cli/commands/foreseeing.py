"""The commands `validate`, `plan` and `simulate`, without their bodies.

A body is loaded when its command runs: who asks for help waits for no engine.
"""

from pathlib import Path
from typing import Any

import click

from rollout.cli.options import (
    agents_option,
    files_option,
    namespace_option,
    output_option,
    seed_option,
    shared,
    shared_without_hub,
)

PLAN_HELP = """Show what would happen if files were applied now; nothing is changed.

It shows clusters added, updated and removed by stage and in order, with limits as numbers; how the
manifests of one cluster change; the earliest finish; and warnings. Without a state file or server, the
hub counts as empty.

\b
Exit codes:
   0  nothing would change
  10  something would
   1  the files could not be applied
"""


@click.command(help=PLAN_HELP, short_help="Show what would happen if files were applied now.")
@files_option()
@namespace_option
@click.option("--all", "whole", is_flag=True, help="Name every cluster and every object.")
@click.option(
    "--show-secrets",
    is_flag=True,
    help="Show the data of Secrets in the diff; the plan that --out keeps never has it.",
)
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep the plan, for `rollout apply --plan FILE`.",
)
@output_option
@shared
def plan(**values: Any) -> int:
    """Show what would happen if files were applied now."""
    from rollout.cli.plan import plan as body

    return body(**values)


DIFF_HELP = """Show what applying files would change in what is stored, field by field.

What follows for clusters is what `rollout plan` says.

\b
Exit codes:
   0  nothing differs
  10  something does
   1  the files could not be applied
"""


@click.command(
    help=DIFF_HELP,
    short_help="Show what applying files would change in what is stored, field by field.",
)
@files_option()
@namespace_option
@click.option("--show-secrets", is_flag=True, help="Show the data of Secrets.")
@output_option
@shared
def diff(**values: Any) -> int:
    """Show what applying files would change in what is stored, field by field."""
    from rollout.cli.plan import diff as body

    return body(**values)


MOST_RUNS, MOST_JOBS = 100_000, 256

SIMULATE_HELP = """Roll files out in virtual time against simulated agents, in memory.

One run is shown as a timeline: each stage a row, filling up as its clusters soak. With --runs each
run has its own seed (--seed, and the numbers after it). The result shows how many runs end in which
way, how long they take, and how many clusters get the change before a halt. It does not depend on the
number of processes (--jobs).

With --state or --context the runs begin with the objects that are stored there.
The exit code is 0 for every result.
"""


@click.command(
    name="simulate",
    help=SIMULATE_HELP,
    short_help="Roll files out in virtual time, once or a thousand times.",
)
@files_option(required=False)
@namespace_option
@agents_option
@seed_option
@click.option(
    "--runs",
    type=click.IntRange(1, MOST_RUNS),
    default=1,
    help=f"How many runs, at most {MOST_RUNS:,}.  [default: 1]",
)
@click.option(
    "--compare",
    metavar="A.yaml B.yaml",
    type=click.Path(exists=True, path_type=Path),
    nargs=2,
    help="Two variants side by side: each is the files of -f with those of A, or of B, over them.",
)
@click.option(
    "--svg",
    "picture",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the timeline of the first run.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, MOST_JOBS),
    help=f"Processes at work, at most {MOST_JOBS}.  [default: all cores]",
)
@output_option
@shared
def simulate_command(**values: Any) -> None:
    """Roll files out in virtual time, once or many times."""
    from rollout.cli.simulate import simulate_command as body

    body(**values)


@click.command()
@files_option()
@namespace_option
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option(
    "--force", is_flag=True, help="Skip and hold may also name clusters that are not in the files."
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    help="How to print the findings: github for annotations of a workflow, sarif for code scanning."
    "  [default: text]",
)
@shared_without_hub
def validate(**values: Any) -> int:
    """Check files, without a hub.

    Every error and warning is told at once; exit code 1 where there is an error. Only the
    files are looked at: what may exist on the hub is a warning, and no error. But where they
    have clusters, annotations skip and hold may name no other one, unless --force is given.
    """
    from rollout.cli.validate import validate as body

    return body(**values)
