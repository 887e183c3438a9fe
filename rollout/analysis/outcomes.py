"""Says how one simulated run ended, and how the ends of many runs are distributed."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Generic, TypeVar

from rollout.account.words import stopwatch
from rollout.analysis.tracks import Timeline
from rollout.model.waits import Grade, Reason
from rollout.rollouts.live import LiveRollout
from rollout.strategies.base import Phase

N = TypeVar("N", int, timedelta)


class End(Enum):
    """How a run of a rollout ends."""

    DONE = "Complete"
    TOLERATED = "CompleteWithFailures"
    HALTED = "MaxFailuresExceeded"
    HELD = "Held"  # a person would have to act
    STUCK = "Stuck"  # something is unfinished, and nothing would ever happen


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of one run.

    ``reason`` is the engine's own word. ``lasted`` counts from the start until everything was done, or
    (``HALTED``) until the budget was exceeded, or until nothing happened any more. ``clusters`` are those
    of all workloads, each counted once. ``touched`` of them got a revision in this run, though it may
    have been taken back since; ``soaked`` succeeded, and ``failed`` count as failures, or
    did when the revision was taken back from them.
    """

    seed: int
    end: End
    reason: str
    lasted: timedelta
    clusters: int
    touched: int
    soaked: int
    failed: int


def ending(lives: Sequence[LiveRollout], is_done: bool) -> tuple[End, str]:
    """How a run has ended, from the last answers of its rollouts."""
    if is_done:
        failed = any(live.last.count(p) for live in lives for p in (Phase.FAILED, Phase.LOST))
        return (End.TOLERATED if failed else End.DONE), ("" if lives else "NoTargets")
    for live in lives:
        if live.last.halt is not None:
            return End.HALTED, live.last.halt.reason
    for live in lives:
        if live.last.hold is not None:
            is_failed = live.last.hold.reason.grade is Grade.FAILED
            return (End.HALTED if is_failed else End.HELD), live.last.hold.reason
    for stage in (stage for live in lives for stage in live.last.stages):
        if stage.blocked is not None and stage.blocked.grade is Grade.PERSON:
            return End.HELD, stage.blocked
    for live in lives:  # of clusters that cannot be rendered no stage says that it is blocked
        if live.last.gate is not None and live.last.gate.reason.grade is Grade.PERSON:
            return End.HELD, live.last.gate.reason
    return End.STUCK, "RollingOut"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread(Generic[N]):
    """The least, the greatest, and percentiles of some values: each is one of the values."""

    least: N
    p50: N
    p90: N
    p99: N
    most: N


