"""The prioritizers of the scheduler, and which of them count for a placement.

A prioritizer scores each feasible cluster from -100 to 100; the total is the weighted sum. Scores are
computed as OCM computes them, to the last bit. Differences: a configuration replaces every earlier one
that names the same score, and the default; an evaluation says when a score expires, so that it is made
again at that instant; PreferNoSelect is a score of its own; Balance weighs newcomers only. Source: OCM
placement spec 2.8, 2.9.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import repeat

from rollout.model.cluster import Cluster, Score, Taint
from rollout.model.instants import earliest
from rollout.model.placement import Coordinate, Placement
from rollout.model.problems import Problem
from rollout.placement.filters import PREFER, Tolerance, Tolerations, tolerance, tolerations_of
from rollout.placement.framework import (
    MAX_SCORE,
    MIN_SCORE,
    Cycle,
    Prioritizer,
    ScoreColumn,
    just_after,
)
from rollout.placement.index import Pool, resource_of
from rollout.placement.spread import SPREAD


def balance_score(count: int, most: int) -> int:
    """Half of the span is computed and truncated first, so the result is even."""
    return 2 * int(100 * (0.5 - count / most))


@dataclass(frozen=True, slots=True)
class OcmBalance:
    """100 for a cluster that no other placement decided; else down to -100 for the busiest.

    The busiest is looked for over all clusters of the hub, feasible here or not.
    """

    name: str = "Balance"

    def score(self, cycle: Cycle, feasible: Sequence[Cluster]) -> Mapping[str, int]:
        counts = cycle.counts
        most = max(counts.values(), default=0)
        return {
            c.name: balance_score(counts[c.name], most) if counts.get(c.name) else MAX_SCORE
            for c in feasible
        }

    def column(self, cycle: Cycle, pool: Pool) -> ScoreColumn:
        counts = cycle.counts
        values = set(counts.values())
        most = max(values, default=0)
        if most <= 0:
            return ScoreColumn([MAX_SCORE] * len(pool))
        by_count = {count: balance_score(count, most) for count in values if count > 0}
        by_count[0] = MAX_SCORE

        def make(names: Sequence[str]) -> list[int]:
            return list(map(by_count.__getitem__, map(counts.get, names, repeat(0))))

        return ScoreColumn(pool.source.derived(counts, pool, make))


@dataclass(frozen=True, slots=True)
class Balance:
    """As `OcmBalance` for newcomers; a cluster that the placement has gets the best score.

    Nobody plans a placement anew because others decided. If they counted for what it has, a restart
    would move it, and so would anybody who writes decisions.
    """

    name: str = "Balance"

    def score(self, cycle: Cycle, feasible: Sequence[Cluster]) -> Mapping[str, int]:
        kept = dict.fromkeys(cycle.previous, self._best(cycle))
        scores = OcmBalance().score(cycle, feasible)
        return {name: kept.get(name, score) for name, score in scores.items()}

    def column(self, cycle: Cycle, pool: Pool) -> ScoreColumn:
        column = OcmBalance().column(cycle, pool)
        if not cycle.previous:
            return column
        best, kept = self._best(cycle), Steady().column(cycle, pool).scores
        scores = zip(kept, column.scores, strict=True)
        return ScoreColumn([best if has else score for has, score in scores])

    def _best(self, cycle: Cycle) -> int:
        """Where the weight is negative, the busiest clusters are the best."""
        weight = effective(cycle.placement).get(Coordinate(builtin=self.name), 0)
        return MIN_SCORE if weight < 0 else MAX_SCORE


@dataclass(frozen=True, slots=True)
class Steady:
    """100 for a cluster in the placement's decisions, 0 for any other."""

    name: str = "Steady"

    def score(self, cycle: Cycle, feasible: Sequence[Cluster]) -> Mapping[str, int]:
        return {c.name: 100 if c.name in cycle.previous else 0 for c in feasible}

    def column(self, cycle: Cycle, pool: Pool) -> ScoreColumn:
        previous = cycle.previous
        if not previous:
            return ScoreColumn([0] * len(pool))

        def make(names: Sequence[str]) -> list[int]:
            return [100 if name in previous else 0 for name in names]

        return ScoreColumn(pool.source.derived(previous, pool, make))


def resource_score(value: float, least: float, most: float) -> int:
    """-100 for the least, 100 for the most; 100 where all are alike.

    64-bit floats in this order of steps, truncated toward zero: OCM's result to the last bit.
    """
    if most == least:
        return 100
    return int((((value - least) / (most - least)) - 0.5) * 2.0 * 100.0)


@dataclass(frozen=True, slots=True)
class ResourceAllocatable:
    """Scores between the least and the most of the feasible clusters; none without a report."""

    name: str
    resource: str  # cpu | memory

    def score(self, cycle: Cycle, feasible: Sequence[Cluster]) -> Mapping[str, int]:
        amounts = {c.name: resource_of(c, self.resource) for c in feasible}
        known = {name: amount for name, amount in amounts.items() if amount is not None}
        if not known:
            return {}
        least, most = min(known.values()), max(known.values())
        return {name: resource_score(amount, least, most) for name, amount in known.items()}

    def column(self, cycle: Cycle, pool: Pool) -> ScoreColumn:
        amount_at = pool.source.resources[self.resource].__getitem__
        amounts = list(map(amount_at, pool.slots))
        distinct = set(amounts)
        distinct.discard(None)
        known = [amount for amount in distinct if amount is not None]
        if not known:
            return ScoreColumn([None] * len(amounts))
        least, most = min(known), max(known)
        table: dict[float | None, int | None] = {
            amount: resource_score(amount, least, most) for amount in known
        }
        table[None] = None
        return ScoreColumn([table[amount] for amount in amounts])


