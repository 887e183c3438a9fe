from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollout.model.cluster import Cluster, Taint
from rollout.model.selectors import EVERYTHING, Requirement, Selector
from rollout.placement.index import ClusterIndex, Pool, bits_of, resource_of, slots_of

KEYS, VALUES, NAMES = ("a", "b"), ("", "x", "y"), ("n1", "n2", "n3", "n4")

maps = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
requirements = st.builds(
    Requirement,
    st.sampled_from((*KEYS, "c")),
    st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist")),
    st.frozensets(st.sampled_from(VALUES), max_size=2),
)
selectors = st.builds(Selector, st.lists(requirements, max_size=3).map(tuple))
clusters = st.builds(
    Cluster,
    st.sampled_from(NAMES),
    labels=maps,
    claims=maps,
    taints=st.sampled_from(((), (Taint("t"),), (Taint("t"), Taint("u")))),
    deleting=st.booleans(),
)
steps = st.lists(st.one_of(clusters, st.sampled_from(NAMES)), max_size=12)


def replay(history: list[Cluster | str], index: ClusterIndex, plain: dict[str, Cluster]) -> None:
    """Clusters come and names go, in the index and in a plain dict."""
    for step in history:
        if isinstance(step, str):
            index.remove(step)
            plain.pop(step, None)
        else:
            index.put(step)
            plain[step.name] = step


@settings(max_examples=300, deadline=None)
@given(steps, selectors, steps)
def test_after_any_history_the_index_answers_as_a_loop_over_the_clusters_does(
    history: list[Cluster | str], selector: Selector, more: list[Cluster | str]
) -> None:
    index, plain = ClusterIndex(), dict[str, Cluster]()
    replay(history, index, plain)
    index.members(selector)  # so that later changes meet remembered bits
    replay(more, index, plain)

    def names(bits: int) -> tuple[str, ...]:
        return index.pool(bits).names

    by_label = tuple(sorted(c.name for c in plain.values() if selector.matches(c.labels)))
    by_claim = tuple(sorted(c.name for c in plain.values() if selector.matches(c.claims)))
    assert names(index.members(selector)) == by_label
    assert names(index.claims.matching(selector, index.alive)) == by_claim
    assert names(index.alive) == tuple(sorted(plain))
    assert names(index.deleting) == tuple(sorted(c.name for c in plain.values() if c.deleting))
    assert {c.name: c for c in index.pool()} == plain
    by_taints: dict[tuple[Taint, ...], set[str]] = {}
    for cluster in plain.values():
        if cluster.taints:
            by_taints.setdefault(cluster.taints, set()).add(cluster.name)
    assert {taints: set(names(bits)) for taints, bits in index.taints.items()} == by_taints


@pytest.mark.parametrize("slots", [[], [0], [7, 8], [0, 63, 64, 1000]])
def test_bits_and_slots_are_each_others_inverse(slots: list[int]) -> None:
    assert slots_of(bits_of(slots, 1001)) == slots


def test_a_pool_is_in_the_order_of_names_whatever_the_order_of_arrival() -> None:
    pool = Pool.of([Cluster("c"), Cluster("a"), Cluster("b")])

    assert (pool.names, [c.name for c in pool], pool[0].name) == (
        ("a", "b", "c"),
        ["a", "b", "c"],
        "a",
    )


def test_a_slot_is_used_again_by_a_cluster_of_another_name() -> None:
    index = ClusterIndex([Cluster("b"), Cluster("c")])
    index.remove("b")
    index.put(Cluster("d"))

    assert index.pool().names == ("c", "d")
    assert index.pool(index.bits(["b", "d"])).names == ("d",)


def test_derived_numbers_are_made_anew_when_a_cluster_joins() -> None:
    index = ClusterIndex([Cluster("a"), Cluster("b")])
    source = object()
    lengths = []
    for name in ("c", "d"):
        lengths.append(index.derived(source, index.pool(), lambda names: [len(names)] * len(names)))
        index.put(Cluster(name))

    assert lengths == [[2, 2], [3, 3, 3]]


@pytest.mark.parametrize(
    ("allocatable", "capacity", "expected"),
    [
        ({"cpu": "500m"}, {"cpu": "1"}, 0.5),
        ({"cpu": "1"}, {}, None),
        ({}, {"cpu": "1"}, None),
        ({"cpu": "junk"}, {"cpu": "1"}, None),
    ],
)
def test_a_resource_counts_only_where_both_amounts_are_reported(
    allocatable: Mapping[str, str], capacity: Mapping[str, str], expected: float | None
) -> None:
    assert resource_of(Cluster("a", allocatable=allocatable, capacity=capacity), "cpu") == expected


def test_everything_matches_everything() -> None:
    index = ClusterIndex([Cluster("a"), Cluster("b")])

    assert index.members(EVERYTHING) == index.alive
