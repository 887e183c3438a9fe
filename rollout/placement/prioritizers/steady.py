"""Prefer clusters that this placement has already chosen.

Source: OCM placement spec 2.9, Steady.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rollout.model.cluster import Cluster
from rollout.placement.framework import Column, Cycle
from rollout.placement.index import Pool


@dataclass(frozen=True, slots=True)
class Steady:
    """100 for a cluster in the placement's decisions, 0 for any other."""

    name: str = "Steady"

    def score(self, cycle: Cycle, feasible: Sequence[Cluster]) -> Mapping[str, int]:
        return {c.name: 100 if c.name in cycle.previous else 0 for c in feasible}

    def column(self, cycle: Cycle, pool: Pool) -> Column:
        previous = cycle.previous
        if not previous:
            return Column([0] * len(pool))

        def make(names: Sequence[str]) -> list[int]:
            return list(map((0, 100).__getitem__, map(previous.__contains__, names)))

        return Column(pool.source.derived(previous, pool, make))
