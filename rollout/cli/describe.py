"""What is there to know of one workload? `rollout describe`."""

from collections.abc import Iterator
from dataclasses import dataclass

import click

from rollout.analysis.histories import History, history
from rollout.analysis.rollouts import RolloutAccount, explain_rollout
from rollout.cli.asking import missing, output_option, show, sighted, workload_ref
from rollout.cli.history import history_lines
from rollout.cli.live import strategy_line
from rollout.cli.options import complete_kind, namespace_option, shared
from rollout.cli.render_explain import rollout_lines
from rollout.cli.wording import facts, since
from rollout.model.conditions import read_conditions
from rollout.model.kinds import Obj


@dataclass(frozen=True, slots=True)
class Description:
    """All of it: what was asked for, how it stands, and what it has been."""

    labels: dict[str, str]
    annotations: dict[str, str]
    strategy: str
    conditions: list[Obj]
    rollout: RolloutAccount
    history: History


@click.command()
@click.argument("words", metavar="mwrs NAME", nargs=-1, shell_complete=complete_kind)
@namespace_option
@output_option
@shared
def describe(words: tuple[str, ...], namespace: str, output: str) -> None:
    """Show all there is to know of a workload (mwrs): strategy, stages, failures, revisions."""
    ref = workload_ref(words, namespace, "describe")
    with sighted() as (hub, sight):
        account, past = explain_rollout(sight, ref.key), history(hub, sight, ref.key)
        workload = sight.workload(ref.key)
        if account is None or past is None or workload is None or workload.replicaset is None:
            raise missing(ref)
        obj = workload.replicaset.raw
        meta = obj["metadata"]
        described = Description(
            meta.get("labels") or {},
            {
                key: text
                for key, text in (meta.get("annotations") or {}).items()
                if not key.endswith("/last-applied") and not key.endswith("-configuration")
            },
            strategy_line(obj),
            sight.status(ref.key).get("conditions") or [],
            account,
            past,
        )
        show(described, output, describe_lines(described))


def describe_lines(found: Description) -> Iterator[str]:
    """The description as text."""
    yield from rollout_lines(found.rollout)
    yield ""
    yield from facts(
        [
            ("Strategy", found.strategy),
            ("Labels", ", ".join(f"{k}={v}" for k, v in sorted(found.labels.items()))),
            ("Annotations", ", ".join(f"{k}={v}" for k, v in sorted(found.annotations.items()))),
        ]
    )
    yield ""
    yield "Conditions:"
    for condition in read_conditions(found.conditions).values():
        held = since(condition.since, found.rollout.now)
        message = f": {condition.message}" if condition.message else ""
        yield f"  {condition.type}={condition.status} {condition.reason} {held}{message}"
    yield ""
    yield "Revisions:"
    for line in history_lines(found.history):
        yield f"  {line}"
