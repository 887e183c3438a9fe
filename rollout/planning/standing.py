"""How does a ManifestWorkReplicaSet stand as a whole? One reason, and a sentence.

What stops it comes first, then what it waits for, then that it is done. Of several placements that are
stopped one is told. A rollback comes first: a revision that one placement rolls back is barred in all.
Source: semantics row 27.
"""

from collections.abc import Sequence

from msgspec import Struct

from rollout.model.replicaset import ReplicaSet
from rollout.model.waits import Reason, Wait
from rollout.rollouts.facts import Decided
from rollout.rollouts.holds import missing_news
from rollout.rollouts.replicaset_workload import ReplicaSetShare
from rollout.strategies.base import IS_DONE, Phase, StageReport, Step
from rollout.strategies.states import HEALTH_UNVERIFIED, is_verified


class ShareReport(Struct, frozen=True):
    """One placementRef with what is decided; ``touched`` clusters are being written to in this pass."""

    share: ReplicaSetShare
    decided: Decided
    touched: int

    @property
    def step(self) -> Step:
        return self.decided.step

    @property
    def carrying(self) -> int:
        """Clusters that carry the revision once this pass has been written.

        One that is touched again carries it already; one that is given back what it had, no more.
        """
        live, retreat = self.share.live, self.decided.retreat
        again = sum(map(live.carries, self.step.touch)) if self.step.touch else 0
        leaving = sum(live.carries(cluster) for cluster, _ in retreat.touch) if retreat else 0
        return self.share.counts.updated + self.touched - again - leaving

    @property
    def is_evaluated(self) -> bool:
        """Whether there is anything to count: its placement and strategy could be read, or once could."""
        unread = self.share.hold is not None and self.share.hold.reason in _UNREAD
        return bool(self.share.selected) or not unread


_UNREAD = (Reason.PLACEMENT_NOT_FOUND, Reason.MISCONFIGURED)


class WorkloadVerdict(Struct, frozen=True):
    """How the workload stands as a whole: the reason of our conditions, and a sentence."""

    reason: Reason
    message: str

    @property
    def is_complete(self) -> bool:
        return self.reason.is_done


_HALTED, _GOING, _STANDING, _DONE, _OTHER = range(5)
_RANKS = {
    Reason.ROLLBACK_HALTED: _HALTED,
    Reason.ROLLING_BACK: _GOING,
    Reason.ROLLED_BACK: _DONE,
}


class PlacementStop(Struct, frozen=True):
    """What stops one placement. ``goes_back``: the revision is being taken back there, or was."""

    placement: str
    wait: Wait
    goes_back: bool

    @property
    def rank(self) -> int:
        """The lowest is told; of several the first placement's.

        A rollback is over only when it is over everywhere. So one that is halted comes first, then one
        that goes on, then one that something else keeps from going on.
        """
        return _RANKS.get(self.wait.reason, _STANDING if self.goes_back else _OTHER)


def judge_workload(
    replicaset: ReplicaSet,
    reports: Sequence[ShareReport],
    hold: Wait | None,
    brake: Wait | None,
) -> WorkloadVerdict:
    """One reason for the whole: what stops it, else what it waits for, else that it is done."""
    if hold is not None:
        return WorkloadVerdict(hold.reason, hold.message)
    stops = [stop for report in reports if (stop := _stop(report, brake)) is not None]
    if stops:
        told = min(stops, key=lambda stop: stop.rank)
        return WorkloadVerdict(told.wait.reason, f"placement {told.placement}: {told.wait.message}")
    if brake is not None:
        return WorkloadVerdict(brake.reason, brake.message)
    for report in reports:
        for stage in report.step.stages:
            if stage.blocked == Reason.CONCURRENCY_ZERO:
                where = f"placement {report.share.ref.name}, {stage.title}"
                return WorkloadVerdict(
                    Reason.CONCURRENCY_ZERO, f"{where}: maxConcurrency is zero; raise it to go on"
                )
    for report in reports:
        if report.step.gate is not None:
            gate = report.step.gate
            return WorkloadVerdict(
                gate.reason, f"placement {report.share.ref.name}: {gate.message}"
            )
    return _under_way(reports) or _done(replicaset, reports)


