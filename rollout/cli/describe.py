"""`rollout describe` and `rollout history`: everything about one workload."""

from collections.abc import Iterator
from dataclasses import dataclass

from rollout.account.channels import CHANNEL_HEAD
from rollout.account.interventions import Intervention, remembered
from rollout.account.states import conditions_of
from rollout.account.tree import WorkloadAccount
from rollout.account.wire import as_json
from rollout.account.words import age
from rollout.analysis.histories import History, history, kept_revision
from rollout.api.fields import mapping, text
from rollout.cli.explain import rollout_lines
from rollout.cli.hiding import veil
from rollout.cli.naming import missing, only_workload
from rollout.cli.options import Stop
from rollout.cli.store import show, snapshotted
from rollout.cli.tables import formatted, text_table
from rollout.cli.text import facts, hanging, put
from rollout.model.conditions import read_condition
from rollout.model.kinds import Obj, key_of, traits_of
from rollout.model.names import ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigAccount:
    """One configuration that a placement of an add-on asks for; ``applied`` and ``good`` are hashes.

    ``applied`` is what was rolled out there last, ``good`` the last that all clusters were well with.
    """

    placement: str
    config: str
    spec_hash: str
    applied: str
    good: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """All of it: what was asked for, how it stands, and what it has been.

    ``asked`` is what people asked and is over; ``conditions`` of an add-on are those of its placements, each with the ``placement`` it is of.
    """

    labels: dict[str, str]
    annotations: dict[str, str]
    configurations: list[ConfigAccount]
    conditions: list[Obj]
    rollout: WorkloadAccount
    history: History
    asked: tuple[Intervention, ...]


_TOLD_ELSEWHERE = ("/last-applied", "-configuration", ASKED)
"""Annotations that are copies of the object, or told in words."""


def describe(words: tuple[str, ...], namespace: str, output: str) -> None:
    """Show all there is to know of a workload (mwrs, cma): strategy, stages, failures, revisions."""
    named = only_workload(words, namespace)
    with snapshotted() as (hub, snapshot):
        ref = named.on(hub)
        account, past = snapshot.account(ref), history(hub, snapshot, ref)
        workload = snapshot.workload(ref)
        if account is None or past is None or workload is None:
            raise missing(ref)
        obj = snapshot.object_of(ref)
        meta = obj["metadata"]
        shown = veil(show_secrets=False)(meta)
        described = Description(
            labels=meta.get("labels") or {},
            annotations={
                key: value
                for key, value in (shown.get("annotations") or {}).items()
                if not key.endswith(_TOLD_ELSEWHERE)
            },
            configurations=list(_configurations(obj)),
            conditions=[
                {**({"placement": placement} if placement else {}), **condition.to_wire()}
                for placement, condition in conditions_of(obj)
            ],
            rollout=account,
            history=past,
            asked=remembered(workload),
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
                placement=placement,
                config=f"{each.get('resource')} {name}",
                spec_hash=text(desired.get("specHash")),
                applied=text(mapping(each.get("lastAppliedConfig")).get("specHash")),
                good=text(mapping(each.get("lastKnownGoodConfig")).get("specHash")),
            )


def describe_lines(found: Description) -> Iterator[str]:
    """The description as text."""
    yield from rollout_lines(found.rollout)
    yield ""
    yield from facts(
        [
            ("Strategy", found.rollout.strategy),
            *(("Before", str(each)) for each in found.asked),
            ("Labels", ", ".join(f"{k}={v}" for k, v in sorted(found.labels.items()))),
            ("Annotations", ", ".join(f"{k}={v}" for k, v in sorted(found.annotations.items()))),
        ]
    )
    if found.configurations:
        yield ""
        yield "Configurations:"
        for line in _table_of(found.configurations):
            yield f"  {line}"
    if found.rollout.channels:
        yield ""
        yield "Channels:"
        rows = (each.cells(found.rollout.now) for each in found.rollout.channels)
        for line in text_table(tuple(each.upper() for each in CHANNEL_HEAD), rows):
            yield f"  {line}"
    yield ""
    yield "Conditions:"
    for raw in found.conditions:
        condition = read_condition(raw)
        assert condition is not None, "it was made of one"
        now = found.rollout.now
        held = f"for {age(now - condition.since)}" if condition.since is not None else ""
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
    return text_table(
        ("PLACEMENT", "CONFIGURATION", "WANTED", "ROLLED OUT", "GOOD"),
        (
            (c.placement, c.config, *(h[:12] or "-" for h in (c.spec_hash, c.applied, c.good)))
            for c in configurations
        ),
    )


# -- its revisions -------------------------------------------------------------------------------


def history_command(
    words: tuple[str, ...], namespace: str, revision: str, show_secrets: bool, output: str
) -> None:
    """Show the revisions of a workload (mwrs, cma), newest first.

    CLUSTERS counts those that carry a revision now. Earlier configurations of an
    add-on are not kept: its list has the revisions that are asked for, and those that clusters carry.
    """
    named = only_workload(words, namespace)
    with snapshotted() as (hub, snapshot):
        ref = named.on(hub)
        found = history(hub, snapshot, ref)
        if found is None:
            raise missing(ref)
        if not revision:
            show(found, output, history_lines(found))
            return
        kept = kept_revision(hub, ref, revision)
    if kept is None:
        raise Stop(1, f"no revision {revision} of {ref.key} is kept; `rollout history` lists them")
    told = veil(show_secrets=show_secrets)(as_json(kept))
    put(formatted("json" if output == "json" else "yaml", told))


def history_lines(found: History) -> list[str]:
    """The table of all revisions."""
    header = ("NUMBER", "REVISION", "STATE", "CLUSTERS", "AGE")
    causes = {each.revision: each.cause for each in found.revisions}
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
    if traits_of(found.kind).keeps_templates:
        told = text_table(header, (row[:-1] for row in rows))
        if any(causes.values()):
            told = text_table((*header, "CAUSE"), ((*row[:-1], causes[row[1]]) for row in rows))
    else:
        told = text_table((*header[1:], "CONFIGURATIONS"), (row[1:] for row in rows))
    if found.unknown:
        told.append(
            f"{found.unknown} clusters carry something that is not a revision of {found.key}"
        )
    return told
