"""Selects clusters exactly as OCM's own scheduler does: profile ``ocm``.

Plain and slow on purpose: one cluster at a time, in OCM's order, its weaknesses included. It reads the
spec as written, because what OCM takes for a mistake differs from what we do. Nothing is validated
while there is nothing to filter, and the first mistake ends the evaluation.
Source: OCM placement spec 2.5 to 2.11.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from rollout.errors import ConfigError
from rollout.model.cluster import Cluster, Taint
from rollout.model.kinds import Obj
from rollout.model.loose import go_float, share
from rollout.model.placement import NamedGroup, Placement
from rollout.model.problems import joined
from rollout.model.selectors import OPERATORS, Selector, parse_selector
from rollout.placement.cel.expressions import Program, too_many
from rollout.placement.cel.screening import Screening, TooMuch
from rollout.placement.filters import IF_NEW, PREFER, parts_of
from rollout.placement.framework import (
    Cycle,
    EvaluationCode,
    EvaluationStatus,
    FilterStage,
    PlacementSelection,
    Prioritizer,
    Ranking,
)
from rollout.placement.index import ClusterIndex, Pool
from rollout.placement.prioritizers import OCM_BUILTINS, AddOnPrioritizer, is_expired

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


def select(cycle: Cycle, pool: Pool, order: Sequence[Cluster] | None = None) -> PlacementSelection:
    """What OCM selects from the pool.

    Args:
        order: the clusters of the pool in the order of the reference (it shows in the text of a
            warning alone); by name where it is not given.

    Raises: ConfigError for a negative numberOfClusters, at which OCM's pass panics.
    """
    spec = mapping(cycle.placement.raw.get("spec"))
    stages: list[FilterStage] = []
    left = list(pool if order is None else order)
    try:
        left = _predicated(spec, cycle, left, pool)
        stages.append(_stage("Predicate", pool, left))
        left = _tolerated(spec, cycle, left)
        stages.append(_stage("Predicate,TaintToleration", pool, left))
        weighted = list(_weighted(spec))
    except Misconfigured as trouble:
        return PlacementSelection(
            EvaluationStatus(EvaluationCode.MISCONFIGURED, trouble.plugin, (str(trouble),)),
            stages=tuple(stages),
        )
    names = stages[-1].left.names
    status, rankings = _ranked(cycle, left, names, weighted)
    totals = [sum(r.weight * (r.scores[i] or 0) for r in rankings) for i in range(len(names))]
    number = spec.get("numberOfClusters")
    chosen = _best(names, totals, number)
    return PlacementSelection(
        status,
        chosen=chosen,
        unmet=0 if number is None else number - len(chosen),
        names=names,
        totals=totals,
        stages=tuple(stages),
        rankings=tuple(rankings),
        recheck_at=_recheck_at(spec, cycle, pool.source),
    )


def _best(names: Sequence[str], totals: Sequence[int], number: int | None) -> tuple[str, ...]:
    if number is not None and number < 0:
        raise ConfigError("numberOfClusters is negative: slice bounds out of range")
    by_total = sorted(range(len(names)), key=totals.__getitem__, reverse=True)
    return tuple(names[i] for i in by_total[:number])


# -- filters


def _predicated(spec: Obj, cycle: Cycle, clusters: Sequence[Cluster], pool: Pool) -> list[Cluster]:
    """Those of the pool's clusters that any predicate matches, in their order.

    Difference: what all expressions may take is bounded, as in profile ``strict``.
    Raises: Misconfigured; Unfinished.
    """
    listed = items(spec.get("predicates"))
    if not listed or not clusters:
        return list(clusters)
    screening = cycle.screening or Screening()
    selectors = [mapping(item.get("requiredClusterSelector")) for item in listed]
    limit = too_many([text for each in selectors for text in _expressions(each)])
    if limit is not None:
        raise Misconfigured("Predicate", f"it has {limit}")
    compiled = [_compile(each, screening.program) for each in selectors]
    parts = parts_of(compiled, pool)
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


def _compile(
    selector: Obj, program: Callable[[str], Program]
) -> tuple[Selector, Selector, tuple[str, ...]]:
    """Selectors of labels and of claims, and expressions that compile. Raises: Misconfigured."""
    at = "requiredClusterSelector"
    try:
        labels = _selector(selector.get("labelSelector"), at)
        expressions = _expressions(selector)
        for text in expressions:
            problem = program(text).problem
            if problem is not None:
                raise Misconfigured("Predicate", f"compilation failed: {problem}")
        return labels, _claims(selector, at), expressions
    except ConfigError as refusal:
        raise Misconfigured("Predicate", str(refusal)) from refusal


def _claims(written: Obj, at: str) -> Selector:
    """The selector of claims, by the rules for labels as OCM has it. Raises: ConfigError."""
    claims = mapping(written.get("claimSelector"))
    return _selector({"matchExpressions": claims.get("matchExpressions")}, at)


def _selector(raw: object, at: str) -> Selector:
    for expression in items(mapping(raw).get("matchExpressions")):
        operator = expression.get("operator") or ""
        if operator not in OPERATORS:
            raise ConfigError(f'"{operator}" is not a valid label selector operator')
    selector, problems = parse_selector(raw, at)
    if problems:
        raise ConfigError(joined(problems))
    return selector


def _tolerated(spec: Obj, cycle: Cycle, clusters: Sequence[Cluster]) -> list[Cluster]:
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


def _recheck_at(spec: Obj, cycle: Cycle, known: ClusterIndex) -> datetime | None:
    """When the first toleration ends that keeps a cluster which is already decided."""
    tolerations = items(spec.get("tolerations"))
    found: list[datetime] = []
    for name in cycle.previous:
        cluster = known.get(name)
        if cluster is not None:
            found += _ends(cluster.taints, tolerations, True, cycle.now) or ()
    return min(found, default=None)


# -- prioritizers


def _stage(name: str, pool: Pool, left: Sequence[Cluster]) -> FilterStage:
    source = pool.source
    return FilterStage(name, source.pool(source.bits(c.name for c in left)))


def _ranked(
    cycle: Cycle,
    left: Sequence[Cluster],
    names: Sequence[str],
    weighted: Sequence[tuple[Prioritizer, int]],
) -> tuple[EvaluationStatus, list[Ranking]]:
    """Every prioritizer's scores. Of several warnings the last one stays."""
    status, rankings = EvaluationStatus(), []
    for prioritizer, weight in weighted:
        scores = prioritizer.score(cycle, left)
        rankings.append(Ranking(prioritizer.name, weight, [scores.get(name) for name in names]))
        if isinstance(prioritizer, AddOnPrioritizer) and (
            old := _expired(prioritizer, cycle, left)
        ):
            reason = f"AddOnPlacementScores {' '.join(old)} expired"
            status = EvaluationStatus(EvaluationCode.WARNING, prioritizer.name, (reason,))
    return status, rankings


