"""Which clusters did a rollout lose in flight, and does it still miss them?

Lost is what left while it was in flight, out of reach: a failure of the stage that it left, until the
revision changes, it comes back or a person releases it. What another placement of the workload selects
now is not held against this one meanwhile. Source: semantics rows 17, 21.
"""

from collections.abc import Container, Mapping


class Losses:
    """Cluster to the key of the stage that it left."""

    def __init__(self) -> None:
        self._stages: dict[str, str] = {}
        self._lent: frozenset[str] = frozenset()  # what another placement selects now

    def __contains__(self, cluster: str) -> bool:
        return cluster in self._stages

    def all(self) -> frozenset[str]:
        """Those that another placement selects now included."""
        return frozenset(self._stages)

    def missed(self) -> Mapping[str, str]:
        """Those that count."""
        return {c: stage for c, stage in self._stages.items() if c not in self._lent}

    def stage_of(self, cluster: str) -> str:
        """The key of the stage that it left, "" for a cluster that is not lost."""
        return self._stages.get(cluster, "")

    def add(self, cluster: str, stage: str) -> None:
        self._stages[cluster] = stage

    def discard(self, cluster: str) -> None:
        self._stages.pop(cluster, None)

    def lend(self, selected: Container[str]) -> None:
        """Others select these now, and no more than these."""
        self._lent = frozenset(c for c in self._stages if c in selected)
