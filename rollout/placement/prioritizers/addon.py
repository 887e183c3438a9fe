"""Prefer clusters that an add-on scores high.

Source: OCM placement spec 2.9, AddOn. Difference: the evaluation says when a score expires, so that
it is made again at that very instant.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rollout.model.cluster import Cluster, Score
from rollout.placement.framework import Column, Cycle, just_after
from rollout.placement.index import Pool


def is_expired(score: Score, cycle: Cycle) -> bool:
    return score.valid_until is not None and cycle.now > score.valid_until


@dataclass(frozen=True, slots=True)
class AddOnScore:
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

    def column(self, cycle: Cycle, pool: Pool) -> Column:
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
        return Column(values, recheck, tuple(expired))
