"""Judges where one cluster stands now, and when time alone can change that.

The one place where soak, deadline and failure grace are measured. Source: semantics rows 6-9, 11, 20.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from msgspec import Struct, structs

from rollout.model.analyses import AnalysisPhase
from rollout.model.cluster_reasons import ClusterReason
from rollout.model.instants import rfc3339_micro
from rollout.model.waits import Reason
from rollout.strategies.base import Health, Phase, Settled, Standing, Timing, Verdict

# By name: in Python 3.11 a member is looked up through its class in 120 ns, and every cluster is judged here.
_SUCCESS, _FAILURE = Health.SUCCEEDED, Health.FAILED
_HAS_SOAKED, _HAS_FAILED, _IS_RETRIED = Verdict.SOAKED, Verdict.FAILED, Verdict.RETRY


class Judgement(Struct, frozen=True, gc=False):
    """A phase, the instant at which it changes if nothing is heard (None: never), and a reason."""

    phase: Phase
    until: datetime | None = None
    reason: str = ""


_WAITS, _SOAKED = Judgement(Phase.WAITING), Judgement(Phase.SOAKED)


def judge(standing: Standing, revision: str, timing: Timing, now: datetime) -> Judgement:
    """Judge one touched cluster in the rollout of ``revision``.

    On an older revision all that matters is whether it is still in flight there.
    """
    if standing.revision == revision:
        return _on_its_revision(standing, timing, now)
    judged = _on_its_revision(standing, unmeasured(timing), now)
    if judged.phase.holds_slot:
        return Judgement(Phase.OUTDATED, judged.until, judged.reason)
    return _WAITS


def unmeasured(timing: Timing) -> Timing:
    """The waits of what a cluster had before the present revision, or was given back: nobody measures it."""
    return timing if timing.measured is None else replace(timing, measured=None)


NEVER_MEASURED = "NeverMeasured"
"""The reason of a success on an older revision that soaked while its analysis was not Successful."""


def left_behind(standing: Standing, timing: Timing, now: datetime) -> Standing:
    """A standing on an older revision, with the verdict that is final there. Nobody measures it any more: it
    frees its slot all the same, but has not proved that revision (S26).
    """
    found = concluded(standing, unmeasured(timing), now)
    is_unproved = timing.measured is not None and found.verdict is Verdict.SOAKED
    return structs.replace(found, reason=NEVER_MEASURED) if is_unproved else found


def is_open(standing: Standing) -> bool:
    """Whether time alone can still change it. A success after the deadline can still soak."""
    if standing.verdict is _HAS_FAILED:
        return standing.health is _SUCCESS
    return standing.verdict is None


def concluded(standing: Standing, timing: Timing, now: datetime) -> Standing:
    """The standing, with the verdict that is final for its own revision, if there is one (row 11)."""
    if standing.verdict is not None:
        return standing
    judged = _on_its_revision(standing, timing, now)
    if judged.phase is Phase.SOAKED:
        return structs.replace(standing, verdict=Verdict.SOAKED)
    if judged.phase is Phase.FAILED:
        return structs.replace(standing, verdict=Verdict.FAILED, reason=judged.reason)
    return standing


def due(standing: Standing, judged: Judgement) -> Settled | None:
    """The verdict that this judgement adds to what is recorded, if any."""
    phase = judged.phase
    if phase is _SOAKED.phase and standing.verdict is not _HAS_SOAKED:
        return Settled(standing.cluster, Verdict.SOAKED)
    if phase is Phase.FAILED and standing.verdict is None:
        return Settled(standing.cluster, Verdict.FAILED, judged.reason)
    return None


def _on_its_revision(standing: Standing, timing: Timing, now: datetime) -> Judgement:
    blind = timing.blind_since
    if blind is None:
        return _by_the_clock(standing, timing, now)
    # While the fleet is out of sight, time stands still: no phase changes because of time alone.
    return structs.replace(_by_the_clock(standing, timing, min(now, blind)), until=None)


def _by_the_clock(standing: Standing, timing: Timing, now: datetime) -> Judgement:
    if standing.verdict is _HAS_SOAKED:
        return _SOAKED
    if standing.verdict is _IS_RETRIED:
        return _WAITS
    health = standing.health
    if health is _SUCCESS:
        return _succeeded(standing, timing, now)
    if health is _FAILURE:
        return _failed(standing, timing, now)
    return _unfinished(standing, timing, now)


def _succeeded(standing: Standing, timing: Timing, now: datetime) -> Judgement:
    """Soaking, unless success came too late: then a failure that still recovers by soaking.

    Where the cluster is measured it has not soaked before that is Successful; what is measured as Failed
    does not recover.
    """
    measured = _measured(standing, timing, now)
    if measured is AnalysisPhase.FAILED:
        return Judgement(Phase.FAILED, None, ANALYSIS_FAILED)
    since = standing.since or standing.touched
    soaked_at = _soaked_at(since, timing)
    reason, until = "", None if soaked_at <= now else _coming(soaked_at)
    if soaked_at <= now:
        if measured in (None, AnalysisPhase.SUCCESSFUL):
            return _SOAKED
        reason = _UNMEASURED[measured]
    if standing.verdict is _HAS_FAILED:
        return Judgement(Phase.FAILED, until, standing.reason)
    limit = limit_of(standing.touched, timing)
    heard = min(since, now)  # while news is missing, one that is heard late may have come in time
    if limit is not None and heard > limit:
        return Judgement(Phase.FAILED, until, TIMED_OUT)
    return Judgement(Phase.SOAKING, until, reason)


ANALYSIS_FAILED = Reason.ANALYSIS_FAILED.value
DEGRADED = ClusterReason.DEGRADED.value
TIMED_OUT = ClusterReason.TIMED_OUT.value
UNREACHABLE = ClusterReason.UNREACHABLE.value
_UNMEASURED = {
    AnalysisPhase.RUNNING: Reason.ANALYSIS_RUNNING.value,
    AnalysisPhase.INCONCLUSIVE: Reason.ANALYSIS_INCONCLUSIVE.value,
    AnalysisPhase.ERROR: Reason.METRIC_UNREACHABLE.value,
}


def _measured(standing: Standing, timing: Timing, now: datetime) -> AnalysisPhase | None:
    """How the analysis of this attempt stands; None where none is asked for.

    A person can approve what is not clear, or cannot be measured.
    """
    if standing.verdict is _HAS_FAILED and standing.reason == ANALYSIS_FAILED:
        return AnalysisPhase.FAILED
    if timing.measured is None:
        return None
    found = timing.measured.get(standing.cluster)
    if found is None or found.attempt != attempt_of(standing):
        return AnalysisPhase.RUNNING
    if found.phase in (AnalysisPhase.INCONCLUSIVE, AnalysisPhase.ERROR) and (
        standing.cluster in timing.approved
    ):
        until = timing.approved[standing.cluster]
        return AnalysisPhase.SUCCESSFUL if until is None or now < until else found.phase
    return found.phase


def attempt_of(standing: Standing) -> str:
    """The identifier of this attempt; other attempts at the same revision have another one."""
    return rfc3339_micro(standing.touched)


def _failed(standing: Standing, timing: Timing, now: datetime) -> Judgement:
    """A failure counts after its grace; it is final then, or at the deadline where there is one."""
    reason = standing.reason or DEGRADED
    if standing.verdict is _HAS_FAILED:
        return Judgement(Phase.FAILED, None, reason)
    limit = limit_of(standing.touched, timing)
    if limit is not None and limit <= now:
        return Judgement(Phase.FAILED, None, reason)
    counts_at = _grace_over(standing.since or standing.touched, timing)
    if now < counts_at:
        sooner = counts_at if limit is None else min(counts_at, limit)
        return Judgement(Phase.PROGRESSING, _coming(sooner), reason)
    if limit is None:
        return Judgement(Phase.FAILED, None, reason)
    return Judgement(Phase.FAILING, limit, reason)


def _grace_over(since: datetime, timing: Timing) -> datetime:
    """When a failure counts: not while the hub is out of touch, since it may be over and nobody has heard."""
    at = _after(since, timing.grace)
    return next((end for begin, end in timing.outages if begin < at < end), at)


def _unfinished(standing: Standing, timing: Timing, now: datetime) -> Judgement:
    if standing.verdict is _HAS_FAILED:
        return Judgement(Phase.FAILED, None, standing.reason)
    limit = limit_of(standing.touched, timing)
    if limit is not None and limit <= now:
        silent = standing.health is Health.SILENT
        return Judgement(Phase.FAILED, None, UNREACHABLE if silent else TIMED_OUT)
    return Judgement(Phase.PROGRESSING, limit, standing.reason)


def limit_of(touched: datetime, timing: Timing) -> datetime | None:
    """The instant by which success must have been reached; None without a deadline, or with one that never
    comes.
    """
    span = timing.deadline
    if span is None:
        return None
    try:
        at = touched + span
    except OverflowError:
        return None
    if timing.outages:  # hardly ever, and this is asked of each cluster
        at = _later(touched, span, timing.outages)
    return None if at == _NEVER else at


def _soaked_at(since: datetime, timing: Timing) -> datetime:
    """The instant at which success has been seen for as long as it has to be.

    The lease at the end of an outage is for late news of what was there before it ended: success that was
    heard only then was seen from its beginning.
    """
    unseen = [span for span in timing.outages if span[1] - since > timing.lease]
    return _later(since, timing.soak, unseen)


def _later(
    start: datetime, span: timedelta, unseen: Iterable[tuple[datetime, datetime]]
) -> datetime:
    """The instant at which this much time has been seen since ``start``.

    What is ``unseen`` (from, to; ascending) moves it by as much as lay after the start.
    """
    at = _after(start, span)
    for begin, end in unseen:
        if end <= start:
            continue
        if begin >= at:
            break
        at = _after(at, max(end - max(begin, start), timedelta(0)))
    return at


_NEVER = datetime.max.replace(tzinfo=UTC)


def _after(start: datetime, span: timedelta) -> datetime:
    """`_NEVER` where no calendar has that instant: an agent, or a page, can say any start."""
    try:
        return start + span
    except OverflowError:
        return _NEVER


def _coming(at: datetime) -> datetime | None:
    return None if at == _NEVER else at
