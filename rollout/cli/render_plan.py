"""How does a plan read? Lines of text; nothing is looked up here."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from rollout.analysis.changes import Action
from rollout.analysis.forecast import (
    Forecast,
    PlacementPlan,
    RemovalPlan,
    StagePlan,
    WorkloadPlan,
)
from rollout.cli.tables import Table, lines, widths
from rollout.cli.text import at_and_in, effective, many, row_of

_SIGNS = {Action.CREATED: "+", Action.CONFIGURED: "~", Action.DELETED: "-"}
MOST_OF_A_KIND = 5


def plan_lines(found: Forecast, *, whole: bool = False) -> Iterator[str]:
    """The plan: objects, workloads by stage, warnings, and a last line that sums it up.

    Args:
        whole: name every cluster and every object.
    """
    yield from _objects(found, whole)
    for workload in found.workloads:
        yield ""
        yield from _workload(workload, found.at, whole)
    if found.warnings:
        yield ""
        for warning in found.warnings:
            yield f"warning: {warning}"
    yield ""
    yield _summed(found)


def _objects(found: Forecast, whole: bool) -> Iterator[str]:
    counted = Counter((each.kind, each.action) for each in found.objects)
    told: set[tuple[str, Action]] = set()
    for each in found.objects:
        group = (each.kind, each.action)
        if whole or counted[group] <= MOST_OF_A_KIND:
            yield f"{_SIGNS[each.action]} {each} {each.action.value}"
        elif group not in told:
            told.add(group)
            yield f"{_SIGNS[each.action]} {counted[group]} x {each.kind} {each.action.value}"


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
        (plan.installed, "would get it right away, to wait with it for their turn"),
        (plan.aside, "would be written to right away, outside the stages"),
    ):
        if clusters:
            yield f"  {many(len(clusters), 'cluster')} {what}: {row_of(clusters, whole=whole)}"
    if plan.removal.clusters:
        yield from _removal(plan.removal, whole)
    yield f"  {_finish(plan, now)}"
    if plan.diff:
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
            yield f"    {stage.title}: gate {gate}, to be approved for this revision"


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
        yield f"  {count} selected no more would keep it for now: {row_of(kept, whole=whole)}"
        yield f"    {plan.held}"


def _finish(plan: WorkloadPlan, now: datetime) -> str:
    finish = plan.finish
    if finish.at is None:
        return f"will not finish: {finish.why}"
    provided = "if every agent succeeds at once"
    if any(stage.gates for placement in plan.placements for stage in placement.stages):
        provided += " and no gate waits for its approval"
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
