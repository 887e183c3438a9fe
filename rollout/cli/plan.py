"""`rollout plan`: what would happen if files were applied now, printed or kept in a file."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rollout.account.wire import as_json
from rollout.account.words import at_and_in, effective, many, row_of
from rollout.analysis.cautions import Caution
from rollout.analysis.changes import Action, FieldChange, ObjectChange, object_changes
from rollout.analysis.copies import TrialChange, changed
from rollout.analysis.forecast import (
    Forecast,
    PlacementPlan,
    RemovalPlan,
    StagePlan,
    Warn,
    WorkloadPlan,
    forecast,
)
from rollout.analysis.inspection import inspect
from rollout.analysis.seals import fingerprint, seal
from rollout.api.file_objects import FileObject
from rollout.api.load import Document as Read
from rollout.api.load import Loaded, text_of
from rollout.api.preflight import Severity
from rollout.cli.documents import good_documents
from rollout.cli.hiding import masks
from rollout.cli.options import Stop, options
from rollout.cli.store import open_hub, show
from rollout.cli.tables import Table, lines, widths
from rollout.errors import ConfigError
from rollout.hub.base import EmbeddedHub, Hub
from rollout.model.kinds import DEFAULT_NAMESPACE, Obj, key_of
from rollout.operate.applying import apply_documents

CHANGES = 10


def plan(
    paths: tuple[str, ...],
    namespace: str,
    whole: bool,
    show_secrets: bool,
    out: Path | None,
    output: str,
) -> int:
    """Show what would happen if files were applied now."""
    documents = good_documents(paths, namespace)
    chosen = options()
    against_nothing = not (chosen.state or chosen.on_server)
    with open_hub(chosen, create=against_nothing) as (hub, clock):
        now = clock.now()
        warn = preflight_warnings(documents, namespace)
        found = forecast(hub, applying(documents), now, show_secrets=show_secrets, warn=warn)
        if out is not None:
            sealed = seal(fingerprint_of(documents, hub))
            hidden = forecast(hub, applying(documents), now, warn=warn) if show_secrets else found
            keep(out, hidden, paths, namespace, sealed=sealed)
    show(found, output, plan_lines(found, whole=whole))
    return CHANGES if found.changes else 0


def applying(documents: Sequence[FileObject], undone: str = "planned") -> TrialChange:
    """The change that `rollout apply` of these documents makes. Raises: Stop where it is refused."""

    def change(hub: EmbeddedHub) -> None:
        refused = [done.line for done in apply_documents(hub, documents) if done.failed]
        if refused:
            raise Stop(1, *refused, f"nothing was {undone}: correct the files first")

    return change


def preflight_warnings(documents: Sequence[FileObject], namespace: str) -> Warn:
    """What `rollout validate` would say of these files, knowing also what there is beside them."""

    def warn(objects: Iterable[Obj]) -> list[Caution]:
        own = {str(document.ref) for document in documents}
        mine = [Read(obj=d.obj, source=d.source, index=i) for i, d in enumerate(documents)]
        others = (obj for obj in objects if _key(obj) not in own)
        findings = inspect(Loaded(tuple(mine)), namespace or DEFAULT_NAMESPACE, others)
        return [
            Caution(f"{f.object} {f.path}".strip(), f.message, f.remedy)
            for f in findings
            if f.severity is not Severity.INFO
        ]

    return warn


def _key(obj: Obj) -> str:
    meta = obj["metadata"]
    return f"{obj.get('kind')} {key_of(meta.get('namespace') or '', meta['name'])}"


# -- kept in a file ------------------------------------------------------------------------------


def fingerprint_of(documents: Sequence[FileObject], hub: Hub) -> str:
    """The fingerprint of a plan for these documents on this hub."""
    return fingerprint([document.obj for document in documents], hub)


def keep(path: Path, found: Forecast, paths: Sequence[str], namespace: str, sealed: str) -> None:
    """Write a plan down. The files themselves are not in it, nor what their Secrets hold."""
    kept = {
        "kind": "RolloutPlan",
        "apiVersion": "rollout-engine.io/v1alpha1",
        "fingerprint": sealed,
        "paths": list(paths),
        "namespace": namespace,
        "plan": as_json(found),
    }
    path.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def kept_plan(path: Path) -> tuple[str, tuple[str, ...], str]:
    """A plan that was written down: its seal, its files, its namespace. Raises: ConfigError."""
    try:
        kept = json.loads(text_of(path))
        return str(kept["fingerprint"]), tuple(map(str, kept["paths"])), str(kept["namespace"])
    except (ValueError, KeyError, TypeError, ConfigError):
        raise ConfigError(
            f"{path} is not a plan: `rollout plan -f PATH --out {path}` makes one"
        ) from None


# -- in words ------------------------------------------------------------------------------------


_SIGNS = {Action.CREATED: "+", Action.CONFIGURED: "~", Action.DELETED: "-"}
MOST_OF_A_KIND = 5
LONGEST_VALUE = 120


def plan_lines(found: Forecast, *, whole: bool = False) -> Iterator[str]:
    """The plan: objects, workloads by stage, warnings, and a last line that sums it up.

    Args:
        whole: name every cluster and every object.
    """
    yield from object_lines(found.objects, whole=whole)
    for workload in found.workloads:
        yield ""
        yield from _workload(workload, found.at, whole)
    if found.warnings:
        yield ""
        for warning in found.warnings:
            yield f"warning: {warning}"
    yield ""
    yield _summed(found)


def object_lines(objects: Sequence[ObjectChange], *, whole: bool = False) -> Iterator[str]:
    """Each object that changes, with the fields that do; many of a kind are counted, unless ``whole``."""
    counted = Counter((each.kind, each.action) for each in objects)
    told: set[tuple[str, Action]] = set()
    for each in objects:
        group = (each.kind, each.action)
        if whole or counted[group] <= MOST_OF_A_KIND:
            yield f"{_SIGNS[each.action]} {each} {each.action.value}"
            for field in each.fields:
                yield f"    {_field_line(field)}"
        elif group not in told:
            told.add(group)
            yield f"{_SIGNS[each.action]} {counted[group]} x {each.kind} {each.action.value}"


def _field_line(field: FieldChange) -> str:
    if field.before is None:
        return f"+ {field.path}: {_value(field.after)}"
    if field.after is None:
        return f"- {field.path}: {_value(field.before)}"
    return f"~ {field.path}: {_value(field.before)} -> {_value(field.after)}"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def _workload(plan: WorkloadPlan, now: datetime, whole: bool) -> Iterator[str]:
    if not plan.before:
        revision = f"new, revision {plan.after}"
    elif plan.before == plan.after:
        revision = f"revision {plan.after} as before"
    else:
        revision = f"revision {plan.before} -> {plan.after}"
    yield f"{plan.kind} {plan.key}: {revision}"
    for placement in plan.placements:
        yield from _placement(placement, whole)
    for clusters, what in (
        (plan.installed, "would get the add-on right away; its configuration waits for their turn"),
        (plan.aside, "would be written to right away, outside the stages"),
    ):
        if clusters:
            yield f"  {many(len(clusters), 'cluster')} {what}: {row_of(clusters, whole=whole)}"
    if plan.removal.clusters:
        yield from _removal(plan.removal, whole)
    yield f"  {_finish(plan, now)}"
    if len(plan.contents) > 1:
        for content in plan.contents:
            yield ""
            yield f"  {many(content.count, 'cluster')} like {content.cluster}:"
            yield from (f"  {line}" for line in content.diff.splitlines())
        if plan.unshown:
            yield ""
            yield f"  {many(plan.unshown, 'cluster')} with other contents: `rollout render` shows each"
    elif plan.diff:
        yield ""
        for line in plan.diff.splitlines():
            yield f"  {line}"


def _placement(plan: PlacementPlan, whole: bool) -> Iterator[str]:
    yield f"  placement {plan.placement}, {plan.strategy}: {many(plan.selected, 'cluster')} selected"
    if plan.hold is not None:
        yield f"    held: {plan.hold.reason}: {plan.hold.message}"
    if not plan.stages:
        return
    header = ("STAGE", "CLUSTERS", "ADD", "UPDATE", "KEEP", "AT ONCE", "MAY FAIL", "RIGHT AWAY")
    shown = Table(header, tuple(_row(stage) for stage in plan.stages))
    for line in lines(shown, widths(shown)):
        yield f"    {line}"
    for stage in plan.stages:
        for verb, clusters in (("add", stage.added), ("update", stage.updated)):
            if clusters:
                yield f"    {stage.title}: {verb} {row_of(clusters, whole=whole)}"
        for gate in stage.gates:
            # What is written with a kind is no approval.
            opens = "opened" if "=" in gate else "approved"
            yield f"    {stage.title}: gate {gate}, to be {opens} for this revision"


def _row(stage: StagePlan) -> tuple[str, ...]:
    budget = "any" if stage.budget is None else str(stage.budget)
    if stage.budget is not None and stage.asked_budget.endswith("%"):
        budget = f"{stage.asked_budget} = {stage.budget}"
    now = str(len(stage.at_once)) if stage.at_once else f"0 ({stage.blocked})"
    return (
        stage.title,
        str(stage.members),
        str(len(stage.added)),
        str(len(stage.updated)),
        str(stage.unchanged),
        effective(stage.asked_limit, stage.members, stage.limit),
        budget,
        now if stage.added or stage.updated else "-",
    )


def _removal(plan: RemovalPlan, whole: bool) -> Iterator[str]:
    if plan.removed:
        count = many(len(plan.removed), "cluster")
        yield f"  {count} would lose it right away: {row_of(plan.removed, whole=whole)}"
    kept = sorted(set(plan.clusters) - set(plan.removed))
    if kept:
        count = many(len(kept), "cluster")
        yield f"  {count}, no longer selected, would keep it for now: {row_of(kept, whole=whole)}"
        yield f"    {plan.held}"


def _finish(plan: WorkloadPlan, now: datetime) -> str:
    finish = plan.finish
    if finish.at is None:
        return f"will not finish: {finish.why}"
    provided = "if every agent succeeds at once"
    if any(stage.gates for placement in plan.placements for stage in placement.stages):
        provided += " and no gate waits for its approval"
    if plan.measured:
        provided += ", and all that is measured is good"
    if finish.at == now:
        return f"done right away, {provided}"
    return f"done at the earliest {at_and_in(finish.at, now)}, {provided}"


def _summed(found: Forecast) -> str:
    if not found.changes:
        return "Nothing would change."
    stages = [s for w in found.workloads for p in w.placements for s in p.stages]
    added, updated = (sum(len(getattr(s, name)) for s in stages) for name in ("added", "updated"))
    lost = sum(len(w.removal.clusters) for w in found.workloads)
    return (
        f"Plan: {many(len(found.objects), 'object')} to change; "
        f"{many(added, 'cluster')} to add, {updated} to update, {lost} to remove."
    )


def diff(paths: tuple[str, ...], namespace: str, show_secrets: bool, output: str) -> int:
    """Compare files with what is stored."""
    documents = good_documents(paths, namespace, "compared")
    with open_hub(options()) as (hub, clock):
        old, new = changed(hub, applying(documents, "compared"), clock.now())
    hidden = None if show_secrets else masks()
    found = object_changes(old, new, hidden, manifests=True)
    show(found, output, object_lines(found, whole=True))
    return CHANGES if found else 0
