"""Prefer clusters with much allocatable CPU or memory.

Source: OCM placement spec 2.9, ResourceAllocatable; 64-bit floats in the stated order of steps,
truncated toward zero, so that the results are the same to the last bit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rollout.model.cluster import Cluster
from rollout.placement.framework import Column, Cycle
from rollout.placement.index import Pool, resource_of


def resource_score(value: float, least: float, most: float) -> int:
    """-100 for the least, 100 for the most; 100 where all are alike."""
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

    def column(self, cycle: Cycle, pool: Pool) -> Column:
        amount_at = pool.source.resources[self.resource].__getitem__
        amounts = list(map(amount_at, pool.slots))
        distinct = set(amounts)
        distinct.discard(None)
        known = [amount for amount in distinct if amount is not None]
        if not known:
            return Column([None] * len(amounts))
        least, most = min(known), max(known)
        table: dict[float | None, int | None] = {
            amount: resource_score(amount, least, most) for amount in known
        }
        table[None] = None
        return Column([table[amount] for amount in amounts])
