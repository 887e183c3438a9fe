"""What does a person do to a rollout while it runs? `rollout pause`, `resume`, `abort`, `retry`, `skip`,
`hold`, `release`, `undo`, `approve`, `reject`, `freeze`, `unfreeze`.

Each is an annotation or an object on the hub, and is recorded with who says to have asked, when and why.
"""

import getpass
import json
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import click

from rollout.cli.naming import Target, not_found, targets
from rollout.cli.options import F, Stop, complete_kind, namespace_option, options, shared
from rollout.cli.store import open_hub
from rollout.cli.tables import full_name
from rollout.errors import Gone
from rollout.hub.base import EmbeddedHub
from rollout.model.amounts import DURATION_ACCEPTED, parse_duration
from rollout.model.instants import parse_instant
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, MANAGED_CLUSTER, REPLICA_SET, Ref
from rollout.operate import (
    Told,
    Who,
    abort,
    approve,
    freeze,
    hold,
    pause,
    reject,
    release,
    resume,
    retry,
    skip,
    undo,
    unfreeze,
    unskip,
)

_SHORT = {
    "pause": "Touch and remove nothing until it is resumed.",
    "resume": "Let a paused workload go on.",
    "abort": "Bring the present revision to no further cluster.",
    "retry": "Give what failed another attempt.",
    "skip": "Waive clusters of a workload.",
    "hold": "Keep hands off clusters for now.",
    "release": "Let held clusters take part again.",
}
Doing = Callable[[EmbeddedHub, Who], Iterable[Told]]
WORKLOADS = (REPLICA_SET, CLUSTER_MANAGEMENT_ADDON)


def _operated(command: F) -> F:
    """The options that every verb has."""
    for decorate in (
        shared,
        click.option(
            "-o",
            "--output",
            type=click.Choice(["text", "json"]),
            default="text",
            help="How to print the answer.  [default: text]",
        ),
        click.option(
            "--by",
            metavar="NAME",
            default="",
            help="Who asks; a claim, shown as one.  [default: the user of this machine]",
        ),
        click.option("--reason", metavar="TEXT", default="", help="Why, for those who read later."),
    ):
        command = decorate(command)
    return command


def _of_workload(command: F) -> F:
    """The arguments and options of a verb on one workload."""
    words = click.argument("words", metavar="KIND NAME", nargs=-1, shell_complete=complete_kind)
    return words(namespace_option(_operated(command)))


def _workload(words: tuple[str, ...], namespace: str) -> tuple[Ref, tuple[str, ...]]:
    """The workload that the first words name, and the words after it. Raises: UsageError."""
    cut = 1 if words and "/" in words[0] else 2
    named: list[Target] = targets(words[:cut]) if words else []
    if len(named) != 1 or not named[0].name or named[0].kind not in WORKLOADS:
        raise click.UsageError("name one workload: mwrs NAME, or cma NAME")
    return named[0].ref(namespace), words[cut:]


def _only(words: tuple[str, ...], namespace: str) -> Ref:
    ref, more = _workload(words, namespace)
    if more:
        raise click.UsageError(f"name one workload, and nothing after it: {' '.join(more)}")
    return ref


def _do(by: str, reason: str, output: str, doing: Doing, ref: Ref | None = None) -> int:
    """Do it, and say what came of it."""
    with open_hub(options()) as (hub, clock):
        try:
            who = Who(by or getpass.getuser(), clock.now(), reason)
            told = list(doing(hub, who))
        except Gone:
            if ref is None:
                raise
            raise Stop(
                1, f"{not_found(ref)}; `rollout list` shows which workloads there are"
            ) from None
    if output == "json":
        click.echo(json.dumps([_wire(each) for each in told], indent=2, ensure_ascii=False))
        return 0
    for each in told:
        click.echo(f"{full_name(each.ref.kind, each.ref.name)} {each.message}")
    return 0


def _wire(told: Told) -> dict[str, Any]:
    ref = told.ref
    where = {"namespace": ref.namespace} if ref.kind.namespaced else {}
    return {
        "kind": ref.kind.name,
        **where,
        "name": ref.name,
        "changed": told.changed,
        "message": told.message,
    }


def _until(text: str, now: datetime, option: str) -> datetime | None:
    """An instant, or a span from now. Raises: UsageError."""
    if not text:
        return None
    span, instant = parse_duration(text), parse_instant(text)
    if span is not None:
        return now + span
    if instant is None:
        raise click.UsageError(
            f'{option} {text!r} is neither an instant such as "2026-11-21T08:00:00Z" nor '
            f"{DURATION_ACCEPTED}"
        )
    return instant


def _plain(name: str, verb: Callable[[EmbeddedHub, Ref, Who], Told], text: str) -> click.Command:
    """A verb that takes a workload and nothing else."""

    @click.command(name=name, help=text, short_help=_SHORT[name])
    @_of_workload
    def command(words: tuple[str, ...], namespace: str, reason: str, by: str, output: str) -> int:
        ref = _only(words, namespace)
        return _do(by, reason, output, lambda hub, who: [verb(hub, ref, who)], ref)

    return command


pause_command = _plain(
    "pause",
    pause,
    "Touch and remove nothing of a workload (mwrs, cma) until it is resumed.\n\n"
    "What is in flight goes on; its deadlines and soaks run on.",
)
resume_command = _plain("resume", resume, "Let a paused workload (mwrs, cma) go on.")
abort_command = _plain(
    "abort",
    abort,
    "Bring the present revision of a workload (mwrs, cma) to no further cluster.\n\n"
    "It goes on with `rollout retry`, or with another revision. With rollback Automatic its "
    "clusters get back what soaked there.",
)
retry_command = _plain(
    "retry",
    retry,
    "Give what failed another attempt, within all limits (mwrs, cma).\n\n"
    "Takes back an abort and an undo, and lifts the bar that a rollback left.",
)


