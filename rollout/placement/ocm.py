"""Which clusters would OCM's own scheduler choose? Profile ``ocm``, bit for bit.

Plain and slow on purpose: one cluster at a time, in the reference's order, its weaknesses included.
It reads the spec as written, because what OCM takes for a mistake differs from what we do.
Source: OCM placement spec 2.5 to 2.11.
"""

from collections.abc import Iterator, Mapping, Sequence

from rollout.errors import ConfigError
from rollout.model.cluster import Cluster
from rollout.model.kinds import Obj
from rollout.placement import ocm_filters
from rollout.placement.framework import Code, Cycle, Prioritizer, Ranking, Selection, Stage, Status
from rollout.placement.index import Pool
from rollout.placement.ocm_filters import Misconfigured, items, mapping
from rollout.placement.prioritizers import AddOnScore
from rollout.placement.prioritizers.addon import is_expired
from rollout.placement.weights import BUILTINS


def select(cycle: Cycle, pool: Pool, order: Sequence[Cluster] | None = None) -> Selection:
    """What OCM selects from the pool.

    Args:
        order: the clusters of the pool in the order of the reference (it shows in the text of a
            warning alone); by name where it is not given.

    Raises: ConfigError for a negative numberOfClusters, at which OCM's pass panics.
    """
    spec = mapping(cycle.placement.raw.get("spec"))
    stages: list[Stage] = []
    left = list(pool if order is None else order)
    try:
        left = ocm_filters.predicated(spec, cycle, left, pool)
        stages.append(_stage("Predicate", pool, left))
        left = ocm_filters.tolerated(spec, cycle, left)
        stages.append(_stage("Predicate,TaintToleration", pool, left))
        weighted = list(_weighted(spec))
    except Misconfigured as trouble:
        return Selection(
            Status(Code.MISCONFIGURED, trouble.plugin, (str(trouble),)), stages=tuple(stages)
        )
    names = stages[-1].left.names
    status, rankings = _ranked(cycle, left, names, weighted)
    totals = [sum(r.weight * (r.scores[i] or 0) for r in rankings) for i in range(len(names))]
    number = spec.get("numberOfClusters")
    if number is not None and number < 0:
        raise ConfigError("numberOfClusters is negative: slice bounds out of range")
    by_total = sorted(range(len(names)), key=totals.__getitem__, reverse=True)
    chosen = tuple(names[i] for i in by_total[:number])
    return Selection(
        status,
        chosen,
        0 if number is None else number - len(chosen),
        names,
        totals,
        tuple(stages),
        tuple(rankings),
        ocm_filters.recheck_at(spec, cycle, pool.source),
    )


def _stage(name: str, pool: Pool, left: Sequence[Cluster]) -> Stage:
    source = pool.source
    return Stage(name, source.pool(source.bits(c.name for c in left)))


def _ranked(
    cycle: Cycle,
    left: Sequence[Cluster],
    names: Sequence[str],
    weighted: Sequence[tuple[Prioritizer, int]],
) -> tuple[Status, list[Ranking]]:
    """Every prioritizer's scores. Of several warnings the last one stays."""
    status, rankings = Status(), []
    for prioritizer, weight in weighted:
        scores = prioritizer.score(cycle, left)
        rankings.append(Ranking(prioritizer.name, weight, [scores.get(name) for name in names]))
        if isinstance(prioritizer, AddOnScore) and (old := _expired(prioritizer, cycle, left)):
            reason = f"AddOnPlacementScores {' '.join(old)} expired"
            status = Status(Code.WARNING, prioritizer.name, (reason,))
    return status, rankings


def _expired(prioritizer: AddOnScore, cycle: Cycle, left: Sequence[Cluster]) -> list[str]:
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
    if name not in BUILTINS:
        raise Misconfigured("", f"incorrect builtin prioritizer: {name}")
    return BUILTINS[name]()


def _other(coordinate: Obj) -> Prioritizer:
    if coordinate.get("type") == "BuiltIn":
        return _built_in(coordinate.get("builtIn") or "")
    addon = coordinate.get("addOn")
    if not addon:
        raise Misconfigured("", "addOn should not be empty")
    return AddOnScore(addon.get("resourceName") or "", addon.get("scoreName") or "")


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
