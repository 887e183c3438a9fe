"""How do all workloads stand, a line each? `rollout list`."""

from datetime import datetime

import click

from rollout.analysis.histories import Line, lines
from rollout.cli.ages import age
from rollout.cli.asking import show, sighted
from rollout.cli.figures import result
from rollout.cli.naming import DEFAULT_NAMESPACE
from rollout.cli.options import namespace_option, output_option, shared
from rollout.cli.saying import say
from rollout.cli.tables import Table, widths
from rollout.cli.tables import lines as table_lines
from rollout.cli.verdict import Verdict, verdict
from rollout.model.kinds import KINDS, Ref, key_of


@click.command(name="list")
@namespace_option
@click.option("-A", "--all-namespaces", is_flag=True, help="Workloads of every namespace.")
@output_option
@shared
def list_command(namespace: str, all_namespaces: bool, output: str) -> None:
    """Show every workload (mwrs, cma) and how its rollout stands.

    STAGE is the first that has not passed; UPDATED counts the clusters that carry the revision;
    BUDGET is how many may fail there. Add-ons (cma) have no namespace and are always among them.
    """
    place = None if all_namespaces else namespace or DEFAULT_NAMESPACE
    with sighted() as (_, sight):
        found = lines(sight, place)
        verdicts = [verdict(sight.now_says(ref_of_line(line))) for line in found]
        if not found and output == "text":
            where = f" in namespace {place}" if place else ""
            say(f"there is no workload{where}; `rollout apply -f PATH` makes one", err=True)
            return
        show(found, output, list_lines(found, verdicts, sight.now, spaces=all_namespaces))


def ref_of_line(line: Line) -> Ref:
    """The workload that a line is about."""
    return Ref(KINDS[line.kind], key_of(line.namespace, line.name))


def list_lines(
    found: tuple[Line, ...], verdicts: list[Verdict], now: datetime, *, spaces: bool = False
) -> list[str]:
    """The table of all workloads. KIND and NAME are what other verbs take."""
    rows = []
    for line, stands in zip(found, verdicts, strict=True):
        row = (
            line.name,
            result(stands),
            line.stage,
            f"{line.updated}/{line.total}",
            str(line.failed),
            "any" if line.budget is None else str(line.budget),
            age(now - line.created) if line.created else "",
        )
        lead = ((line.namespace,) if spaces else ()) + (KINDS[line.kind].short[0],)
        rows.append((*lead, *row))
    columns = ("NAME", "RESULT", "STAGE", "UPDATED", "FAILED", "BUDGET", "AGE")
    shown = Table((*(("NAMESPACE",) if spaces else ()), "KIND", *columns), tuple(rows))
    return table_lines(shown, widths(shown))
