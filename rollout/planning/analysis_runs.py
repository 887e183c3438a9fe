"""What of a run is to be measured now, and is a template of an analysis in order?"""

from datetime import datetime
from typing import Protocol

from rollout.measuring.results import status_of
from rollout.measuring.values import AnalysisRun, AnalysisTemplate
from rollout.measuring.verdicts import begin, due, stop
from rollout.model.conditions import Condition, merge
from rollout.model.kinds import ROLLOUT_ANALYSIS, ROLLOUT_ANALYSIS_RUN, Obj
from rollout.model.problems import joined
from rollout.planning.plan import NOTHING, Measure, PatchStatus, Plan

MISCONFIGURED = "Misconfigured"


class View(Protocol):
    """What the planners read."""

    def run(self, key: str) -> AnalysisRun | None: ...

    def own_template(self, key: str) -> AnalysisTemplate | None: ...


class AnalysisRunPlanner:
    """Plans the measurements of one run."""

    kind = ROLLOUT_ANALYSIS_RUN

    def plan(self, key: str, view: View, now: datetime) -> Plan:
        """The metrics that are due; a run that nobody has measured yet begins first."""
        run = view.run(key)
        if run is None or run.result.finished_at is not None:
            return NOTHING
        version = run.version or None
        if run.problems:
            why = joined(run.problems)
            failed = status_of(stop(begin((), now), why, now))
            return Plan(((PatchStatus(run.ref, failed, version),),))
        if run.result.started_at is None:
            status = status_of(begin(run.metrics, now))
            return Plan(((PatchStatus(run.ref, status, version),),))
        found = due(run.metrics, run.result, now)
        if not found.metrics:
            return Plan(recheck_at=found.look_at)
        measure = Measure(ref=run.ref, run=run, metrics=found.metrics)
        return Plan(((measure,),), found.look_at)


class AnalysisPlanner:
    """Plans the status of one template of ours."""

    kind = ROLLOUT_ANALYSIS

    def plan(self, key: str, view: View, now: datetime) -> Plan:
        """Whether it can be read, where that is not said yet."""
        template = view.own_template(key)
        if template is None:
            return NOTHING
        generation = (template.raw.get("metadata") or {}).get("generation")
        if template.problems:
            text = joined(template.problems)
            condition = Condition(MISCONFIGURED, "True", "InvalidSpec", text, generation)
        else:
            text = "It can be read"
            condition = Condition(MISCONFIGURED, "False", "ValidSpec", text, generation)
        old: Obj = template.raw.get("status") or {}
        conditions = merge(old.get("conditions") or [], [condition], now)
        if conditions == old.get("conditions"):
            return NOTHING
        status = {"conditions": conditions}
        return Plan(((PatchStatus(template.ref, status, template.version or None),),))
