"""Defines the verbs by which people act on a rollout while it runs: `rollout pause`, `resume`, `abort`,
`retry`, `undo`, `approve`, `reject`, `skip`, `hold`, `release`, `freeze`, `unfreeze`, `override`.

Each is an annotation or an object on the hub, and is recorded with who says to have asked, when and why.
"""

from collections.abc import Callable, Iterable
from functools import partial

import click

from rollout import operate
from rollout.cli.naming import (
    clusters_of,
    complete_gate,
    only_workload,
    workload_argument,
    workload_of,
)
from rollout.cli.options import F, decorated, instant_in, namespace_option, shared
from rollout.cli.verbs import OPERATED, do, of_workload, operated
from rollout.hub.base import EmbeddedHub
from rollout.model.intents import Intents
from rollout.model.kinds import FREEZE, Ref
from rollout.operate.edits import VerbResult, Who

OfWorkload = Callable[..., VerbResult]
OfClusters = Callable[[EmbeddedHub, Ref, Iterable[str], Who], VerbResult]

_revision_option = click.option(
    "--revision",
    metavar="HASH",
    default="",
    help="The revision that you looked at; refused if another one is rolled out by now.",
)
_shown_option = click.option(
    "--revision",
    "shown",
    metavar="HASH",
    default="",
    callback=lambda _context, _option, text: frozenset(clusters_of([text])),
    help="The revision that you looked at (of an add-on all of them, with commas); refused where it is"
    " another one by now.",
)


# -- of a workload -----------------------------------------------------------------------------


def _plain(name: str, text: str, *, of_revision: bool = False) -> click.Command:
    """A verb that takes a workload and, where it is about a revision, the one that was looked at."""

    def command(
        words: tuple[str, ...],
        namespace: str,
        reason: str,
        by: str,
        output: str,
        **seen: frozenset[str],
    ) -> None:
        verb: OfWorkload = getattr(operate, name)
        do(
            (by, reason, output),
            only_workload(words, namespace),
            lambda hub, ref, who: [verb(hub, ref, who, **seen)],
        )

    own = (_shown_option,) if of_revision else ()
    return click.command(name=name, help=text)(decorated(of_workload(command), *own))


pause_command = _plain(
    "pause",
    """Pause a workload: nothing of it is touched or removed until it is resumed.

    What is in flight goes on; its deadlines and soaks run on.
    """,
)
resume_command = _plain(
    "resume",
    """Let a paused workload go on.

    Nothing is skipped or repeated: what soaked meanwhile has soaked.
    """,
)
abort_command = _plain(
    "abort",
    """Stop rolling out the current revision.

    Clusters that have it keep it, unless the workload asks for automatic rollback. The rollout goes on
    with `rollout retry`, or with another revision. If the template comes back to this revision, it is
    still aborted.
    """,
    of_revision=True,
)
retry_command = _plain(
    "retry",
    """Retry failed clusters (all limits still apply).

    Takes an abort and an undo back, and lifts the bar on a revision that was rolled back.
    """,
    of_revision=True,
)


@click.command(name="undo")
@click.option(
    "--to-revision",
    "number",
    metavar="N",
    type=int,
    help="Give back this revision, where it has soaked; `rollout history` shows the numbers.",
)
@_shown_option
@of_workload
def undo_command(
    words: tuple[str, ...],
    number: int | None,
    shown: frozenset[str],
    namespace: str,
    reason: str,
    by: str,
    output: str,
) -> None:
    """Roll the clusters that got the current revision back.

    Each gets the revision that soaked there last; clusters touched last go back first, within the limits
    of rollbacks. The spec is not edited. If the template changes and comes back to the revision, that is
    still barred; `rollout retry` lifts the bar. Earlier configurations of add-ons are not kept and cannot
    be restored.
    """
    do(
        (by, reason, output),
        only_workload(words, namespace),
        lambda hub, ref, who: [operate.undo(hub, ref, who, number, shown=shown)],
    )


# -- of a revision -----------------------------------------------------------------------------


@click.command(name="approve")
@click.option(
    "--gate",
    metavar="GATE",
    default="",
    shell_complete=complete_gate,
    help="Which gate, where there are several; * for all of them; cluster/NAME: its analysis.",
)
@_revision_option
@click.option(
    "--expires",
    metavar="WHEN",
    default="",
    help="An instant, or a span such as 2h: a gate that is reached later stays shut.",
)
@of_workload
def approve_command(
    words: tuple[str, ...],
    gate: str,
    revision: str,
    expires: str,
    namespace: str,
    reason: str,
    by: str,
    output: str,
) -> None:
    """Approve a gate of the revision that is being rolled out.

    Writes an Approval. It is void once the template changes; a gate that has opened stays open.
    """

    def doing(hub: EmbeddedHub, ref: Ref, who: Who) -> Iterable[VerbResult]:
        end = instant_in(expires, who.at, "--expires")
        return operate.approve(hub, ref, who, gate, revision=revision, expires=end)

    do((by, reason, output), only_workload(words, namespace), doing)


@click.command(name="reject")
@_revision_option
@of_workload
def reject_command(
    words: tuple[str, ...], revision: str, namespace: str, reason: str, by: str, output: str
) -> None:
    """Reject the revision that is being rolled out.

    The revision is rolled out to no more clusters. This writes an Approval that rejects it; delete it to
    withdraw the rejection. If the workload asks for automatic rollback, clusters get back what they had.
    """
    do(
        (by, reason, output),
        only_workload(words, namespace),
        lambda hub, ref, who: operate.reject(hub, ref, who, revision=revision),
    )


