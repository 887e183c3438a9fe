import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollout.model.placement import Decision, Group
from rollout.placement.grouping import none_barred, page_name
from rollout.placement.sticky import Bucket, page_names, regroup

PAGE_SIZE = 100


def cut(buckets: list[Bucket], length: int, before: list[Decision]) -> tuple[Group, ...]:
    return tuple(each.group for each in regroup(buckets, length, before, PAGE_SIZE))


def pages(buckets: list[Bucket], length: int, before: list[Decision]) -> list[Decision]:
    found = regroup(buckets, length, before, PAGE_SIZE)
    named = page_names(
        found, [page.name for page in before], lambda n: page_name("p", n), none_barred
    )
    return [
        Decision(
            "ns",
            name,
            placement="p",
            group_index=each.group.index,
            group_name=each.group.name,
            clusters=clusters,
        )
        for each, of in zip(found, named, strict=True)
        for name, (_, clusters) in zip(of, each.sheets, strict=True)
    ]


def names(count: int, start: int = 0) -> list[str]:
    return [f"c{i:04}" for i in range(start, start + count)]


def where(decisions: list[Decision]) -> dict[str, tuple[int | None, str]]:
    return {c: (d.group_index, d.name) for d in decisions for c in d.clusters}


def test_an_early_newcomer_moves_nobody() -> None:
    before = pages([("", names(250, 1))], 0, [])
    after = pages([("", ["c0000", *names(250, 1)])], 0, before)

    old, new = where(before), where(after)
    assert all(old[c] == new[c] for c in old)
    assert new["c0000"] == (0, "p-decision-3")


def test_a_newcomer_fills_the_gap_of_one_that_left() -> None:
    before = pages([("", names(6))], 2, [])
    after = pages([("", [*names(6)[:2], *names(6)[3:], "c0000x"])], 2, before)

    assert where(after)["c0000x"] == where(before)["c0002"]


@pytest.mark.parametrize("number", ["²", "9" * 5000, ""], ids=["²", "many digits", "none"])
def test_a_page_whose_name_ends_in_no_number_is_read_like_any_other(number: str) -> None:
    page = Decision(
        "ns",
        f"p-decision-{number}",
        placement="p",
        group_index=0,
        group_name="",
        clusters=tuple(names(2)),
    )

    assert [g.clusters for g in cut([("", names(2))], 0, [page])] == [tuple(names(2))]


def test_a_gap_that_nobody_fills_moves_one_cluster_at_most() -> None:
    before = pages([("", names(300))], 0, [])
    members = [c for c in names(300) if c != "c0005"]
    after = pages([("", members)], 0, before)

    old, new = where(before), where(after)
    assert sum(old[c] != new[c] for c in members) == 1


def test_a_cluster_that_joins_a_named_group_leaves_its_old_one() -> None:
    before = pages([("", names(4))], 2, [])
    after = cut([("canary", ["c0001"]), ("", ["c0000", "c0002", "c0003"])], 2, before)

    assert [(g.name, g.clusters) for g in after] == [
        ("canary", ("c0001",)),
        ("", ("c0000",)),
        ("", ("c0002", "c0003")),
    ]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sets(st.sampled_from(names(12))), min_size=1, max_size=6),
    st.integers(0, 4),
)
def test_every_member_is_in_exactly_one_group_of_the_right_size(
    history: list[set[str]], length: int
) -> None:
    before: list[Decision] = []
    for members in history:
        groups = cut([("", sorted(members))], length, before)
        grouped = [c for g in groups for c in g.clusters]

        assert sorted(grouped) == sorted(members)
        assert all((0 if not members else 1) <= len(g.clusters) <= (length or 12) for g in groups)
        assert [g.index for g in groups] == list(range(len(groups)))
        before = pages([("", sorted(members))], length, before)
        assert pages([("", sorted(members))], length, before) == before
        assert cut([("", sorted(members))], length, before) == groups


def test_a_group_that_gets_another_index_gets_other_pages() -> None:
    before = pages([("", names(4))], 2, [])
    after = pages([("canary", ["k"]), ("", names(4))], 2, before)

    assert [(p.name, p.group_index, p.clusters) for p in after] == [
        ("p-decision-3", 0, ("k",)),
        ("p-decision-4", 1, ("c0000", "c0001")),
        ("p-decision-5", 2, ("c0002", "c0003")),
    ]


def test_a_new_page_of_a_group_stands_behind_the_others() -> None:
    before = pages([("", names(250))], 0, [])[1:]
    after = pages([("", names(150, 100))], 0, before)
    assert [p.name for p in after] == ["p-decision-2", "p-decision-3"]

    more = pages([("", names(250, 100))], 0, after)
    assert [p.name for p in more] == ["p-decision-2", "p-decision-3", "p-decision-4"]
    assert where(more).items() >= where(after).items()


def test_when_the_last_cluster_leaves_its_page_stays() -> None:
    before = pages([("", names(1))], 0, [])
    empty = pages([("", [])], 0, before)

    assert [(p.name, p.clusters) for p in empty] == [("p-decision-1", ())]
    assert where(pages([("", names(1))], 0, empty)) == where(before)
