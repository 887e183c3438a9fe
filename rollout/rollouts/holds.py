"""The holds that people cause: on a whole workload, or on one revision.

A workload is held as a whole (misconfigured, paused, the hub frozen); a revision is held by itself
(aborted, rejected, taken back, or asked to pass a gate that stands nowhere). Every hold says who asked,
as far as they said so, and what ends it. Source: semantics rows 25-27; safety contract S7, S8, S10.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from rollout.model import names
from rollout.model.analyses import AnalysisPhase, AnalysisVerdict
from rollout.model.approvals import EVERY_STAGE, Approval, ApprovalDecision, Freeze, refusal
from rollout.model.instants import rfc3339
from rollout.model.intents import NO_INTENTS, Intents, RollbackMode
from rollout.model.problems import Problem, joined
from rollout.model.waits import Reason, Wait
from rollout.model.workload import WorkloadSpec
from rollout.rollouts.head import Rollback
from rollout.rollouts.rejections import RefusedWrite
from rollout.strategies.base import Step, Timing
from rollout.strategies.gates import is_key_of, rejection
from rollout.strategies.retreat import Retreat, RetreatLimits

CAUSES: Mapping[str, str] = {
    "Breach": "more failures than maxFailures",
    "Rejected": "it was rejected",
    "Aborted": "it was aborted",
    "Undo": "somebody asked to undo it",
    "AnalysisFailed": "an analysis of it failed",
}
"""Why a rollback begins, by the word that the record keeps."""


def workload_problems(asked: WorkloadSpec, *, as_ocm: bool) -> tuple[Problem, ...]:
    """What of a workload cannot be read, and gates in placements that it does not have: they would stop
    nothing (S7). Annotations that cannot be read are told by its intents.

    ``as_ocm``: OCM's rules decide, which know of no gates.
    """
    intents = asked.intents
    if as_ocm or not intents.gates:
        return asked.problems
    known = sorted(set(asked.placement_names))
    stray = (
        Problem(
            f"metadata.annotations[{names.GATES}]",
            str(gate),
            f"a gate in one of its placements: {', '.join(known)}",
        )
        for gate in intents.gates
        if gate.placement and gate.placement not in known
    )
    return (*asked.problems, *stray)


def workload_hold(
    problems: Sequence[Problem],
    intents: Intents,
    freeze: Freeze | None,
    unwritten: RefusedWrite | None,
    *,
    now: datetime,
) -> Wait | None:
    """Why nothing of a workload may be touched or removed; the first of these that holds it.

    ``freeze``: the one that stands at ``now``. ``unwritten``: a part of the record, or a template, that
    the server has refused; it holds until it is tried again.
    """
    wrong = (*problems, *intents.problems)
    if wrong:
        return Wait(Reason.MISCONFIGURED, joined(wrong))
    if unwritten is not None and unwritten.retry_at > now:
        text = "nothing is touched that could not be written down first; it is tried again"
        said = f"the server refuses {unwritten.message}; {text}"
        return Wait(Reason.RECORD_REJECTED, said, unwritten.retry_at)
    if freeze is not None:
        by = f" by {freeze.actor} (unverified)" if freeze.actor else ""
        why = f": {freeze.reason}" if freeze.reason else ""
        ends = f", or wait until {freeze.until:%Y-%m-%dT%H:%M:%SZ}" if freeze.until else ""
        text = f"the hub is frozen{by} by Freeze {freeze.name}{why}; delete it to go on{ends}"
        return Wait(Reason.FROZEN, text, freeze.until)
    if intents.paused:
        asked = intents.who("pause")
        text = f"paused{asked} by annotation {names.PAUSED}; set it to false to resume"
        return Wait(Reason.PAUSED, text if not asked.reason else f"paused{asked} ({names.PAUSED})")
    return None


def barred(revision: str, placement: str) -> Wait | None:
    """Why a revision goes no further where another placement (""; none does) takes it back (row 27)."""
    if not placement:
        return None
    text = f"revision {revision} is rolled back in placement {placement}: it goes no further here"
    return Wait(Reason.ROLLED_BACK, f"{text}; roll out a fix, or retry (`rollout retry`)")


def missing_news(timing: Timing) -> str:
    """That time stands still, and since when; "" where it does not (row 20)."""
    since = timing.blind_since
    if since is None:
        return ""
    return f"news may be missing since {rfc3339(since)}: deadlines and soaks stand still meanwhile"


def revision_hold(
    revision: str, intents: Intents, approvals: Sequence[Approval], now: datetime
) -> Wait | None:
    """Why this revision goes no further, where a person said so."""
    if intents.undo == revision:
        asked = intents.who("undo")
        if intents.rollback is RollbackMode.NONE:
            text = f"annotation {names.ROLLBACK} is None: it is only held"
        else:
            text = "its clusters get back what soaked there"
        return Wait(Reason.UNDONE, f"revision {revision} is to be undone{asked}; {text}")
    if revision in intents.aborted:
        asked = intents.who("abort")
        text = "roll out another one, or retry (`rollout retry`)"
        return Wait(Reason.ABORTED, f"revision {revision} was aborted{asked}; {text}")
    return rejection(approvals, revision, now)


def _is_asked(verdict: AnalysisVerdict, intents: Intents) -> bool:
    """Whether the workload still asks for this analysis, at this gate or in the background."""
    if verdict.at:
        return any(is_key_of(verdict.at, gate) for gate in intents.gates)
    return verdict.template == intents.analysis


def analysis_hold(
    verdicts: Sequence[AnalysisVerdict],
    revision: str,
    attempt: str,
    approvals: Sequence[Approval],
    *,
    intents: Intents,
    now: datetime,
) -> Wait | None:
    """Why this revision goes no further for what was measured of it: the worst verdict.

    Of gates only a failure counts here; all else keeps nothing but the gate itself. What is asked for no
    more keeps nothing.
    """
    mine = [
        each
        for each in verdicts
        if not each.cluster and each.counts_for(revision, attempt) and _is_asked(each, intents)
    ]
    for verdict in mine:
        if verdict.phase is AnalysisPhase.FAILED:
            return Wait(
                Reason.ANALYSIS_FAILED, f"an analysis of revision {revision} failed, {verdict}"
            )
    if any(
        each.decision is ApprovalDecision.APPROVE
        and each.gate == EVERY_STAGE
        and each.counts(revision, now)
        for each in approvals
    ):
        return None
    found = {verdict.phase: verdict for verdict in mine if not verdict.at}
    if (unread := found.get(AnalysisPhase.ERROR)) is not None:
        text = f"revision {revision} cannot be measured, {unread}"
        return Wait(Reason.METRIC_UNREACHABLE, text)
    if (unclear := found.get(AnalysisPhase.INCONCLUSIVE)) is not None:
        text = f"an analysis of revision {revision} is inconclusive, {unclear}"
        return Wait(Reason.ANALYSIS_INCONCLUSIVE, text)
    return None


def why_back(step: Step, held: Wait | None, intents: Intents, *, completed: bool) -> str:
    """The cause for which a rollback begins now, "" where none does.

    Args:
        completed: the revision has reached everybody once. A cluster that came later, or that is to
            carry something else since, halts it when it fails; it takes nothing from the others.
    """
    if intents.rollback is RollbackMode.NONE:
        return ""
    if held is not None and held.reason == Reason.UNDONE:
        return "Undo"
    if intents.rollback is not RollbackMode.AUTOMATIC:
        return ""
    if held is not None and held.reason in (
        Reason.ABORTED,
        Reason.REJECTED,
        Reason.ANALYSIS_FAILED,
    ):
        return held.reason
    is_free = step.hold is None or (held is not None and held.reason == Reason.ROLLED_BACK)
    return "Breach" if step.halt is not None and is_free and not completed else ""


def limits_of(intents: Intents) -> RetreatLimits:
    """The limits that a rollback has of its own."""
    return RetreatLimits(intents.rollback_limit, intents.rollback_budget)


def going_back(
    rollback: Rollback,
    found: Retreat,
    approvals: Sequence[Approval],
    now: datetime,
    *,
    by: Intents = NO_INTENTS,
) -> Wait:
    """What a rollback says that has begun: its revision is barred.

    While one of the approvals rejects it, a retry comes to nothing.
    """
    refused = refusal(approvals, rollback.revision, now)
    ends = " or" if refused is None else f", or Approval {refused.name} is deleted and"
    tail = f"; it is barred until the template changes{ends} somebody retries (`rollout retry`)"
    tail += _barred_again(rollback.revision, by)
    kept = _kept(found)
    if found.hold is not None:
        return Wait(found.hold.reason, f"{found.hold.message}{kept}")
    counts = f"{found.back} of {found.total} clusters rolled back"
    if found.is_done and not found.total:
        counts = f"no cluster {'could' if found.held or found.stuck else 'had to'} go back"
    if found.failed:
        counts += f", {found.failed} failed on the way"
    if found.shut is not None:
        counts += f"; {found.waiting} may not go back yet ({found.shut.message})"
    was = "was" if found.is_done else "is being"
    head = f"revision {rollback.revision} {was} {_done_to_it(rollback, by)}{counts}"
    return Wait(Reason.ROLLED_BACK if found.is_done else Reason.ROLLING_BACK, f"{head}{kept}{tail}")


def _barred_again(revision: str, asked: Intents) -> str:
    """That what a person wrote bars the revision also when the template comes back to it; "" else."""
    name = names.UNDO if asked.undo == revision else names.ABORT
    if name == names.ABORT and revision not in asked.aborted:
        return ""
    return f"; when the template comes back to it, annotation {name} bars it again, unless removed"


def _kept(found: Retreat) -> str:
    """Who keeps the revision that is taken back, and why; "" for nobody."""
    text = ""
    if found.held:
        is_one = len(found.held) == 1
        go = "cluster goes back once it is" if is_one else "clusters go back once they are"
        text += f"; {len(found.held)} held {go} released ({_some(found.held)})"
    if found.stuck:
        text += (
            f"; {len(found.stuck)} have nothing to go back to and keep it ({_some(found.stuck)})"
        )
    return text


def _some(clusters: Sequence[str]) -> str:
    return ", ".join(clusters[:3]) + (", ..." if len(clusters) > 3 else "")


def _done_to_it(rollback: Rollback, asked: Intents) -> str:
    """``undone by NAME: ``, where a person asked for it; else why it is ``rolled back (...): ``."""
    by = asked.who("undo")
    if rollback.cause == "Undo" and asked.undo == rollback.revision and by.by:
        return f"undone{by}; " if by.reason else f"undone{by}: "
    return f"rolled back ({CAUSES.get(rollback.cause, rollback.cause)}): "