def _stop(report: ShareReport, brake: Wait | None) -> PlacementStop | None:
    """What stops one placement; None where nothing does."""
    goes_back = report.decided.head.rollback is not None
    back = report.step.hold if goes_back else None
    wait = report.share.hold or back or report.step.halt or report.step.hold
    if wait is None or _is_owned_elsewhere(report):
        return None
    if brake is not None and wait.reason == Reason.NO_TARGETS:  # the brake says what can be done
        return None
    return PlacementStop(report.share.ref.name, wait, goes_back=goes_back)


def _under_way(reports: Sequence[ShareReport]) -> WorkloadVerdict | None:
    """What is still to come; None where all is done."""
    if not reports:
        return WorkloadVerdict(Reason.ROLLING_OUT, "no placement has been read yet")
    waits = [text for report in reports for text in _waits(report)]
    if not waits:
        return None
    unheard = missing_news(reports[0].share.live.ledger.rollout.timing)
    notes = [*uncounted(reports), *([unheard] if unheard else [])]
    return WorkloadVerdict(Reason.ROLLING_OUT, "; ".join([*waits, *notes]))


def uncounted(reports: Sequence[ShareReport], *, outdated: bool = False) -> list[str]:
    """What agents say and does not count (row 10); of an older generation there is much in passing."""
    unstamped = sum(report.share.counts.unstamped for report in reports)
    old = sum(report.share.counts.outdated for report in reports) if outdated else 0
    found = []
    if unstamped:
        found.append(
            f"{unstamped} works have conditions without observedGeneration, which do not count"
        )
    if old:
        found.append(f"{old} works have conditions of another generation, which do not count")
    return found


def _done(replicaset: ReplicaSet, reports: Sequence[ShareReport]) -> WorkloadVerdict:
    soaked = sum(report.step.count(Phase.SOAKED) for report in reports)
    failed = sum(report.step.count(p) for report in reports for p in (Phase.FAILED, Phase.LOST))
    skipped = sum(report.step.count(Phase.SKIPPED) for report in reports)
    parts = [f"{soaked} clusters succeeded"]
    if failed:
        parts.append(f"{failed} failed within budget")
    if skipped:
        parts.append(f"{skipped} skipped")
    text = ", ".join(parts)
    if not is_verified(replicaset.template.rules):
        text += (
            f"; {HEALTH_UNVERIFIED}: the template has no Progressing rule, so success means applied"
        )
    return WorkloadVerdict(Reason.COMPLETE_WITH_FAILURES if failed else Reason.COMPLETE, text)


def _is_owned_elsewhere(report: ShareReport) -> bool:
    """Whether all that the placement selects belongs to earlier placementRefs (row 21)."""
    return report.share.overlapped > 0 and not report.share.selected


def _waits(report: ShareReport) -> list[str]:
    """What one placement waits for, a sentence for its first unfinished stage."""
    if report.step.complete or _is_owned_elsewhere(report):
        return []
    for stage in report.step.stages:
        if not stage.passed or _unfinished(stage):
            return [f"placement {report.share.ref.name}, {describe(stage)}"]
    return []


def _unfinished(stage: StageReport) -> bool:
    return any(n and phase not in IS_DONE for phase, n in stage.phases.items())


_WORDS = [(phase, phase.value.lower()) for phase in Phase if phase is not Phase.SOAKED]


def describe(stage: StageReport) -> str:
    """``canary #0: 3 of 10 soaked, 7 progressing``."""
    parts = [f"{stage.phases.get(Phase.SOAKED, 0)} of {stage.members} soaked"]
    parts += [f"{stage.phases[phase]} {word}" for phase, word in _WORDS if stage.phases.get(phase)]
    text = f"{stage.title}: {', '.join(parts)}"
    return f"{text} ({stage.blocked})" if stage.blocked else text
