"""Which stages a strategy cuts a fleet into: groups, order, keys, limits and budgets."""

from dataclasses import replace
from datetime import timedelta

import pytest

from rollout.model import names
from rollout.model.amounts import Amount
from rollout.model.placement import Group
from rollout.model.replicaset import GroupRef, RolloutSpec
from rollout.strategies.base import Selection, Stage, Staging, select
from rollout.strategies.stages import BUILT_IN, had_members, soak_of
from rollout.strategies.step import decide
from tests.support.fleets import MIN, T0, amount, rollout_in, spec_of

CANARY = Group(0, "canary", ("a", "b"))
EAST = Group(1, "east", ("c",))
REST0 = Group(2, "", ("d", "e"))
REST1 = Group(3, "", ("f",))
FOUR = (REST1, EAST, CANARY, REST0)  # in no order: `select` puts them right


def cut(spec: RolloutSpec, *groups: Group, named: tuple[str, ...] = ()) -> Staging:
    return BUILT_IN[spec.type].stages(spec, select(groups or FOUR, named))


def members(stage: Stage) -> str:
    return "".join(c for group in stage.groups for c in group.clusters)


def shape(staging: Staging) -> list[tuple[str, str]]:
    """(key, members) of each stage; a star marks a mandatory one."""
    return [("*" * stage.mandatory + stage.key, members(stage)) for stage in staging.stages]


STAR_CANARY, STAR_EAST = ("*canary/0", "ab"), ("*east/0", "c")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(spec_of("All"), [("all", "abcdef")], id="All is one stage"),
        pytest.param(
            spec_of("All", mandatory=["canary"]),
            [("all", "abcdef")],
            id="All knows no mandatory groups",
        ),
        pytest.param(spec_of("Progressive"), [("rest", "abcdef")], id="Progressive is a window"),
        pytest.param(
            spec_of("Progressive", mandatory=["canary"]),
            [STAR_CANARY, ("rest", "cdef")],
            id="a mandatory group comes before the window",
        ),
        pytest.param(
            spec_of("Progressive", mandatory=["east", "canary"]),
            [STAR_EAST, STAR_CANARY, ("rest", "def")],
            id="mandatory groups come in the order listed",
        ),
        pytest.param(
            spec_of("Progressive", mandatory=["east", "east", 1, "canary"]),
            [STAR_EAST, STAR_CANARY, ("rest", "def")],
            id="a mandatory group listed twice is one stage, where it was listed first",
        ),
        pytest.param(
            spec_of("Progressive", mandatory=[1]),
            [STAR_EAST, ("rest", "abdef")],
            id="by index",
        ),
        pytest.param(
            spec_of("Progressive", mandatory=[3]),
            [("*/1", "f"), ("rest", "abcde")],
            id="by index, an unnamed group",
        ),
        pytest.param(
            spec_of("ProgressivePerGroup"),
            [("canary/0", "ab"), ("east/0", "c"), ("/0", "de"), ("/1", "f")],
            id="PerGroup is a stage for each group",
        ),
        pytest.param(
            spec_of("ProgressivePerGroup", mandatory=["east"]),
            [STAR_EAST, ("canary/0", "ab"), ("/0", "de"), ("/1", "f")],
            id="PerGroup, the mandatory ones first",
        ),
        pytest.param(
            spec_of("ProgressivePerGroup", mandatory=["canary", "east", 2, 3]),
            [STAR_CANARY, STAR_EAST, ("*/0", "de"), ("*/1", "f")],
            id="PerGroup, nothing but mandatory ones",
        ),
    ],
)
def test_a_fleet_is_cut_into_stages(spec: RolloutSpec, expected: list[tuple[str, str]]) -> None:
    staging = cut(spec)

    assert shape(staging) == expected
    assert staging.hold is None
    assert staging.total == 6


def test_an_empty_reference_means_index_0() -> None:
    spec = RolloutSpec("Progressive", mandatory=(GroupRef(),))

    assert shape(cut(spec)) == [STAR_CANARY, ("rest", "cdef")]


