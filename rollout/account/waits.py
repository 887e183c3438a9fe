"""Gives one reason why a cluster, a stage or a rollout is not done, and what ends the wait.

Every reason is the engine's own: phases are those of `judge`, blocks those of a `Step`. Here each gets
a sentence that says what ends it, and the instant at which time alone does, where it does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rollout.model.approvals import CLUSTER_GATE, Approval
from rollout.model.cluster_reasons import AnyReason, ClusterReason, any_reason
from rollout.model.instants import earliest
from rollout.model.waits import Reason, Scope, reason_of
from rollout.rollouts.live import LiveRollout
from rollout.strategies.base import Health, Phase, StageReport, Standing
from rollout.strategies.judge import Judgement, limit_of


@dataclass(frozen=True, slots=True)
class WaitAccount:
    """One reason to wait.

    ``since`` is when it began (None: not known), ``ends`` a sentence on what would end it, ``until``
    the instant at which time alone does (None: never).
    """

    reason: AnyReason
    since: datetime | None
    ends: str
    until: datetime | None = None

    def lasts(self, now: datetime) -> timedelta | None:
        """How long it has been so; None where that is not known."""
        return now - self.since if self.since is not None and self.since <= now else None


@dataclass(frozen=True, slots=True)
class NextChange:
    """The next instant at which time alone changes something, where, and what it is in words."""

    at: datetime
    cluster: str
    what: str


def remedy(reason: str, message: str = "") -> str:
    """What would end a hold of this reason; where we know of none, what the hold itself says."""
    known = reason_of(reason)
    return (known.remedy if known else "") or message or "its cause is gone; see the message"


def unless_deleted(reason: str, message: str, refused: Sequence[Approval]) -> str:
    """What would end a hold of this reason, where these Approvals reject the revision."""
    if not refused:
        return remedy(reason, message)
    named = " and ".join(f"{each.name} ({each.delete_command})" for each in refused)
    whose = f"Approval {named} is" if len(refused) == 1 else f"Approvals {named} are"
    deleted = f"another revision is rolled out, or {whose} deleted"
    return (
        deleted if reason == Reason.REJECTED else f"{deleted} and somebody retries: `rollout retry`"
    )


def cluster_wait(live: LiveRollout, cluster: str, stage: StageReport | None) -> WaitAccount | None:
    """Why a selected cluster is not done; None where it has soaked, or was skipped.

    ``stage`` is the report of the stage that it stands in.
    """
    judged = live.judgement(cluster)
    standing = live.ledger.standings.get(cluster)
    if judged.phase is Phase.SKIPPED:
        return None
    if judged.phase is Phase.HELD:
        return WaitAccount(Reason.HELD, None, Reason.HELD.remedy)
    if judged.phase is Phase.UNRENDERED:
        wait = live.ledger.rollout.unrendered[cluster]
        return WaitAccount(wait.reason, None, remedy(wait.reason, wait.message), wait.until)
    taken_back = _taken_back(live, cluster, standing, judged)
    if taken_back is not None:
        return taken_back
    match judged.phase:
        case Phase.SOAKED:
            return None
        case Phase.WAITING | Phase.OUTDATED:
            return _in_line(live, cluster, standing, judged, stage=stage)
    assert standing is not None, "only touched clusters are in these phases"
    rejection = live.rejection(cluster)
    if rejection is not None:
        ends = f"the server accepts the write, which is tried again. Its last answer: {rejection.message}"
        return WaitAccount(ClusterReason.WRITE_REJECTED, standing.since, ends, rejection.retry_at)
    found = _touched(standing, judged)
    if judged.phase is Phase.FAILED and found.reason in _BY_DEADLINE:
        is_by_ledger = live.ledger.judgement(cluster) == judged  # OCM counts deadlines otherwise
        limit = limit_of(standing.touched, live.ledger.rollout.timing) if is_by_ledger else None
        found = replace(found, since=limit)
    return _measured(live, cluster, found)


_BY_DEADLINE = (ClusterReason.TIMED_OUT, ClusterReason.UNREACHABLE)
"""Reasons that begin when the deadline passes, however long the cluster has been as it is."""


def _taken_back(
    live: LiveRollout, cluster: str, standing: Standing | None, judged: Judgement
) -> WaitAccount | None:
    """What a cluster waits for while the revision is taken back; None where that is not its wait."""
    step = live.retreat
    if step is None or standing is None:
        return None
    if cluster in live.ledger.rollout.held:
        return WaitAccount(Reason.HELD, None, Reason.HELD.remedy) if cluster in step.held else None
    if live.head.gave(standing):
        ends = f"it has soaked on revision {standing.revision}, which it was given back, or failed there"
        under_way = judged.phase is Phase.OUTDATED
        return (
            WaitAccount(ClusterReason.GOING_BACK, standing.touched, ends, judged.until)
            if under_way
            else None
        )
    if not live.ledger.rollout.is_on_it(standing):
        return None
    if cluster in step.stuck:
        ends = "a fix is rolled out: no earlier revision soaked there that it could be given back"
        return WaitAccount(ClusterReason.NOTHING_TO_GO_BACK_TO, standing.since, ends)
    target = dict(step.touch).get(cluster)
    if target is not None:
        return WaitAccount(
            ClusterReason.DUE, standing.since, f"the engine gives it back revision {target}"
        )
    shut = live.closed.rollback.waits.get(cluster)
    if shut is not None and step.hold is None:
        return WaitAccount(
            shut.reason, standing.since, remedy(shut.reason, shut.message), shut.until
        )
    if step.hold is not None:
        return WaitAccount(
            step.hold.reason, standing.since, remedy(step.hold.reason, step.hold.message)
        )
    ends = f"its turn comes to go back: at most {step.limit} are on their way at once"
    return WaitAccount(any_reason(judged.reason or Reason.ROLLING_BACK), standing.since, ends)


def _in_line(
    live: LiveRollout,
    cluster: str,
    standing: Standing | None,
    judged: Judgement,
    stage: StageReport | None,
) -> WaitAccount:
    since = standing.touched if standing is not None and judged.phase is Phase.OUTDATED else None
    if cluster in live.last.touch:
        return WaitAccount(
            ClusterReason.DUE, since, "the engine writes to it: it is this cluster's turn"
        )
    if cluster in live.ledger.rollout.held:
        return WaitAccount(Reason.HELD, since, Reason.HELD.remedy)
    shut = live.closed.touch.waits.get(cluster)
    if shut is not None and live.last.hold is None and live.last.halt is None:
        return WaitAccount(shut.reason, since, remedy(shut.reason, shut.message), shut.until)
    if stage is None:
        return WaitAccount(
            ClusterReason.NOT_STAGED, since, "the strategy gives it a place in a stage"
        )
    return block_wait(live, stage, since)


def block_wait(live: LiveRollout, stage: StageReport, since: datetime | None = None) -> WaitAccount:
    """Why the waiting clusters of a stage are not touched now."""
    if stage.blocked is not None and stage.blocked.scope is Scope.CLUSTER:
        return _shut_wait(live, stage.blocked, since)
    stopped = live.last.hold or live.last.halt
    match stage.blocked:
        case Reason.WAITING_FOR_STAGE:
            before = _unpassed(live, stage)
            return WaitAccount(stage.blocked, since, f"{before} passes")
        case Reason.SLOTS_FULL:
            ends = {
                0: "the clusters that are written to now are done",
                1: "the cluster in flight there is done",
            }.get(stage.in_flight, f"one of the {stage.in_flight} clusters in flight there is done")
            if stage.limit < stage.members:
                ends += f" (at most {stage.limit} at a time)"
            return WaitAccount(stage.blocked, since, ends, _soonest(live))
        case Reason.FAILURE_TOLERANCE:
            ends = "clusters in flight succeed: one more failure could exceed the budget"
            return WaitAccount(stage.blocked, since, ends, _soonest(live))
        case None:
            return WaitAccount(ClusterReason.DUE, since, "the engine writes to the next clusters")
        case blocked:
            stopped = stopped or live.last.gate
            text = stopped.message if stopped is not None else ""
            until = live.last.hold.until if live.last.hold is not None else None
            if blocked is Reason.MAX_FAILURES_EXCEEDED:
                until = recovers(live)
            return WaitAccount(blocked, since, remedy(blocked, text), until)


def _shut_wait(live: LiveRollout, reason: Reason, since: datetime | None) -> WaitAccount:
    """What the first cluster of those that are shut for this reason waits for."""
    mine = [wait for wait in live.closed.touch.waits.values() if wait.reason is reason]
    until = earliest(*(wait.until for wait in mine))
    return WaitAccount(reason, since, remedy(reason, mine[0].message if mine else ""), until)


def _unpassed(live: LiveRollout, stage: StageReport) -> str:
    """The stage that is waited for."""
    for each in live.last.stages:
        if each.key == stage.key:
            break
        if not each.passed:
            return each.title
    return "the stage before"


def _soonest(live: LiveRollout) -> datetime | None:
    due = live.next_due()
    return due[0] if due else None


def next_change(live: LiveRollout) -> NextChange | None:
    """What time alone changes next in a placement; None where nothing."""
    due = live.next_due()
    if due is None:
        return None
    at, cluster = due
    return NextChange(at, cluster, _what_changes(live, cluster))


def _what_changes(live: LiveRollout, cluster: str) -> str:
    """What the end of the timer of this cluster means."""
    standing = live.ledger.standings.get(cluster)
    health = standing.health if standing is not None else None
    is_given_back = standing is not None and live.head.gave(standing)
    old = "the revision that it was given back" if is_given_back else "its old revision"
    match live.judgement(cluster).phase:
        case Phase.SOAKING:
            return f"{cluster} has soaked"
        case Phase.OUTDATED if health is Health.SUCCEEDED:
            return f"{cluster} has soaked on {old}"
        case Phase.OUTDATED:
            return f"deadline of {cluster} on {old}"
        case Phase.PROGRESSING if health is Health.FAILED:
            return f"the failure of {cluster} counts"
        case Phase.FAILED:
            return f"{cluster} has recovered"
    return f"deadline of {cluster}"


def recovers(live: LiveRollout) -> datetime | None:
    """When the first failed cluster that is well again has soaked; None where none is."""
    judged = (live.judgement(c) for c in live.ledger.standings if c in live.ledger)
    instants = [j.until for j in judged if j.phase is Phase.FAILED and j.until is not None]
    return min(instants, default=None)


_UNMEASURED: Mapping[AnyReason, str] = {
    Reason.ANALYSIS_RUNNING: "its analysis is Successful",
    Reason.METRIC_UNREACHABLE: "the provider of the metric answers again, or somebody approves it "
    "(`rollout approve --gate cluster/{cluster}`) or skips it (`rollout skip`)",
    Reason.ANALYSIS_INCONCLUSIVE: "somebody approves it (`rollout approve --gate cluster/{cluster}`), "
    "skips it (`rollout skip`) or has it measured again (its RolloutAnalysisRun is deleted)",
}
"""What ends the wait of a cluster that is well and is being measured."""


APPROVABLE = (Reason.ANALYSIS_INCONCLUSIVE, Reason.METRIC_UNREACHABLE)
"""Where an approval opens what is measured."""


def cluster_gate(cluster: str, phase: Phase | None, wait: WaitAccount | None) -> str:
    """The gate whose approval ends the wait of a cluster for its analysis; "" where none would."""
    is_measured = phase is Phase.SOAKING and wait is not None and wait.reason in APPROVABLE
    return CLUSTER_GATE + cluster if is_measured else ""


def unmeasured_wait(live: LiveRollout) -> str:
    """What the first cluster waits for that is well but not measured yet, as ``Reason of NAME: ...``; "" for none."""
    if live.ledger.rollout.timing.measured is None:
        return ""
    for cluster in sorted(live.ledger.standings):
        reason = any_reason(live.judgement(cluster).reason if cluster in live.ledger else "")
        if reason in _UNMEASURED:
            return f"{reason} of {cluster}: {_UNMEASURED[reason].format(cluster=cluster)}"
    return ""


def _measured(live: LiveRollout, cluster: str, wait: WaitAccount) -> WaitAccount:
    """The wait of a cluster, with what was measured of it where that is its cause."""
    found = (live.ledger.rollout.timing.measured or {}).get(cluster)
    if found is None or wait.reason not in (*_UNMEASURED, Reason.ANALYSIS_FAILED):
        return wait
    return replace(wait, ends=f"{wait.ends}. Measured: {found}")


def _touched(standing: Standing, judged: Judgement) -> WaitAccount:
    until, since = judged.until, standing.since or standing.touched
    reason = any_reason(judged.reason)
    match judged.phase:
        case Phase.SOAKING if reason:
            ends = _UNMEASURED.get(reason, "").format(cluster=standing.cluster)
            return WaitAccount(reason, since, ends)
        case Phase.SOAKING:
            return WaitAccount(
                ClusterReason.SOAKING, since, "it has been well for minSuccessTime", until
            )
        case Phase.FAILING:
            ends = "it recovers and soaks; else it has failed for good when its deadline passes"
            return WaitAccount(reason, since, ends, until)
        case Phase.FAILED if until is not None:
            return WaitAccount(
                reason, since, "it is well again, and has been for long enough", until
            )
        case Phase.FAILED if reason is Reason.ANALYSIS_FAILED:
            ends = (
                "a fix is rolled out, or somebody skips it (`rollout skip`) or has it tried again "
                "(`rollout retry`)"
            )
            return WaitAccount(reason, since, ends)
        case Phase.FAILED:
            ends = (
                "it recovers and soaks, a fix is rolled out, or somebody skips it (`rollout skip`) "
                "or has it tried again (`rollout retry`)"
            )
            return WaitAccount(reason, since, ends)
    if reason:
        ends = "it recovers; else it counts as a failure, against the budget, from then on"
        return WaitAccount(reason, since, ends, until)
    late = "; else it has timed out" if until is not None else "; there is no progressDeadline"
    if standing.health is Health.SILENT:
        return WaitAccount(
            ClusterReason.NOT_ACKNOWLEDGED, standing.touched, f"its agent answers{late}", until
        )
    return WaitAccount(ClusterReason.PROGRESSING, since, f"its agent reports success{late}", until)