# -- of clusters -------------------------------------------------------------------------------


def _of_clusters(takes_back: bool) -> Callable[[F], F]:
    """The arguments and options of a verb on clusters of a workload."""
    metavar = "[mwrs|cma] NAME [CLUSTER]..." if takes_back else "[mwrs|cma] NAME CLUSTER..."
    among = _held if takes_back else None
    words = workload_argument(metavar, clusters=True, among=among)

    def decorate(command: F) -> F:
        return decorated(command, words, namespace_option, *OPERATED)

    return decorate


def _held(intents: Intents) -> Iterable[str]:
    return intents.held


_force_option = click.option(
    "--force", is_flag=True, help="Also name clusters that do not exist (yet)."
)


def _do_to_clusters(
    verb: OfClusters,
    words: tuple[str, ...],
    namespace: str,
    asked: tuple[str, str, str],
    *,
    takes_back: bool = False,
) -> None:
    """``takes_back``: the verb ends something; without names it does so for all clusters."""
    named, more = workload_of(words, namespace)
    clusters = clusters_of(more)
    if not clusters and not takes_back:
        raise click.UsageError(f"name the clusters, after {' '.join(words)}")
    do(asked, named, lambda hub, ref, who: [verb(hub, ref, clusters, who)])


@click.command(name="skip")
@click.option(
    "--remove", is_flag=True, help="End the skip of these clusters; without names, of all."
)
@_force_option
@_shown_option
@_of_clusters(False)
def skip_command(
    words: tuple[str, ...],
    remove: bool,
    force: bool,
    shown: frozenset[str],
    namespace: str,
    reason: str,
    by: str,
    output: str,
) -> None:
    """Exclude clusters from the rollout of the current revision.

    They belong to no stage any more, and are not counted as failures. What they carry stays. A later revision
    asks for them again.
    """
    if remove and shown:
        raise click.UsageError("--remove ends skips of all revisions: leave --revision out")
    verb = operate.unskip if remove else partial(operate.skip, force=force, shown=shown)
    _do_to_clusters(verb, words, namespace, (by, reason, output), takes_back=remove)


@click.command(name="hold")
@_force_option
@_of_clusters(False)
def hold_command(
    words: tuple[str, ...], force: bool, namespace: str, reason: str, by: str, output: str
) -> None:
    """Leave clusters untouched until they are released.

    Nothing is written to them or removed from them, and their stage waits for them.
    """
    verb = partial(operate.hold, force=force)
    _do_to_clusters(verb, words, namespace, (by, reason, output))


@click.command(name="release")
@_of_clusters(True)
def release_command(
    words: tuple[str, ...], namespace: str, reason: str, by: str, output: str
) -> None:
    """Let held clusters of a workload take part again.

    Without names, all of them do.
    """
    _do_to_clusters(operate.release, words, namespace, (by, reason, output), takes_back=True)


@click.group(name="override")
@shared
def override_command() -> None:
    """Let a workload ignore calendars for a limited time."""


@override_command.command(name="calendar")
@click.option("--until", metavar="WHEN", help="An instant, or a span such as 2h: at most 24h.")
@click.option("--end", is_flag=True, help="Let calendars count again.")
@of_workload
def override_calendar_command(
    words: tuple[str, ...],
    until: str | None,
    end: bool,
    namespace: str,
    reason: str,
    by: str,
    output: str,
) -> None:
    """Let a workload ignore calendars for a limited time, in an emergency."""
    if bool(until) is end:
        raise click.UsageError("give --until WHEN, or --end")

    def doing(hub: EmbeddedHub, ref: Ref, who: Who) -> Iterable[VerbResult]:
        instant = instant_in(until or "", who.at, "--until")
        return [operate.override_calendars(hub, ref, instant, who)]

    do((by, reason, output), only_workload(words, namespace), doing)


# -- of the hub --------------------------------------------------------------------------------


@click.command(name="freeze")
@click.argument("name", default=operate.FREEZE_NAME)
@click.option("--until", metavar="WHEN", default="", help="An instant, or a span such as 2h.")
@click.option("--shorten", is_flag=True, help="Let a Freeze that stands end earlier than it would.")
@operated
def freeze_command(name: str, until: str, shorten: bool, reason: str, by: str, output: str) -> None:
    """Freeze every rollout on the hub: nothing is touched or removed.

    This writes a Freeze, called stop-the-line unless NAME is given. It ends with --until, or with
    `rollout unfreeze`. A second call makes it longer, and shorter only with --shorten.
    """

    def doing(hub: EmbeddedHub, ref: Ref, who: Who) -> Iterable[VerbResult]:
        end = instant_in(until, who.at, "--until")
        return [operate.freeze(hub, who, until=end, name=ref.name, shorten=shorten)]

    do((by, reason, output), Ref(FREEZE, name), doing)


@click.command(name="unfreeze")
@click.argument("name", default="")
@operated
def unfreeze_command(name: str, reason: str, by: str, output: str) -> None:
    """End a freeze: rollouts on the hub go on.

    NAME says which, where there are several. The Freeze stays, as a record of who ended it and when.
    """
    do(
        (by, reason, output),
        Ref(FREEZE, name),
        lambda hub, ref, who: [operate.unfreeze(hub, who, ref.name)],
    )
