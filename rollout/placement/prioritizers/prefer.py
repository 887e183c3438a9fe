"""Avoid clusters whose PreferNoSelect taints are not tolerated.

OCM accepts the effect and never acts on it; here such a cluster costs 100 points.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rollout.model.cluster import Cluster
from rollout.placement.filters.taints import PREFER, compiled, unwelcome
from rollout.placement.framework import MIN_SCORE, Column, Cycle, earliest
from rollout.placement.index import Pool


@dataclass(frozen=True, slots=True)
class PreferNoSelect:
    """-100 for a cluster with a PreferNoSelect taint that is not tolerated, 0 for any other."""

    name: str = "PreferNoSelect"

    def score(self, cycle: Cycle, feasible: Sequence[Cluster]) -> Mapping[str, int]:
        tolerations = compiled(cycle.placement.tolerations)
        return {
            c.name: MIN_SCORE if unwelcome(c.taints, tolerations, cycle.now).refused_by else 0
            for c in feasible
        }

    def column(self, cycle: Cycle, pool: Pool) -> Column:
        tolerations, ends, avoided = compiled(cycle.placement.tolerations), [], 0
        for taints, bits in pool.source.taints.items():
            if not bits & pool.bits:
                continue
            found = unwelcome(taints, tolerations, cycle.now)
            if found.refused_by is not None:
                avoided |= bits
            ends.append(found.until)
        if not avoided & pool.bits:
            return Column([0] * len(pool), earliest(*ends))
        names = set(pool.narrow(avoided).names)
        return Column([MIN_SCORE if n in names else 0 for n in pool.names], earliest(*ends))


def matters(pool: Pool) -> bool:
    """Whether any cluster of the pool has such a taint at all."""
    return any(
        bits & pool.bits and any(taint.effect == PREFER for taint in taints)
        for taints, bits in pool.source.taints.items()
    )