def test_every_group_of_a_name_is_meant_one_stage_each_by_index() -> None:
    twice = (Group(0, "m", ("a",)), Group(1, "x", ("b",)), Group(2, "m", ("c",)))

    staging = cut(spec_of(mandatory=["m"]), *twice)

    assert shape(staging) == [("*m/0", "a"), ("*m/1", "c"), ("rest", "b")]
    assert [stage.title for stage in staging.stages] == ["m #0", "m #2", "the rest"]


UNKNOWN, EMPTY, EMPTIED = "UnknownDecisionGroup", "MandatoryGroupEmpty", "MandatoryGroupEmptied"


@pytest.mark.parametrize(
    ("ref", "groups", "named", "seen", "reason"),
    [
        pytest.param("canary", (CANARY,), (), (), None, id="known and filled"),
        pytest.param("canray", (CANARY,), ("canary",), (), UNKNOWN, id="misspelt"),
        pytest.param("canary", (EAST,), ("canary",), (), EMPTY, id="named in the spec, empty"),
        pytest.param("canary", (EAST,), ("canary",), ("canary",), EMPTIED, id="emptied"),
        pytest.param("canary", (EAST,), (), ("canary",), EMPTIED, id="emptied, and unnamed since"),
        pytest.param(
            "canary", (Group(0, "canary", ()), EAST), (), (), EMPTY, id="decided to be empty"
        ),
        pytest.param(
            "canary", (Group(0, "canary", ()), EAST), (), ("canary",), EMPTIED, id="emptied page"
        ),
        pytest.param(7, (CANARY,), (), (), UNKNOWN, id="an index that is not there"),
        pytest.param(7, (CANARY,), (), ("#7",), EMPTIED, id="an index that is gone"),
        pytest.param(0, (Group(0, "", ()), EAST), (), (), EMPTY, id="an index that is empty"),
        pytest.param("canary", (), ("canary",), (), EMPTY, id="no cluster at all"),
    ],
)
@pytest.mark.parametrize("kind", ["Progressive", "ProgressivePerGroup"])
def test_a_mandatory_group_without_a_cluster_holds(
    kind: str,
    ref: str | int,
    groups: tuple[Group, ...],
    named: tuple[str, ...],
    seen: tuple[str, ...],
    reason: str | None,
) -> None:
    spec = spec_of(kind, mandatory=[ref])

    staging = BUILT_IN[kind].stages(spec, select(groups, named, seen))

    assert (staging.hold.reason if staging.hold else None) == reason


@pytest.mark.parametrize("kind", ["Progressive", "ProgressivePerGroup"])
def test_a_group_that_a_person_allows_to_be_empty_holds_nothing_unless_it_lost_its_clusters(
    kind: str,
) -> None:
    spec = spec_of(kind, mandatory=["canary", 7])
    allowed = replace(select((EAST,), ("canary",)), may_be_empty=frozenset({"canary", "#7"}))

    assert BUILT_IN[kind].stages(spec, allowed).hold is None

    lost = BUILT_IN[kind].stages(spec, replace(allowed, seen=frozenset({"canary"}))).hold
    assert lost is not None
    assert lost.reason == EMPTIED


def test_a_group_allowed_to_be_empty_does_not_allow_it_to_another_one() -> None:
    allowed = replace(select((CANARY,), ("canary", "east")), may_be_empty=frozenset({"canary"}))

    hold = BUILT_IN["Progressive"].stages(spec_of(mandatory=["canary", "east"]), allowed).hold

    assert hold is not None
    assert (hold.reason, "decision group east" in hold.message) == (EMPTY, True)


@pytest.mark.parametrize(
    "groups", [(EAST,), (Group(0, "canary", ()), EAST)], ids=["no page", "a page"]
)
def test_an_empty_mandatory_group_is_a_stage_in_its_place(groups: tuple[Group, ...]) -> None:
    staging = cut(spec_of(mandatory=["canary", "east"]), *groups, named=("canary",))

    assert shape(staging) == [("*canary/0", ""), STAR_EAST, ("rest", "")]


