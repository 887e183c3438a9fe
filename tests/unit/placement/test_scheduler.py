"""Who is selected, with which totals? Walk-throughs, weights, the cut, mistakes of a spec, plugins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from rollout.errors import PluginError
from rollout.model.cluster import Cluster, Score
from rollout.model.placement import Coordinate, Placement, Predicate
from rollout.model.problems import Problem
from rollout.model.selectors import EVERYTHING
from rollout.placement.filters import Predicates, TaintToleration
from rollout.placement.framework import Cycle, EvaluationCode, Rejection
from rollout.placement.index import Pool
from rollout.placement.prioritizers import BUILTINS, ResourceAllocatable, balance_score
from rollout.placement.scheduler import Plugins, check, select
from tests.support.scheduling import BALANCE, CPU, MEMORY, SECOND, STEADY, T0, TICK, placed


def cluster(
    name: str, cpu: int | None = None, memory: int | None = None, **more: object
) -> Cluster:
    amounts = {"cpu": cpu, "memory": memory}
    have = {key: str(value) for key, value in amounts.items() if value is not None}
    return Cluster(name, allocatable=have, capacity=have, **more)  # type: ignore[arg-type]  # a test's shorthand


def memories(*amounts: int) -> Pool:
    return Pool.of([cluster(f"cluster{i}", memory=a) for i, a in enumerate(amounts, 1)])


# The walk-throughs of the blog: three clusters of 60, 80 and 100 MB, then a fourth.


def test_memory_case_1_totals_are_0_100_200() -> None:
    found = select(Cycle(placed(2, (MEMORY, 1)), T0), memories(60, 80, 100))

    assert found.total_by_cluster() == {"cluster1": 0, "cluster2": 100, "cluster3": 200}
    assert found.chosen == ("cluster3", "cluster2")


@pytest.mark.parametrize(
    ("weights", "amounts", "totals", "chosen"),
    [
        pytest.param(
            [(MEMORY, 1)], (60, 80, 100, 150), (0, 145, 189, 200), (4, 3), id="case 1 +150"
        ),
        pytest.param(
            [(MEMORY, 1)], (60, 80, 100, 100), (0, 200, 300, 200), (3, 2), id="case 1 +100"
        ),
        pytest.param(
            [(MEMORY, 3)], (60, 80, 100, 100), (-200, 200, 500, 400), (3, 4), id="weight 3"
        ),
        pytest.param(
            [(MEMORY, 1), (STEADY, 3)], (60, 80, 100, 150), (0, 345, 389, 200), (3, 2), id="pinned"
        ),
    ],
)
def test_memory_cases_after_a_fourth_cluster_came(
    weights: Sequence[tuple[Coordinate, int]],
    amounts: tuple[int, ...],
    totals: tuple[int, ...],
    chosen: tuple[int, ...],
) -> None:
    cycle = Cycle(placed(2, *weights), T0, previous=frozenset({"cluster2", "cluster3"}))

    found = select(cycle, memories(*amounts))

    assert tuple(found.totals) == totals
    assert found.chosen == tuple(f"cluster{i}" for i in chosen)


def test_memory_case_2_starts_at_minus_200_100_400() -> None:
    found = select(Cycle(placed(2, (MEMORY, 3)), T0), memories(60, 80, 100))

    assert tuple(found.totals) == (-200, 100, 400)


@pytest.mark.parametrize(
    ("most", "scores"),
    [
        (1, [-100]),
        (2, [0, -100]),
        (3, [32, -32, -100]),
        (4, [50, 0, -50, -100]),
        (5, [60, 18, -18, -60, -100]),
        (7, [70, 42, 14, -14, -42, -70, -100]),
        (10, [80, 60, 40, 18, 0, -18, -38, -60, -80, -100]),
    ],
)
def test_balance_scores_are_those_of_the_golden_table(most: int, scores: list[int]) -> None:
    assert [balance_score(count, most) for count in range(1, most + 1)] == scores


@pytest.mark.parametrize("weight", [-3, -1, 1, 3])
@pytest.mark.parametrize("mode", ["Additive", "Exact"])
def test_decided_clusters_are_the_choice_again_however_busy_others_make_them(
    weight: int, mode: str
) -> None:
    placement = placed(2, (BALANCE, weight), exact=mode == "Exact")
    first = select(Cycle(placement, T0, counts={"c4": 1}), memories(*range(5))).chosen
    busy = dict.fromkeys(first, 7) if weight > 0 else {"c3": 7}

    again = Cycle(placement, T0, previous=frozenset(first), counts=busy)

    assert set(select(again, memories(*range(5))).chosen) == set(first)


@pytest.mark.parametrize(
    ("amounts", "scores"),
    [
        ((60, 80, 100), [-100, 0, 100]),
        ((60, 80, 100, 150), [-100, -55, -11, 100]),
        ((50, 90, 80), [-100, 100, 50]),
        ((50, 90, 80, 100), [-100, 60, 19, 100]),
        ((7, 7), [100, 100]),
        ((0, 0), [100, 100]),
    ],
)
def test_resource_scores_are_those_of_the_golden_table(
    amounts: tuple[int, ...], scores: list[int]
) -> None:
    column = ResourceAllocatable("x", "memory").column(Cycle(placed(), T0), memories(*amounts))

    assert column.scores == scores


def test_integration_totals_of_cpu_and_memory() -> None:
    three = [cluster("c0", 10, 50), cluster("c1", 7, 90), cluster("c2", 9, 80)]
    exact = placed(2, (CPU, 1), (MEMORY, 1), exact=True)

    assert tuple(select(Cycle(exact, T0), Pool.of(three)).totals) == (0, 0, 83)
    found = select(Cycle(exact, T0), Pool.of([*three, cluster("new", 10, 100)]))
    assert tuple(found.totals) == (0, -40, 52, 200)
    assert found.chosen == ("new", "c2")
    busy = Cycle(placed(2, (BALANCE, 2), (CPU, 1), exact=True), T0, counts={"c0": 1})
    assert select(busy, Pool.of(three)).total_by_cluster() == {"c0": -100, "c1": 100, "c2": 233}


# Weights.


def test_a_later_configuration_replaces_an_earlier_one_and_the_default() -> None:
    addon = Coordinate("AddOn", resource="usage", score="cpu")
    rankings = select(
        Cycle(placed(None, (addon, 2), (BALANCE, 0), (addon, 5)), T0), memories(1)
    ).rankings

    assert [(r.name, r.weight) for r in rankings] == [("Steady", 1), ("AddOn/usage/cpu", 5)]


def test_exact_without_configurations_orders_by_name_alone() -> None:
    found = select(Cycle(placed(1, exact=True), T0), memories(1, 9))

    assert (found.rankings, found.chosen) == ((), ("cluster1",))


def test_an_expired_score_counts_0_and_warns_and_the_next_expiry_is_looked_at_again() -> None:
    scores = {
        "cluster1": Score("cluster1", "usage", {"cpu": 50}, T0),
        "cluster2": Score("cluster2", "usage", {"cpu": 40}, T0 - TICK),
    }
    addon = placed(None, (Coordinate("AddOn", resource="usage", score="cpu"), 1), exact=True)
    found = select(Cycle(addon, T0, scores=lambda _: scores), memories(1, 1, 1))

    assert tuple(found.totals) == (50, 0, 0)
    assert found.status.code is EvaluationCode.WARNING
    assert found.status.message == "AddOnPlacementScores cluster2/usage expired"
    assert found.recheck_at == T0 + TICK
    later = select(Cycle(addon, T0 + TICK, scores=lambda _: scores), memories(1, 1, 1))
    assert (tuple(later.totals), later.recheck_at) == ((0, 0, 0), None)


# The cut.


@pytest.mark.parametrize(
    ("number", "chosen", "unmet"), [(None, 3, 0), (0, 0, 0), (2, 2, 0), (3, 3, 0), (5, 3, 2)]
)
def test_the_cut_takes_as_many_as_there_are(number: int | None, chosen: int, unmet: int) -> None:
    found = select(Cycle(placed(number), T0), memories(1, 1, 1))

    assert (len(found.chosen), found.unmet) == (chosen, unmet)


def test_few_of_many_are_the_same_as_the_head_of_all() -> None:
    pool = memories(*((i * 37) % 101 for i in range(300)))
    everything = select(Cycle(placed(None, (MEMORY, 1)), T0), pool).chosen

    for number in (1, 5, 37, 38, 299):
        assert select(Cycle(placed(number, (MEMORY, 1)), T0), pool).chosen == everything[:number]


# What is wrong with a spec.


def test_every_mistake_of_a_spec_is_listed_whatever_the_clusters() -> None:
    predicate = Predicate(EVERYTHING, EVERYTHING, ("nosuch == 1", "1 + 1"))
    placement = Placement(
        "ns",
        "p",
        predicates=(predicate,),
        weights=((Coordinate(builtin="Foo"), 1), (Coordinate(builtin="Bar"), 0)),
        problems=(Problem("spec.sortBy", "x", "one of ClusterName, Score"),),
    )

    at = "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions"
    assert [p.path for p in check(placement)] == [
        "spec.sortBy",
        f"{at}[0]",
        f"{at}[1]",
        "spec.prioritizerPolicy.configurations",
    ]


# Plugins.


@dataclass(frozen=True)
class Odd:
    """A plain filter: only clusters with an odd number."""

    name: str = "Odd"

    def admit(self, cycle: Cycle, cluster: Cluster) -> Rejection | None:
        odd = int(cluster.name.removeprefix("cluster")) % 2
        return None if odd else Rejection(self.name, "it is even", cycle.now + SECOND)


@dataclass(frozen=True)
class Fixed:
    """A plain prioritizer with an answer set beforehand."""

    answer: Mapping[str, int]
    name: str = "example.com/Fixed"

    def score(self, cycle: Cycle, feasible: Sequence[Cluster]) -> Mapping[str, int]:
        return self.answer


def with_fixed(answer: Mapping[str, int]) -> Plugins:
    factories = {**BUILTINS, "example.com/Fixed": lambda: Fixed(answer)}
    return Plugins((Predicates(), TaintToleration(), Odd()), factories)


FIXED = placed(None, (Coordinate(builtin="example.com/Fixed"), 2), exact=True)


def test_plain_plugins_take_part() -> None:
    found = select(Cycle(FIXED, T0), memories(1, 1, 1), with_fixed({"cluster3": 7}))

    assert found.chosen == ("cluster3", "cluster1")
    assert found.total_by_cluster() == {"cluster1": 0, "cluster3": 14}
    assert [s.name for s in found.stages] == [
        "Predicate",
        "Predicate,TaintToleration",
        "Predicate,TaintToleration,Odd",
    ]
    assert found.recheck_at == T0 + SECOND


@pytest.mark.parametrize(
    "answer", [{"cluster1": 101}, {"cluster1": True}, {"cluster2": 1}, {"x": 1}]
)
def test_a_plugin_that_breaks_its_contract_is_named(answer: Mapping[str, int]) -> None:
    with pytest.raises(PluginError, match=r"example\.com/Fixed"):
        select(Cycle(FIXED, T0), memories(1, 1, 1), with_fixed(answer))
