"""Which revisions has a workload had? `rollout history`."""

import click

from rollout.analysis.histories import History, history
from rollout.cli.ages import age
from rollout.cli.asking import missing, show, sighted
from rollout.cli.completing import complete_kind
from rollout.cli.options import namespace_option, output_option, shared
from rollout.cli.tables import Table, lines, widths
from rollout.cli.workloads import only_workload
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON


@click.command(name="history")
@click.argument("words", metavar="mwrs|cma NAME", nargs=-1, shell_complete=complete_kind)
@namespace_option
@output_option
@shared
def history_command(words: tuple[str, ...], namespace: str, output: str) -> None:
    """Show the revisions of a workload (mwrs, cma), newest first.

    CLUSTERS counts those that carry a revision now. Of an add-on's configurations no past is kept:
    there are the revisions that are asked for, and those that clusters still carry.
    """
    ref = only_workload(words, namespace)
    with sighted() as (hub, sight):
        found = history(hub, sight, ref)
        if found is None:
            raise missing(ref)
        show(found, output, history_lines(found))


def history_lines(found: History) -> list[str]:
    """The table of all revisions."""
    header = ("NUMBER", "REVISION", "STATE", "CLUSTERS", "AGE")
    rows = [
        (
            "-" if each.number is None else str(each.number),
            each.revision,
            each.role.value,
            str(each.clusters),
            age(found.now - each.created) if each.created else "",
            ", ".join(each.made_of),
        )
        for each in found.revisions
    ]
    if found.kind == CLUSTER_MANAGEMENT_ADDON.name:
        shown = Table((*header[1:], "CONFIGURATIONS"), tuple(row[1:] for row in rows))
    else:
        shown = Table(header, tuple(row[:-1] for row in rows))
    told = lines(shown, widths(shown))
    if found.unknown:
        told.append(f"{found.unknown} clusters carry something that is no revision of {found.key}")
    return told
