"""Decides which clusters are touched now: the plain form, and the part that the ledger shares.

Count over all clusters first, then decide: names say only who is next. `decide` is the reference;
`rollout.strategies.ledger` gives the same answer without looking at every cluster.
Gates stand before and after stages. Source: semantics rows 1-5, 12, 18, 22.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, filterfalse, islice

from rollout.model.approvals import Side
from rollout.model.instants import aware
from rollout.model.waits import Reason, Scope, Wait
from rollout.strategies.base import (
    HOLDS_SLOT,
    Checkpoint,
    Phase,
    Rollout,
    Settled,
    Stage,
    StageReport,
    Step,
    Verdict,
)
from rollout.strategies.budget import Census, FailureScope, breach, fleet_scope, stage_scope
from rollout.strategies.judge import due, judge
from rollout.strategies.stages import NO_TARGETS, lost_by_stage


@dataclass(slots=True)
class PlainCensus:
    """A census taken by looking at every member."""

    phases: dict[Phase, int] = field(default_factory=dict)
    in_flight_before: list[str] = field(default_factory=list)
    untouched: list[str] = field(default_factory=list)

    def outdated(self) -> Iterable[str]:
        return self.in_flight_before

    def waiting(self) -> Iterator[str]:
        return iter(self.untouched)


def decide(rollout: Rollout, now: datetime) -> Step:
    """The step for this instant. It depends on its arguments alone.

    Raises: ConfigError where ``now`` has no timezone. Cost: O(clusters).
    """
    aware("now", now)
    settled: list[Settled] = []
    rechecks: list[datetime] = []
    censuses = [
        _count(stage, rollout, now, settled, rechecks=rechecks) for stage in rollout.staging.stages
    ]
    lost = lost_by_stage(rollout)
    for stage, census in zip(rollout.staging.stages, censuses, strict=True):
        if lost[stage.key]:
            census.phases[Phase.LOST] = lost[stage.key]
    settled.sort(key=lambda s: s.cluster)
    return choose(rollout, censuses, tuple(settled), min(rechecks, default=None))


def _count(
    stage: Stage,
    rollout: Rollout,
    now: datetime,
    settled: list[Settled],
    rechecks: list[datetime],
) -> PlainCensus:
    census = PlainCensus()
    # Looked up once, not once for each of tens of thousands of clusters.
    find, wait, done = rollout.standings.get, census.untouched.append, Verdict.SOAKED
    timing, phases = rollout.timing, census.phases
    waits, was_before = Phase.WAITING, Phase.OUTDATED
    contents, usual = rollout.contents, rollout.revision
    soaked = 0
    for group in stage.groups:
        for cluster in _unskipped(group.clusters, rollout.skipped, phases):
            standing = find(cluster)
            if standing is None:
                wait(cluster)
                continue
            revision = contents.get(cluster, usual) if contents else usual
            if standing.verdict is done and standing.revision == revision:
                soaked += 1
                continue
            judged = judge(standing, revision, timing, now)
            phase = judged.phase
            if judged.until is not None:
                rechecks.append(judged.until)
            if (verdict := due(standing, judged)) is not None:
                settled.append(verdict)
            if phase is waits:
                wait(cluster)
                continue
            if phase is was_before:
                census.in_flight_before.append(cluster)
            phases[phase] = phases.get(phase, 0) + 1
    _tally(census, rollout, soaked)
    return census


def _tally(census: PlainCensus, rollout: Rollout, soaked: int) -> None:
    """Count the clusters that wait, that a person holds, that cannot be rendered, and that have soaked."""
    waiting = _without(rollout.held, census.untouched)
    free = _without(rollout.unrendered, waiting)
    found = (
        (Phase.WAITING, len(free)),
        (Phase.HELD, len(census.untouched) - len(waiting)),
        (Phase.UNRENDERED, len(waiting) - len(free)),
        (Phase.SOAKED, soaked),
    )
    census.untouched = free
    for phase, n in found:
        if n:
            census.phases[phase] = census.phases.get(phase, 0) + n


def _without(kept_out: Collection[str], clusters: list[str]) -> list[str]:
    return [each for each in clusters if each not in kept_out] if kept_out else clusters


def _unskipped(
    clusters: tuple[str, ...], skipped: frozenset[str], phases: dict[Phase, int]
) -> Sequence[str]:
    """The clusters that are not skipped. Those that are skipped are counted here."""
    if not skipped:
        return clusters
    kept = [cluster for cluster in clusters if cluster not in skipped]
    waived = len(clusters) - len(kept)
    if waived:
        phases[Phase.SKIPPED] = phases.get(Phase.SKIPPED, 0) + waived
    return kept


def choose(
    rollout: Rollout,
    censuses: Sequence[Census],
    settled: tuple[Settled, ...],
    recheck_at: datetime | None,
) -> Step:
    """The step that follows from the counts. Cost: O(stages + clusters touched).

    While the selection is unsettled (row 15) the answer is the same, unless something would be
    touched, passed or opened: then it is held instead. A rollout that waits for nothing is not held.
    """
    selected = any(phase is not Phase.LOST for c in censuses for phase in c.phases)
    absent = rollout.staging.hold or (None if selected else NO_TARGETS)
    if absent is not None and rollout.unsettled is not None:
        absent = rollout.unsettled  # what is missing may still be written
    step = _choose(rollout, censuses, settled, recheck_at, hold=rollout.hold or absent)
    if rollout.unsettled is None or not (step.touch or step.passed or step.opened):
        return step
    return _choose(rollout, censuses, settled, recheck_at, hold=rollout.unsettled)


def _choose(
    rollout: Rollout,
    censuses: Sequence[Census],
    settled: tuple[Settled, ...],
    recheck_at: datetime | None,
    hold: Wait | None,
) -> Step:
    stages = rollout.staging.stages
    sizes = [_members(census) for census in censuses]
    scopes = [
        stage_scope(stage.budget.of(size) if stage.budget else None, census)
        for stage, census, size in zip(stages, censuses, sizes, strict=True)
    ]
    fleet = fleet_scope(rollout, scopes, sum(sizes))
    halt = breach(rollout, fleet, scopes)
    found = _Found()
    is_open = True
    for stage, census, size, scope in zip(stages, censuses, sizes, scopes, strict=True):
        had_passed = stage.key in rollout.passed
        gates = _StageGates(rollout, stage, is_reached=is_open and not (hold or halt or had_passed))
        passes = had_passed or (
            is_open and hold is None and _passes(stage, census, size, scope, fleet=fleet)
        )
        if not had_passed:
            passes = found.go_through(gates, passes)
        limit = stage.limit.of(size) if stage.limit else size
        blocked = _blocked(stage, census, hold or halt, is_open, gate=gates.before)
        if blocked is None:
            chosen, blocked = _fill(rollout, census, limit, scope, fleet=fleet)
            found.touch += chosen
            found.wait_for_clusters(rollout, census, blocked)
        if not passes and found.gate is not None and is_open:
            blocked = blocked or found.gate.reason
        report = _report(stage, census, limit, scope, size=size, passed=passes, blocked=blocked)
        found.reports.append(report)
        is_open = is_open and passes
    if not (hold or halt):
        found.wait_for_members(rollout)
    return found.step(settled, halt, hold, recheck_at)


class _StageGates:
    """The gates at one stage: what keeps each side shut, and which open once they are reached."""

    __slots__ = ("after", "before", "is_reached", "keys", "stage")

    def __init__(self, rollout: Rollout, stage: Stage, *, is_reached: bool) -> None:
        self.stage, self.is_reached = stage.key, is_reached
        self.before: Wait | None = None
        self.after: Wait | None = None
        self.keys = _NO_KEYS
        if not rollout.checkpoints:
            return
        mine = [each for each in rollout.checkpoints if each.stage == stage.key]
        if stage.key not in rollout.passed:
            self.before = _shut(mine, Side.BEFORE)
        self.after = _shut(mine, Side.AFTER)
        self.keys = {
            side: [c.key for c in mine if c.side is side and c.closed is None] for side in Side
        }


_NO_KEYS: Mapping[Side, list[str]] = {side: [] for side in Side}


def _shut(checkpoints: Iterable[Checkpoint], side: Side) -> Wait | None:
    return next((c.closed for c in checkpoints if c.side is side and c.closed is not None), None)


@dataclass(slots=True, kw_only=True)
class _Found:
    """What the step consists of, collected stage by stage."""

    touch: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    reports: list[StageReport] = field(default_factory=list)
    gate: Wait | None = None
    shut_until: datetime | None = None  # clusters are waited for until then at least
    shut_in: Census | None = None  # the first stage with such clusters

    def step(
        self,
        settled: tuple[Settled, ...],
        halt: Wait | None,
        hold: Wait | None,
        recheck_at: datetime | None,
    ) -> Step:
        opens_at = self.gate.until if self.gate is not None else None
        instants = [at for at in (recheck_at, opens_at, self.shut_until) if at is not None]
        return Step(
            touch=tuple(self.touch),
            settled=settled,
            passed=tuple(self.passed),
            halt=halt,
            hold=hold,
            stages=tuple(self.reports),
            recheck_at=min(instants, default=None),
            opened=tuple(self.opened),
            gate=self.gate,
        )

    def wait_for_clusters(self, rollout: Rollout, census: Census, blocked: Reason | None) -> None:
        """Note until when calendars close clusters, and in which stage."""
        if blocked is None or blocked.scope is not Scope.CLUSTER:
            return
        self.shut_until = rollout.shut.until
        if self.shut_in is None:
            self.shut_in = census

    def wait_for_members(self, rollout: Rollout) -> None:
        """If no gate is shut and nothing is in flight in any stage, the rollout waits for a cluster that is
        closed, or else for one that cannot be rendered. One that joins a stage that has passed hides no gate.
        """
        if self.gate is not None or self.touch:
            return
        phases = [phase for report in self.reports for phase in report.phases]
        if any(phase.holds_slot for phase in phases):
            return
        if self.shut_in is not None:
            waits = rollout.shut.waits
            line = chain(self.shut_in.outdated(), self.shut_in.waiting())
            self.gate = next((waits[each] for each in line if each in waits), None)
        if Phase.UNRENDERED in phases:
            self.gate = self.gate or next(iter(rollout.unrendered.values()), None)

    def go_through(self, gates: _StageGates, is_done: bool) -> bool:
        """Whether the stage passes: its members are done and its gates are open. Notes it, and the gates that
        open.
        """
        if gates.is_reached:
            self.opened += gates.keys[Side.BEFORE]
            self.gate = self.gate or gates.before
            if is_done and gates.before is None:
                self.opened += gates.keys[Side.AFTER]
                self.gate = self.gate or gates.after
        passes = is_done and gates.before is None and gates.after is None
        if passes:
            self.passed.append(gates.stage)
        return passes


def _members(census: Census) -> int:
    """Members of the stage: selected and not skipped (lost clusters are selected no more)."""
    return sum([n for phase, n in census.phases.items() if phase not in _NOT_MEMBERS])


_NOT_MEMBERS = frozenset({Phase.SKIPPED, Phase.LOST})


def _passes(
    stage: Stage, census: Census, size: int, scope: FailureScope, fleet: FailureScope
) -> bool:
    """Row 12: all members soaked or, where that is tolerated, finally failed within budget.

    A cluster that cannot be rendered holds up nobody behind it, unless its stage is mandatory.
    """
    if stage.mandatory:
        return census.phases.get(Phase.SOAKED, 0) == size and scope.failures == 0
    done = census.phases.get(Phase.SOAKED, 0) + census.phases.get(Phase.FAILED, 0)
    is_through = done + census.phases.get(Phase.UNRENDERED, 0) == size
    return is_through and not scope.breached and not fleet.breached


def _blocked(
    stage: Stage, census: Census, stopped: Wait | None, is_open: bool, gate: Wait | None
) -> Reason | None:
    """Why nothing at all may be touched in this stage, None where something may."""
    waiting = census.phases.get(Phase.WAITING, 0) + census.phases.get(Phase.OUTDATED, 0)
    if not waiting:
        is_empty = stage.mandatory and not any(census.phases.values())
        return stopped.reason if stopped is not None and is_empty else None
    if stopped is not None:
        return stopped.reason
    if not is_open:
        return Reason.WAITING_FOR_STAGE
    if gate is not None:
        return gate.reason
    if stage.limit is not None and stage.limit.value == 0:
        return Reason.CONCURRENCY_ZERO
    return None


def _fill(
    rollout: Rollout, census: Census, limit: int, scope: FailureScope, fleet: FailureScope
) -> tuple[list[str], Reason | None]:
    """The clusters to touch in an open stage, and why the others are not touched."""
    held, shut = rollout.held, rollout.shut.waits
    old = [c for c in census.outdated() if c not in held and c not in rollout.unrendered]
    before = [cluster for cluster in old if cluster not in shut] if shut else old
    wanted = len(old) + census.phases.get(Phase.WAITING, 0)
    if not wanted:
        return [], None
    taken = sum(n for phase, n in census.phases.items() if phase in HOLDS_SLOT)
    free = max(0, limit - taken)
    rooms = [
        room
        for room in (scope.room(rollout.strict_tolerance), fleet.room(rollout.strict_tolerance))
        if room is not None
    ]
    free_to_go = filterfalse(shut.__contains__, census.waiting()) if shut else census.waiting()
    chosen = before + list(islice(free_to_go, free))
    closed: Reason | None = None
    if shut and (len(before) < len(old) or len(chosen) < len(before) + free):
        closed = _why_shut(shut, chain(old, census.waiting()))
    reason = closed or Reason.SLOTS_FULL
    # A closed cluster waits for room first, as it waits for a free slot first. So its reason stays the
    # same when a window closes, and the workload need not be planned then.
    if rooms and len(chosen) + (closed is not None) > min(rooms):
        chosen, reason = chosen[: min(rooms)], Reason.FAILURE_TOLERANCE
    scope.unproven += len(chosen)
    if scope is not fleet:
        fleet.unproven += len(chosen)
    return chosen, reason if len(chosen) < wanted else None


def _why_shut(shut: Mapping[str, Wait], clusters: Iterable[str]) -> Reason | None:
    return next((shut[cluster].reason for cluster in clusters if cluster in shut), None)


def _report(
    stage: Stage,
    census: Census,
    limit: int,
    scope: FailureScope,
    *,
    size: int,
    passed: bool,
    blocked: Reason | None,
) -> StageReport:
    phases = {phase: n for phase, n in census.phases.items() if n}
    return StageReport(
        key=stage.key,
        title=stage.title,
        members=size,
        limit=limit,
        budget=scope.budget,
        passed=passed,
        phases=phases,
        blocked=blocked,
    )