def test_a_hold_of_an_empty_group_says_what_to_do() -> None:
    hold = cut(spec_of(mandatory=["canary"]), EAST, named=("canary",)).hold

    assert hold is not None
    assert "groupClusterSelector" in hold.message
    assert f"{names.ALLOW_EMPTY_GROUPS}: canary" in hold.message


def test_a_hold_names_the_group_and_the_names_that_there_are() -> None:
    hold = cut(spec_of(mandatory=["canray"]), CANARY, EAST, named=("west",)).hold

    assert hold is not None
    assert "canray" in hold.message
    assert "canary, east, west" in hold.message


def test_the_first_reason_to_hold_is_told() -> None:
    hold = cut(spec_of(mandatory=["canary", "one", "two"])).hold

    assert hold is not None
    assert "decision group one" in hold.message


def test_all_and_its_fleet_are_never_held_by_mandatory_groups() -> None:
    assert cut(spec_of("All", mandatory=["nope"])).hold is None


def test_keys_stay_when_indexes_shift() -> None:
    """A named group that gets its first cluster moves every index behind it by one."""
    before = (Group(0, "east", ("c",)), Group(1, "", ("d", "e")), Group(2, "", ("f",)))
    after = (CANARY, EAST, REST0, REST1)
    for spec in (
        spec_of("ProgressivePerGroup"),
        spec_of("ProgressivePerGroup", mandatory=["east"]),
    ):
        old = {members(s): s.key for s in cut(spec, *before).stages}
        new = {members(s): s.key for s in cut(spec, *after).stages}

        assert old.items() <= new.items()


def test_keys_are_never_shared() -> None:
    clash = (Group(0, "rest", ("a",)), Group(1, "all", ("b",)), Group(2, "", ("c",)))
    for kind in BUILT_IN:
        for mandatory in ([], ["rest"], ["rest", "all"]):
            keys = [stage.key for stage in cut(spec_of(kind, mandatory=mandatory), *clash).stages]
            assert len(keys) == len(set(keys))


def test_groups_come_by_index_then_name_and_their_pages_are_one() -> None:
    pages = [
        Group(1, "", ("f",)),
        Group(0, "z", ("d",)),
        Group(0, "b", ("c", "a")),
        Group(7, "", ("g",)),
        Group(0, "b", ("b", "a")),
    ]

    assert select(pages).groups == (
        Group(0, "b", ("a", "b", "c")),
        Group(0, "z", ("d",)),
        Group(1, "", ("f",)),
        Group(7, "", ("g",)),
    )
    assert select(reversed(pages)) == select(pages)


def test_a_cluster_in_two_groups_is_one_cluster_in_the_first() -> None:
    selection = select([Group(1, "b", ("x", "y")), Group(0, "a", ("y", "z"))])

    assert selection.groups == (Group(0, "a", ("y", "z")), Group(1, "b", ("x",)))


def limit_and_budget(spec: RolloutSpec, size: int, canaries: int = 0) -> tuple[int, int | None]:
    """What limit and budget of the window come to, in a fleet of this size."""
    fleet = [f"c{n:03}" for n in range(size)]
    groups = [Group(0, "m", tuple(fleet[:canaries])), Group(1, "", tuple(fleet[canaries:]))]
    rollout = rollout_in(spec, groups if canaries else groups[1:])
    budget = rollout.staging.budget
    window = decide(rollout, T0).stages[-1]
    return window.limit, None if budget is None else budget.of(rollout.staging.total)


