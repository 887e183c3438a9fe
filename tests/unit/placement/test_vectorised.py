"""The vectorised ways of selecting answer as the plain ones do, whatever the order of input."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from rollout.model.cluster import Cluster, Score, Taint
from rollout.model.placement import Coordinate, Placement, Predicate, Toleration
from rollout.model.selectors import Requirement, Selector
from rollout.placement.filters import Predicates, TaintToleration
from rollout.placement.framework import MAX_SCORE, MIN_SCORE, Cycle
from rollout.placement.index import Pool
from rollout.placement.prioritizers import (
    AddOnPrioritizer,
    Balance,
    OcmBalance,
    PreferNoSelect,
    ResourceAllocatable,
    Steady,
)
from rollout.placement.scheduler import admit_one_by_one, score_one_by_one, select
from tests.support.scheduling import BALANCE, CPU, MEMORY, SECOND, STEADY, T0

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
    value=st.just(""),
    effect=st.sampled_from(("", "NoSelect", "PreferNoSelect")),
    seconds=st.sampled_from((None, 10, 30)),
)
EXPRESSIONS = (
    'managedCluster.metadata.labels.env == "a"',
    'managedCluster.scores("usage").exists(s, s.value > 0)',
    "managedCluster.nothere",
)
labels = st.dictionaries(st.sampled_from(("env", "tier")), st.sampled_from(("a", "b")))


some = st.sampled_from([f"c{i}" for i in range(8)])
amounts = st.dictionaries(st.sampled_from(("cpu", "memory")), st.sampled_from(("1", "2", "5")))
predicates = st.builds(
    Predicate,
    selectors,
    selectors,
    st.lists(st.sampled_from(EXPRESSIONS), max_size=1).map(tuple),
)
coordinates = st.sampled_from(
    (BALANCE, STEADY, CPU, MEMORY, Coordinate("AddOn", resource="usage", score="cpu"))
)
placements = st.builds(
    Placement,
    st.just("ns"),
    st.just("p"),
    number=st.none() | st.integers(0, 9),
    predicates=st.lists(predicates, max_size=2).map(tuple),
    mode=st.sampled_from(("Additive", "Exact")),
    weights=st.lists(st.tuples(coordinates, st.integers(-10, 10))).map(tuple),
    tolerations=st.lists(tolerations, max_size=3).map(tuple),
)


@st.composite
def clusters_called(draw: st.DrawFn, name: str) -> Cluster:
    have, allocatable = draw(labels), draw(amounts)
    raw = {"metadata": {"name": name, "labels": have}, "spec": {}, "status": {}}
    claims, tainted = draw(labels), tuple(draw(st.lists(taints, max_size=2)))
    return Cluster(
        name,
        labels=have,
        claims=claims,
        taints=tainted,
        allocatable=allocatable,
        capacity=allocatable,
        raw=raw,
    )


@st.composite
def scores_of(draw: st.DrawFn, name: str) -> Score:
    until = draw(st.sampled_from((None, T0 - SECOND, T0)))
    return Score(name, "usage", {"cpu": draw(st.integers(-100, 100))}, until)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Cycle, list[Cluster]]:
    names = draw(st.lists(some, unique=True))
    clusters = [draw(clusters_called(name)) for name in names]
    scores = {name: draw(scores_of(name)) for name in draw(st.sets(some))}
    previous = frozenset(draw(st.sets(some)))
    counts = draw(st.dictionaries(some, st.integers(1, 4)))
    return Cycle(
        draw(placements), T0, previous=previous, counts=counts, scores=lambda name: scores
    ), clusters


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
        OcmBalance(),
        Steady(),
        ResourceAllocatable("cpu", "cpu"),
        AddOnPrioritizer("usage", "cpu"),
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