def _expired(prioritizer: AddOnPrioritizer, cycle: Cycle, left: Sequence[Cluster]) -> list[str]:
    known = cycle.scores(prioritizer.resource)
    return [
        f"{cluster.name}/{prioritizer.resource}"
        for cluster in left
        if cluster.name in known and is_expired(known[cluster.name], cycle)
    ]


def _weighted(spec: Mapping[str, object]) -> Iterator[tuple[Prioritizer, int]]:
    """What OCM runs: a built-in named twice counts once (the last), an add-on score every time."""
    policy = mapping(spec.get("prioritizerPolicy"))
    mode = policy.get("mode") or "Additive"
    if mode not in ("Additive", "Exact"):
        raise Misconfigured("", f"incorrect prioritizer policy mode: {mode}")
    builtins = {"Balance": 1, "Steady": 1} if mode == "Additive" else {}
    others: list[tuple[Obj, int]] = []
    for item in items(policy.get("configurations")):
        coordinate, weight = item.get("scoreCoordinate"), item.get("weight") or 0
        if coordinate is None:
            raise Misconfigured("", "scoreCoordinate field is required")
        plain = coordinate.get("type") == "BuiltIn" and not coordinate.get("addOn")
        if plain:
            builtins[coordinate.get("builtIn") or ""] = weight
        else:
            others.append((coordinate, weight))
    for name, weight in builtins.items():
        if weight:
            yield _built_in(name), weight
    for coordinate, weight in others:
        if weight:
            yield _other(coordinate), weight


def _built_in(name: str) -> Prioritizer:
    if name not in OCM_BUILTINS:
        raise Misconfigured("", f"incorrect builtin prioritizer: {name}")
    return OCM_BUILTINS[name]()


def _other(coordinate: Obj) -> Prioritizer:
    if coordinate.get("type") == "BuiltIn":
        return _built_in(coordinate.get("builtIn") or "")
    addon = coordinate.get("addOn")
    if not addon:
        raise Misconfigured("", "addOn should not be empty")
    return AddOnPrioritizer(addon.get("resourceName") or "", addon.get("scoreName") or "")


def defaulted(spec: Obj) -> Obj:
    """The spec with the defaults of the CRD, which an API server fills in on the way in."""
    policy = mapping(spec.get("prioritizerPolicy"))
    if not policy:
        return spec
    filled = []
    for item in items(policy.get("configurations")):
        coordinate = item.get("scoreCoordinate")
        typed = {"type": "BuiltIn", **coordinate} if isinstance(coordinate, dict) else coordinate
        filled.append({"weight": 1, **item, "scoreCoordinate": typed})
    policy = {"mode": "Additive", **policy}
    return {**spec, "prioritizerPolicy": {**policy, "configurations": filled} if filled else policy}


# -- decision groups


def _group_strategy(placement: Placement) -> Obj:
    spec = mapping(placement.raw.get("spec"))
    return mapping(mapping(spec.get("decisionStrategy")).get("groupStrategy"))


def group_length(placement: Placement, total: int) -> int:
    """OCM's reading of clustersPerDecisionGroup; 0 where it is unset or out of bounds.

    Raises: ConfigError for what is no percentage.
    """
    written = _group_strategy(placement).get("clustersPerDecisionGroup")
    if written is None:
        return 0
    if isinstance(written, int):
        return written if 0 < written <= total else 0
    refusal = ConfigError(f"{written} invalid type: string is not a percentage")
    if not isinstance(written, str) or not written.endswith("%"):
        raise refusal
    try:
        wanted = share(go_float(written[:-1]), total)
    except ConfigError:
        raise refusal from None
    return wanted if 0 < wanted <= total else 0


def named_groups(placement: Placement) -> tuple[tuple[NamedGroup, ...], str | None]:
    """The named groups up to the first that cannot be read, and what is wrong with that one."""
    found: list[NamedGroup] = []
    for item in items(_group_strategy(placement).get("decisionGroups")):
        selector = mapping(item.get("groupClusterSelector"))
        try:
            labels = _selector(selector.get("labelSelector"), "groupClusterSelector")
            claims = _claims(selector, "groupClusterSelector")
        except ConfigError as refusal:
            return tuple(found), str(refusal)
        found.append(NamedGroup(str(item.get("groupName") or ""), labels, claims))
    return tuple(found), None
