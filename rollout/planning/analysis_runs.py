"""Plans the measurements of an analysis run, and the status of a template."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from rollout.measuring.cluster_jobs import ClusterJob, looks_at, on_cluster, spare_jobs
from rollout.measuring.values import AnalysisRun, AnalysisTemplate, Measure, status_of
from rollout.measuring.verdicts import LOOK_AFTER, begin, due, unreadable
from rollout.model.conditions import Condition, merge
from rollout.model.kinds import ROLLOUT_ANALYSIS, ROLLOUT_ANALYSIS_RUN, Obj
from rollout.model.names import MISCONFIGURED
from rollout.model.problems import joined
from rollout.model.writes import Delete, PatchStatus
from rollout.planning.analyses import ANALYSIS_REPAIRED
from rollout.planning.plan import NOTHING, Note, Plan


class AnalysisRunView(Protocol):
    """What the planners read."""

    def run(self, key: str) -> AnalysisRun | None: ...

    def cluster_jobs(self, key: str) -> Collection[ClusterJob]:
        """Those that were made for a run, also for one that is gone."""
        ...

    def reaches(self, run: AnalysisRun) -> bool:
        """Whether the cluster of a run is one of its workload."""
        ...

    def own_template(self, key: str) -> AnalysisTemplate | None: ...


class AnalysisRunPlanner:
    """Plans the measurements of one run."""

    kind = ROLLOUT_ANALYSIS_RUN

    def plan(self, key: str, view: AnalysisRunView, now: datetime) -> Plan:
        """The metrics that are due, and the end of Jobs on clusters that nobody waits for."""
        run, jobs = view.run(key), view.cluster_jobs(key)
        plan = self._measured(run, jobs, view, now)
        spare = tuple(Delete(job.ref, job.uid) for job in spare_jobs(run, jobs))
        notes = (_repaired(run),) if run is not None and run.mended else ()
        return replace(plan, waves=(spare, *plan.waves) if spare else plan.waves, notes=notes)

    def _measured(
        self,
        run: AnalysisRun | None,
        jobs: Collection[ClusterJob],
        view: AnalysisRunView,
        now: datetime,
    ) -> Plan:
        """A run that nobody has measured yet begins first; one whose status is wrong is put right."""
        if run is None:
            return NOTHING
        version = run.version or None
        if run.mended and run.result.started_at is not None:
            return Plan(((PatchStatus(run.ref, status_of(run.result), version),),))
        if run.result.finished_at is not None:
            return NOTHING
        if run.problems:
            ended = status_of(unreadable(joined(run.problems), now))
            return Plan(((PatchStatus(run.ref, ended, version),),))
        if run.result.started_at is None:
            status = status_of(begin(run.metrics, now))
            return Plan(((PatchStatus(run.ref, status, version),),))
        if any(map(on_cluster, run.metrics)) and not view.reaches(run):
            # Whoever wrote the run: it reaches the clusters of its workload, and no other ones.
            return Plan(recheck_at=now + LOOK_AFTER)
        found = due(run.metrics, run.result, now, looks_at(run, jobs, now))
        if not found.metrics:
            return Plan(recheck_at=found.look_at)
        measure = Measure(ref=run.ref, run=run, metrics=found.metrics)
        return Plan(((measure,),), recheck_at=found.look_at)


def _repaired(run: AnalysisRun) -> Note:
    by = f" (last written by {run.writer})" if run.writer else ""
    text = f"RolloutAnalysisRun {run.ref.key}: {run.mended}{by}; it is put right"
    return Note(run.subject.workload, ANALYSIS_REPAIRED, text, warning=True)


class AnalysisPlanner:
    """Plans the status of one template of ours."""

    kind = ROLLOUT_ANALYSIS

    def plan(self, key: str, view: AnalysisRunView, now: datetime) -> Plan:
        """Whether it can be read, where that is not said yet."""
        template = view.own_template(key)
        if template is None:
            return NOTHING
        generation = (template.raw.get("metadata") or {}).get("generation")
        if template.problems:
            text = joined(template.problems)
            condition = Condition(
                MISCONFIGURED, "True", "InvalidSpec", text, observed_generation=generation
            )
        else:
            text = "It can be read"
            condition = Condition(
                MISCONFIGURED, "False", "ValidSpec", text, observed_generation=generation
            )
        old: Obj = template.raw.get("status") or {}
        conditions = merge(old.get("conditions") or [], [condition], now)
        if conditions == old.get("conditions"):
            return NOTHING
        status = {"conditions": conditions}
        return Plan(((PatchStatus(template.ref, status, template.version or None),),))
