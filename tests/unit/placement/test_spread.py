from collections import Counter
from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollout.model.cluster import Cluster
from rollout.model.placement import Coordinate, Placement, SpreadConstraint
from rollout.placement.framework import Cycle
from rollout.placement.index import Pool
from rollout.placement.scheduler import select
from rollout.placement.spread import SPREAD, choose, scores_of

T0 = datetime(2026, 1, 1, tzinfo=UTC)
REGION, ZONE = SpreadConstraint("region"), SpreadConstraint("zone", max_skew=1, hard=True)


def at(name: str, region: str, zone: str) -> Cluster:
    return Cluster(name, labels={"region": region, "zone": zone}, claims={"zone": zone})


def spread(number: int | None, *constraints: SpreadConstraint, weight: int = 1) -> Placement:
    weights = ((SPREAD, weight),)
    return Placement("ns", "p", number=number, spread=constraints, weights=weights)


FIVE = [
    at("c1", "east", "1a"),
    at("c2", "east", "1a"),
    at("c3", "east", "1b"),
    at("c4", "west", "1a"),
    at("c5", "west", "1a"),
]


def test_the_worked_example_takes_c1_and_then_c5() -> None:
    chosen = choose(spread(2, REGION, ZONE, weight=2), Pool.of(FIVE), [50, 50, 0, 0, 50])

    assert chosen == ("c1", "c5")


def test_scores_favour_the_less_used_and_earlier_levels_decide_first() -> None:
    assert scores_of([(0, 0), (1, 0)]) == {(0, 0): 100, (1, 0): -100}
    assert scores_of([(0, 5), (1, 0), (1, 1)]) == {(0, 5): 100, (1, 0): 0, (1, 1): -100}
    assert scores_of([(3,)]) == {(3,): 100}


def test_a_hard_constraint_leaves_the_placement_short() -> None:
    clusters = [*(at(f"a{i}", "r", "1a") for i in range(5)), at("b0", "r", "1b")]
    found = select(Cycle(spread(6, ZONE), T0), Pool.of(clusters))

    assert Counter(name[0] for name in found.chosen) == {"a": 2, "b": 1}
    assert found.unmet == 3


def test_without_a_number_as_many_are_taken_as_hard_constraints_allow() -> None:
    clusters = [*(at(f"a{i}", "r", "1a") for i in range(5)), at("b0", "r", "1b")]

    assert len(select(Cycle(spread(None, ZONE), T0), Pool.of(clusters)).chosen) == 3
    assert len(select(Cycle(spread(None, REGION), T0), Pool.of(clusters)).chosen) == 6


def test_claims_are_a_topology_too() -> None:
    constraint = SpreadConstraint("zone", "Claim", 1, hard=True)
    found = select(Cycle(spread(None, constraint), T0), Pool.of(FIVE))

    assert Counter(c.claims["zone"] for c in FIVE if c.name in found.chosen) == {"1a": 2, "1b": 1}


def plain(placement: Placement, clusters: list[Cluster], totals: list[int]) -> tuple[str, ...]:
    """The rules as written, looking at every cluster in every round."""
    constraints = placement.spread
    weight = dict(placement.weights).get(Coordinate(builtin="Spread"), 1)
    left = dict(zip([c.name for c in clusters], totals, strict=True))
    where = {c.name: tuple(c.labels[k.topology_key] for k in constraints) for c in clusters}
    paths = {path[:n] for path in where.values() for n in range(1, len(constraints) + 1)}
    taken: Counter[tuple[str, ...]] = Counter()
    chosen: list[str] = []
    while left and len(chosen) < (len(clusters) if placement.number is None else placement.number):
        usages = {}
        for name in left:
            path = where[name]
            prefixes = [path[: n + 1] for n in range(len(constraints))]
            least = [
                min(taken[q] for q in paths if q[:-1] == p[:-1] and len(q) == len(p))
                for p in prefixes
            ]
            if all(
                not c.hard or taken[p] + 1 - low <= c.max_skew
                for c, p, low in zip(constraints, prefixes, least, strict=True)
            ):
                usages[name] = tuple(taken[p] for p in prefixes)
        if not usages:
            break
        scores = scores_of(list(usages.values()))
        best = min(usages, key=lambda n: (-left[n] - weight * scores[usages[n]], n))
        chosen.append(best)
        del left[best]
        for n in range(len(constraints)):
            taken[where[best][: n + 1]] += 1
    return tuple(chosen)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("ew"), st.sampled_from("abc"), st.integers(-2, 2)), max_size=9
    ),
    st.lists(
        st.tuples(st.sampled_from(("region", "zone")), st.integers(1, 2), st.booleans()),
        min_size=1,
        max_size=2,
    ),
    st.none() | st.integers(0, 9),
    st.integers(-1, 2),
)
def test_the_tree_chooses_as_the_rules_as_written_do(
    places: list[tuple[str, str, int]],
    rules: list[tuple[str, int, bool]],
    number: int | None,
    weight: int,
) -> None:
    clusters = [at(f"c{i}", region, zone) for i, (region, zone, _) in enumerate(places)]
    totals = [total * 50 for _, _, total in places]
    constraints = tuple(SpreadConstraint(key, "Label", skew, hard) for key, skew, hard in rules)
    placement = spread(number, *constraints, weight=weight)

    assert choose(placement, Pool.of(clusters), totals) == plain(placement, clusters, totals)


@pytest.mark.parametrize("size", [200, 400])
def test_a_topology_of_its_own_for_every_cluster_is_no_harm(size: int) -> None:
    clusters = [at(f"c{i:04}", "r", f"z{i}") for i in range(size)]
    chosen = choose(spread(None, REGION, ZONE), Pool.of(clusters), [0] * size)

    assert chosen == tuple(c.name for c in clusters)


def test_every_small_world_is_within_its_hard_skew() -> None:
    for sizes in product(range(4), repeat=3):
        clusters = [
            at(f"{z}{i}", "r", z) for z, n in zip("abc", sizes, strict=True) for i in range(n)
        ]
        chosen = choose(spread(None, ZONE), Pool.of(clusters), [0] * len(clusters))
        present = [zone for zone, n in zip("abc", sizes, strict=True) if n]
        taken = Counter(name[0] for name in chosen)

        if present:
            assert max(taken[z] for z in present) - min(taken[z] for z in present) <= 1, sizes
