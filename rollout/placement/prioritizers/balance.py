"""Prefer clusters that few other placements have chosen.

Source: OCM placement spec 2.9, Balance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from rollout.model.cluster import Cluster
from rollout.placement.framework import Column, Cycle
from rollout.placement.index import Pool


def balance_score(count: int, most: int) -> int:
    """Half of the span is computed and truncated first, so the result is even."""
    return 2 * int(100 * (0.5 - count / most))


@dataclass(frozen=True, slots=True)
class Balance:
    """100 for a cluster that no other placement decided; else down to -100 for the busiest.

    The busiest is looked for over all clusters of the hub, feasible here or not.
    """

    name: str = "Balance"

    def score(self, cycle: Cycle, feasible: Sequence[Cluster]) -> Mapping[str, int]:
        counts = cycle.counts
        most = max(counts.values(), default=0)
        return {
            c.name: balance_score(counts[c.name], most) if counts.get(c.name) else 100
            for c in feasible
        }

    def column(self, cycle: Cycle, pool: Pool) -> Column:
        counts = cycle.counts
        values = set(counts.values())
        most = max(values, default=0)
        if most <= 0:
            return Column([100] * len(pool))
        by_count = {count: balance_score(count, most) for count in values if count > 0}
        by_count[0] = 100

        def make(names: Sequence[str]) -> list[int]:
            return list(map(by_count.__getitem__, map(counts.get, names, repeat(0))))

        return Column(pool.source.derived(counts, pool, make))
