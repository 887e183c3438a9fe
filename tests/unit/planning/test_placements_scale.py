import sys
from collections.abc import Callable

import pytest

from rollout.planning.placements import PlacementPlanner
from tests.support.placing import T0, World


def calls(action: Callable[[], object]) -> int:
    """Python and C calls that the action makes: the same on every machine."""
    count = 0

    def on_event(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(on_event)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def spec(n: int) -> dict[str, object]:
    labels = {"labelSelector": {"matchLabels": {"env": "prod"}}}
    taint = {"key": f"k{n}", "operator": "Exists"}
    return {"predicates": [{"requiredClusterSelector": labels}], "tolerations": [taint]}


def world_of(clusters: int, placements: int, sets: int) -> World:
    world = World()
    for n in range(sets):
        world.cluster_set(
            f"s{n}",
            {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"of": f"s{n}"}}},
        )
    for i in range(clusters):
        world.cluster(
            f"c{i:04}",
            {"env": "prod", "of": f"s{i % sets}"},
            spec={"taints": [{"key": f"k{i % 3}", "effect": "NoSelect"}]},
        )
    for n in range(placements):
        world.placement(spec(n), f"p{n}")
    return world


def whole(clusters: int = 60, placements: int = 4, sets: int = 4) -> int:
    """Every placement from nothing to settled, then one changed cluster and all it wakes."""
    world = world_of(clusters, placements, sets)
    world.planner = PlacementPlanner()

    def run() -> None:
        for n in range(placements):
            world.settle(f"ns/p{n}", T0)
        for ref in world.cluster("c0000", {"env": "dev", "of": "s0"}):
            if ref.kind.name == "Placement":
                world.settle(ref.key, T0)

    return calls(run)


@pytest.mark.parametrize(
    ("small", "large"),
    [
        pytest.param({"clusters": 200}, {"clusters": 800}, id="clusters"),
        pytest.param({"placements": 10}, {"placements": 40}, id="placements"),
        pytest.param({"sets": 10}, {"sets": 40}, id="sets"),
    ],
)
def test_four_times_as_much_is_about_four_times_the_work_and_never_sixteen(
    small: dict[str, int], large: dict[str, int]
) -> None:
    assert whole(**large) < 5 * whole(**small)
