"""What does a Placement's plan consist of, why does it select whom, and what does the planner remember?"""

import pytest

from rollout.model.kinds import PLACEMENT_DECISION, Obj, Ref
from rollout.model.writes import Create, PatchStatus
from tests.support.placing import ENV, SECOND, T0, TICK, World, groups, predicate, satisfied, simple

LABELS = {
    "cluster.open-cluster-management.io/placement": "p",
    "cluster.open-cluster-management.io/decision-group-name": "",
    "cluster.open-cluster-management.io/decision-group-index": "0",
}
OWNER = {
    "apiVersion": "cluster.open-cluster-management.io/v1beta1",
    "kind": "Placement",
    "name": "p",
    "uid": "uid-of-p",
    "controller": True,
    "blockOwnerDeletion": True,
}
CREATED = (
    "DecisionCreate",
    "DecisionCreated",
    "Decision p-decision-1 is created with placement p in namespace ns",
)
ONE_GROUP = {
    "decisionGroupIndex": 0,
    "decisionGroupName": "",
    "decisions": ["p-decision-1"],
    "clusterCount": 2,
}


def test_a_new_placement_gets_its_page_then_its_clusters_then_its_status() -> None:
    world = simple("b", "a")
    world.placement({})

    plan = world.plan()

    assert [[type(w).__name__ for w in wave] for wave in plan.waves] == [
        ["Create"],
        ["PatchStatus"],
        ["PatchStatus"],
    ]
    create = plan.writes[0]
    assert isinstance(create, Create)
    meta = create.obj["metadata"]
    assert meta["labels"] == LABELS
    assert meta["ownerReferences"] == [OWNER]
    notes = [(n.reason, n.action, n.message) for n in plan.notes]
    assert notes == [CREATED, ("ScoreUpdate", "ScoreUpdated", "a:100 b:100 ")]
    world.settle()
    assert world.pages() == {"p-decision-1": ["a", "b"]}
    status = world.status()
    assert status["numberOfSelectedClusters"] == 2
    assert status["decisionGroups"] == [ONE_GROUP]
    assert [c["observedGeneration"] for c in status["conditions"]] == [1, 1]


def test_the_310_cluster_example_makes_six_pages_of_four_groups() -> None:
    world = World()
    world.cluster_set()
    for i in range(310):
        group = {"g": "canary-west"} if i < 10 else {"g": "canary-east"} if i < 20 else {}
        world.cluster(f"c{i:03}", group)
    world.placement(groups("canary-west", "canary-east", size=150))

    world.settle()

    found = [
        (g["decisionGroupName"], g["clusterCount"], g["decisions"])
        for g in world.status()["decisionGroups"]
    ]
    page = "p-decision-{}".format
    assert found == [
        ("canary-west", 10, [page(1)]),
        ("canary-east", 10, [page(2)]),
        ("", 150, [page(3), page(4)]),
        ("", 140, [page(5), page(6)]),
    ]
    assert [len(c) for c in world.pages().values()] == [10, 10, 100, 50, 100, 40]


# Where the clusters come from, and the conditions.


def test_no_binding_says_so() -> None:
    world = World()
    world.placement({})
    world.settle()

    assert satisfied(world) == (
        "False",
        "NoManagedClusterSetBindings",
        "No valid ManagedClusterSetBindings found in placement namespace",
    )
    assert world.pages() == {"p-decision-1": []}


def test_a_binding_without_its_set_does_not_count() -> None:
    world = World()
    world.bind("s", "ns")
    world.placement({})
    world.settle()

    assert satisfied(world)[1] == "NoManagedClusterSetBindings"


def test_sets_that_are_not_bound_say_so() -> None:
    world = simple("a")
    world.placement({"clusterSets": ["x", "y"]})
    world.settle()

    assert satisfied(world)[1:] == (
        "NoIntersection",
        "None of ManagedClusterSets [x,y] is bound to placement namespace",
    )


