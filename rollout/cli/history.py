"""Which revisions has a workload had? `rollout history`."""

import click

from rollout.analysis.histories import History, history
from rollout.cli.ages import age
from rollout.cli.asking import missing, output_option, show, sighted, workload_ref
from rollout.cli.options import complete_kind, namespace_option, shared
from rollout.cli.tables import Table, lines, widths


@click.command(name="history")
@click.argument("words", metavar="mwrs NAME", nargs=-1, shell_complete=complete_kind)
@namespace_option
@output_option
@shared
def history_command(words: tuple[str, ...], namespace: str, output: str) -> None:
    """Show the revisions of a workload (mwrs), newest first.

    CLUSTERS counts those that carry a revision now.
    """
    ref = workload_ref(words, namespace, "history")
    with sighted() as (hub, sight):
        found = history(hub, sight, ref.key)
        if found is None:
            raise missing(ref)
        show(found, output, history_lines(found))


def history_lines(found: History) -> list[str]:
    """The table of all revisions."""
    rows = tuple(
        (
            "-" if each.number is None else str(each.number),
            each.revision,
            each.role.value,
            str(each.clusters),
            age(found.now - each.created) if each.created else "",
        )
        for each in found.revisions
    )
    shown = Table(("NUMBER", "REVISION", "STATE", "CLUSTERS", "AGE"), rows)
    told = lines(shown, widths(shown))
    if found.unknown:
        told.append(f"{found.unknown} clusters carry something that is no revision of {found.key}")
    return told
