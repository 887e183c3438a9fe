import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollout.errors import PluginError
from rollout.model.cluster import Cluster, Score, Taint
from rollout.model.placement import Coordinate, Placement, Predicate, Toleration
from rollout.model.selectors import EVERYTHING, Requirement, Selector
from rollout.placement.filters import Predicates, TaintToleration
from rollout.placement.framework import MAX_SCORE, MIN_SCORE, Code, Cycle, Rejection
from rollout.placement.index import Pool
from rollout.placement.prioritizers import (
    AddOnScore,
    Balance,
    PreferNoSelect,
    ResourceAllocatable,
    Steady,
)
from rollout.placement.prioritizers.balance import balance_score
from rollout.placement.scheduler import (
    Plugins,
    admit_one_by_one,
    check,
    score_one_by_one,
    select,
)
from rollout.placement.weights import BUILTINS

T0 = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND, TICK = timedelta(seconds=1), timedelta(microseconds=1)
MEMORY = Coordinate(builtin="ResourceAllocatableMemory")
CPU = Coordinate(builtin="ResourceAllocatableCPU")
BALANCE, STEADY = Coordinate(builtin="Balance"), Coordinate(builtin="Steady")


def cluster(
    name: str, cpu: int | None = None, memory: int | None = None, **more: object
) -> Cluster:
    amounts = {"cpu": cpu, "memory": memory}
    have = {key: str(value) for key, value in amounts.items() if value is not None}
    return Cluster(name, allocatable=have, capacity=have, **more)  # type: ignore[arg-type]  # a test's shorthand


def memories(*amounts: int) -> Pool:
    return Pool.of([cluster(f"cluster{i}", memory=a) for i, a in enumerate(amounts, 1)])


def placed(
    number: int | None = None, *weights: tuple[Coordinate, int], exact: bool = False
) -> Placement:
    return Placement(
        "ns", "p", number=number, weights=weights, mode="Exact" if exact else "Additive"
    )


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
    cycle = Cycle(placed(2, *weights), T0, frozenset({"cluster2", "cluster3"}))

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
    assert found.status.code is Code.WARNING
    assert found.status.message == "AddOnPlacementScores cluster2/usage expired"
    assert found.recheck_at == T0 + TICK
    later = select(Cycle(addon, T0 + TICK, scores=lambda _: scores), memories(1, 1, 1))
    assert (tuple(later.totals), later.recheck_at) == ((0, 0, 0), None)


# Taints.

TAINT = Taint("key1", "value1", "NoSelect", T0)


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration("key1", "Equal", "value1"), True),
        (Toleration("key1", "", "value1"), True),
        (Toleration("key1", "Equal", ""), False),
        (Toleration("key2", "Equal", "value1"), False),
        (Toleration("key1", "Exists"), True),
        (Toleration("key2", "Exists"), False),
        (Toleration("", "Exists"), True),
        (Toleration("key1", "Like"), False),
        (Toleration("key1", "Exists", effect="NoSelect"), True),
        (Toleration("key1", "Exists", effect="NoSelectIfNew"), False),
        (Toleration("key1", "Exists", seconds=0), False),
        (Toleration("key1", "Exists", seconds=-1), False),
        (Toleration("key1", "Exists", seconds=2**62), True),
    ],
)
def test_a_toleration_matches_by_key_operator_value_effect_and_time(
    toleration: Toleration, tolerated: bool
) -> None:
    placement = Placement("ns", "p", tolerations=(toleration,))
    rejection = TaintToleration().admit(Cycle(placement, T0), Cluster("c", taints=(TAINT,)))

    assert (rejection is None) is tolerated


@pytest.mark.parametrize(
    ("effect", "decided", "passes"),
    [
        ("NoSelect", False, False),
        ("NoSelect", True, False),
        ("NoSelectIfNew", False, False),
        ("NoSelectIfNew", True, True),
        ("PreferNoSelect", False, True),
        ("PreferNoSelect", True, True),
    ],
)
def test_an_effect_keeps_away_new_clusters_all_or_none(
    effect: str, decided: bool, passes: bool
) -> None:
    cycle = Cycle(placed(), T0, frozenset({"c"} if decided else ()))
    rejection = TaintToleration().admit(cycle, Cluster("c", taints=(Taint("k", effect=effect),)))

    assert (rejection is None) is passes


