"""Knows which changes of a cluster can change the answer of a placement.

Computed once per placement from its spec: the label keys, claim keys and other parts of a cluster
that its evaluation reads. A change outside of them cannot alter any decision, so nobody is woken.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct

from rollout.model.cluster import Cluster
from rollout.model.kinds import Obj
from rollout.model.placement import NamedGroup, Placement, Predicate
from rollout.model.selectors import Selector
from rollout.placement.cel import expressions

_NOISE = ("resourceVersion", "managedFields", "generation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interest:
    """What one placement reads of clusters. ``raw``: anything (a CEL expression or a plugin)."""

    labels: frozenset[str] = frozenset()
    claims: frozenset[str] = frozenset()
    scores: frozenset[str] = frozenset()
    resources: bool = False
    raw: bool = False


class ClusterChange(Struct, frozen=True, kw_only=True):
    """How two values of a cluster differ. ``everything``: it came, or began to go."""

    labels: frozenset[str] = frozenset()
    claims: frozenset[str] = frozenset()
    taints: bool = False
    resources: bool = False
    raw: bool = False
    everything: bool = False

    def matters_to(self, interest: Interest) -> bool:
        return (
            self.everything
            or self.taints
            or (self.raw and interest.raw)
            or (self.resources and interest.resources)
            or not self.labels.isdisjoint(interest.labels)
            or not self.claims.isdisjoint(interest.claims)
        )


NO_CHANGE = ClusterChange()


def difference(old: Cluster | None, new: Cluster, *, raw: bool) -> ClusterChange:
    """What changed. ``raw``: whether to look at the whole object too.

    Cost: a few comparisons of small maps.
    """
    if old is None or old.deleting != new.deleting:
        return ClusterChange(everything=True)
    return ClusterChange(
        labels=_keys(old.labels, new.labels) if old.labels != new.labels else frozenset(),
        claims=_keys(old.claims, new.claims) if old.claims != new.claims else frozenset(),
        taints=old.taints != new.taints,
        resources=(old.allocatable, old.capacity) != (new.allocatable, new.capacity),
        raw=raw and readable(old.raw) != readable(new.raw),
    )


def _keys(old: Mapping[str, str], new: Mapping[str, str]) -> frozenset[str]:
    return frozenset(key for key, _ in old.items() ^ new.items())


def readable(raw: Obj) -> tuple[object, object, object]:
    """All of a cluster that an expression over ``managedCluster`` may read, but for what changes at every
    write.
    """
    meta = {k: v for k, v in (raw.get("metadata") or {}).items() if k not in _NOISE}
    return meta, raw.get("spec"), raw.get("status")


def interest_of(placement: Placement, *, reads_everything: bool = False) -> Interest:
    """What the placement's evaluation reads. ``reads_everything``: a filter plugin takes part."""
    labels: set[str] = set()
    claims: set[str] = set()
    scores: set[str] = set()
    texts = [text for predicate in placement.predicates for text in predicate.cel]
    parts: list[Predicate | NamedGroup] = [*placement.predicates, *placement.groups]
    for part in parts:
        labels |= _read(part.labels)
        claims |= _read(part.claims)
    for constraint in placement.spread:
        (labels if constraint.key_type == "Label" else claims).add(constraint.topology_key)
    for text in texts:
        scores |= expressions.score_names(text)
    resources = raw = reads_everything or bool(texts)
    for coordinate, weight in placement.weights:
        if weight and coordinate.type == "AddOn":
            scores.add(coordinate.resource)
        resources = resources or coordinate.builtin.startswith("ResourceAllocatable")
        raw = raw or "/" in coordinate.builtin
    return Interest(
        labels=frozenset(labels),
        claims=frozenset(claims),
        scores=frozenset(scores),
        resources=resources,
        raw=raw,
    )


def _read(selector: Selector) -> set[str]:
    return {requirement.key for requirement in selector.requirements}
