"""Which clusters would OCM's own filters leave? Part of profile ``ocm``.

Nothing is validated while there is nothing to filter, and the first mistake ends the evaluation.
Source: OCM placement spec 2.6, 2.7, 2.11.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rollout.model.cluster import Cluster, Taint
from rollout.model.kinds import Obj
from rollout.model.problems import joined
from rollout.model.selectors import OPERATORS, Selector, parse_selector
from rollout.placement.cel import expressions
from rollout.placement.cel.screening import Screening, TooMuch
from rollout.placement.filters.predicate import parts_of
from rollout.placement.filters.taints import IF_NEW, PREFER
from rollout.placement.framework import Cycle
from rollout.placement.index import ClusterIndex, Pool

_YEAR_ONE = datetime(1, 1, 1, tzinfo=UTC)
_INT64 = 2**63


class Misconfigured(Exception):  # ends an evaluation inside profile ocm, never seen outside
    """The spec is wrong as OCM sees it; ``plugin`` found out."""

    def __init__(self, plugin: str, reason: str) -> None:
        super().__init__(reason)
        self.plugin = plugin


def mapping(value: object) -> Obj:
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Obj]:
    """The objects of a list; anything else in it counts as an empty one."""
    return [mapping(item) for item in value] if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class _Predicate:
    labels: Selector
    claims: Selector
    expressions: tuple[str, ...]


def predicated(spec: Obj, cycle: Cycle, clusters: Sequence[Cluster], pool: Pool) -> list[Cluster]:
    """Those of the pool's clusters that any predicate matches, in their order.

    Difference: what all expressions may take is bounded, as in profile ``strict``.
    Raises: Misconfigured; Unfinished.
    """
    listed = items(spec.get("predicates"))
    if not listed or not clusters:
        return list(clusters)
    screening = cycle.screening or Screening()
    selectors = [mapping(item.get("requiredClusterSelector")) for item in listed]
    limit = expressions.too_many([text for each in selectors for text in _expressions(each)])
    if limit is not None:
        raise Misconfigured("Predicate", f"it has {limit}")
    compiled = [_compile(each, screening.program) for each in selectors]
    parts = parts_of(((p.labels, p.claims, p.expressions) for p in compiled), pool)
    try:
        bits, _ = screening.matching(pool, parts, cycle.scores, None)
    except TooMuch as trouble:
        raise Misconfigured("Predicate", str(trouble)) from trouble
    matched = frozenset(pool.narrow(bits).names)
    return [c for c in clusters if c.name in matched]


def _expressions(selector: Obj) -> tuple[str, ...]:
    texts = tuple(mapping(selector.get("celSelector")).get("celExpressions") or ())
    if not all(isinstance(text, str) for text in texts):
        raise Misconfigured("Predicate", "celExpressions are not all strings.")
    return texts


def _compile(selector: Obj, program: Callable[[str], expressions.Program]) -> _Predicate:
    labels = _selector(selector.get("labelSelector"))
    claims = mapping(selector.get("claimSelector"))
    only = {"matchExpressions": claims.get("matchExpressions")}
    expressions = _expressions(selector)
    for text in expressions:
        problem = program(text).problem
        if problem is not None:
            raise Misconfigured("Predicate", f"compilation failed: {problem}")
    return _Predicate(labels, _selector(only), expressions)


def _selector(raw: object) -> Selector:
    """A selector by the rules for labels, which OCM applies to claims as well."""
    for expression in items(mapping(raw).get("matchExpressions")):
        operator = expression.get("operator") or ""
        if operator not in OPERATORS:
            raise Misconfigured("Predicate", f'"{operator}" is not a valid label selector operator')
    selector, problems = parse_selector(raw, "requiredClusterSelector")
    if problems:
        raise Misconfigured("Predicate", joined(problems))
    return selector


def tolerated(spec: Obj, cycle: Cycle, clusters: Sequence[Cluster]) -> list[Cluster]:
    """Those whose every taint is tolerated. Raises: Misconfigured."""
    tolerations = items(spec.get("tolerations"))
    if not clusters:
        return []
    for each in tolerations:
        if not each.get("key") and each.get("operator") != "Exists":
            reason = "If the key is empty, operator must be Exists."
            raise Misconfigured("TaintToleration", reason)
        if each.get("operator") == "Exists" and each.get("value"):
            reason = "If the operator is Exists, the value should be empty."
            raise Misconfigured("TaintToleration", reason)
        if type(each.get("tolerationSeconds") or 0) is not int:
            raise Misconfigured("TaintToleration", "tolerationSeconds is not a whole number.")
    return [
        c
        for c in clusters
        if _ends(c.taints, tolerations, c.name in cycle.previous, cycle.now) is not None
    ]


def _ends(
    taints: Iterable[Taint], tolerations: Sequence[Mapping[str, Any]], decided: bool, now: datetime
) -> list[datetime] | None:
    """When the tolerations end that the taints were matched by first; None: one is not tolerated."""
    ends: list[datetime] = []
    for taint in taints:
        if taint.effect == PREFER or (taint.effect == IF_NEW and decided):
            continue
        for each in tolerations:
            end = _end(each, taint)
            if _matches(each, taint) and (end is None or now < end):
                if end is not None:
                    ends.append(end)
                break
        else:
            return None
    return ends


def _matches(toleration: Mapping[str, Any], taint: Taint) -> bool:
    if (toleration.get("effect") or taint.effect) != taint.effect:
        return False
    if (toleration.get("key") or taint.key) != taint.key:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return (toleration.get("value") or "") == taint.value
    return bool(operator == "Exists")


def _end(toleration: Mapping[str, Any], taint: Taint) -> datetime | None:
    """When it stops, in 64 bits of nanoseconds as Go counts them; None: never."""
    seconds = toleration.get("tolerationSeconds")
    if seconds is None:
        return None
    if type(seconds) is not int:
        return _YEAR_ONE
    nanoseconds = (seconds * 10**9 + _INT64) % (2 * _INT64) - _INT64
    try:
        return (taint.added or _YEAR_ONE) + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return _YEAR_ONE


def recheck_at(spec: Obj, cycle: Cycle, known: ClusterIndex) -> datetime | None:
    """When the first toleration ends that keeps a cluster which is already decided."""
    tolerations = items(spec.get("tolerations"))
    found: list[datetime] = []
    for name in cycle.previous:
        cluster = known.get(name)
        if cluster is not None:
            found += _ends(cluster.taints, tolerations, True, cycle.now) or ()
    return min(found, default=None)