@pytest.mark.parametrize(
    ("at", "selected", "recheck"),
    [
        (10 * SECOND - TICK, True, 10 * SECOND),
        (10 * SECOND, False, None),
        (10 * SECOND + TICK, False, None),
    ],
)
def test_a_limited_toleration_ends_at_its_very_instant(
    at: timedelta, selected: bool, recheck: timedelta | None
) -> None:
    placement = Placement("ns", "p", tolerations=(Toleration("key1", "Exists", seconds=10),))
    found = select(Cycle(placement, T0 + at), Pool.of([Cluster("c", taints=(TAINT,))]))

    assert found.chosen == (("c",) if selected else ())
    assert found.recheck_at == (T0 + recheck if recheck else None)


def test_a_limited_toleration_beside_an_unlimited_one_needs_no_recheck() -> None:
    tolerations = (Toleration("key1", "Exists", seconds=10), Toleration("key1", "Exists"))
    placement = Placement("ns", "p", tolerations=tolerations)

    found = select(Cycle(placement, T0), Pool.of([Cluster("c", taints=(TAINT,))]))

    assert (found.chosen, found.recheck_at) == (("c",), None)


def test_a_taint_without_a_time_is_older_than_any_limit() -> None:
    placement = Placement("ns", "p", tolerations=(Toleration("k", "Exists", seconds=10**9),))

    assert select(Cycle(placement, T0), Pool.of([Cluster("c", taints=(Taint("k"),))])).chosen == ()


def test_prefer_no_select_costs_100_points_unless_it_is_tolerated() -> None:
    avoided = Cluster("a", taints=(Taint("k", effect="PreferNoSelect"),))
    pool = Pool.of([avoided, Cluster("b")])
    tolerant = replace(placed(1), tolerations=(Toleration("k", "Exists"),))

    assert select(Cycle(placed(1), T0), pool).chosen == ("b",)
    assert select(Cycle(placed(1), T0), pool).total_by_cluster() == {"a": 0, "b": 100}
    assert select(Cycle(tolerant, T0), pool).chosen == ("a",)


