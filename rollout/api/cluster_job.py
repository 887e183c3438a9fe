"""Writes the ManifestWork of a Job that measures on a cluster, and reads what it reports."""

from rollout.api.fields import listed, mapping, text
from rollout.api.work import decode_work
from rollout.measuring.cluster_jobs import ENDS, ClusterJob
from rollout.measuring.values import AnalysisRun
from rollout.model import names
from rollout.model.instants import parse_instant
from rollout.model.kinds import Obj, Ref
from rollout.model.work import Work

_JOB = "batch/v1"


def cluster_job(ref: Ref, obj: Obj) -> ClusterJob | None:
    """What a ManifestWork says of the Job of an analysis; None where it is another kind of work."""
    run_uid = text(mapping(obj["metadata"].get("labels")).get(names.ANALYSIS_RUN))
    if not run_uid:
        return None  # nearly all works are of no analysis
    work = decode_work(obj)
    annotations = mapping(obj["metadata"].get("annotations"))
    return ClusterJob(
        ref=ref,
        uid=work.uid,
        run=text(annotations.get(names.ANALYSIS_RUN)),
        run_uid=run_uid,
        created_at=parse_instant(work.created),
        end=_end(obj),
        fault=_fault(work),
        is_going=work.deleting,
    )


def _fault(work: Work) -> str:
    """Why its agent could not apply it; "" where it could, or says nothing of it as it is now."""
    applied = work.conditions.get(names.APPLIED)
    if applied is None or applied.status != "False":
        return ""
    if applied.observed_generation not in (None, work.generation):
        return ""
    return "; ".join(work.faults) or applied.message or "it could not be applied"


def _end(obj: Obj) -> str:
    """How the Job ended, by the feedback of its agent; "" where it does not say that it has."""
    status = mapping(mapping(obj.get("status")).get("resourceStatus"))
    for manifest in map(mapping, listed(status.get("manifests"))):
        values = listed(mapping(manifest.get("statusFeedback")).get("values"))
        told = {text(v.get("name")): mapping(v.get("fieldValue")) for v in map(mapping, values)}
        for end in ENDS:
            if told.get(end, {}).get("string") == "True":
                return end
    return ""


def cluster_job_work(ref: Ref, run: AnalysisRun, told: Obj, executor: Obj | None) -> Obj:
    """The work. ``executor``: the one of the workload, so that a Job may do no more there than that."""
    meta = told.get("metadata") or {}
    namespace = meta.get("namespace") or run.ref.namespace
    passed = {key: meta[key] for key in ("labels", "annotations") if meta.get(key)}
    identifier = {"group": "batch", "resource": "jobs", "namespace": namespace, "name": ref.name}
    paths = [
        {"name": end, "path": f'.status.conditions[?(@.type=="{end}")].status'} for end in ENDS
    ]
    return {
        "apiVersion": ref.kind.api_version,
        "kind": ref.kind.name,
        "metadata": {
            "namespace": ref.namespace,
            "name": ref.name,
            "labels": {names.ANALYSIS_RUN: run.uid},
            "annotations": {names.ANALYSIS_RUN: run.ref.key},
        },
        "spec": {
            "workload": {
                "manifests": [
                    {
                        "apiVersion": _JOB,
                        "kind": "Job",
                        "metadata": {"namespace": namespace, "name": ref.name, **passed},
                        "spec": told["spec"],
                    }
                ]
            },
            "manifestConfigs": [
                {
                    "resourceIdentifier": identifier,
                    "feedbackRules": [{"type": "JSONPaths", "jsonPaths": paths}],
                    "updateStrategy": {"type": "CreateOnly"},  # a Job's template never changes
                }
            ],
            **({"executor": executor} if executor else {}),
        },
    }
