"""Measures by a Job on the measured cluster, in a ManifestWork."""

from datetime import datetime

from rollout.api.cluster_job import cluster_job, cluster_job_work
from rollout.errors import Conflict, Gone, HubError
from rollout.hub.base import Hub
from rollout.measuring.cluster_jobs import cluster_job_name
from rollout.measuring.values import AnalysisRun
from rollout.model.kinds import MANIFEST_WORK, Obj, Ref, key_of
from rollout.providers.http import UnmeasuredError


class ClusterJobProvider:
    """Makes the works, and looks how they stand. It blocks. Who deletes them is the run's planner."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def look(self, run: AnalysisRun, metric: str, told: Obj, now: datetime) -> tuple[object, bool]:
        """The result (``Complete`` or ``Failed``), and whether it is yet to come.

        Raises: UnmeasuredError where there can be no Job, or where its agent does not speak of it.
        """
        cluster = run.subject.cluster
        if not cluster:
            raise UnmeasuredError("onCluster: this analysis is about no single cluster")
        ref = Ref(MANIFEST_WORK, key_of(cluster, cluster_job_name(run, metric)))
        try:
            try:
                found = self._hub.get(ref)
            except Gone:
                work = cluster_job_work(ref, run, told, self._executor(run))
                found = self._hub.create(ref, work)
        except Conflict:
            return None, True  # somebody made it just now
        except HubError as error:
            raise UnmeasuredError(f"{ref}: {error}") from error
        job = cluster_job(ref, found)
        if job is None or job.run_uid != run.uid:
            raise UnmeasuredError(f"{ref} is there, and is not of this run")
        if job.end:
            return job.end, False
        if job.fault:
            raise UnmeasuredError(f"{cluster} does not run the Job: {job.fault}")
        overdue_at = job.overdue_at(told)
        if overdue_at is None or overdue_at <= now:
            raise UnmeasuredError(f"{cluster} reports no end of the Job {ref.name}")
        return None, True

    def _executor(self, run: AnalysisRun) -> Obj | None:
        """As whom agents apply the workload. Raises: HubError."""
        workload = self._hub.get(run.subject.workload)
        template: Obj = workload["spec"].get("manifestWorkTemplate") or {}
        return template.get("executor")
