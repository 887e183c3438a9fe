"""What does an engine show of its rollouts? Values that can be drawn while the engine goes on."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rollout.fleet.fleet import Fleet
from rollout.fleet.live import LiveRollout
from rollout.fleet.tracker import Standing
from rollout.model.kinds import Obj
from rollout.strategies.base import Phase, StageReport


@dataclass(frozen=True, slots=True)
class StageSnapshot:
    """One stage; ``phases`` counts members by the word of their phase."""

    title: str
    members: int
    phases: Mapping[str, int]
    limit: int | None
    budget: int | None
    passed: bool
    blocked: str


@dataclass(frozen=True, slots=True)
class NoteSnapshot:
    """Something that happened."""

    at: datetime
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class RolloutSnapshot:
    """One workload's rollouts together. ``next_at``: what happens next without any event."""

    key: str
    stages: tuple[StageSnapshot, ...]
    touched: int
    next_at: datetime | None
    next_what: str
    notes: tuple[NoteSnapshot, ...]


@dataclass(frozen=True, slots=True)
class FleetSnapshot:
    """Everything at one instant of fleet time."""

    started: datetime
    now: datetime
    workloads: tuple[Obj, ...]
    rollouts: tuple[RolloutSnapshot, ...]


def snapshot(
    fleet: Fleet,
    started: datetime,
    now: datetime,
    notes: Mapping[str, tuple[NoteSnapshot, ...]],
) -> FleetSnapshot:
    """Take a picture. ``notes`` by workload key, oldest first."""
    workloads = [w for ref in fleet.rolled_out() if (w := fleet.rollout(ref)) is not None]
    return FleetSnapshot(
        started,
        now,
        tuple(w.raw for w in workloads if w.raw is not None),
        tuple(_rollout(w, notes.get(w.ref.key, ())) for w in workloads),
    )


def _rollout(workload: Standing, notes: tuple[NoteSnapshot, ...]) -> RolloutSnapshot:
    several = len(workload.shares) > 1
    stages = [
        _stage(report, f"{name} " if several else "")
        for name, share in workload.shares.items()
        for report in share.live.last.stages
    ]
    nexts = [n for share in workload.shares.values() if (n := _next(share.live)) is not None]
    soonest = min(nexts, default=(None, ""))
    touched = sum(
        stage.members - stage.phases.get("Waiting", 0) - stage.phases.get("Outdated", 0)
        for stage in stages
    )
    return RolloutSnapshot(workload.ref.key, tuple(stages), touched, soonest[0], soonest[1], notes)


def _stage(report: StageReport, prefix: str) -> StageSnapshot:
    return StageSnapshot(
        prefix + report.title,
        report.members,
        {phase.value: n for phase, n in report.phases.items()},
        report.limit,
        report.budget,
        report.passed,
        report.blocked or "",
    )


_ENDS = {
    Phase.SOAKING: "has soaked",
    Phase.PROGRESSING: "is judged",
    Phase.FAILING: "reaches its deadline",
    Phase.OUTDATED: "is judged on its old revision",
    Phase.FAILED: "has recovered",
}


def _next(live: LiveRollout) -> tuple[datetime, str] | None:
    soonest = live.next_due()
    if soonest is None:
        return None
    at, cluster = soonest
    return at, f"{cluster} {_ENDS.get(live.judgement(cluster).phase, 'is looked at')}"
