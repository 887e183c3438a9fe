"""Says how a ManifestWorkReplicaSet stands: counts, OCM's three conditions, and three of ours.

Our tally adds up to the clusters selected (S12). Source: OCM ManifestWorkReplicaSet spec 4.7, 5.4.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import structs

from rollout.model import names
from rollout.model.conditions import Condition, merge
from rollout.model.kinds import REPLICA_SET, Obj, Ref
from rollout.model.replicaset import ReplicaSet
from rollout.model.waits import Reason, Scope, Wait
from rollout.model.writes import PatchStatus
from rollout.planning.passes import followed
from rollout.planning.revisions import told_revisions
from rollout.planning.standing import ShareReport, WorkloadVerdict, judge_workload, uncounted
from rollout.strategies.base import NOTHING_CLOSED, Closed

_FAILING = frozenset(
    {
        Reason.ROLLING_OUT,
        Reason.MAX_FAILURES_EXCEEDED,
        Reason.COMPLETE_WITH_FAILURES,
        Reason.ROLLING_BACK,
        Reason.ROLLBACK_HALTED,
    }
)
"""Reasons under which it is told why clusters fail."""


def status_of(
    replicaset: ReplicaSet,
    reports: Sequence[ShareReport],
    hold: Wait | None,
    brake: Wait | None,
    now: datetime,
    *,
    as_ocm: bool = False,
    fault: str = "",
    shut: Closed = NOTHING_CLOSED,
    going: Sequence[str] = (),
    kept: str = "",
    revision: str = "",
) -> PatchStatus | None:
    """The status to write, or None where the object says it all already.

    ``as_ocm``: numbers that OCM does not write stay as it leaves them. ``fault`` is what agents say
    of manifests where the rollout fails; what ``shut`` says is said whatever it does. ``going`` are
    clusters whose works are being deleted, ``kept`` says who is held and keeps them. ``revision`` is what is rolled out ("": the template).
    """
    found = judge_workload(replicaset, reports, hold, brake)
    why = fault if found.reason in _FAILING else ""
    remarks = (found.message, why, shut.said, _made_again(going), kept)
    verdict = WorkloadVerdict(found.reason, "; ".join(filter(None, remarks)))
    old: Obj = replicaset.raw.get("status") or {}
    said = followed(shut, old.get("conditions") or [], replicaset.generation)
    counts = _counts(reports)
    said += _conditions(reports, hold, verdict, counts["summary"], at=replicaset.generation)
    if as_ocm:
        _leave_out(counts)
    status: Obj = {"conditions": merge(old.get("conditions") or [], said, now), **counts}
    began = [r.decided.head.rollback.began for r in reports if r.decided.head.rollback is not None]
    update = revision or replicaset.template.content
    revisions = told_revisions(replicaset, update, is_complete=verdict.is_complete, aborted=began)
    told = any(key in old for key in revisions)  # OCM's definition has no room for them
    wanted = status | (revisions if told else {})
    if all(old.get(key) == value for key, value in wanted.items()):
        return None
    return PatchStatus(Ref(REPLICA_SET, replicaset.key), status | revisions, replicaset.version)


def _counts(reports: Sequence[ShareReport]) -> Obj:
    """The counts of each placement and of all."""
    found = [(report, _share_summary(report)) for report in reports]
    whole = dict(found[0][1]) if len(found) == 1 else _added([each for _, each in found])
    placements = [_placement_summary(report, each) for report, each in found if report.is_evaluated]
    return {"placementSummary": placements, "summary": whole}


def _added(summaries: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {key: sum(each[key] for each in summaries) for key in _SUMMARY}


def _leave_out(counts: Obj) -> None:
    """Leave numbers at zero that OCM does not write."""
    for summary in (counts["summary"], *(each["summary"] for each in counts["placementSummary"])):
        summary.update(dict.fromkeys(_NOT_OF_OCM, 0))


def _made_again(going: Sequence[str]) -> str:
    if not going:
        return ""
    works = "1 work is" if len(going) == 1 else f"{len(going)} works are"
    named = ", ".join(going[:3]) + (", ..." if going[3:] else "")
    return f"{works} being deleted ({named}), and made again once gone"


def _conditions(
    reports: Sequence[ShareReport],
    hold: Wait | None,
    verdict: WorkloadVerdict,
    summary: Mapping[str, int],
    *,
    at: int,
) -> list[Condition]:
    verified = _verified(reports, hold)
    found = (
        verified,
        _applied(reports, verified, summary),
        _rolled_out(verdict),
        _progressing(verdict),
        _ready(verdict),
    )
    return [structs.replace(each, observed_generation=at) for each in found]


RARELY = 5
"""A status that would keep the end waiting is put off for so many of the usual spans. A pass that touches
hundreds of clusters takes seconds, so two spans are often over before its status is due."""


def is_nearly_done(replicaset: ReplicaSet, status: PatchStatus) -> bool:
    """Whether the end is nearer than the last status: as many clusters became available since as are left.

    A status that has the same to say but for its counts would only keep the last one waiting.
    """
    old: Obj = replicaset.raw.get("status") or {}
    if _verdicts(old) != _verdicts(status.status):
        return False
    now = status.status["summary"]
    told: int = (old.get("summary") or {}).get("available") or 0
    came: int = now["available"] - told
    left: int = now["desiredTotal"] - now["available"]
    return 0 < left <= came


def _verdicts(status: Obj) -> frozenset[tuple[object, ...]]:
    """What its conditions say, without the messages, which count."""
    kept = ("type", "status", "reason")
    return frozenset(tuple(map(c.get, kept)) for c in status.get("conditions") or ())


_SUMMARY = ("applied", "available", "degraded", "desiredTotal", "progressing", "total", "updated")
_NOT_OF_OCM = ("desiredTotal", "updated")


def _share_summary(report: ShareReport) -> dict[str, int]:
    counts, carrying = report.share.counts, report.carrying
    return {
        "applied": counts.applied,
        "available": counts.available,
        "degraded": counts.degraded,
        "desiredTotal": report.share.selected,
        "progressing": counts.progressing,
        "total": carrying,
        "updated": carrying,
    }


def _placement_summary(report: ShareReport, summary: dict[str, int]) -> Obj:
    share = report.share
    text = f"{share.groups} ({summary['updated']} / {summary['desiredTotal']} clusters applied)"
    return {"name": share.ref.name, "availableDecisionGroups": text, "summary": summary}


def _is_against_placement(reason: Reason) -> bool:
    """Whether it tells something against the placement. That it selects nobody is told otherwise."""
    if reason is Reason.MISCONFIGURED:
        return True
    return reason.scope is Scope.PLACEMENT and reason is not Reason.NO_TARGETS


def _verified(reports: Sequence[ShareReport], hold: Wait | None) -> Condition:
    """OCM's PlacementVerified."""
    for report in reports:
        share_hold = report.share.hold or report.step.hold
        if share_hold is None or not _is_against_placement(share_hold.reason):
            continue
        missing = share_hold.reason == Reason.PLACEMENT_NOT_FOUND
        reason = "PlacementDecisionNotFound" if missing else "NotAsExpected"
        return Condition(names.PLACEMENT_VERIFIED, "False", reason, share_hold.message)
    if hold is not None and hold.reason == Reason.MISCONFIGURED:
        return Condition(names.PLACEMENT_VERIFIED, "False", "NotAsExpected", hold.message)
    if not sum(report.share.selected for report in reports):
        message = "the placements select no cluster"
        return Condition(names.PLACEMENT_VERIFIED, "False", "PlacementDecisionEmpty", message)
    overlaps = "; ".join(
        f"{report.share.overlapped} clusters of placement {report.share.ref.name} belong to a "
        "placementRef before it"
        for report in reports
        if report.share.overlapped
    )
    return Condition(names.PLACEMENT_VERIFIED, "True", "AsExpected", overlaps)