@pytest.mark.parametrize(
    ("limit", "size", "canaries", "expected"),
    [
        pytest.param(None, 10, 0, 10, id="unset is all"),
        pytest.param(0, 10, 0, 10, id="the number 0 is unset"),
        pytest.param("0", 10, 0, 0, id="the string 0 is none"),
        pytest.param("0%", 10, 0, 0, id="0 percent is none"),
        pytest.param(3, 10, 0, 3, id="a count"),
        pytest.param("3", 10, 0, 3, id="a count in quotes"),
        pytest.param(30, 10, 0, 10, id="more than there are"),
        pytest.param("25%", 10, 0, 3, id="a share, rounded up"),
        pytest.param("25%", 10, 2, 2, id="a share of those that are not mandatory"),
        pytest.param("1%", 3, 0, 1, id="a share of less than one"),
        pytest.param("7%", 100, 0, 7, id="a share in whole numbers"),
        pytest.param("55%", 100, 0, 55, id="another share in whole numbers"),
        pytest.param("100%", 7, 0, 7, id="all of them"),
    ],
)
def test_a_limit_is_of_the_clusters_that_are_not_mandatory(
    limit: int | str | None, size: int, canaries: int, expected: int
) -> None:
    spec = spec_of(limit=limit, mandatory=["m"] if canaries else [])

    assert limit_and_budget(spec, size, canaries)[0] == expected


@pytest.mark.parametrize(
    ("budget", "size", "canaries", "expected"),
    [
        pytest.param(0, 10, 0, 0, id="none"),
        pytest.param(2, 10, 0, 2, id="a count"),
        pytest.param("2", 10, 0, 2, id="a count in quotes"),
        pytest.param(99, 10, 0, 10, id="more than there are is all"),
        pytest.param("0%", 10, 0, 0, id="0 percent is none"),
        pytest.param("25%", 10, 0, 3, id="a share, rounded up"),
        pytest.param("25%", 10, 2, 3, id="a share of all, mandatory ones too"),
        pytest.param("28%", 100, 0, 28, id="a share in whole numbers"),
    ],
)
def test_a_budget_is_of_all_clusters(
    budget: int | str, size: int, canaries: int, expected: int
) -> None:
    spec = spec_of(budget=budget, mandatory=["m"] if canaries else [])

    assert limit_and_budget(spec, size, canaries)[1] == expected


def test_a_group_has_a_budget_of_its_own_and_a_mandatory_one_none() -> None:
    staging = cut(spec_of("ProgressivePerGroup", budget="50%", mandatory=["canary"]))
    step = decide(
        rollout_in(spec_of("ProgressivePerGroup", budget="50%", mandatory=["canary"]), FOUR), T0
    )

    assert staging.budget is None
    assert [(s.title, s.limit, s.budget) for s in step.stages] == [
        ("canary #0", 2, 0),
        ("east #1", 1, 1),
        ("group #2", 2, 1),
        ("group #3", 1, 1),
    ]


def test_all_has_neither_limit_nor_budget() -> None:
    staging = cut(spec_of("All", limit=1, budget=1))

    assert [(s.limit, s.budget) for s in staging.stages] == [(None, None)]
    assert staging.budget is None


@pytest.mark.parametrize(
    ("kind", "settle", "expected"),
    [
        ("All", 0 * MIN, 0 * MIN),
        ("All", 1 * MIN, 1 * MIN),
        ("Progressive", 0 * MIN, 5 * MIN),
        ("Progressive", 7 * MIN, 7 * MIN),
        ("ProgressivePerGroup", 1 * MIN, 5 * MIN),
    ],
)
def test_success_stands_for_as_long_as_asked_and_at_least_until_it_settles(
    kind: str, settle: timedelta, expected: timedelta
) -> None:
    assert soak_of(spec_of(kind, soak=5 * MIN), settle) == expected


def test_only_groups_with_members_are_remembered() -> None:
    selection = select([CANARY, Group(1, "east", ()), REST0], ["east", "west"])
    spec = spec_of(mandatory=["canary", "east", "west", 2, 9])

    assert had_members(spec, selection) == {"canary", "#2"}
    assert had_members(spec, Selection()) == frozenset()


def test_limits_and_budgets_are_kept_as_written() -> None:
    staging = cut(spec_of(limit="25%", budget=3))

    assert (staging.stages[-1].limit, staging.budget) == (
        Amount(25, percent=True, written=True),
        amount(3),
    )
