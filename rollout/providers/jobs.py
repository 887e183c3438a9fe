"""Measures by Jobs: each runs on the hub, beside its run, and its end is the result.

Each attempt has a name of its own, so that it runs once, also over a restart.
"""

from typing import Any

from rollout.errors import Conflict, Gone, HubError
from rollout.hub.base import Hub
from rollout.measuring.values import AnalysisRun
from rollout.model.kinds import Kind, Obj, Ref, key_of
from rollout.model.ownership import belongs_to, owned_object
from rollout.providers.http import UnmeasuredError

JOB = Kind("Job", "jobs", "batch", "v1", namespaced=True)
_LONGEST_NAME = 63


class JobProvider:
    """Starts Jobs, and looks how they stand. It blocks."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def look(self, run: AnalysisRun, metric: str, told: Obj) -> tuple[object, bool]:
        """The result (``Complete`` or ``Failed``), and whether it is yet to come.

        Raises: UnmeasuredError where there can be no Job.
        """
        ref = Ref(JOB, key_of(run.ref.namespace, job_name(run, metric)))
        try:
            try:
                found = self._hub.get(ref)
            except Gone:
                found = self._hub.create(ref, _job(ref, run, told))
        except Conflict:
            return None, True  # somebody made it just now
        except HubError as error:
            raise UnmeasuredError(f"{ref}: {error}") from error
        if found["metadata"].get("deletionTimestamp"):
            return None, True  # of an earlier run: this one's begins once its name is free
        if not belongs_to(found, run.uid):
            if _is_of_earlier(found, run):
                return None, True
            raise UnmeasuredError(f"{ref} is there, and is not of this run")
        for each in (found.get("status") or {}).get("conditions") or []:
            if each.get("type") in ("Complete", "Failed") and each.get("status") == "True":
                return each["type"], False
        return None, True


def job_name(run: AnalysisRun, metric: str) -> str:
    """The name of the Job of the next measurement."""
    known = run.result.metrics.get(metric)
    number = known.count + known.error if known is not None else 0
    place = [each.name for each in run.metrics].index(metric)
    tail = f"-{place}-{number}"
    return f"{run.ref.name[-(_LONGEST_NAME - len(tail)) :].lstrip('-.')}{tail}"


def _is_of_earlier(job: Obj, run: AnalysisRun) -> bool:
    """Whether an earlier run of this name owns it: then the garbage collector takes it away."""
    owners = job["metadata"].get("ownerReferences") or []
    return any(
        (owner.get("kind"), owner.get("name")) == (run.ref.kind.name, run.ref.name)
        for owner in owners
    )


def _job(ref: Ref, run: AnalysisRun, told: Obj) -> Obj:
    meta: dict[str, Any] = told.get("metadata") or {}
    return owned_object(
        ref,
        run.ref,
        run.uid,
        {"spec": told["spec"]},
        labels=meta.get("labels") or {},
        annotations=meta.get("annotations") or {},
    )
