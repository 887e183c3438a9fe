"""Which clusters does at least one predicate match?

Predicates are ORed; each is its label selector AND its claim selector AND all its CEL expressions.
No predicate at all matches everything. Source: OCM placement spec 2.6. Differences: claims compare
as plain strings, and an expression that fails on a cluster is told to a person.
"""

from dataclasses import dataclass, field

from rollout.model.cluster import Cluster
from rollout.model.placement import Predicate
from rollout.model.wording import shortened
from rollout.placement import cel
from rollout.placement.framework import Admission, Cycle, Rejection
from rollout.placement.index import Pool, Verdicts, slots_of

_LONGEST_SHOWN = 1000
"""Characters of an expression that is told of."""


@dataclass(slots=True)
class _Trouble:
    """Expressions that failed: how often, and on which cluster first (by name)."""

    found: dict[str, tuple[int, str, str]] = field(default_factory=dict)

    def add(self, text: str, cluster: str, error: str) -> None:
        count, first, words = self.found.get(text, (0, cluster, error))
        if cluster < first:
            first, words = cluster, error
        self.found[text] = (count + 1, first, words)

    def remarks(self) -> tuple[str, ...]:
        return tuple(
            f"CEL expression {shortened(text, _LONGEST_SHOWN)!r} failed on {count} clusters, first on {first}: {words}"
            for text, (count, first, words) in sorted(self.found.items())
        )


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
        index, trouble, matched = pool.source, _Trouble(), 0
        judge = cel.Judge(cycle.scores, cycle.now)
        for predicate in predicates:
            left = index.labels.matching(predicate.labels, pool.bits)
            left = index.claims.matching(predicate.claims, left)
            for text in predicate.cel:
                left = _holding(text, left, judge, pool, trouble)
            matched |= left
        return Admission(matched, min(judge.changes, default=None), trouble.remarks())


def _refusal(predicate: Predicate, cycle: Cycle, cluster: Cluster) -> str:
    """Why the predicate does not match the cluster; "" where it does."""
    for requirement in predicate.labels.requirements:
        if not requirement.matches(cluster.labels):
            return f"label {_said(requirement.key, cluster.labels)}"
    for requirement in predicate.claims.requirements:
        if not requirement.matches(cluster.claims):
            return f"claim {_said(requirement.key, cluster.claims)}"
    for text in predicate.cel:
        verdict, _ = cel.Judge(cycle.scores, cycle.now).verdict(text, cluster)
        if verdict is not True:
            return (
                f"CEL expression {text!r} is false" if verdict is False else f"{text!r}: {verdict}"
            )
    return ""


def _said(key: str, have: object) -> str:
    value = have.get(key) if isinstance(have, dict) else None
    return f"{key} is absent" if value is None else f"{key} is {value!r}"


PASS_BUDGET = 1_000_000
"""Loop steps that one expression may take over all clusters of one pass: some seconds at most."""


class TooMuch(Exception):  # ends an evaluation; the scheduler makes a status of it
    """An expression took more than `PASS_BUDGET`: one placement must not hold up the others."""


def _holding(text: str, bits: int, judge: cel.Judge, pool: Pool, trouble: _Trouble) -> int:
    """The clusters of ``bits`` on which the expression is true. Raises: TooMuch.

    Verdicts are kept in the index until a cluster changes, except where they depend on scores. What
    they took is kept with them, so that a pass fails or not whatever was kept.
    """
    index = pool.source
    known = Verdicts() if cel.program(text).reads_scores else index.verdicts_of(text)
    spent = 0
    if known.steps:
        spent = sum(steps for slot, steps in known.steps.items() if bits >> slot & 1)
    for slot in slots_of(bits & ~known.judged):
        _affordable(text, spent)
        verdict, steps = judge.verdict(text, index.cluster_at(slot))
        known.add(slot, verdict, steps)
        spent += steps
    _affordable(text, spent)
    for slot, words in known.failures.items():
        if bits >> slot & 1:
            trouble.add(text, index.cluster_at(slot).name, words)
    return bits & known.true


def _affordable(text: str, spent: int) -> None:
    if spent > PASS_BUDGET:
        raise TooMuch(
            f"CEL expression {shortened(text, 80)!r} takes more than {PASS_BUDGET} steps in one pass"
        )
