"""The common parts of all verbs' commands: their options, and how they print the result."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import click

from rollout.cli.naming import Named, missing, workload_argument
from rollout.cli.options import (
    F,
    decorated,
    namespace_option,
    options,
    output_option,
    shared,
    user,
)
from rollout.cli.store import open_hub, tell_away
from rollout.cli.text import put, say
from rollout.errors import Gone
from rollout.hub.base import EmbeddedHub
from rollout.model.kinds import Ref, full_name
from rollout.operate.edits import VerbResult, Who

Doing = Callable[[EmbeddedHub, Ref, Who], Iterable[VerbResult]]

OPERATED = (
    click.option("--reason", metavar="TEXT", default="", help="Why, for those who read it later."),
    click.option(
        "--by",
        metavar="NAME",
        default="",
        help="Who asks; shown as unverified.  [default: the user of this machine]",
    ),
    output_option,
    shared,
)
"""The options of every verb."""


def operated(command: F) -> F:
    """The options of a verb."""
    return decorated(command, *OPERATED)


def of_workload(command: F) -> F:
    """The arguments and options of a verb on one workload."""
    return decorated(command, workload_argument("[mwrs|cma] NAME"), namespace_option, *OPERATED)


def do(asked: tuple[str, str, str], about: Named | Ref, doing: Doing) -> None:
    """Do it and say what came of it. ``asked``: who asks, why, and how to print it."""
    by, reason, output = asked
    with open_hub(options()) as (hub, clock):
        ref = about.on(hub) if isinstance(about, Named) else about
        try:
            told = list(doing(hub, ref, Who(by or user(), clock.now(), reason)))
        except Gone:
            raise missing(ref) from None
        _tell(told, output)
        tell_away(hub, clock.now(), lambda: True)  # what was asked for waits


def _tell(told: Iterable[VerbResult], output: str) -> None:
    if output == "json":
        put(json.dumps([_wire(each) for each in told], indent=2, ensure_ascii=False))
        return
    for each in told:
        unchanged = "" if each.changed else "unchanged: "
        say(f"{full_name(each.ref.kind, each.ref.name)} {unchanged}{each.message}")


def _wire(told: VerbResult) -> dict[str, Any]:
    ref = told.ref
    where = {"namespace": ref.namespace} if ref.kind.namespaced else {}
    return {
        "kind": ref.kind.name,
        **where,
        "name": ref.name,
        "changed": told.changed,
        "message": told.message,
    }
