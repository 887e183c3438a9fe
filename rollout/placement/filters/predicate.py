"""Which clusters does at least one predicate match?

Predicates are ORed; each is its label selector AND its claim selector AND all its CEL expressions.
No predicate at all matches everything. Source: OCM placement spec 2.6. Differences: claims compare
as plain strings, and an expression that fails on a cluster is told to a person.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from rollout.model.cluster import Cluster
from rollout.model.placement import Predicate
from rollout.model.selectors import Selector
from rollout.placement.cel import expressions
from rollout.placement.cel.screening import Part, Screening
from rollout.placement.framework import Admission, Cycle, Rejection
from rollout.placement.index import Pool


@dataclass(frozen=True, slots=True)
class Predicates:
    """Refuses clusters that no predicate matches."""

    name: str = "Predicate"

    def admit(self, cycle: Cycle, cluster: Cluster) -> Rejection | None:
        predicates = cycle.placement.predicates
        reasons = [_refusal(predicate, cycle, cluster) for predicate in predicates]
        if not predicates or "" in reasons:
            return None
        shown = reasons[0] if len(reasons) == 1 else f"{reasons[0]}; nor do the others match"
        return Rejection(self.name, shown)

    def admit_all(self, cycle: Cycle, pool: Pool) -> Admission:
        predicates = cycle.placement.predicates
        if not predicates:
            return Admission(pool.bits)
        parts = parts_of(((p.labels, p.claims, p.cel) for p in predicates), pool)
        if not any(texts for _, texts in parts):
            return Admission(union(bits for bits, _ in parts))
        screening = cycle.screening or Screening()
        matched, changes_at = screening.matching(pool, parts, cycle.scores, cycle.now)
        return Admission(matched, changes_at, screening.remarks(pool, cycle.scores))


def parts_of(
    predicates: Iterable[tuple[Selector, Selector, tuple[str, ...]]], pool: Pool
) -> list[Part]:
    """What is left to the expressions of each predicate: selectors of labels and claims, and texts."""
    index = pool.source
    return [
        (index.claims.matching(claims, index.labels.matching(labels, pool.bits)), texts)
        for labels, claims, texts in predicates
    ]


def union(several: Iterable[int]) -> int:
    """The bits that are set in any of them."""
    return reduce(or_, several, 0)


def _refusal(predicate: Predicate, cycle: Cycle, cluster: Cluster) -> str:
    """Why the predicate does not match the cluster; "" where it does."""
    for requirement in predicate.labels.requirements:
        if not requirement.matches(cluster.labels):
            return f"label {_said(requirement.key, cluster.labels)}"
    for requirement in predicate.claims.requirements:
        if not requirement.matches(cluster.claims):
            return f"claim {_said(requirement.key, cluster.claims)}"
    for text in predicate.cel:
        verdict, _ = expressions.Judge(cycle.scores, cycle.now).verdict(text, cluster)
        if verdict is not True:
            return (
                f"CEL expression {text!r} is false" if verdict is False else f"{text!r}: {verdict}"
            )
    return ""


def _said(key: str, have: object) -> str:
    value = have.get(key) if isinstance(have, dict) else None
    return f"{key} is absent" if value is None else f"{key} is {value!r}"