def is_expired(score: Score, cycle: Cycle) -> bool:
    return score.valid_until is not None and cycle.now > score.valid_until


@dataclass(frozen=True, slots=True)
class AddOnPrioritizer:
    """The value of an AddOnPlacementScore; 0 where it is missing or expired."""

    resource: str
    score_name: str

    @property
    def name(self) -> str:
        return f"AddOn/{self.resource}/{self.score_name}"

    def score(self, cycle: Cycle, feasible: Sequence[Cluster]) -> Mapping[str, int]:
        known = cycle.scores(self.resource)
        values = dict.fromkeys((c.name for c in feasible), 0)
        for name in values:
            found = known.get(name)
            if found is not None and not is_expired(found, cycle):
                values[name] = found.values.get(self.score_name, 0)
        return values

    def column(self, cycle: Cycle, pool: Pool) -> ScoreColumn:
        known, wanted, now = cycle.scores(self.resource), self.score_name, cycle.now
        values, expired, ends = [], [], set()
        for name, found in zip(pool.names, map(known.get, pool.names), strict=True):
            if found is None:
                values.append(0)
                continue
            end = found.valid_until
            if end is not None:
                if now > end:
                    expired.append(f"{name}/{self.resource}")
                    values.append(0)
                    continue
                ends.add(end)
            values.append(found.values.get(wanted, 0))
        recheck = just_after(min(ends)) if ends else None
        return ScoreColumn(values, recheck, tuple(expired))


@dataclass(frozen=True, slots=True)
class PreferNoSelect:
    """-100 for a cluster with a PreferNoSelect taint that is not tolerated, 0 for any other.

    OCM accepts the effect and never acts on it.
    """

    name: str = "PreferNoSelect"

    def score(self, cycle: Cycle, feasible: Sequence[Cluster]) -> Mapping[str, int]:
        tolerations = tolerations_of(cycle.placement)
        return {
            c.name: MIN_SCORE if _preferred(c.taints, tolerations, cycle.now).refused_by else 0
            for c in feasible
        }

    def column(self, cycle: Cycle, pool: Pool) -> ScoreColumn:
        tolerations, ends, avoided = tolerations_of(cycle.placement), [], 0
        for taints, bits in pool.source.taints.items():
            if not bits & pool.bits:
                continue
            found = _preferred(taints, tolerations, cycle.now)
            if found.refused_by is not None:
                avoided |= bits
            ends.append(found.until)
        if not avoided & pool.bits:
            return ScoreColumn([0] * len(pool), earliest(*ends))
        names = set(pool.narrow(avoided).names)
        return ScoreColumn([MIN_SCORE if n in names else 0 for n in pool.names], earliest(*ends))


def _preferred(taints: Iterable[Taint], tolerations: Tolerations, now: datetime) -> Tolerance:
    """Whether all PreferNoSelect taints are tolerated, and until when; else the first that is not."""
    return tolerance((t for t in taints if t.effect == PREFER), tolerations, now)


def has_prefer_taints(pool: Pool) -> bool:
    """Whether any cluster of the pool has such a taint at all."""
    return any(
        bits & pool.bits and any(taint.effect == PREFER for taint in taints)
        for taints, bits in pool.source.taints.items()
    )


DEFAULTS = (Coordinate(builtin="Balance"), Coordinate(builtin="Steady"))

Factory = Callable[[], Prioritizer]

BUILTINS: Mapping[str, Factory] = {
    "Balance": Balance,
    "Steady": Steady,
    "ResourceAllocatableCPU": lambda: ResourceAllocatable("ResourceAllocatableCPU", "cpu"),
    "ResourceAllocatableMemory": lambda: ResourceAllocatable("ResourceAllocatableMemory", "memory"),
}

OCM_BUILTINS: Mapping[str, Factory] = {**BUILTINS, "Balance": OcmBalance}


@dataclass(frozen=True, slots=True)
class Weighted:
    """A prioritizer and the factor of its scores, never 0."""

    prioritizer: Prioritizer
    weight: int


def effective(placement: Placement) -> dict[Coordinate, int]:
    """The weight of every score that is named, 0 included."""
    found = {} if placement.mode == "Exact" else dict.fromkeys(DEFAULTS, 1)
    for coordinate, weight in placement.weights:
        found[coordinate] = weight
    return found


def unknown_prioritizers(placement: Placement, builtins: Mapping[str, Factory]) -> list[Problem]:
    """Prioritizers that nobody provides. Those with weight 0 are not asked for."""
    return [
        Problem(
            "spec.prioritizerPolicy.configurations",
            coordinate.builtin,
            f"one of {', '.join(sorted(builtins))}",
        )
        for coordinate, weight in effective(placement).items()
        if weight
        and coordinate.type == "BuiltIn"
        and coordinate.builtin not in builtins
        and coordinate != SPREAD
    ]


def weighted_prioritizers(placement: Placement, builtins: Mapping[str, Factory]) -> list[Weighted]:
    """What to run, in a stable order. All of it is known: see `unknown_prioritizers`."""
    return [
        Weighted(
            builtins[coordinate.builtin]()
            if coordinate.type == "BuiltIn"
            else AddOnPrioritizer(coordinate.resource, coordinate.score),
            weight,
        )
        for coordinate, weight in effective(placement).items()
        if weight and coordinate != SPREAD
    ]
