"""How do stored objects come to say what files say? `rollout apply`."""

from collections.abc import Callable

import click

from rollout.cli.applying import Applied, apply_documents
from rollout.cli.documents import read_documents
from rollout.cli.options import F, complain, namespace_option, options, shared
from rollout.cli.store import open_hub


def files_option(*, required: bool = True) -> Callable[[F], F]:
    """``-f PATH``, as every command that reads files has it."""
    return click.option(
        "-f",
        "--filename",
        "paths",
        metavar="PATH",
        multiple=True,
        required=required,
        help="A YAML or JSON file, a directory of them, or - for stdin. May be given several times.",
    )


@click.command()
@files_option()
@namespace_option
@shared
def apply(paths: tuple[str, ...], namespace: str) -> int:
    """Make stored objects say what files say.

    Fields that an earlier apply set and the file no longer has are removed; fields that others set
    are left alone. Good documents are applied even where others are bad; then the exit code is 1.
    The state file is made where there is none.
    """
    documents = read_documents(paths, namespace)
    with open_hub(options(), create=bool(options().state)) as (hub, _):
        return report(apply_documents(hub, documents))


def report(outcomes: list[Applied]) -> int:
    """Print what became of each document. Returns: the exit code."""
    for outcome in outcomes:
        if outcome.failed:
            complain(outcome.line)
        else:
            click.echo(outcome.line)
    if not outcomes:
        complain("no objects were found in the files")
    return int(not outcomes or any(outcome.failed for outcome in outcomes))
