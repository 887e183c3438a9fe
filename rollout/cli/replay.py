"""`rollout replay`: makes the decisions of a log again, and compares."""

import json
from pathlib import Path

import click

from rollout.cli.options import Stop, output_option, shared_without_hub
from rollout.cli.text import put, say
from rollout.runtime.decisions import Redecision, read_log, redecide

_SHOWN = 5


@click.command(name="replay", short_help="Make the decisions of a log again, and compare.")
@click.argument(
    "path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@output_option
@shared_without_hub
def replay_command(path: Path, output: str) -> int:
    """Make every decision of a decision log again, and compare.

    The log is written by `rollout run --decision-log` and `rollout controller --decision-log`. FILE.1
    has the decisions before it. Exit codes: 0 all are the same, 1 one differs, or there is none.
    """
    total, different = 0, list[Redecision]()
    for again in redecide(read_log(path)):
        total += 1
        if not again.is_same:
            different.append(again)
    if not total:
        raise Stop(
            1,
            f"{path} holds no decision that could be made again; a log is written with"
            " `rollout run --decision-log FILE`",
        )
    if output == "json":
        lines = [{"line": each.number, "workload": each.line.workload} for each in different]
        put(json.dumps({"decisions": total, "different": lines}, indent=2))
        return 1 if different else 0
    for each in different[:_SHOWN]:
        say(f"line {each.number}: {each.line.workload} is decided otherwise now")
    say(f"replayed {total} decisions, {len(different)} differ")
    return 1 if different else 0
