"""Takes clusters evenly over zones, regions or other topologies: spreadPolicy.

Greedy, one cluster at a time. Constraints in list order form a tree: a later key is compared only
among clusters that agree on the earlier keys. The skew of a topology is what was taken from it minus
the least that was taken from a topology beside it. A hard constraint excludes what would exceed its
maxSkew; soft ones only lower the score.
Source: OCM enhancement 70; placement spec, appendix B. OCM itself ignores spreadPolicy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from heapq import heapify, heappop, heappush

from rollout.model.cluster import Cluster
from rollout.model.placement import Coordinate, Placement, SpreadConstraint
from rollout.placement.framework import MAX_SCORE, MIN_SCORE
from rollout.placement.index import Pool

SPREAD = Coordinate(builtin="Spread")

Usage = tuple[int, ...]
"""What was taken so far from a cluster's topology, at each level of the tree."""

Ranked = tuple[int, str]
"""A cluster by what makes it better: its total, negated, then its name."""


def value_of(cluster: Cluster, constraint: SpreadConstraint) -> str | None:
    """The cluster's topology; clusters without the key share one."""
    facts = cluster.labels if constraint.key_type == "Label" else cluster.claims
    return facts.get(constraint.topology_key)


@dataclass(slots=True, eq=False)
class _Topology:
    """A node of the tree: clusters that agree on all keys so far.

    ``ready`` holds, for every usage below here, the children that have a candidate of that usage,
    best first. A child's entries are void once its ``version`` has moved on.
    """

    constraints: Sequence[SpreadConstraint]
    _: KW_ONLY
    waiting: list[Ranked] = field(default_factory=list)
    children: dict[str | None, "_Topology"] = field(default_factory=dict)
    ready: dict[Usage, list[tuple[Ranked, int, "_Topology", int]]] = field(default_factory=dict)
    by_taken: dict[int, int] = field(default_factory=dict)  # taken -> how many children
    taken: int = 0
    version: int = 0
    serial: int = 0

    def add(self, cluster: Cluster, total: int) -> None:
        if not self.constraints:
            self.waiting.append((-total, cluster.name))
            return
        value = value_of(cluster, self.constraints[0])
        child = self.children.get(value)
        if child is None:
            child = self.children[value] = _Topology(
                self.constraints[1:], serial=len(self.children)
            )
        child.add(cluster, total)

    def settle(self) -> None:
        """All clusters are in: make ready."""
        heapify(self.waiting)
        for child in self.children.values():
            child.settle()
            self._announce(child)
        if self.children:
            self.by_taken = {0: len(self.children)}

    def offers(self) -> Iterator[tuple[Usage, Ranked]]:
        """The best candidate of every usage that no hard constraint forbids."""
        if not self.constraints:
            if self.waiting:
                yield (), self.waiting[0]
            return
        rule, least = self.constraints[0], min(self.by_taken, default=0)
        for usage in list(self.ready):
            if rule.hard and usage[0] + 1 - least > rule.max_skew:
                continue
            queue = self.ready[usage]
            while queue and queue[0][2].version != queue[0][3]:
                heappop(queue)
            if queue:
                yield usage, queue[0][0]
            else:
                del self.ready[usage]

    def take(self, usage: Usage) -> None:
        """Take the candidate that was offered for this usage."""
        self.version += 1
        if not self.constraints:
            heappop(self.waiting)
            return
        child = self.ready[usage][0][2]
        child.take(usage[1:])
        self.by_taken[child.taken] -= 1
        if not self.by_taken[child.taken]:
            del self.by_taken[child.taken]
        child.taken += 1
        self.by_taken[child.taken] = self.by_taken.get(child.taken, 0) + 1
        self._announce(child)

    def _announce(self, child: "_Topology") -> None:
        for usage, candidate in child.offers():
            entry = (candidate, child.serial, child, child.version)
            heappush(self.ready.setdefault((child.taken, *usage), []), entry)


def choose(placement: Placement, feasible: Pool, totals: Sequence[int]) -> tuple[str, ...]:
    """The chosen clusters, in the order in which they were taken.

    Cost: O(n log n) times the number of different usages, which stays small while one takes evenly.
    """
    root = _Topology(placement.spread)
    for cluster, total in zip(feasible, totals, strict=True):
        root.add(cluster, total)
    root.settle()
    weight = dict(placement.weights).get(SPREAD, 1)
    limit = len(feasible) if placement.number is None else placement.number
    chosen: list[str] = []
    while len(chosen) < limit:
        offers = list(root.offers())
        if not offers:
            break
        scores = scores_of([usage for usage, _ in offers])
        usage, (_, name) = min(
            offers, key=lambda offer: (offer[1][0] - weight * scores[offer[0]], offer[1][1])
        )
        chosen.append(name)
        root.take(usage)
    return tuple(chosen)


def scores_of(usages: Sequence[Usage]) -> dict[Usage, int]:
    """100 for the least used, -100 for the most, evenly between; earlier levels decide first."""
    ranked = sorted(set(usages))
    if len(ranked) == 1:
        return {ranked[0]: MAX_SCORE}
    span = MAX_SCORE - MIN_SCORE
    return {usage: MAX_SCORE - span * i // (len(ranked) - 1) for i, usage in enumerate(ranked)}
