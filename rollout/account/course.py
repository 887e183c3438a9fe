"""Counts clusters by phase over time, as far as the record and the works still tell it.

Of a cluster it is known when it was touched with the present revision and since when it is as it is;
what it went through in between is not kept. So a cluster that failed and recovered looks as if it had
been on its way until it recovered.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from rollout.rollouts.live import LiveRollout
from rollout.strategies.base import Health, Phase, Standing, Timing
from rollout.strategies.judge import judge

MOST_POINTS = 240


@dataclass(frozen=True, slots=True)
class CoursePoint:
    """How many clusters were in each phase at an instant."""

    at: datetime
    phases: Mapping[Phase, int]


def course(lives: Iterable[LiveRollout], now: datetime) -> tuple[CoursePoint, ...]:
    """From the first touch of the present revision until now; empty where nothing was touched.

    Cost: O(clusters + points).
    """
    changes: list[tuple[datetime, Phase, Phase]] = []
    start: Counter[Phase] = Counter()
    for live in lives:
        standings = live.ledger.standings
        for stage in live.ledger.rollout.staging.stages:
            for group in stage.groups:
                for cluster in group.clusters:
                    start[Phase.WAITING] += 1
                    standing = standings.get(cluster)
                    if standing is not None and standing.revision == live.revision:
                        changes += _changes(standing, live.ledger.rollout.timing, now)
    changes.sort(key=lambda change: change[0])
    return tuple(_points(changes, start, now)) if changes else ()


def _changes(
    standing: Standing, timing: Timing, now: datetime
) -> Iterator[tuple[datetime, Phase, Phase]]:
    """What became of one cluster: when, from which phase, to which."""
    last, at = Phase.WAITING, standing.touched
    if standing.since is not None and standing.health is not Health.SILENT:
        if standing.since > at:
            yield at, last, Phase.PROGRESSING
            last = Phase.PROGRESSING
        at = standing.since
    while at <= now:
        judged = judge(standing, standing.revision, timing, at)
        if judged.phase is not last:
            yield at, last, judged.phase
            last = judged.phase
        if judged.until is None or judged.until <= at:
            return
        at = judged.until


def _points(
    changes: Iterable[tuple[datetime, Phase, Phase]], start: Counter[Phase], now: datetime
) -> Iterator[CoursePoint]:
    """The counts after the changes, at no more than `MOST_POINTS` instants."""
    counts, at, least = Counter(start), None, timedelta(0)
    changed = list(changes)
    span = now - changed[0][0]
    least = span / MOST_POINTS
    for when, before, after in changed:
        if at is None:
            at = when
            yield CoursePoint(when, _kept(counts))
        elif when - at >= least and when != at:
            yield CoursePoint(when, _kept(counts))
            at = when
        counts[before] -= 1
        counts[after] += 1
    yield CoursePoint(now, _kept(counts))


def _kept(counts: Counter[Phase]) -> dict[Phase, int]:
    return {phase: count for phase, count in counts.items() if count}
