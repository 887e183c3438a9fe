"""Follows a Job that runs on the measured cluster, in a ManifestWork of its own.

The name of that work follows from the run, its uid and the number of the measurement: so each measurement runs
once, also over a restart, and is never that of a run before. While no end is reported the work stays: an agent
that comes back late still answers.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from rollout.measuring.values import AnalysisMetric, AnalysisRun
from rollout.model.kinds import Obj, Ref

ENDS = ("Complete", "Failed")
"""Conditions of a Job, and the names under which its agent reports them."""
UNBOUNDED = timedelta(hours=1)
"""So long after its work was made a Job without activeDeadlineSeconds counts as not measured."""
GRACE = timedelta(minutes=5)
"""So long after activeDeadlineSeconds."""
_LONGEST_STEM = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterJob:
    """A Job on a cluster, as its work says.

    ``run`` is the key of its run, ``run_uid`` that run's uid. ``end`` is one of `ENDS`, "" while none is
    reported; ``fault``: why its agent could not apply it. ``created_at`` None: not readable.
    """

    ref: Ref
    uid: str
    run: str
    run_uid: str
    created_at: datetime | None
    end: str = ""
    fault: str = ""
    is_going: bool = False

    def overdue_at(self, told: Obj) -> datetime | None:
        """From when on its silence is an error; None: at once. ``told`` is what the metric says of the Job."""
        return None if self.created_at is None else self.created_at + _patience(told)


def _patience(told: Obj) -> timedelta:
    seconds = told["spec"].get("activeDeadlineSeconds")
    is_bounded = isinstance(seconds, int) and 0 < seconds < 1_000_000
    return timedelta(seconds=seconds) + GRACE if is_bounded else UNBOUNDED


def on_cluster(metric: AnalysisMetric) -> Obj | None:
    """What the metric says of a Job that runs on the measured cluster; None where it measures otherwise."""
    told: Obj | None = metric.provider.get("job")
    return told if told is not None and told.get("onCluster") else None


def cluster_job_name(run: AnalysisRun, metric: str) -> str:
    """The name of the work, and of the Job in it, of a metric's next measurement."""
    known = run.result.metrics.get(metric)
    number = known.count if known is not None else 0
    told = f"{run.uid}\n{metric}\n{number}"
    digest = hashlib.sha256(told.encode()).hexdigest()[:12]
    return f"{run.subject.workload.name[:_LONGEST_STEM].rstrip('-.')}-{digest}"


def spare_jobs(run: AnalysisRun | None, known: Iterable[ClusterJob]) -> list[ClusterJob]:
    """Those that nobody waits for any more, and that are not on their way out."""
    awaited: set[str] = set()
    if run is not None and run.result.finished_at is None:
        for metric in run.metrics:
            result = run.result.metrics.get(metric.name)
            if on_cluster(metric) is not None and not (result and result.phase.is_final):
                awaited.add(cluster_job_name(run, metric.name))
    return [job for job in known if not job.is_going and job.ref.name not in awaited]


def looks_at(
    run: AnalysisRun, known: Iterable[ClusterJob], now: datetime
) -> Mapping[str, datetime]:
    """When to look next at metrics that wait for a Job on the cluster: its news come by themselves."""
    jobs = {job.ref.name: job for job in known}
    found: dict[str, datetime] = {}
    for metric in run.metrics:
        told = on_cluster(metric)
        job = jobs.get(cluster_job_name(run, metric.name)) if told is not None else None
        if told is not None and job is not None:
            is_told = job.end or job.fault
            found[metric.name] = now if is_told else job.overdue_at(told) or now
    return found
