"""What is there to know of one workload? `rollout describe`."""

from collections.abc import Iterator
from dataclasses import dataclass

import click

from rollout.analysis.histories import History, history
from rollout.analysis.rollouts import RolloutAccount, explain_rollout
from rollout.analysis.standings import conditions_of
from rollout.analysis.wishes import Wish, remembered
from rollout.api.fields import mapping, text
from rollout.cli.asking import missing, show, sighted
from rollout.cli.completing import complete_kind
from rollout.cli.hiding import veil
from rollout.cli.history import history_lines
from rollout.cli.live import strategy_line
from rollout.cli.options import namespace_option, output_option, shared
from rollout.cli.render_explain import rollout_lines
from rollout.cli.tables import Table, lines, widths
from rollout.cli.wording import facts, hanging, since
from rollout.cli.workloads import only_workload
from rollout.model.conditions import read_condition
from rollout.model.kinds import Obj, key_of
from rollout.model.names import ASKED


@dataclass(frozen=True, slots=True)
class ConfigAccount:
    """One configuration that a placement of an add-on asks for; ``applied`` and ``good`` are hashes.

    ``applied`` is what was rolled out there last, ``good`` the last that all clusters were well with.
    """

    placement: str
    config: str
    spec_hash: str
    applied: str
    good: str


@dataclass(frozen=True, slots=True)
class Description:
    """All of it: what was asked for, how it stands, and what it has been.

    ``asked`` is what people asked and is over; ``conditions`` of an add-on are those of its placements, each with the ``placement`` it is of.
    """

    labels: dict[str, str]
    annotations: dict[str, str]
    strategy: str
    configurations: list[ConfigAccount]
    conditions: list[Obj]
    rollout: RolloutAccount
    history: History
    asked: tuple[Wish, ...]


_TOLD_ELSEWHERE = ("/last-applied", "-configuration", ASKED)
"""Annotations that are copies of the object, or told in words."""


@click.command(short_help="Show all there is to know of a workload (mwrs, cma).")
@click.argument("words", metavar="mwrs|cma NAME", nargs=-1, shell_complete=complete_kind)
@namespace_option
@output_option
@shared
def describe(words: tuple[str, ...], namespace: str, output: str) -> None:
    """Show all there is to know of a workload (mwrs, cma): strategy, stages, failures, revisions."""
    ref = only_workload(words, namespace)
    with sighted() as (hub, sight):
        account, past = explain_rollout(sight, ref), history(hub, sight, ref)
        workload = sight.workload(ref)
        if account is None or past is None or workload is None:
            raise missing(ref)
        obj = sight.now_says(ref)
        meta = obj["metadata"]
        shown = veil(show_secrets=False)(meta)
        described = Description(
            meta.get("labels") or {},
            {
                key: value
                for key, value in (shown.get("annotations") or {}).items()
                if not key.endswith(_TOLD_ELSEWHERE)
            },
            strategy_line(obj),
            list(_configurations(obj)),
            [
                {**({"placement": placement} if placement else {}), **condition.to_wire()}
                for placement, condition in conditions_of(obj)
            ],
            account,
            past,
            remembered(workload),
        )
        show(described, output, describe_lines(described))


def _configurations(obj: Obj) -> Iterator[ConfigAccount]:
    """What the status of an add-on says of its configurations."""
    for progression in mapping(obj.get("status")).get("installProgressions") or []:
        placement = key_of(progression["namespace"], progression["name"])
        for each in progression.get("configReferences") or []:
            desired = mapping(each.get("desiredConfig"))
            name = key_of(text(desired.get("namespace")), text(desired.get("name")))
            yield ConfigAccount(
                placement,
                f"{each.get('resource')} {name}",
                text(desired.get("specHash")),
                text(mapping(each.get("lastAppliedConfig")).get("specHash")),
                text(mapping(each.get("lastKnownGoodConfig")).get("specHash")),
            )


def describe_lines(found: Description) -> Iterator[str]:
    """The description as text."""
    yield from rollout_lines(found.rollout)
    yield ""
    yield from facts(
        [
            ("Strategy", found.strategy),
            *(("Before", str(wish)) for wish in found.asked),
            ("Labels", ", ".join(f"{k}={v}" for k, v in sorted(found.labels.items()))),
            ("Annotations", ", ".join(f"{k}={v}" for k, v in sorted(found.annotations.items()))),
        ]
    )
    if found.configurations:
        yield ""
        yield "Configurations:"
        for line in _table_of(found.configurations):
            yield f"  {line}"
    yield ""
    yield "Conditions:"
    for raw in found.conditions:
        condition = read_condition(raw)
        assert condition is not None, "it was made of one"
        held = since(condition.since, found.rollout.now)
        where = f"{raw['placement']} " if "placement" in raw else ""
        said = condition.message if condition.message != found.rollout.message else ""
        yield from hanging(
            f"  {where}{condition.type}={condition.status} ",
            f"{condition.reason} {held}".rstrip() + (f": {said}" if said else ""),
        )
    yield ""
    yield "Revisions:"
    for line in history_lines(found.history):
        yield f"  {line}"


def _table_of(configurations: list[ConfigAccount]) -> list[str]:
    header = ("PLACEMENT", "CONFIGURATION", "WANTED", "ROLLED OUT", "GOOD")
    rows = tuple(
        (c.placement, c.config, *(h[:12] or "-" for h in (c.spec_hash, c.applied, c.good)))
        for c in configurations
    )
    shown = Table(header, rows)
    return lines(shown, widths(shown))
