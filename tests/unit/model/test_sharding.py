"""Who looks after which namespace? Everybody comes to the same answer, and few move."""

import pytest

from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    PLACEMENT,
    REPLICA_SET,
    ROLLOUT_RECORD,
    Ref,
)
from rollout.model.sharding import (
    ALONE,
    BUCKETS,
    MOST_SHARDS,
    Sharding,
    bucket_of,
    owner_of,
)
from tests.support.selected import matcher

SPACES = [f"team-{n}" for n in range(2000)]


def shards(count: int) -> list[Sharding]:
    return [Sharding(shards=count, shard=n, home="rollout-system") for n in range(count)]


@pytest.mark.parametrize("count", range(1, MOST_SHARDS + 1))
def test_every_object_has_exactly_one_shard(count: int) -> None:
    for space in ("", "rollout-system", *SPACES):
        ref = Ref(REPLICA_SET, f"{space}/web" if space else "web")
        assert sum(each.concerns(ref) for each in shards(count)) == 1


@pytest.mark.parametrize("count", range(1, MOST_SHARDS))
def test_one_more_shard_moves_only_what_it_gets(count: int) -> None:
    before = [owner_of(bucket, count) for bucket in range(BUCKETS)]
    after = [owner_of(bucket, count + 1) for bucket in range(BUCKETS)]

    assert all(new in (old, count) for old, new in zip(before, after, strict=True))
    assert 0 < after.count(count) <= 2.5 * BUCKETS / (count + 1)


@pytest.mark.parametrize("count", range(1, MOST_SHARDS + 1))
def test_every_shard_has_some_buckets(count: int) -> None:
    assert {owner_of(bucket, count) for bucket in range(BUCKETS)} == set(range(count))


def test_namespaces_keep_their_buckets_whatever_the_version_of_the_program() -> None:
    """Labels of works outlive a process: these numbers must never change."""
    assert [bucket_of(space) for space in ("default", "team-a", "team-b", "shop")] == [
        5,
        25,
        30,
        38,
    ]
    assert [owner_of(bucket, 3) for bucket in (0, 1, 2, 3, 4, 5, 6, 7)] == [0, 2, 0, 2, 1, 1, 2, 1]


def test_what_is_in_no_namespace_belongs_to_shard_0_with_what_is_remembered_of_it() -> None:
    first, *others = shards(5)

    assert first.concerns(Ref(CLUSTER_MANAGEMENT_ADDON, "logging"))
    assert first.concerns(Ref(ROLLOUT_RECORD, "rollout-system/record"))
    assert not any(each.concerns(Ref(CLUSTER_MANAGEMENT_ADDON, "logging")) for each in others)


def test_placements_are_read_by_all_and_workloads_by_one() -> None:
    found = shards(4)

    assert all(each.reads(Ref(PLACEMENT, "team-1/p")) for each in found)
    assert sum(each.reads(Ref(REPLICA_SET, "team-1/web")) for each in found) == 1


@pytest.mark.parametrize("count", [2, 3, 7, MOST_SHARDS])
def test_a_selector_shows_the_works_of_its_shard_and_those_without_a_label(count: int) -> None:
    selects = [matcher(each.selector) for each in shards(count)]
    for space in SPACES[:200]:
        for number, each in enumerate(shards(count)):
            if each.concerns(Ref(REPLICA_SET, f"{space}/web")):
                labels = each.labels(space)
                shown = [select({"metadata": {"labels": labels}}) for select in selects]
                assert shown == [n == number for n in range(count)]

    assert all(select({"metadata": {}}) for select in selects)


def test_a_hub_that_is_not_shared_needs_neither_labels_nor_a_selector() -> None:
    assert ALONE.labels("team-1") == {}
    assert ALONE.selector == ""
    assert ALONE.concerns(Ref(REPLICA_SET, "team-1/web"))
