import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollout.model.placement import Decision, Group
from rollout.placement.grouping import cut, paginate


def pages(groups: tuple[Group, ...]) -> list[Decision]:
    return [
        Decision(
            "ns",
            page.name,
            placement="p",
            group_index=page.group.index,
            group_name=page.group.name,
            clusters=page.clusters,
        )
        for page in paginate("p", groups)
    ]


def names(count: int, start: int = 0) -> list[str]:
    return [f"c{i:04}" for i in range(start, start + count)]


def where(decisions: list[Decision]) -> dict[str, tuple[int | None, str]]:
    return {c: (d.group_index, d.name) for d in decisions for c in d.clusters}


def test_an_early_newcomer_moves_nobody() -> None:
    before = pages(cut([("", names(250, 1))], 0, []))
    after = pages(cut([("", ["c0000", *names(250, 1)])], 0, before))

    old, new = where(before), where(after)
    assert all(old[c] == new[c] for c in old)
    assert new["c0000"] == (0, "p-decision-3")


def test_a_newcomer_fills_the_gap_of_one_that_left() -> None:
    before = pages(cut([("", names(6))], 2, []))
    after = pages(cut([("", [*names(6)[:2], *names(6)[3:], "c0000x"])], 2, before))

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
    before = pages(cut([("", names(300))], 0, []))
    members = [c for c in names(300) if c != "c0005"]
    after = pages(cut([("", members)], 0, before))

    old, new = where(before), where(after)
    assert sum(old[c] != new[c] for c in members) == 1


def test_a_cluster_that_joins_a_named_group_leaves_its_old_one() -> None:
    before = pages(cut([("", names(4))], 2, []))
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
        assert all(0 < len(g.clusters) <= (length or 12) for g in groups)
        assert [g.index for g in groups] == list(range(len(groups)))
        again = cut([("", sorted(members))], length, pages(groups))
        assert again == groups
        before = pages(groups)
