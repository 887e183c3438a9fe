"""What happened in a rollout that a person may want to read? Notes become log lines and Events.

Never one per cluster and pass: clusters that fail together are told together.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from rollout.model import names
from rollout.model.kinds import Ref
from rollout.model.replicaset import ReplicaSet
from rollout.model.waits import Reason
from rollout.planning.plan import Note, PatchStatus
from rollout.strategies.base import Settled, Step, Verdict

STARTED = "RolloutStarted"
_ENDS = {
    Reason.COMPLETE: ("RolloutCompleted", False),
    Reason.COMPLETE_WITH_FAILURES: ("RolloutCompleted", True),
    Reason.MAX_FAILURES_EXCEEDED: ("BudgetExhausted", True),
    Reason.PAUSED: ("RolloutPaused", False),
    Reason.ROLLING_OUT: (STARTED, False),
    Reason.REMOVAL_BRAKE: ("RemovalsHeld", True),
    Reason.FROZEN: ("RolloutFrozen", True),
    Reason.APPROVAL_NEEDED: ("ApprovalNeeded", False),
    Reason.ANALYSIS_INCONCLUSIVE: ("AnalysisInconclusive", True),
    Reason.ANALYSIS_FAILED: ("AnalysisFailed", True),
    Reason.METRIC_UNREACHABLE: ("MetricUnreachable", True),
    Reason.ABORTED: ("RolloutAborted", True),
    Reason.REJECTED: ("RolloutRejected", True),
    Reason.ROLLING_BACK: ("RollbackStarted", True),
    Reason.ROLLED_BACK: ("RollbackCompleted", True),
    Reason.ROLLBACK_HALTED: ("RollbackHalted", True),
}


def rollout_notes(
    ref: Ref,
    replicaset: ReplicaSet,
    steps: Mapping[str, Step],
    status: PatchStatus | None,
    *,
    is_retry: bool = False,
    fault_on: Callable[[Iterable[str]], str] = lambda _: "",
) -> tuple[Note, ...]:
    """Notes on the gates and verdicts of these steps, and on a change of the whole.

    ``is_retry``: the record was refused and is tried again; that it began was told the first time.
    ``fault_on`` says of clusters what their agents say of manifests ("": nothing).
    """
    found: list[Note] = []
    for placement, step in steps.items():
        found += _step_notes(ref, placement, step)
        failed = [s for s in step.settled if s.verdict is Verdict.FAILED]
        if failed:
            text = _failures(placement, failed, fault_on([s.cluster for s in failed]))
            found.append(Note(ref, "ClusterFailed", text, warning=True))
    turn = _turn(replicaset, status)
    if turn is not None and not (is_retry and turn[0] == STARTED):
        reason, message, warning = turn
        found.append(Note(ref, reason, message, warning))
    return tuple(found)


def _step_notes(ref: Ref, placement: str, step: Step) -> list[Note]:
    titles = {stage.key: stage.title for stage in step.stages}
    passed = [f"placement {placement}: {titles[key]} passed" for key in step.passed]
    opened = [f"placement {placement}: gate {key} is open" for key in step.opened]
    return [
        *(Note(ref, "StagePassed", text) for text in passed),
        *(Note(ref, "GateOpened", text) for text in opened),
    ]


def _failures(placement: str, failed: Sequence[Settled], fault: str) -> str:
    """Which clusters failed; ``fault`` is what their agents say of manifests, "" for nothing."""
    listed = ", ".join(f"{s.cluster} ({s.reason})" for s in failed[:5])
    more = f" and {len(failed) - 5} more" if len(failed) > 5 else ""
    return f"placement {placement}: {listed}{more} failed" + (f"; {fault}" if fault else "")


def repair_notes(ref: Ref, edited: Iterable[Mapping[str, str]]) -> tuple[Note, ...]:
    """Notes on record pages that somebody else wrote (page -> who). They are written again (S18)."""
    return tuple(
        Note(
            ref,
            "RecordRepaired",
            f"RolloutRecord {page} was changed by {writer}; it is written again from memory",
            warning=True,
        )
        for pages in edited
        for page, writer in sorted(pages.items())
    )


def _turn(replicaset: ReplicaSet, status: PatchStatus | None) -> tuple[str, str, bool] | None:
    """The change of the Progressing condition's reason that this status brings, if any."""
    if status is None:
        return None
    before = _reason((replicaset.raw.get("status") or {}).get("conditions") or [])
    for item in status.status["conditions"]:
        if item["type"] == names.PROGRESSING and item["reason"] != before:
            reason, warning = _ENDS.get(item["reason"], ("RolloutHeld", True))
            return reason, item["message"], warning
    return None


def _reason(conditions: list[dict[str, str]]) -> str:
    return next((c.get("reason", "") for c in conditions if c.get("type") == names.PROGRESSING), "")
