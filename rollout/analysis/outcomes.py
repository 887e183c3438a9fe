"""How did a run end, and how do many runs end? Outcomes, and their distributions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Generic, TypeVar

from rollout.fleet.live import LiveRollout
from rollout.model.waits import Grade
from rollout.strategies.base import Phase

N = TypeVar("N", int, timedelta)


class End(Enum):
    """How a run of a rollout ends."""

    DONE = "Complete"
    TOLERATED = "CompleteWithFailures"
    HALTED = "MaxFailuresExceeded"
    HELD = "Held"  # a person would have to act
    STUCK = "Stuck"  # something is unfinished, and nothing would ever happen


@dataclass(frozen=True, slots=True)
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
    zero = any(s.blocked == "ConcurrencyZero" for live in lives for s in live.last.stages)
    return (End.HELD, "ConcurrencyZero") if zero else (End.STUCK, "RollingOut")


@dataclass(frozen=True, slots=True)
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
    return Spread(ordered[0], p50, p90, p99, ordered[-1])


@dataclass(frozen=True, slots=True)
class Distribution:
    """Many runs, each with a seed of its own.

    ``finish`` is the time of the runs that were done; ``stop`` the time to the halt, and ``blast``
    the clusters touched, of those that halted. ``touched`` and ``failed`` are over all runs.
    ``whole_because`` says why every run took the whole simulation ("": none did).
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

    def share(self, end: End) -> float:
        """The share of the runs that ended so, from 0 to 1."""
        return self.ends.get(end, 0) / self.runs if self.runs else 0.0


def distribution(outcomes: Sequence[Outcome], whole_because: str = "") -> Distribution:
    """What many outcomes come to."""
    done = [o for o in outcomes if o.end in (End.DONE, End.TOLERATED)]
    halted = [o for o in outcomes if o.end is End.HALTED]
    counted = Counter(o.end for o in outcomes)
    return Distribution(
        len(outcomes),
        max((o.clusters for o in outcomes), default=0),
        {end: counted[end] for end in End if counted[end]},
        spread([o.lasted for o in done]),
        spread([o.lasted for o in halted]),
        spread([o.touched for o in halted]),
        spread([o.touched for o in outcomes]),
        spread([o.failed for o in outcomes]),
        whole_because,
    )