def _applied(
    reports: Sequence[ShareReport], verified: Condition, summary: Mapping[str, int]
) -> Condition:
    """OCM's ManifestworkApplied."""
    selected = summary["desiredTotal"]
    if not summary["total"]:
        empty = verified.reason == "PlacementDecisionEmpty"
        reason = verified.reason if empty else "NotAsExpected"
        message = f"0 of {selected} clusters carry the revision"
        return Condition(names.MANIFESTWORK_APPLIED, "False", reason, message)
    text = (
        f"{summary['applied']} applied and {summary['available']} available of {summary['total']} "
        f"works, {summary['progressing']} progressing, {summary['degraded']} degraded"
    )
    text = "; ".join([text, *uncounted(reports, outdated=True)])
    healthy = summary["applied"] == summary["available"] == summary["total"]
    if healthy and not summary["progressing"] and not summary["degraded"]:
        return Condition(names.MANIFESTWORK_APPLIED, "True", "AsExpected", text)
    processing = summary["progressing"] and not summary["degraded"]
    reason = "Processing" if processing else "NotAsExpected"
    return Condition(names.MANIFESTWORK_APPLIED, "False", reason, text)


def _rolled_out(verdict: WorkloadVerdict) -> Condition:
    """OCM's PlacementRolledOut: Complete only when nothing failed."""
    if verdict.reason == Reason.COMPLETE:
        return Condition(names.PLACEMENT_ROLLED_OUT, "True", Reason.COMPLETE, verdict.message)
    return Condition(names.PLACEMENT_ROLLED_OUT, "False", "Progressing", verdict.message)


def _progressing(verdict: WorkloadVerdict) -> Condition:
    status = "True" if verdict.reason == Reason.ROLLING_OUT else "False"
    return Condition(names.PROGRESSING, status, verdict.reason, verdict.message)


_READY = {
    Reason.COMPLETE: Reason.ROLLED_OUT,
    Reason.COMPLETE_WITH_FAILURES: Reason.ROLLED_OUT_WITH_FAILURES,
}


def _ready(verdict: WorkloadVerdict) -> Condition:
    status = "True" if verdict.is_complete else "False"
    return Condition(
        names.READY, status, _READY.get(verdict.reason, verdict.reason), verdict.message
    )
