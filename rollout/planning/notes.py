"""Notes what happened in a rollout that a person may want to read: log lines and Events.

Never one per cluster and pass: clusters that fail together are told together.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from rollout.model import names
from rollout.model.analyses import AnalysisPhase
from rollout.model.conditions import condition_in
from rollout.model.kinds import PLACEMENT, PLACEMENT_DECISION, Obj, Ref
from rollout.model.placement import Placement
from rollout.model.replicaset import ReplicaSet
from rollout.model.waits import Reason
from rollout.model.wording import first_of
from rollout.model.work import names_another_owner
from rollout.model.writes import Delete, PatchStatus
from rollout.placement.framework import EvaluationCode, EvaluationStatus, PlacementSelection
from rollout.placement.grouping import Profile
from rollout.planning.passes import OVERRIDDEN
from rollout.planning.plan import Note, Write, touch_of
from rollout.planning.revisions import Occupant
from rollout.rollouts.facts import Decided
from rollout.rollouts.replicaset_workload import ReplicaSetWorkload
from rollout.strategies.base import Health, Phase, Settled, Step, Verdict

STARTED = "RolloutStarted"
RESUMED = "RolloutResumed"
_ENDS: Mapping[str, tuple[str, bool]] = {
    Reason.COMPLETE: ("RolloutCompleted", False),
    Reason.COMPLETE_WITH_FAILURES: ("RolloutCompleted", True),
    Reason.MAX_FAILURES_EXCEEDED: ("BudgetExhausted", True),
    Reason.PAUSED: ("RolloutPaused", False),
    Reason.ROLLING_OUT: (STARTED, False),
    Reason.REMOVAL_BRAKE: ("RemovalsHeld", True),
    Reason.FROZEN: ("RolloutFrozen", True),
    Reason.APPROVAL_NEEDED: ("ApprovalNeeded", False),
    Reason.GATE_FAILED: ("GateFailed", True),
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
    failed: Callable[[], Sequence[Settled]] = tuple,
) -> tuple[Note, ...]:
    """Notes on the gates and verdicts of these steps, and on a change of the whole.

    ``is_retry``: the record was refused and is tried again; that it began was told the first time.
    ``fault_on`` says of clusters what their agents, or measurements, say of them ("": nothing).
    ``failed`` is asked who failed where a rollback begins: most go back before their verdict is due.
    """
    found: list[Note] = []
    if status is not None:
        found += calendar_notes(ref, replicaset.raw.get("status") or {}, status.status)
    for placement, step in steps.items():
        found += step_notes(ref, placement, step, fault_on)
    turn = _turn(replicaset, status)
    if turn is not None and not (is_retry and turn[0] == STARTED):
        reason, message, warning = turn
        culprits = failed() if reason == _ENDS[Reason.ROLLING_BACK][0] else ()
        if culprits:
            message = f"{message}; failed: {_listed(culprits)}"
        found.append(Note(ref, reason, message, warning=warning))
    return tuple(found)


def calendar_notes(ref: Ref, before: Obj, after: Obj) -> list[Note]:
    """Notes that a person lets the workload past all calendars, and that this is over. ``before`` and
    ``after`` hold its conditions.
    """
    was_past, is_past = _is_past_calendars(before), _is_past_calendars(after)
    if is_past == was_past:
        return []
    now = condition_in(after.get("conditions"), names.CALENDARS_FOLLOWED)
    if now is not None and is_past:
        return [Note(ref, "CalendarsOverridden", f"it is {now.message}", warning=True)]
    return [Note(ref, "CalendarsFollowed", "calendars count again")]


def _is_past_calendars(status: Obj) -> bool:
    return _reason(status.get("conditions") or [], names.CALENDARS_FOLLOWED) == OVERRIDDEN


def step_notes(
    ref: Ref,
    placement: str,
    step: Step,
    fault_on: Callable[[Iterable[str]], str] = lambda _: "",
) -> list[Note]:
    """Notes on the stages that passed, the gates that opened, and the clusters that failed."""
    if not (step.passed or step.opened or step.settled):
        return []
    titles = {stage.key: stage.title for stage in step.stages}
    passed = [f"placement {placement}: {titles[key]} passed" for key in step.passed]
    opened = [f"placement {placement}: gate {key} is open" for key in step.opened]
    found = [
        *(Note(ref, "StagePassed", text) for text in passed),
        *(Note(ref, "GateOpened", text) for text in opened),
    ]
    failed = [s for s in step.settled if s.verdict is Verdict.FAILED]
    if failed:
        text = _failures(placement, failed, fault_on([s.cluster for s in failed]))
        found.append(Note(ref, "ClusterFailed", text, warning=True))
    return found


def _failures(placement: str, failed: Sequence[Settled], fault: str) -> str:
    """Which clusters failed; ``fault`` is what their agents, or measurements, say, "" for nothing."""
    return f"placement {placement}: {_listed(failed)} failed" + (f"; {fault}" if fault else "")


def _listed(failed: Sequence[Settled]) -> str:
    return first_of(failed, 5, lambda each: f"{each.cluster} ({each.reason})")


def repair_notes(ref: Ref, edited: Iterable[Mapping[str, str]]) -> tuple[Note, ...]:
    """Notes on record pages that somebody else changed (page -> what was done to it). They are written
    again (S18).
    """
    return tuple(
        Note(
            ref,
            "RecordRepaired",
            f"RolloutRecord {page} {change}; it is written again from memory",
            warning=True,
        )
        for pages in edited
        for page, change in sorted(pages.items())
    )


def cleared_notes(
    ref: Ref, cleared: Collection[Delete], edited: Iterable[Mapping[str, str]]
) -> list[Note]:
    """Notes on what has the name of a record page and is none, where it makes way (S18). Of pages that
    were ``edited`` see `repair_notes`.
    """
    if not cleared:
        return []
    told = {page for pages in edited for page in pages}
    text = "RolloutRecord {} was not a page of this workload; it is deleted and written anew"
    return [
        Note(ref, "RecordRepaired", text.format(write.ref.name), warning=True)
        for write in cleared
        if write.ref.name not in told
    ]


def occupant_note(ref: Ref, revision: Ref, occupant: Occupant) -> Note:
    """A note on what has the name of a revision and is none, where it makes way (S18)."""
    writer = f" and was written by {occupant.writer}" if occupant.writer else ""
    text = f"RolloutRevision {revision.name} was not a revision of this workload{writer}"
    return Note(ref, "RevisionRepaired", f"{text}; it is deleted and written anew", warning=True)


def edited_note(ref: Ref, revision: Ref, there: Occupant | None) -> Note:
    """A note on a kept revision that somebody changed, where it is put back (S18). ``there``: what has its
    name now.
    """
    writer = (there.writer if there is not None else "") or "somebody"
    text = f"RolloutRevision {revision.name} was changed by {writer}"
    return Note(ref, "RevisionRepaired", f"{text}; it is written again from memory", warning=True)


def disowned_notes(
    ref: Ref, writes: Iterable[Write], is_disowned: Callable[[str], bool], *, reason: str, text: str
) -> list[Note]:
    """Notes on what somebody took away from the workload, where a write puts that right (S18).

    Args:
        is_disowned: whether that is so of what the cluster of this name has.
        text: the message; ``{cluster}`` stands for the name.
    """
    clusters = [touch.cluster for write in writes if (touch := touch_of(write)) is not None]
    return [
        Note(ref, reason, text.format(cluster=cluster), warning=True)
        for cluster in clusters
        if is_disowned(cluster)
    ]


def disowned_works(workload: ReplicaSetWorkload, writes: Iterable[Write]) -> list[Note]:
    """Notes on works that say they are not of this workload, where a write puts that right."""

    def is_disowned(cluster: str) -> bool:
        work = workload.work(cluster)
        return work is not None and names_another_owner(work, workload.ref.key)

    text = "the work of cluster {cluster} named another owner, or none; it is put right"
    return disowned_notes(workload.ref, writes, is_disowned, reason="WorkRepaired", text=text)


def told_as(reason: str, before: str, *, had_begun: bool) -> tuple[str, bool]:
    """The Event that tells that a rollout has come to this reason, and whether it is a warning.

    Args:
        before: the reason until now; "" for none.
        had_begun: whether somebody carried the present revision when that was written.
    """
    event, warning = _ENDS.get(reason, ("RolloutHeld", True))
    goes_on = event == STARTED and before not in _FRESH and had_begun
    return (RESUMED if goes_on else event), warning


def _turn(replicaset: ReplicaSet, status: PatchStatus | None) -> tuple[str, str, bool] | None:
    """The change of the Progressing condition's reason that this status brings, if any."""
    if status is None:
        return None
    old = replicaset.raw.get("status") or {}
    before = _reason(old.get("conditions") or [], names.PROGRESSING)
    for item in status.status["conditions"]:
        if item["type"] == names.PROGRESSING and item["reason"] != before:
            had_begun = _had_begun(old, status.status)
            reason, warning = told_as(item["reason"], before, had_begun=had_begun)
            return reason, item["message"], warning
    return None


