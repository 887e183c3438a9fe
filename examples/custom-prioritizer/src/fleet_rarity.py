"""Prefer clusters in regions that hold few of the feasible clusters."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rollout.model.cluster import Cluster
from rollout.placement.framework import MAX_SCORE, MIN_SCORE, Cycle


@dataclass(frozen=True, slots=True)
class Rarity:
    """Score by rarity of a label's value: rarest `MAX_SCORE`, commonest `MIN_SCORE`.

    Clusters without the label share one region, so they are neither favoured nor excluded.
    """

    label: str = "region"
    name: str = "example.com/Rarity"

    def score(self, cycle: Cycle, feasible: Sequence[Cluster]) -> Mapping[str, int]:
        sizes = Counter(c.labels.get(self.label) for c in feasible)
        fewest, most = min(sizes.values(), default=0), max(sizes.values(), default=0)
        if fewest == most:
            return dict.fromkeys((c.name for c in feasible), 0)
        span = MAX_SCORE - MIN_SCORE
        return {
            c.name: MAX_SCORE - span * (sizes[c.labels.get(self.label)] - fewest) // (most - fewest)
            for c in feasible
        }
