"""Sticky decision groups: who stays in which group and on which page, whatever stops a change half way."""

from collections.abc import Callable
from itertools import islice

import pytest

from rollout.model.kinds import MANAGED_CLUSTER, PLACEMENT_DECISION, Ref
from rollout.planning.placements import PlacementPlanner
from tests.support.placing import World, groups, merged, simple


def test_sticky_pages_do_not_move_for_an_early_newcomer() -> None:
    world = simple("b", "c", "d")
    world.placement(groups(size=2), annotations={"rollout-engine.io/decision-order": "sticky"})
    world.settle()
    world.cluster("a")
    world.settle()

    assert list(world.pages().values()) == [["b", "c"], ["d", "a"]]


def in_groups(world: World) -> list[list[str]]:
    """The clusters of each decision group, as pages and status have them."""
    pages = world.pages()
    return [
        [cluster for page in each["decisions"] for cluster in pages[page]]
        for each in world.status()["decisionGroups"]
    ]


def canaries_join(world: World) -> None:
    world.cluster("k", {"g": "canary"})


def canaries_leave(world: World) -> None:
    world.remove(Ref(MANAGED_CLUSTER, "j"))


def canaries_leave_as_another_joins(world: World) -> None:
    """All groups behind get a lower index, and a newcomer fills the last one."""
    canaries_leave(world)
    world.cluster("d")


@pytest.mark.parametrize(
    ("first", "change", "groups_then"),
    [
        ("", canaries_join, [["k"], ["a0", "a1"], ["b0", "b1"], ["c0"]]),
        ("j", canaries_join, [["j", "k"], ["a0", "a1"], ["b0", "b1"], ["c0"]]),
        ("j", canaries_leave, [["a0", "a1"], ["b0", "b1"], ["c0"]]),
        ("j", canaries_leave_as_another_joins, [["a0", "a1"], ["b0", "b1"], ["c0", "d"]]),
    ],
)
@pytest.mark.parametrize("stop", range(14))
def test_a_change_of_sticky_groups_that_stops_half_way_moves_nobody_else(
    first: str, change: Callable[[World], None], groups_then: list[list[str]], stop: int
) -> None:
    world = simple("a0", "a1", "b0", "b1", "c0")
    for name in first:
        world.cluster(name, {"g": "canary"})
    world.placement(
        groups("canary", size=2),
        annotations={"rollout-engine.io/decision-order": "sticky"},
    )
    world.settle()
    change(world)
    for _ in islice(world.steps(), stop):
        pass
    world.planner = PlacementPlanner()
    world.settle()

    assert in_groups(world) == groups_then
    assert sorted(world.decided()) == sorted(c for each in groups_then for c in each)


def test_a_label_of_a_sticky_page_that_somebody_edits_moves_nobody() -> None:
    world = simple("a", "b", "c", "d")
    world.placement(groups(size=2), annotations={"rollout-engine.io/decision-order": "sticky"})
    world.settle()
    index = {"cluster.open-cluster-management.io/decision-group-index": "7"}
    page = world.objects[Ref(PLACEMENT_DECISION, "ns/p-decision-1")]
    world.put(PLACEMENT_DECISION, merged(page, {"metadata": {"labels": index}}))
    world.settle()

    assert world.pages() == {"p-decision-1": ["a", "b"], "p-decision-2": ["c", "d"]}
    assert in_groups(world) == [["a", "b"], ["c", "d"]]


@pytest.mark.parametrize("order", ["ClusterName", "sticky"])
def test_a_page_takes_the_next_name_where_another_controller_has_an_object_of_its_own(
    order: str,
) -> None:
    world = simple("a", "b", "c")
    owner = {"kind": "Other", "name": "o", "controller": True}
    meta = {"namespace": "ns", "name": "p-decision-2", "ownerReferences": [owner]}
    world.put(PLACEMENT_DECISION, {"metadata": meta})
    theirs = world.objects[Ref(PLACEMENT_DECISION, "ns/p-decision-2")]
    world.placement(groups(size=2), annotations={"rollout-engine.io/decision-order": order})
    world.settle()

    assert world.pages() == {"p-decision-1": ["a", "b"], "p-decision-2": [], "p-decision-3": ["c"]}
    assert in_groups(world) == [["a", "b"], ["c"]]
    assert world.objects[Ref(PLACEMENT_DECISION, "ns/p-decision-2")] is theirs

    for name in "de":
        world.cluster(name)
    world.settle()
    assert in_groups(world) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(world.pages()) == [f"p-decision-{n}" for n in (1, 2, 3, 4)]
