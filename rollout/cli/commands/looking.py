"""The commands that show objects, workloads and reasons, without their bodies.

A body is loaded when its command runs: who asks for help waits for no engine.
"""

from typing import Any

import click
from click.shell_completion import CompletionItem

from rollout.cli.hiding import show_secrets_option
from rollout.cli.naming import complete_kind, complete_names
from rollout.cli.options import duration, namespace_option, output_option, shared
from rollout.cli.tables import FORMATS
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    KINDS,
    MANAGED_CLUSTER,
    PLACEMENT,
    REPLICA_SET,
    WORKLOADS,
    Kind,
    find,
)

GET_HELP = """Show objects, or one workload as a tree.

KIND is a kind by its plural, singular or short name:
"""

_KINDS = (
    ", ".join(
        kind.plural + (f" ({', '.join(kind.short)})" if kind.short else "")
        for kind in KINDS.values()
    )
    + "."
)

GET_HELP += f"""{_KINDS} A word that is not a kind is the name of a workload.

`rollout get NAME --watch` shows the workload NAME as a tree of stages, groups and clusters, until it is
rolled out or has halted. Its exit codes are those of `rollout status`.
"""


def _format(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    names = (*FORMATS, "tree")
    if value is None or value in names or value.startswith(("jsonpath=", "custom-columns=")):
        return value
    accepted = f"{', '.join(names)}, jsonpath=TEMPLATE or custom-columns=NAME:.PATH"
    raise click.BadParameter(f"{value!r} is not one of {accepted}", ctx, param)


@click.command(help=GET_HELP)
@click.argument(
    "words",
    metavar="KIND[,KIND...] [NAME...] | KIND/NAME...",
    nargs=-1,
    shell_complete=complete_kind,
)
@namespace_option
@click.option("-A", "--all-namespaces", is_flag=True, help="Objects of every namespace.")
@click.option("-l", "--selector", default="", help="Labels: a=b,c!=d,e in (x,y),f,!g.")
@click.option(
    "-o",
    "--output",
    metavar="|".join((*FORMATS, "tree", "jsonpath=...", "custom-columns=...")),
    callback=_format,
    help="How to print them.  [default: table; tree for --watch of one workload]",
)
@click.option("--sort-by", "order", metavar="PATH", default="", help="A field, as .metadata.name.")
@click.option("-w", "--watch", is_flag=True, help="Then go on printing each object that changes.")
@click.option(
    "--timeout",
    metavar="DURATION",
    callback=duration,
    help="How long to watch a workload, as 90s or 1h30m.  [default: for ever]",
)
@click.option("--all", "whole", is_flag=True, help="In a tree: name every cluster.")
@click.option("--no-headers", is_flag=True, help="Tables without their header line.")
@show_secrets_option
@shared
def get(**values: Any) -> int:
    """Show objects, or one workload as a tree."""
    from rollout.cli.get import get as body

    return body(**values)


STATUS_HELP = """Show the status of a workload (mwrs, cma).

\b
Exit codes:
  0  rolled out
  1  failed or halted (more failures than allowed, rolled back, misconfigured, being deleted,
     not there)
  2  usage error
  3  still going on (with --wait: when the time was up)
  4  waiting for a person (paused, frozen, aborted, for an approval, ...)
  5  rolled out, with failures within the budget
"""


@click.command(help=STATUS_HELP)
@click.argument("words", metavar="[mwrs|cma] NAME", nargs=-1, shell_complete=complete_kind)
@namespace_option
@click.option("--wait", is_flag=True, help="Wait until it is done, or stands still for good.")
@click.option(
    "--timeout",
    default="10m",
    metavar="DURATION",
    callback=duration,
    help="How long to wait, as 90s or 1h30m.  [default: 10m]",
)
@click.option(
    "--grace",
    default="3s",
    metavar="DURATION",
    callback=duration,
    help="With --wait: if it is done at once, look again after this time. The engine may not have "
    "seen the last verb yet (resume, approve, retry, ...).  [default: 3s]",
)
@output_option
@shared
def status(**values: Any) -> int:
    """Show the status of a workload, and whether it is worth waiting."""
    from rollout.cli.status import status as body

    return body(**values)


@click.command(name="list")
@namespace_option
@click.option("-A", "--all-namespaces", is_flag=True, help="Workloads of every namespace.")
@output_option
@shared
def list_command(**values: Any) -> None:
    """Show every workload (mwrs, cma) and how its rollout stands.

    STAGE is the first that has not passed; UPDATED counts the clusters that carry the revision;
    BUDGET is how many may fail there. Add-ons (cma) have no namespace and are always among them.
    """
    from rollout.cli.status import list_command as body

    body(**values)


EXPLAIN_HELP = """Explain why something is in its present state and what would change it.

\b
rollout explain NAME              the one reason why a workload is not done; its stages
rollout explain rollout NAME      the same; the workload is a ManifestWorkReplicaSet (mwrs)
rollout explain addon NAME        the same; the workload is an add-on (cma)
rollout explain cluster NAME      what each workload waits for there, or why it is not selected
rollout explain placement NAME    which clusters are selected, which refused, and why

No engine has to run: the answer follows from the stored objects.
"""

_SUBJECTS = {
    "rollout": REPLICA_SET,
    "addon": CLUSTER_MANAGEMENT_ADDON,
    "cluster": MANAGED_CLUSTER,
    "placement": PLACEMENT,
}


def _subject(words: tuple[str, ...]) -> tuple[Kind | None, str]:
    """The kind and the name; a name alone is that of a workload of either kind."""
    kind = (_SUBJECTS.get(words[0]) or find(words[0])) if words else None
    if len(words) == 1 and kind is None:
        return None, words[0]
    subjects = ", ".join(_SUBJECTS)
    if words and kind not in (*_SUBJECTS.values(), *WORKLOADS):
        raise click.UsageError(f"{words[0]!r} is not one of {subjects}")
    if len(words) != 2:
        raise click.UsageError(
            f"name one of {subjects}, and then NAME; or a workload by NAME alone"
        )
    return kind, words[1]


def _complete_subject(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem[Any]]:
    before = ctx.params.get(str(param.name)) or ()
    if before:
        kind = _SUBJECTS.get(before[0]) or find(before[0])
        return complete_names(ctx, kind, incomplete) if kind in _SUBJECTS.values() and kind else []
    return [CompletionItem(word) for word in _SUBJECTS if word.startswith(incomplete)]


@click.command(
    help=EXPLAIN_HELP,
    short_help="Explain why something is in its present state and what would change it.",
)
@click.argument(
    "words", metavar=f"[{'|'.join(_SUBJECTS)}] NAME", nargs=-1, shell_complete=_complete_subject
)
@click.option(
    "--workload",
    default="",
    metavar="NAME",
    help="For explain cluster: only this workload (an add-on as cma/NAME).",
)
@click.option(
    "--cluster", default="", metavar="NAME", help="For explain placement: only this cluster."
)
@click.option("--all", "whole", is_flag=True, help="For explain placement: show every candidate.")
@namespace_option
@output_option
@shared
def explain(words: tuple[str, ...], **values: Any) -> None:
    """Explain the present state of a rollout, an add-on, a cluster or a placement."""
    from rollout.cli.explain import explain as body

    kind, name = _subject(words)
    body(kind=kind, name=name, **values)


@click.command(short_help="Show all there is to know of a workload (mwrs, cma).")
@click.argument("words", metavar="[mwrs|cma] NAME", nargs=-1, shell_complete=complete_kind)
@namespace_option
@output_option
@shared
def describe(**values: Any) -> None:
    """Show all there is to know of a workload (mwrs, cma): strategy, stages, failures, revisions."""
    from rollout.cli.describe import describe as body

    body(**values)


@click.command(name="history")
@click.argument("words", metavar="[mwrs|cma] NAME", nargs=-1, shell_complete=complete_kind)
@namespace_option
@click.option(
    "--revision", metavar="NUMBER", default="", help="Show the template of one of them, as YAML."
)
@show_secrets_option
@output_option
@shared
def history_command(**values: Any) -> None:
    """Show the revisions of a workload (mwrs, cma), newest first.

    CLUSTERS counts those that carry a revision now. Earlier configurations of an
    add-on are not kept: its list has the revisions that are asked for, and those that clusters carry.
    """
    from rollout.cli.describe import history_command as body

    body(**values)


@click.command(name="events")
@click.argument("words", metavar="[[mwrs|cma] NAME]", nargs=-1, shell_complete=complete_kind)
@namespace_option
@output_option
@shared
def events_command(**values: Any) -> None:
    """Show what happened, oldest first: to one workload, or to all of them.

    On a state file that is what runs have kept in it; on a hub, the Events that are still there.
    """
    from rollout.cli.events import events as body

    body(**values)
