"""Follows each cluster over a run, as standings and as bars."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from rollout.strategies.base import Phase, Rollout, Standing, Timing
from rollout.strategies.judge import judge

ClosedSpans = tuple[tuple[datetime, datetime], ...]
"""Each from an instant up to another one."""
Reached = Callable[[timedelta], object]
"""Is told how much time has passed in a run, again and again."""


def nowhere(_passed: timedelta) -> None:
    """Nobody wants to know."""


class Track:
    """The standings of one rollout's clusters, each from the instant at which it came about."""

    def __init__(self, rollout: Rollout, start: datetime) -> None:
        self.rollout = rollout  # the newest terms
        self.passed: dict[str, datetime] = {}  # stage key -> when it passed
        self.standings: dict[str, list[tuple[datetime, Standing]]] = {}  # by cluster, as they came
        self._newest = {c: s for c, s in rollout.standings.items() if s.touched < start}

    def add(self, at: datetime, standing: Standing) -> None:
        """Note a standing, unless it is the one that is known."""
        if self._newest.get(standing.cluster) is not standing:
            self._newest[standing.cluster] = standing
            self.standings.setdefault(standing.cluster, []).append((at, standing))

    def sweep(self, at: datetime, standings: Iterable[Standing]) -> bool:
        """Note all that is new among the standings as they are now. Cost: O(clusters touched).

        Returns: whether anything was.
        """
        newest = self._newest
        new = [s for s in standings if newest.get(s.cluster) is not s]
        for standing in new:
            self.add(at, standing)
        return bool(new)

    def reached(self, revision: str) -> set[str]:
        """The clusters that got a revision in the run, whatever became of it there since."""
        return {
            cluster
            for cluster, found in self.standings.items()
            if any(standing.of_revision == revision for _, standing in found)
        }

    def carriers(self, revision: str) -> set[str]:
        """The clusters whose newest standing is on this revision."""
        return {cluster for cluster, s in self._newest.items() if s.of_revision == revision}

    def failed(self, revision: str, end: datetime) -> set[str]:
        """The clusters on which a revision failed at any time of the run, up to ``end`` and at it.

        A failure that ends the attempt at the very instant at which it counts is one.
        """
        return {cluster for cluster in self.standings if self._has_failed(cluster, revision, end)}

    def _has_failed(self, cluster: str, revision: str, end: datetime) -> bool:
        found = self.standings.get(cluster, [])
        return any(
            standing.of_revision == revision
            and self._fails(standing, at, found[i + 1][0] if i + 1 < len(found) else end)
            for i, (at, standing) in enumerate(found)
        )

    def _fails(self, standing: Standing, at: datetime, until: datetime) -> bool:
        timing = self.rollout.timing
        return judge(standing, standing.revision, timing, until).phase.is_failure or any(
            bar.phase.is_failure for bar in _judged(standing, timing, at, until)
        )

    def last(self, cluster: str, end: datetime) -> Phase | None:
        """Where the cluster stands at ``end`` with the present revision; None where it has not got it."""
        standing, rollout = self._newest.get(cluster), self.rollout
        if standing is None or not rollout.is_on_it(standing):
            return None
        return judge(standing, standing.revision, rollout.timing, end).phase

    def bars(self, cluster: str, end: datetime) -> "tuple[Bar, ...]":
        """What the cluster went through with the present revision, up to ``end``, phase by phase."""
        found = self.standings.get(cluster, [])
        bars: list[Bar] = []
        for i, (at, standing) in enumerate(found):
            if not self.rollout.is_on_it(standing):
                continue
            until = found[i + 1][0] if i + 1 < len(found) else end
            for bar in _judged(standing, self.rollout.timing, at, until):
                if bars and bars[-1].phase is bar.phase and bars[-1].end == bar.start:
                    bars[-1] = Bar(bars[-1].start, bar.end, bar.phase)
                else:
                    bars.append(bar)
        return tuple(bars)

    def rows(
        self, clusters: Iterable[str], end: datetime, closed: Mapping[str, ClosedSpans]
    ) -> "tuple[ClusterTimeline, ...]":
        """What each cluster went through, and when it was closed, up to ``end``.

        One on which the revision failed has failed, though it may have been taken back from it since.
        """
        rows: list[ClusterTimeline] = []
        for cluster in clusters:
            last = self.last(cluster, end)
            if last is None and self._has_failed(cluster, self.rollout.revision, end):
                last = Phase.FAILED
            bars = self.bars(cluster, end)
            rows.append(ClusterTimeline(cluster, bars, last, closed.get(cluster, ())))
        return tuple(rows)


@dataclass(frozen=True, slots=True)
class Bar:
    """One phase of one cluster, from ``start`` to ``end``."""

    start: datetime
    end: datetime
    phase: Phase


def _judged(standing: Standing, timing: Timing, at: datetime, until: datetime) -> list[Bar]:
    """The phases that one standing goes through by time alone."""
    bars: list[Bar] = []
    while at < until:
        judged = judge(standing, standing.revision, timing, at)
        change = judged.until if judged.until is not None and judged.until > at else until
        bars.append(Bar(at, min(change, until), judged.phase))
        at = change
    return bars


@dataclass(frozen=True, slots=True)
class ClusterTimeline:
    """One cluster's bars, and the phase that it is in at the end (None: it does not have the revision).

    One that had it before the run may have no bars.
    ``closed``: when calendars let nobody touch it.
    """

    cluster: str
    bars: tuple[Bar, ...]
    last: Phase | None = None
    closed: ClosedSpans = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTimeline:
    """One stage: when its first cluster was touched, when it passed, and each cluster's bars."""

    workload: str
    placement: str
    title: str
    began: datetime | None
    passed: datetime | None
    rows: tuple[ClusterTimeline, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A whole run, stage by stage, clusters in the order in which they are touched."""

    start: datetime
    end: datetime
    stages: tuple[StageTimeline, ...]

    @property
    def span(self) -> timedelta:
        return self.end - self.start

    def title_of(self, stage: StageTimeline) -> str:
        """The stage's title, with its workload and placement where there are several of these."""
        workloads = {each.workload for each in self.stages}
        placements = {(each.workload, each.placement) for each in self.stages}
        parts = [stage.workload] if len(workloads) > 1 else []
        parts += [stage.placement] if len(placements) > len(workloads) else []
        return " ".join([*parts, stage.title])


def timeline(
    tracks: Sequence[tuple[tuple[str, str], Track]],
    start: datetime,
    end: datetime,
    closed: Mapping[str, Mapping[str, ClosedSpans]] = MappingProxyType({}),
) -> Timeline:
    """The timeline of some rollouts, each under (workload, placement); of stages that have clusters.

    Args:
        closed: by workload and cluster, when calendars let nobody touch it.
    """
    stages: list[StageTimeline] = []
    for (workload, placement), track in tracks:
        shut = closed.get(workload, {})
        for stage in track.rollout.staging.stages:
            members = (cluster for group in stage.groups for cluster in group.clusters)
            rows = track.rows(members, end, shut)
            if not rows:
                continue
            began = min((row.bars[0].start for row in rows if row.bars), default=None)
            passed = track.passed.get(stage.key)
            stages.append(
                StageTimeline(
                    workload=workload,
                    placement=placement,
                    title=stage.title,
                    began=began,
                    passed=passed,
                    rows=rows,
                )
            )
    return Timeline(start, end, tuple(stages))