def test_sets_without_members_say_so_and_terminating_clusters_are_none() -> None:
    world = simple()
    world.cluster("a", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    world.placement({})
    world.settle()

    assert satisfied(world)[1:] == (
        "AllManagedClusterSetsEmpty",
        "All ManagedClusterSets [s] have no member ManagedCluster",
    )


def test_no_match_says_after_which_filter_nothing_was_left() -> None:
    world = simple("a", "b")
    world.placement({"predicates": [predicate(ENV)]})
    world.settle()

    assert satisfied(world)[1] == "NoManagedClusterMatched"
    assert "left after Predicate 0" in satisfied(world)[2]


def test_too_few_clusters_are_counted() -> None:
    world = simple("a")
    world.placement({"numberOfClusters": 3})
    world.settle()

    assert satisfied(world) == (
        "False",
        "NotAllDecisionsScheduled",
        "2 cluster decisions unscheduled",
    )


def test_zero_clusters_on_purpose_is_satisfied() -> None:
    world = simple("a")
    world.placement({"numberOfClusters": 0})
    world.settle()

    assert satisfied(world) == ("True", "AllDecisionsScheduled", "All cluster decisions scheduled")


@pytest.mark.parametrize(
    ("annotation", "deleting"),
    [
        ({"cluster.open-cluster-management.io/experimental-scheduling-disable": "true"}, False),
        ({}, True),
    ],
)
def test_a_disabled_or_terminating_placement_is_left_alone(annotation: Obj, deleting: bool) -> None:
    world = simple("a")
    meta: Obj = {"annotations": annotation}
    if deleting:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    world.placement({}, **meta)

    assert world.plan().writes == ()
    assert world.plan("ns/unknown").writes == ()


# What the planner remembers never alters an answer.


def test_a_settled_placement_costs_nothing_until_something_changes() -> None:
    world = simple("a", "b")
    world.placement({})
    world.settle()
    first, second = world.plan(), world.plan()
    world.cluster("c")

    assert first is second
    assert world.plan().writes


def test_a_settled_placement_is_looked_at_again_when_it_said_so() -> None:
    world = simple()
    taint = {"key": "k", "effect": "NoSelect", "timeAdded": "2026-01-01T12:00:00Z"}
    world.cluster("a", spec={"taints": [taint]})
    world.placement({"tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 60}]})
    world.settle()

    assert world.plan().recheck_at == T0 + 60 * SECOND
    assert world.plan(now=T0 + 60 * SECOND - TICK).writes == ()
    world.settle(now=T0 + 60 * SECOND)
    assert world.decided() == []


def test_one_planner_serves_two_hubs() -> None:
    one, other = simple("a"), simple("b")
    other.planner = one.planner
    for world in (one, other):
        world.placement({})
        world.settle()

    assert (one.decided(), other.decided()) == (["a"], ["b"])


def test_explain_names_what_refused_a_cluster_and_the_rank_of_the_others() -> None:
    world = simple("a", "b")
    world.cluster("c", {"env": "dev"})
    world.cluster("d", spec={"taints": [{"key": "k", "effect": "NoSelect"}]})
    selector = {"matchExpressions": [{"key": "env", "operator": "DoesNotExist"}]}
    world.placement({"numberOfClusters": 1, "predicates": [predicate(selector)]})
    world.settle()

    _, found = world.planner.explain("ns/p", world.store, T0)

    assert [str(e) for e in found] == [
        "a: selected; rank 1, total 200 (Balance 100 x 1, Steady 100 x 1)",
        "b: not selected: it ranks below the last cluster that numberOfClusters allows; rank 2, total 100 (Balance 100 x 1, Steady 0 x 1)",
        "c: refused by Predicate: label env is 'dev'",
        "d: refused by TaintToleration: the taint k:NoSelect is not tolerated",
    ]


def test_explain_of_a_misconfigured_placement_gives_the_mistake_for_every_cluster() -> None:
    world = simple("a")
    world.placement({"numberOfClusters": -1})

    _, found = world.planner.explain("ns/p", world.store, T0)

    assert [
        e.rejection is not None and "spec.numberOfClusters" in e.rejection.reason for e in found
    ] == [True]


def test_writes_carry_the_version_they_were_planned_on() -> None:
    world = simple("a")
    world.placement({})
    world.settle()
    world.cluster("b")
    writes = world.plan().writes

    versions = {w.ref.name: w.version for w in writes if isinstance(w, PatchStatus)}
    assert versions["p-decision-1"] == int(
        world.objects[Ref(PLACEMENT_DECISION, "ns/p-decision-1")]["metadata"]["resourceVersion"]
    )