def _clusters(
    name: str,
    verb: Callable[[EmbeddedHub, Ref, Iterable[str], Who], Told],
    text: str,
    *,
    needs_one: bool = True,
    back: Callable[[EmbeddedHub, Ref, Iterable[str], Who], Told] | None = None,
) -> click.Command:
    """A verb that takes a workload and clusters; ``back`` is what --remove does instead."""

    @click.command(name=name, help=text, short_help=_SHORT[name])
    @click.argument("words", metavar="KIND NAME CLUSTER...", nargs=-1, shell_complete=complete_kind)
    @namespace_option
    @_operated
    def command(
        words: tuple[str, ...],
        namespace: str,
        reason: str,
        by: str,
        output: str,
        remove: bool = False,
    ) -> int:
        ref, clusters = _workload(words, namespace)
        if needs_one and not clusters:
            raise click.UsageError("name the clusters after the workload")
        chosen = back if remove and back is not None else verb

        def doing(hub: EmbeddedHub, who: Who) -> list[Told]:
            _warn_of_strangers(hub, clusters)
            return [chosen(hub, ref, clusters, who)]

        return _do(by, reason, output, doing, ref)

    if back is not None:
        click.option("--remove", is_flag=True, help="Take it back for these clusters.")(command)
    return command


def _warn_of_strangers(hub: EmbeddedHub, clusters: Iterable[str]) -> None:
    for cluster in clusters:
        try:
            hub.get(Ref(MANAGED_CLUSTER, cluster))
        except Gone:
            click.echo(f"warning: there is no managed cluster {cluster!r} (any more)", err=True)


skip_command = _clusters(
    "skip",
    skip,
    "Waive clusters of a workload (mwrs, cma).\n\n"
    "They are no members of their stages any more, and no failures; what they carry stays.",
    back=unskip,
)
hold_command = _clusters(
    "hold",
    hold,
    "Keep hands off clusters of a workload (mwrs, cma) for now.\n\n"
    "Nothing is written to them or removed from them; their stage waits for them.",
)
release_command = _clusters(
    "release",
    release,
    "Let held clusters of a workload (mwrs, cma) take part again; none named are all of them.",
    needs_one=False,
)


@click.command(name="undo", short_help="Take the present revision back.")
@click.option(
    "--to-revision", "number", metavar="N", type=int, help="Give back this one, where it soaked."
)
@_of_workload
def undo_command(
    words: tuple[str, ...],
    namespace: str,
    number: int | None,
    reason: str,
    by: str,
    output: str,
) -> int:
    """Take the present revision of a workload (mwrs) back from the clusters that got it.

    Each gets back the last revision that soaked there, newest touched first, within the limits of
    rollbacks. The spec is not edited: the revision is barred until the template changes, or
    `rollout retry`. `rollout history` shows the numbers.
    """
    ref = _only(words, namespace)
    return _do(by, reason, output, lambda hub, who: [undo(hub, ref, who, number)], ref)


@click.command(name="approve", short_help="Approve a gate of a rollout.")
@click.option("--gate", metavar="GATE", default="", help="Which gate; * for all of them.")
@click.option("--revision", metavar="HASH", default="", help="Only if this is still the revision.")
@click.option("--expires", metavar="SPAN", default="", help="Reached later, it counts no more.")
@_of_workload
def approve_command(
    words: tuple[str, ...],
    namespace: str,
    gate: str,
    revision: str,
    expires: str,
    reason: str,
    by: str,
    output: str,
) -> int:
    """Approve a gate of a workload (mwrs, cma), for the revision that is being rolled out.

    Writes an Approval. Another template makes it void; a gate that has opened stays open.
    """
    ref = _only(words, namespace)

    def doing(hub: EmbeddedHub, who: Who) -> Iterable[Told]:
        end = _until(expires, who.at, "--expires")
        return approve(hub, ref, who, gate, revision=revision, expires=end)

    return _do(by, reason, output, doing, ref)


@click.command(name="reject", short_help="Reject the revision that is rolled out.")
@click.option("--revision", metavar="HASH", default="", help="Only if this is still the revision.")
@_of_workload
def reject_command(
    words: tuple[str, ...], namespace: str, revision: str, reason: str, by: str, output: str
) -> int:
    """Reject the revision of a workload (mwrs, cma) that is being rolled out.

    Writes an Approval that refuses it; deleting that takes the refusal back. With rollback Automatic
    its clusters get back what soaked there.
    """
    ref = _only(words, namespace)
    return _do(by, reason, output, lambda hub, who: reject(hub, ref, who, revision=revision), ref)


@click.command(name="freeze", short_help="Stop the line: the whole hub.")
@click.argument("name", default="stop-the-line")
@click.option("--until", metavar="WHEN", default="", help="An instant, or a span such as 2h.")
@_operated
def freeze_command(name: str, until: str, reason: str, by: str, output: str) -> int:
    """Stop the line: touch and remove nothing on the whole hub.

    Writes a Freeze; it ends with --until, or with `rollout unfreeze`.
    """

    def doing(hub: EmbeddedHub, who: Who) -> Iterable[Told]:
        return [freeze(hub, who, until=_until(until, who.at, "--until"), name=name)]

    return _do(by, reason, output, doing)


@click.command(name="unfreeze", short_help="Let the line run again.")
@click.argument("name", default="")
@_operated
def unfreeze_command(name: str, reason: str, by: str, output: str) -> int:
    """Let the line run again; NAME where there are several freezes."""
    return _do(by, reason, output, lambda hub, _: unfreeze(hub, name))