def test_thousands_of_tolerations_cost_no_more_than_those_of_the_taints_key() -> None:
    many = tuple(Toleration(f"k{i}", "Exists") for i in range(5000))
    clusters = [Cluster(f"c{i}", taints=(Taint(f"k{i}", added=T0),)) for i in range(2000)]

    assert (
        len(select(Cycle(Placement("ns", "p", tolerations=many), T0), Pool.of(clusters)).chosen)
        == 2000
    )


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
        "p" * 64,
        number=-1,
        predicates=(predicate,),
        weights=((Coordinate(builtin="Foo"), 1), (Coordinate(builtin="Bar"), 0)),
        tolerations=(Toleration("", "Equal"), Toleration("k", "Exists", "v")),
    )

    at = "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions"
    assert [p.path for p in check(placement)] == [
        "metadata.name",
        "spec.numberOfClusters",
        f"{at}[0]",
        f"{at}[1]",
        "spec.tolerations[0].operator",
        "spec.tolerations[1].value",
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


# The vectorised ways against the plain ones.

selectors = st.builds(
    lambda key, op, values: Selector((Requirement(key, op, values),)),
    st.sampled_from(("env", "tier")),
    st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist")),
    st.frozensets(st.sampled_from(("a", "b")), min_size=1),
)
taints = st.builds(
    Taint,
    st.sampled_from(("k", "l")),
    st.sampled_from(("", "v")),
    st.sampled_from(("NoSelect", "PreferNoSelect", "NoSelectIfNew")),
    st.sampled_from((None, T0 - 20 * SECOND, T0)),
)
tolerations = st.builds(
    Toleration,
    st.sampled_from(("k", "l")),
    st.sampled_from(("Equal", "Exists")),
    st.just(""),
    st.sampled_from(("", "NoSelect", "PreferNoSelect")),
    st.sampled_from((None, 10, 30)),
)
EXPRESSIONS = (
    'managedCluster.metadata.labels.env == "a"',
    'managedCluster.scores("usage").exists(s, s.value > 0)',
    "managedCluster.nothere",
)
labels = st.dictionaries(st.sampled_from(("env", "tier")), st.sampled_from(("a", "b")))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Cycle, list[Cluster]]:
    names = draw(st.lists(st.sampled_from([f"c{i}" for i in range(8)]), unique=True))
    clusters = []
    for name in names:
        have = draw(labels)
        amounts = draw(
            st.dictionaries(st.sampled_from(("cpu", "memory")), st.sampled_from(("1", "2", "5")))
        )
        raw = {"metadata": {"name": name, "labels": have}, "spec": {}, "status": {}}
        clusters.append(
            Cluster(
                name,
                have,
                draw(labels),
                tuple(draw(st.lists(taints, max_size=2))),
                amounts,
                amounts,
                raw=raw,
            )
        )
    some = st.sampled_from([f"c{i}" for i in range(8)])
    scores = {
        name: Score(
            name,
            "usage",
            {"cpu": draw(st.integers(-100, 100))},
            draw(st.sampled_from((None, T0 - SECOND, T0))),
        )
        for name in draw(st.sets(some))
    }
    coordinates = (BALANCE, STEADY, CPU, MEMORY, Coordinate("AddOn", resource="usage", score="cpu"))
    predicate = st.builds(
        Predicate,
        selectors,
        selectors,
        st.lists(st.sampled_from(EXPRESSIONS), max_size=1).map(tuple),
    )
    placement = Placement(
        "ns",
        "p",
        number=draw(st.none() | st.integers(0, 9)),
        predicates=tuple(draw(st.lists(predicate, max_size=2))),
        mode=draw(st.sampled_from(("Additive", "Exact"))),
        weights=tuple(
            draw(st.lists(st.tuples(st.sampled_from(coordinates), st.integers(-10, 10))))
        ),
        tolerations=tuple(draw(st.lists(tolerations, max_size=3))),
    )
    previous = frozenset(draw(st.sets(some)))
    counts = draw(st.dictionaries(some, st.integers(1, 4)))
    return Cycle(placement, T0, previous, counts, lambda name: scores), clusters


@settings(max_examples=200, deadline=None)
@given(worlds())
def test_vectorised_plugins_answer_as_their_plain_twins_do(
    world: tuple[Cycle, list[Cluster]],
) -> None:
    cycle, clusters = world
    pool = Pool.of(clusters)
    for each in (Predicates(), TaintToleration()):
        assert each.admit_all(cycle, pool).bits == admit_one_by_one(each, cycle, pool).bits
    for prioritizer in (
        Balance(),
        Steady(),
        ResourceAllocatable("cpu", "cpu"),
        AddOnScore("usage", "cpu"),
        PreferNoSelect(),
    ):
        column = prioritizer.column(cycle, pool).scores
        assert list(column) == list(score_one_by_one(prioritizer, cycle, pool).scores)


@settings(max_examples=200, deadline=None)
@given(worlds(), st.randoms(use_true_random=False))
def test_a_selection_is_sound_and_independent_of_the_order_of_input(
    world: tuple[Cycle, list[Cluster]], random: object
) -> None:
    cycle, clusters = world
    found = select(cycle, Pool.of(clusters))
    shuffled = list(clusters)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # Hypothesis hands out a Random
    again = select(cycle, Pool.of(shuffled))

    assert (found.chosen, found.totals, found.unmet) == (again.chosen, again.totals, again.unmet)
    assert len(set(found.chosen)) == len(found.chosen)
    assert set(found.chosen) <= set(found.names)
    limit = cycle.placement.number
    assert len(found.chosen) == min(len(found.names), len(found.names) if limit is None else limit)
    for ranking, score in itertools.product(found.rankings, range(len(found.names))):
        value = ranking.scores[score]
        assert value is None or MIN_SCORE <= value <= MAX_SCORE
    assert found.recheck_at is None or found.recheck_at > cycle.now
