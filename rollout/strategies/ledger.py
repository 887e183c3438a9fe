"""Keeps the clusters of one rollout counted, and gives the same step without looking at each cluster.

A change of one cluster costs O(log n), a step O(stages + clusters that change). Its oracle is
`rollout.strategies.step.decide`: after any history both give the same `Step` (tests hold them equal).
"""

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import structs

from rollout.model.waits import Wait
from rollout.strategies.base import (
    NOTHING_SHUT,
    Checkpoint,
    Phase,
    Rollout,
    Settled,
    Shut,
    Standing,
    Step,
    Timing,
)
from rollout.strategies.judge import Judgement, due, is_open, judge, left_behind
from rollout.strategies.stages import lost_by_stage
from rollout.strategies.step import choose

QueueSeat = tuple[int, str]
"""Where a cluster stands in its stage's line: its group's place, its name."""

_WAITS, _WAS_BEFORE = Phase.WAITING, Phase.OUTDATED  # by name: see `rollout.strategies.judge`
_UNTOUCHED = Judgement(Phase.WAITING)
_SKIPPED = Judgement(Phase.SKIPPED)
_HELD = Judgement(Phase.HELD)
_UNRENDERED = Judgement(Phase.UNRENDERED)


class _PhaseQueue:
    """The clusters in one phase, in order. A cluster that left is skipped when its turn comes."""

    __slots__ = ("_front", "_members", "_seats")

    def __init__(self, seats: Iterable[QueueSeat] = ()) -> None:
        self._seats: list[QueueSeat] = list(seats)  # sorted; may hold some that have left
        self._members: set[str] = {name for _, name in self._seats}
        self._front = 0

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[str]:
        for at in range(self._front, len(self._seats)):
            name = self._seats[at][1]
            if name in self._members:
                yield name

    def add(self, seat: QueueSeat) -> None:
        """Add the cluster. If its old seat is still in the queue, it gets that seat again."""
        self._members.add(seat[1])
        at = bisect_left(self._seats, seat, lo=self._front)
        if at == len(self._seats) or self._seats[at] != seat:
            self._seats.insert(at, seat)

    def remove(self, name: str) -> None:
        """Remove the cluster, and drop empty seats at the front of the queue."""
        self._members.discard(name)
        front, seats = self._front, self._seats
        while front < len(seats) and seats[front][1] not in self._members:
            front += 1
        if front > 1024 and front * 2 > len(seats):
            del seats[:front]
            front = 0
        self._front = front


class _StageCensus:
    """One stage, counted."""

    __slots__ = ("line", "old", "phases")

    def __init__(self) -> None:
        self.phases: dict[Phase, int] = {}
        self.line = _PhaseQueue()
        self.old = _PhaseQueue()

    def outdated(self) -> Iterable[str]:
        return self.old

    def waiting(self) -> Iterator[str]:
        return iter(self.line)

    def shift(self, phase: Phase, by: int) -> None:
        left = self.phases.get(phase, 0) + by
        if left:
            self.phases[phase] = left
        else:
            del self.phases[phase]

    def enter(self, seat: QueueSeat, phase: Phase) -> None:
        self.shift(phase, 1)
        if phase is _WAITS:
            self.line.add(seat)
        elif phase is _WAS_BEFORE:
            self.old.add(seat)

    def leave(self, name: str, phase: Phase) -> None:
        self.shift(phase, -1)
        if phase is _WAITS:
            self.line.remove(name)
        elif phase is _WAS_BEFORE:
            self.old.remove(name)


