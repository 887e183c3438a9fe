"""When may a change of scores change the decisions?"""

from datetime import timedelta

from tests.support.placing import SECOND, T0, World, groups, simple

LIMIT = timedelta(minutes=10)
BY_SCORE = {
    **groups(size=1),
    "sortBy": "Score",
    "scoreRateLimit": "10m",
    "prioritizerPolicy": {
        "mode": "Exact",
        "configurations": [
            {
                "scoreCoordinate": {
                    "type": "AddOn",
                    "addOn": {"resourceName": "usage", "scoreName": "cpu"},
                },
                "weight": 1,
            }
        ],
    },
}


def scored(**scores: int) -> World:
    """A world in which each cluster is a decision group, the one with the highest score first."""
    world = simple(*scores)
    for name, score in scores.items():
        world.score(name, "usage", {"cpu": score})
    world.placement(BY_SCORE)
    world.settle()
    return world


def order(world: World) -> str:
    return "".join(cluster for page in world.pages().values() for cluster in page)


def test_scores_that_change_all_the_time_change_the_order_once_per_limit() -> None:
    world = scored(a=30, b=20, c=10)
    orders = []
    for seconds in range(0, 1200, 60):
        now = T0 + seconds * SECOND
        world.score("c", "usage", {"cpu": 100 if seconds % 120 else 15})
        world.score("b", "usage", {"cpu": 50 + seconds % 7})
        world.settle(now=now)
        orders.append(order(world))

    assert orders == ["abc"] * 10 + ["bac"] * 10
    assert world.status()["lastScoreUpdateTime"] == "2026-01-01T12:10:00Z"


def test_scores_that_wait_for_the_limit_are_looked_at_when_it_is_over() -> None:
    world = scored(a=30, b=20)
    world.score("b", "usage", {"cpu": 40})
    plan = world.plan(now=T0 + SECOND)

    assert (plan.writes, plan.recheck_at) == ((), T0 + LIMIT)


def test_an_edit_of_the_placement_and_another_selection_carry_the_latest_scores_at_once() -> None:
    world = scored(a=30, b=20)
    world.score("b", "usage", {"cpu": 40})
    world.placement({**BY_SCORE, "scoreRateLimit": "20m"})
    world.settle(now=T0 + SECOND)
    assert order(world) == "ba"
    assert world.status()["lastScoreUpdateTime"] == "2026-01-01T12:00:01Z"

    world.score("a", "usage", {"cpu": 50})
    world.settle(now=T0 + 2 * SECOND)
    assert order(world) == "ba"
    world.cluster("c")
    world.settle(now=T0 + 3 * SECOND)
    assert order(world) == "abc"


def test_a_cluster_that_changes_its_named_group_does_so_at_once_and_no_score_with_it() -> None:
    world = scored(a=30, b=20, c=10)
    world.placement({**BY_SCORE, **groups("late", size=1)})
    world.settle()
    world.score("c", "usage", {"cpu": 100})
    world.cluster("b", {"g": "late"})
    world.settle(now=T0 + SECOND)

    assert order(world) == "bac"