def _had_begun(old: Obj, new: Obj) -> bool:
    """Whether somebody carried this revision already when the old status was written."""
    is_same = old.get("updateRevision") == new.get("updateRevision")
    return is_same and bool((old.get("summary") or {}).get("updated"))


_FRESH = frozenset({"", Reason.COMPLETE, Reason.COMPLETE_WITH_FAILURES})
"""After these a rollout starts; after all others, with the same revision, it goes on."""


def _reason(conditions: list[dict[str, str]], kind: str) -> str:
    """The reason of the condition of this type, "" where there is none."""
    for condition in conditions:
        if condition.get("type") == kind:
            return condition.get("reason", "")
    return ""


NAMED = 10
"""Pages that are named; of the others only the number is told."""
SCORE_LENGTH = 1000


def page_notes(
    placement: Placement,
    profile: Profile,
    status: EvaluationStatus,
    selection: PlacementSelection,
    *,
    fresh: Sequence[str],
    filled: Sequence[str],
    gone: Sequence[str],
) -> tuple[Note, ...]:
    """Of the pages that are made, those whose clusters change (new ones too), and those removed."""
    warning = status.code is EvaluationCode.WARNING
    why = f": {status.message} in plugin {status.plugin}" if warning else ""
    together = profile == "strict"
    updated = [page for page in filled if warning or not together or page not in fresh]
    found = _told(placement, "Create", fresh, together)
    found += _told(placement, "Update", updated, together, why=why, warning=warning)
    if filled and selection.names:
        ref, text = Ref(PLACEMENT, placement.key), score_text(selection)
        found.append(Note(ref, "ScoreUpdate", text, warning=False, action="ScoreUpdated"))
    found += _told(placement, "Delete", gone, together)
    return tuple(found)