class Ledger:
    """A rollout's standings with everything a step needs kept up to date.

    The terms (stages, timing, revision, skipped, held, lost) are those of a `Rollout`; changing them
    recounts the fleet. Gates and holds can change for free, see also `amend` and `carry`. Instants given to it never go back.
    """

    def __init__(self, rollout: Rollout, now: datetime) -> None:
        self._standings: dict[str, Standing] = dict(rollout.standings)
        self._open: set[str] = set()  # those of which time still decides something
        self._rollout = structs.replace(rollout, standings=self._standings)
        self._recount(now)

    @property
    def standings(self) -> Mapping[str, Standing]:
        return self._standings

    @property
    def rollout(self) -> Rollout:
        """The same rollout as a value, for the plain step. Its standings are live: read, or copy."""
        return self._rollout

    def reset(self, rollout: Rollout, now: datetime) -> None:
        """Take new terms and standings. Cost: O(n)."""
        self._standings = dict(rollout.standings)
        self._rollout = structs.replace(rollout, standings=self._standings)
        self._recount(now)

    def admit(
        self,
        passed: frozenset[str],
        hold: Wait | None,
        checkpoints: tuple[Checkpoint, ...] = (),
        shut: Shut = NOTHING_SHUT,
    ) -> None:
        """Set the stages passed so far, the hold from outside, and the gates as they stand now."""
        known = self._rollout
        before = known.passed, known.hold, known.checkpoints, known.shut
        if (passed, hold, checkpoints, shut) != before:
            self._rollout = structs.replace(
                known, passed=passed, hold=hold, checkpoints=checkpoints, shut=shut
            )

    def amend(
        self, timing: Timing, unsettled: Wait | None, now: datetime, *, strict_tolerance: bool
    ) -> None:
        """Set what concerns the rollout as a whole. Cost: the clusters of which time still decides, where
        the timing is another one.
        """
        known = self._rollout
        self._rollout = structs.replace(
            known, timing=timing, unsettled=unsettled, strict_tolerance=strict_tolerance
        )
        if timing != known.timing:
            for cluster in self._open:
                self._judge(cluster, now)

    def carry(
        self,
        contents: Mapping[str, str],
        unrendered: Mapping[str, Wait],
        changed: Iterable[str],
        now: datetime,
    ) -> None:
        """Set what each cluster is to carry. Cost: the clusters of which that has changed."""
        self._rollout = structs.replace(self._rollout, contents=contents, unrendered=unrendered)
        for cluster in changed:
            self._judge(cluster, now)

    def open_standings(self) -> list[Standing]:
        """Standings that can still change by time alone, by name. Includes clusters that are in no stage."""
        self._open = set(self._open)  # a set never gets smaller by itself, and is walked whole
        return [self._standings[cluster] for cluster in sorted(self._open)]

    def put(self, standing: Standing, now: datetime) -> None:
        """Store the new standing of one cluster. A cluster in no stage is kept, but not counted."""
        self._standings[standing.cluster] = standing
        (self._open.add if is_open(standing) else self._open.discard)(standing.cluster)
        self._judge(standing.cluster, now)

    def drop(self, cluster: str, now: datetime) -> None:
        """Forget that the cluster was ever touched."""
        self._standings.pop(cluster, None)
        self._open.discard(cluster)
        self._judge(cluster, now)

    def __contains__(self, cluster: str) -> bool:
        """Whether the cluster is a member of any stage."""
        return cluster in self._seats

    def judgement(self, cluster: str) -> Judgement:
        """Where the cluster stands as of the last step. Raises: KeyError where it is in no stage."""
        return self._judged[cluster]

    def judgements(self) -> Iterable[Judgement]:
        """Where each cluster stands as of the last step."""
        return self._judged.values()

    @property
    def judged(self) -> Mapping[str, Judgement]:
        """The same by cluster. It is live: read, or copy."""
        return self._judged

    def step(self, now: datetime) -> Step:
        """Advance to this instant and return the same step as ``decide(self.rollout, now)``."""
        self.advance(now)
        return self.answer(self._rollout)

    def at(self, now: datetime) -> "Ledger":
        """The ledger as it will be at a later instant. Returns this ledger if nothing is due by then."""
        soonest = self.next_due()
        is_there = soonest is None or soonest[0] > now
        return self if is_there else Ledger(self._rollout, now)

    def answer(self, rollout: Rollout) -> Step:
        """The step for the instant that this ledger has come to.

        Args:
            rollout: that of the ledger, with other stages passed, another hold or other gates, perhaps.
        """
        settled = tuple(self._unsettled[c] for c in sorted(self._unsettled))
        soonest = self.next_due()
        due_at = soonest[0] if soonest else None
        return choose(rollout, self._censuses, settled, due_at)

    def settled(self, step: Step) -> dict[str, Standing]:
        """The standings with the verdicts of this step, by cluster, and those that have come to their end on
        an older revision: whoever goes on from the record must not take them for in flight.
        """
        found = {
            each.cluster: structs.replace(
                self._standings[each.cluster], verdict=each.verdict, reason=each.reason
            )
            for each in step.settled
        }
        return self._ended | found

    def _recount(self, now: datetime) -> None:
        self._open = {c for c, standing in self._standings.items() if is_open(standing)}
        self._censuses = [_StageCensus() for _ in self._rollout.staging.stages]
        self._seats: dict[str, tuple[int, QueueSeat]] = {}
        self._judged: dict[str, Judgement] = {}
        self._unsettled: dict[str, Settled] = {}
        self._ended: dict[str, Standing] = {}
        self._due: list[tuple[datetime, str]] = []
        lost = lost_by_stage(self._rollout)
        for at, stage in enumerate(self._rollout.staging.stages):
            waiting: list[QueueSeat] = []
            census = self._censuses[at]
            for place, group in enumerate(stage.groups):
                for cluster in group.clusters:
                    self._seats[cluster] = (at, (place, cluster))
                    judged = self._look(cluster, now)
                    if judged.phase is _WAITS:
                        waiting.append((place, cluster))
                    else:
                        census.enter((place, cluster), judged.phase)
            census.line = _PhaseQueue(waiting)
            if waiting:
                census.shift(Phase.WAITING, len(waiting))
            if lost[stage.key]:
                census.shift(Phase.LOST, lost[stage.key])

    def _look(self, cluster: str, now: datetime) -> Judgement:
        """Judge, and note when to judge again and what is to be recorded."""
        standing = self._standings.get(cluster)
        if cluster in self._rollout.skipped:
            judged = _SKIPPED
        elif standing is None:
            judged = _UNTOUCHED
        else:
            judged = judge(standing, self._rollout.wanted(cluster), self._rollout.timing, now)
        self._ended.pop(cluster, None)
        if judged.phase is _WAITS:
            if standing is not None and standing.verdict is None:
                self._ended[cluster] = left_behind(standing, self._rollout.timing, now)
            if cluster in self._rollout.held:
                judged = _HELD
            elif cluster in self._rollout.unrendered:
                judged = _UNRENDERED
        self._judged[cluster] = judged
        if judged.until is not None:
            self._expect(judged.until, cluster)
        verdict = due(standing, judged) if standing is not None else None
        if verdict is not None:
            self._unsettled[cluster] = verdict
        else:
            self._unsettled.pop(cluster, None)
        return judged

    def _expect(self, until: datetime, cluster: str) -> None:
        """Note when to judge again. Outdated instants are removed when more than half are outdated."""
        heapq.heappush(self._due, (until, cluster))
        if len(self._due) > 2 * len(self._seats) + 64:
            self._due = [(j.until, c) for c, j in self._judged.items() if j.until is not None]
            heapq.heapify(self._due)

    def _judge(self, cluster: str, now: datetime) -> None:
        if cluster not in self._seats:
            return
        at, seat = self._seats[cluster]
        before = self._judged[cluster].phase
        after = self._look(cluster, now).phase
        if before is not after:
            self._censuses[at].leave(cluster, before)
            self._censuses[at].enter(seat, after)

    def advance(self, now: datetime) -> None:
        """Judge again all clusters that time alone has changed until this instant."""
        while self._due and self._due[0][0] <= now:
            until, cluster = heapq.heappop(self._due)
            judged = self._judged.get(cluster)
            if judged is not None and judged.until == until:
                self._judge(cluster, now)

    def next_due(self) -> tuple[datetime, str] | None:
        """When time alone next changes a cluster's phase, and which; None if never."""
        while self._due:
            until, cluster = self._due[0]
            judged = self._judged.get(cluster)
            if judged is not None and judged.until == until:
                return until, cluster
            heapq.heappop(self._due)
        return None