def spread(values: Sequence[N]) -> Spread[N] | None:
    """The spread of some values, percentiles by nearest rank; None where there is none."""
    if not values:
        return None
    ordered = sorted(values)
    p50, p90, p99 = (ordered[max(0, -(-p * len(ordered) // 100) - 1)] for p in (50, 90, 99))
    return Spread(least=ordered[0], p50=p50, p90=p90, p99=p99, most=ordered[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """Many runs, each with a seed of its own.

    ``finish`` is the time of the runs that were done; ``stop`` the time to the halt, and ``blast``
    the clusters touched, of those that halted. ``touched`` and ``failed`` are over all runs.
    ``whole_because`` says why every run took the whole simulation ("": none did). ``assumed``: metrics, as
    ``template/metric``, that were taken to be good where the scenario says nothing.
    """

    runs: int
    clusters: int
    ends: Mapping[End, int]
    finish: Spread[timedelta] | None
    stop: Spread[timedelta] | None
    blast: Spread[int] | None
    touched: Spread[int] | None
    failed: Spread[int] | None
    whole_because: str = ""
    assumed: tuple[str, ...] = ()

    def share(self, end: End) -> float:
        """The share of the runs that ended so, from 0 to 1."""
        return self.ends.get(end, 0) / self.runs if self.runs else 0.0


def distribution(
    outcomes: Sequence[Outcome], whole_because: str = "", assumed: tuple[str, ...] = ()
) -> Distribution:
    """What many outcomes come to."""
    done = [o for o in outcomes if o.end in (End.DONE, End.TOLERATED)]
    halted = [o for o in outcomes if o.end is End.HALTED]
    counted = Counter(o.end for o in outcomes)
    return Distribution(
        runs=len(outcomes),
        clusters=max((o.clusters for o in outcomes), default=0),
        ends={end: counted[end] for end in End if counted[end]},
        finish=spread([o.lasted for o in done]),
        stop=spread([o.lasted for o in halted]),
        blast=spread([o.touched for o in halted]),
        touched=spread([o.touched for o in outcomes]),
        failed=spread([o.failed for o in outcomes]),
        whole_because=whole_because,
        assumed=assumed,
    )


END_WORDS = {
    End.DONE: "✔ done",
    End.TOLERATED: "⚠ done, with failures",
    End.HALTED: "✖ halted",
    End.HELD: "‖ held",
    End.STUCK: "◌ not done, and nothing more would happen",
}
RANKS = ("least", "p50", "p90", "p99", "most")


def outcome_line(outcome: Outcome) -> str:
    """``✔ done after 00:40:19: 310 of 310 clusters touched, 310 soaked, 0 failed (seed 1)``."""
    is_known = outcome.end is End.HALTED and outcome.reason == Reason.MAX_FAILURES_EXCEEDED
    tells = outcome.end in (End.HELD, End.HALTED) and not is_known
    reason = outcome.reason if tells else ""
    word = f"{END_WORDS[outcome.end]}{f' ({reason})' if reason else ''}"
    return (
        f"{word} after {stopwatch(outcome.lasted)}: {outcome.touched} of {outcome.clusters} "
        f"clusters touched, {outcome.soaked} soaked, {outcome.failed} failed (seed {outcome.seed})"
    )


def spread_rows(found: Distribution) -> list[tuple[str, ...]]:
    """Each spread that there is: what it is of, then its values in the order of `RANKS`."""
    rows = [
        _spread("time to finish", found.finish, stopwatch),
        _spread("time to the halt", found.stop, stopwatch),
        _spread("clusters touched before it halts", found.blast, str),
        _spread("clusters touched", found.touched, str),
        _spread("clusters failed", found.failed, str),
    ]
    return [row for row in rows if row]


def _spread(title: str, found: Spread[Any] | None, said: Callable[[Any], str]) -> tuple[str, ...]:
    if found is None:
        return ()
    values = (found.least, found.p50, found.p90, found.p99, found.most)
    return (title, *(said(value) for value in values))


def comparison_rows(found: Sequence[Distribution]) -> list[tuple[str, ...]]:
    """Several distributions side by side: what a row is about, then a value for each."""
    rows: list[tuple[str, ...]] = [("runs", *(str(each.runs) for each in found))]
    rows += [
        (END_WORDS[end], *(f"{100 * each.share(end):.1f} %" for each in found))
        for end in End
        if any(each.ends.get(end) for each in found)
    ]
    for title, pick, said in _COMPARED:
        spreads = [pick(each) for each in found]
        for rank in ("p50", "p90", "p99"):
            cells = [said(getattr(s, rank)) if s is not None else "-" for s in spreads]
            if any(s is not None for s in spreads):
                rows.append((f"{title}, {rank}", *cells))
    return rows


_COMPARED: tuple[
    tuple[str, Callable[[Distribution], Spread[Any] | None], Callable[[Any], str]], ...
] = (
    ("time to finish", lambda d: d.finish, stopwatch),
    ("touched before it halts", lambda d: d.blast, str),
    ("clusters failed", lambda d: d.failed, str),
)


MOST_LEVELS = 60


@dataclass(frozen=True, slots=True)
class OutlookPoint:
    """By when so many clusters have soaked in half of the runs, and in nine of ten.

    None: not in so many of the runs.
    """

    clusters: int
    p50: datetime | None
    p90: datetime | None


def soaks(line: Timeline) -> tuple[datetime, ...]:
    """When clusters soaked in one run, in order, without those that had soaked before it."""
    return tuple(
        sorted(
            row.bars[-1].start if row.bars[-1].phase is Phase.SOAKED else line.end
            for stage in line.stages
            for row in stage.rows
            if row.bars and row.last is Phase.SOAKED
        )
    )


def outlook(runs: Sequence[Sequence[datetime]]) -> tuple[OutlookPoint, ...]:
    """Of runs as `soaks` has them; at most `MOST_LEVELS` points, the last one of the most clusters."""
    most = max(map(len, runs), default=0)
    step = max(1, -(-most // MOST_LEVELS))
    levels = sorted({*range(1, most + 1, step), most} - {0})
    return tuple(OutlookPoint(n, _by(runs, n, 50), _by(runs, n, 90)) for n in levels)


def _by(runs: Sequence[Sequence[datetime]], clusters: int, percent: int) -> datetime | None:
    """By nearest rank over all runs; a run in which never so many soak counts as later than all."""
    reached = sorted(run[clusters - 1] for run in runs if len(run) >= clusters)
    rank = -(-percent * len(runs) // 100) - 1
    return reached[rank] if 0 <= rank < len(reached) else None
