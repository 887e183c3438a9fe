"""`rollout apply`: creates or updates objects from files."""

from pathlib import Path

import click

from rollout.cli.documents import good_documents, nothing_in, read_documents
from rollout.cli.options import Stop, complain, files_option, namespace_option, options, shared
from rollout.cli.store import open_hub
from rollout.cli.text import say
from rollout.operate.applying import Applied, apply_documents


@click.command()
@files_option(required=False)
@click.option(
    "--plan",
    "plan_file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Apply the files of a plan (`rollout plan --out FILE`), unless anything that it rests on has"
    " changed since.",
)
@namespace_option
@shared
def apply(paths: tuple[str, ...], plan_file: Path | None, namespace: str) -> int:
    """Create or update objects from files.

    Fields that an earlier apply set and the file no longer has are removed; fields that others set
    are left alone. Good documents are applied even where others are bad; then the exit code is 1.
    The state file is made where there is none.
    """
    if plan_file is not None:
        return _apply_plan(plan_file, paths, namespace)
    if not paths:
        raise click.UsageError("give -f PATH, or --plan FILE")
    documents = read_documents(paths, namespace)
    if not documents:
        raise nothing_in(paths)
    with open_hub(options(), create=bool(options().state)) as (hub, _):
        return report(apply_documents(hub, documents))


def _apply_plan(plan_file: Path, paths: tuple[str, ...], namespace: str) -> int:
    """Apply what was planned, in one transaction with the check that the plan still holds."""
    from rollout.analysis.seals import is_sealed  # noqa: PLC0415  (apply alone needs none of it)
    from rollout.cli.plan import fingerprint_of, kept_plan  # noqa: PLC0415  (as above)

    sealed, planned, space = kept_plan(plan_file)
    if "-" in planned and not paths:
        raise Stop(2, "the plan was made of stdin: give the same again with -f")
    documents = good_documents(paths or planned, namespace or space, "applied")
    with open_hub(options(), create=bool(options().state)) as (hub, _), hub.batch():
        if not is_sealed(sealed, fingerprint_of(documents, hub)):
            raise Stop(
                1,
                f"{plan_file} is stale: the files, or objects that it rests on, have changed"
                " since; nothing was applied; look at a new plan (`rollout plan --out`)",
            )
        return report(apply_documents(hub, documents))


def report(outcomes: list[Applied]) -> int:
    """Print what became of each document. Returns: the exit code."""
    for outcome in outcomes:
        if outcome.failed:
            complain(outcome.line)
        else:
            say(outcome.line)
    return int(any(outcome.failed for outcome in outcomes))
