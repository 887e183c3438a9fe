"""Chooses the clusters of a placement: filter, score, order, cut; with a reason for everything.

Profile ``strict``. The decision is a pure function of the cycle and the pool; the order of the
input never matters. Built-in plugins work on whole columns (bits of an int, lists of scores); a
plugin that only has the plain method is asked cluster by cluster.
Source: OCM placement spec 2.6 to 2.11 and the differences listed in `docs/semantics.md`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from operator import add

from rollout.errors import PluginError
from rollout.model.instants import earliest
from rollout.model.intents import placement_problems
from rollout.model.placement import Placement
from rollout.model.problems import Problem
from rollout.placement import spread
from rollout.placement.cel import expressions
from rollout.placement.cel.screening import TooMuch
from rollout.placement.filters import Predicates, TaintToleration
from rollout.placement.framework import (
    MAX_SCORE,
    MIN_SCORE,
    Admission,
    Cycle,
    EvaluationCode,
    EvaluationStatus,
    Filter,
    FilterStage,
    IndexedFilter,
    IndexedPrioritizer,
    PlacementSelection,
    Prioritizer,
    Ranking,
    ScoreColumn,
)
from rollout.placement.index import Pool, bits_of
from rollout.placement.prioritizers import (
    BUILTINS,
    Factory,
    PreferNoSelect,
    Weighted,
    has_prefer_taints,
    unknown_prioritizers,
    weighted_prioritizers,
)

DEFAULT_FILTERS: tuple[Filter, ...] = (Predicates(), TaintToleration())


@dataclass(frozen=True, slots=True)
class Plugins:
    """What a scheduler runs: filters in order, and the prioritizers that a Placement may name."""

    filters: tuple[Filter, ...] = DEFAULT_FILTERS
    prioritizers: Mapping[str, Factory] = field(default_factory=lambda: BUILTINS)


DEFAULT_PLUGINS = Plugins()


def check(
    placement: Placement,
    plugins: Plugins = DEFAULT_PLUGINS,
    program: Callable[[str], expressions.Program] = expressions.program,
) -> tuple[Problem, ...]:
    """Everything that is wrong with the spec, or asked for by annotation, clusters or not.

    What can be seen on the wire stands in ``placement.problems`` already; here it is asked whether
    the annotations can be read, the expressions compiled, and the prioritizers found.

    ``program`` compiles expressions. Raises: what it raises.
    """
    found = {problem.path: problem for problem in placement.problems}
    extra: list[Problem] = list(placement_problems(placement.annotations))
    extra += _wrong_expressions(placement, program)
    if not any(path.startswith("spec.prioritizerPolicy") for path in found):
        extra += unknown_prioritizers(placement, plugins.prioritizers)
    return (*placement.problems, *(p for p in extra if p.path not in found))


def _wrong_expressions(
    placement: Placement, program: Callable[[str], expressions.Program]
) -> Iterator[Problem]:
    limit = expressions.too_many(
        [text for predicate in placement.predicates for text in predicate.cel]
    )
    if limit is not None:
        yield Problem("spec.predicates", len(placement.predicates), limit)
        return
    for i, predicate in enumerate(placement.predicates):
        for j, text in enumerate(predicate.cel):
            at = f"spec.predicates[{i}].requiredClusterSelector.celSelector.celExpressions[{j}]"
            found = program(text)
            if found.problem is not None:
                yield Problem(at, text, found.problem)
            elif not found.boolean:
                yield Problem(at, text, "an expression that is true or false")


def select(cycle: Cycle, pool: Pool, plugins: Plugins = DEFAULT_PLUGINS) -> PlacementSelection:
    """Choose from the pool. The spec is right: `check` found nothing.

    Raises: PluginError where a plugin breaks its contract; Unfinished where the cycle's screening
    is given too few steps for all of it.
    Cost: O(n) per prioritizer plus O(n log n) for the order, in feasible clusters.
    """
    try:
        stages, admissions = _filter(cycle, pool, plugins.filters)
    except TooMuch as trouble:
        return PlacementSelection(
            EvaluationStatus(EvaluationCode.MISCONFIGURED, "Predicate", (str(trouble),))
        )
    feasible = stages[-1].left if stages else pool
    rankings, columns = _rank(cycle, feasible, plugins)
    totals = _totals(len(feasible), rankings)
    expired = [text for column in columns for text in column.expired]
    status = EvaluationStatus()
    if expired:
        reason = f"AddOnPlacementScores {' '.join(dict.fromkeys(expired))} expired"
        status = EvaluationStatus(EvaluationCode.WARNING, "AddOn", (reason,))
    placement = cycle.placement
    if placement.spread:
        chosen = spread.choose(placement, feasible, totals)
    else:
        chosen = best(feasible.names, totals, placement.number)
    return PlacementSelection(
        status,
        chosen=chosen,
        unmet=0 if placement.number is None else placement.number - len(chosen),
        names=feasible.names,
        totals=totals,
        stages=tuple(stages),
        rankings=tuple(rankings),
        recheck_at=earliest(*(a.recheck_at for a in admissions), *(c.recheck_at for c in columns)),
        remarks=tuple(remark for a in admissions for remark in a.remarks),
    )


def best(names: Sequence[str], totals: Sequence[int], number: int | None) -> tuple[str, ...]:
    """The ``number`` best (None: all): total descending, then name. ``names`` are sorted."""
    by_total: defaultdict[int, list[str]] = defaultdict(list)
    for name, total in zip(names, totals, strict=True):
        by_total[total].append(name)
    falling = sorted(by_total, reverse=True)
    return tuple(chain.from_iterable(by_total[total] for total in falling))[:number]


def _filter(
    cycle: Cycle, pool: Pool, filters: Sequence[Filter]
) -> tuple[list[FilterStage], list[Admission]]:
    stages: list[FilterStage] = []
    admissions: list[Admission] = []
    for each in filters:
        if isinstance(each, IndexedFilter):
            admission = each.admit_all(cycle, pool)
        else:
            admission = admit_one_by_one(each, cycle, pool)
        pool = pool.narrow(admission.bits)
        stages.append(
            FilterStage(",".join([*(f.name for f in filters[: len(stages)]), each.name]), pool)
        )
        admissions.append(admission)
    return stages, admissions


def admit_one_by_one(each: Filter, cycle: Cycle, pool: Pool) -> Admission:
    """What `IndexedFilter.admit_all` must equal. Cost: one call per cluster."""
    rechecks: list[datetime | None] = []
    admitted: list[int] = []
    for slot, cluster in zip(pool.slots, pool, strict=True):
        rejection = each.admit(cycle, cluster)
        if rejection is None:
            admitted.append(slot)
        else:
            rechecks.append(rejection.until)
    return Admission(bits_of(admitted, pool.bits.bit_length()), earliest(*rechecks))


def _rank(
    cycle: Cycle, feasible: Pool, plugins: Plugins
) -> tuple[list[Ranking], list[ScoreColumn]]:
    wanted = weighted_prioritizers(cycle.placement, plugins.prioritizers)
    if has_prefer_taints(feasible):
        wanted.append(Weighted(PreferNoSelect(), 1))
    rankings: list[Ranking] = []
    columns: list[ScoreColumn] = []
    for each in wanted:
        prioritizer = each.prioritizer
        if isinstance(prioritizer, IndexedPrioritizer):
            column = prioritizer.column(cycle, feasible)
        else:
            column = score_one_by_one(prioritizer, cycle, feasible)
        columns.append(column)
        rankings.append(Ranking(prioritizer.name, each.weight, column.scores))
    return rankings, columns


def score_one_by_one(prioritizer: Prioritizer, cycle: Cycle, feasible: Pool) -> ScoreColumn:
    """What `IndexedPrioritizer.column` must equal. Raises: PluginError."""
    scores = prioritizer.score(cycle, tuple(feasible))
    for name, score in scores.items():
        if type(score) is not int or not MIN_SCORE <= score <= MAX_SCORE:
            raise PluginError(
                f"prioritizer {prioritizer.name} scored cluster {name} with {score!r};"
                f" a score is a whole number from {MIN_SCORE} to {MAX_SCORE}"
            )
    if not scores.keys() <= set(feasible.names):
        stray = min(scores.keys() - set(feasible.names))
        raise PluginError(f"prioritizer {prioritizer.name} scored {stray}, which is not feasible")
    return ScoreColumn([scores.get(name) for name in feasible.names])


def _totals(size: int, rankings: Sequence[Ranking]) -> list[int]:
    """The weighted sum of all scores; a missing score counts as 0."""
    totals: list[int] | None = None
    for ranking in rankings:
        weight, scores = ranking.weight, ranking.scores
        if None in scores:
            weighted = [weight * (score or 0) for score in scores]
        elif weight == 1:
            weighted = list(scores)  # type: ignore[arg-type]  # there is no None among them
        else:
            weighted = list(map(weight.__mul__, scores))  # type: ignore[arg-type]  # as above
        totals = weighted if totals is None else list(map(add, totals, weighted))
    return [0] * size if totals is None else totals