def _told(
    placement: Placement,
    verb: str,
    pages: Sequence[str],
    together: bool,
    why: str = "",
    *,
    warning: bool = False,
) -> list[Note]:
    if together and len(pages) > 1:
        subjects = {f"Decisions {first_of(pages, NAMED)} are": pages[0]}
    else:
        subjects = {f"Decision {page} is": page for page in pages}
    done = f"{verb}d"
    rest = f"{done.lower()} with placement {placement.name} in namespace {placement.namespace}{why}"
    return [
        Note(
            Ref(PLACEMENT, placement.key),
            f"Decision{verb}",
            f"{subject} {rest}",
            warning=warning,
            action=f"Decision{done}",
            related=Ref(PLACEMENT_DECISION, f"{placement.namespace}/{page}"),
        )
        for subject, page in subjects.items()
    ]


def score_text(selection: PlacementSelection) -> str:
    """``<cluster>:<total> `` of every feasible cluster by name, at most `SCORE_LENGTH` of it."""
    text = ""
    for name, total in zip(selection.names, selection.totals, strict=True):
        entry = f"{name}:{total} "
        if len(text) + len(entry) > SCORE_LENGTH:
            return text + "......"
        text += entry
    return text


def fault_on(workload: ReplicaSetWorkload, clusters: Iterable[str]) -> str:
    """What the first of these says of its manifests, and how many others say something; "" for none."""
    saying = sorted(cluster for cluster in clusters if cluster in workload.faulty)
    work = workload.work(saying[0]) if saying else None
    if work is None:
        return ""
    others = len(saying) - 1
    more = f" (and {others} more clusters)" if others else ""
    return f"{work.cluster}: {'; '.join(work.faults)}{more}"


def verdict_on(decided: Mapping[str, Decided], clusters: Iterable[str]) -> str:
    """What was measured of the first of these whose analysis failed; "" for none.

    Args:
        decided: what is decided now, by placement.
    """
    known = [each.ledger.rollout.timing.measured or {} for each in decided.values()]
    for cluster in clusters:
        for measured in known:
            found = measured.get(cluster)
            if found is not None and found.phase is AnalysisPhase.FAILED:
                return f"{cluster}: {found}"
    return ""


def failing(workload: ReplicaSetWorkload, decided: Mapping[str, Decided]) -> Iterable[str]:
    """The clusters among the faulty ones that fail, or have failed. Cost: O(faulty clusters).

    Args:
        decided: what is decided now, by placement.
    """
    for cluster in workload.faulty:
        owner = workload.members.get(cluster)
        standing = decided[owner].standing(cluster) if owner is not None else None
        if standing is not None and (
            standing.health is Health.FAILED or standing.verdict is Verdict.FAILED
        ):
            yield cluster


def taken_back_for(decided: Mapping[str, Decided]) -> list[Settled]:
    """The clusters that count as failed, by name, where a revision is taken back. Cost: O(clusters).

    Args:
        decided: what is decided now, by placement.
    """
    return [
        Settled(cluster, Verdict.FAILED, judged.reason or judged.phase.value)
        for each in decided.values()
        if each.head.rollback is not None
        for cluster, judged in sorted(each.judged.items())
        if judged.phase.is_failure
    ]


def retreat_notes(ref: Ref, decided: Mapping[str, Decided]) -> list[Note]:
    """Notes on clusters that fail and go back now, whose verdict will never be due.

    Args:
        decided: what is decided now, by placement.
    """
    found: list[Note] = []
    for placement, each in decided.items():
        if each.retreat is None:
            continue
        going = sorted(cluster for cluster, _ in each.retreat.touch)
        judged = [(cluster, each.judged.get(cluster)) for cluster in going]
        failed = [
            Settled(cluster, Verdict.FAILED, how.reason)
            for cluster, how in judged
            if how is not None and how.phase is Phase.FAILING
        ]
        if failed:
            text = f"placement {placement}: {_listed(failed)} failed; what was there before is given back"
            found.append(Note(ref, "ClusterFailed", text, warning=True))
    return found
