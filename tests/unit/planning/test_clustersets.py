import pytest

from rollout.model.kinds import CLUSTER_SET, CLUSTER_SET_BINDING, Obj, Ref
from rollout.planning.clustersets import BindingPlanner, ClusterSetPlanner
from rollout.planning.plan import Plan
from tests.support.placing import T0, World

EXCLUSIVE = {"selectorType": "ExclusiveClusterSetLabel"}
BAD = {
    "selectorType": "LabelSelector",
    "labelSelector": {"matchExpressions": [{"key": "x", "operator": "Foo"}]},
}


def run(world: World, planner: ClusterSetPlanner | BindingPlanner, key: str) -> Plan:
    """Plan and write twice: the second pass has nothing left to do."""
    plan = planner.plan(key, world.store, T0)
    for write in plan.writes:
        world.write(write)
    return plan


def conditions(world: World, ref: Ref) -> dict[str, tuple[str, str, str]]:
    listed = world.objects[ref].get("status", {}).get("conditions", [])
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in listed}


@pytest.mark.parametrize(
    ("selector", "members", "expected"),
    [
        (EXCLUSIVE, ["a"], ("False", "ClustersSelected", "1 ManagedClusters selected")),
        (EXCLUSIVE, [], ("True", "NoClusterMatched", "No ManagedCluster selected")),
        (
            {"selectorType": "LabelSelector", "labelSelector": {}},
            ["a", "b"],
            ("False", "ClustersSelected", "2 ManagedClusters selected"),
        ),
        (
            {"selectorType": "LabelSelector"},
            ["a"],
            ("True", "NoClusterMatched", "No ManagedCluster selected"),
        ),
    ],
)
def test_a_set_says_how_many_clusters_it_has(
    selector: Obj, members: list[str], expected: tuple[str, str, str]
) -> None:
    world = World()
    world.cluster_set("s", selector, bind="")
    for name in members:
        world.cluster(name)
    run(world, ClusterSetPlanner(), "s")

    assert conditions(world, Ref(CLUSTER_SET, "s")) == {"ClusterSetEmpty": expected}
    assert run(world, ClusterSetPlanner(), "s").writes == ()


def test_a_set_that_cannot_be_read_says_so_and_takes_it_back_once_mended() -> None:
    world = World()
    world.cluster_set("s", BAD, bind="")
    run(world, ClusterSetPlanner(), "s")
    ref = Ref(CLUSTER_SET, "s")
    status, reason, message = conditions(world, ref)["Misconfigured"]

    assert (status, reason) == ("True", "InvalidSelector")
    assert "matchExpressions[0].operator" in message
    world.put(CLUSTER_SET, {**world.objects[ref], "spec": {"clusterSelector": EXCLUSIVE}})
    run(world, ClusterSetPlanner(), "s")
    assert conditions(world, ref)["Misconfigured"][:2] == ("False", "ValidSelector")
    assert "ClusterSetEmpty" in conditions(world, ref)


@pytest.mark.parametrize("name", ["default", "global"])
def test_a_standard_set_is_created_where_it_is_missing(name: str) -> None:
    world = World()
    plan = run(world, ClusterSetPlanner(), name)

    assert [n.reason for n in plan.notes] == [f"{name.title()}ManagedClusterSetCreated"]
    assert run(world, ClusterSetPlanner(), name).notes == ()
    assert run(world, ClusterSetPlanner(), name).writes == ()
    assert ClusterSetPlanner(standard=False).plan("default", World().store, T0).writes == ()
    assert ClusterSetPlanner().plan("other", World().store, T0).writes == ()


@pytest.mark.parametrize(
    ("name", "edited", "restored"),
    [
        (
            "default",
            {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"a": "b"}}},
            EXCLUSIVE,
        ),
        (
            "global",
            {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"a": "b"}}},
            {"selectorType": "LabelSelector", "labelSelector": {}},
        ),
        ("global", EXCLUSIVE, {"selectorType": "LabelSelector", "labelSelector": {}}),
    ],
)
def test_an_edited_standard_set_is_restored_and_the_rest_of_it_kept(
    name: str, edited: Obj, restored: Obj
) -> None:
    world, ref = World(), Ref(CLUSTER_SET, name)
    spec = {"clusterSelector": edited, "managedNamespaces": [{"name": "n"}]}
    world.put(CLUSTER_SET, {"metadata": {"name": name, "labels": {"mine": "1"}}, "spec": spec})
    run(world, ClusterSetPlanner(), name)

    assert world.objects[ref]["spec"] == {
        "clusterSelector": restored,
        "managedNamespaces": [{"name": "n"}],
    }
    assert world.objects[ref]["metadata"]["labels"] == {"mine": "1"}


def test_an_annotation_keeps_an_edited_standard_set() -> None:
    world = World()
    meta = {
        "name": "default",
        "annotations": {"cluster.open-cluster-management.io/autoupdate": "false"},
    }
    edited = {"selectorType": "LabelSelector", "labelSelector": {}}
    world.put(CLUSTER_SET, {"metadata": meta, "spec": {"clusterSelector": edited}})
    run(world, ClusterSetPlanner(), "default")

    assert world.objects[Ref(CLUSTER_SET, "default")]["spec"]["clusterSelector"] == edited


def test_a_terminating_set_is_left_alone() -> None:
    world = World()
    world.put(
        CLUSTER_SET, {"metadata": {"name": "default", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    )

    assert run(world, ClusterSetPlanner(), "default").writes == ()


def test_a_binding_follows_its_set() -> None:
    world, ref = World(), Ref(CLUSTER_SET_BINDING, "ns/s")
    world.bind("s", "ns")
    run(world, BindingPlanner(), "ns/s")
    why = "there is no ManagedClusterSet s"
    assert conditions(world, ref)["Bound"] == ("False", "ClusterSetNotFound", why)

    assert ref in world.cluster_set("s", bind="")
    run(world, BindingPlanner(), "ns/s")
    assert conditions(world, ref)["Bound"] == ("True", "ClusterSetBound", "")
    assert run(world, BindingPlanner(), "ns/s").writes == ()
    assert run(world, BindingPlanner(), "ns/unknown").writes == ()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (7, "spec.clusterSet has to name a ManagedClusterSet"),
        ("x" * 100_000, f"there is no ManagedClusterSet {'x' * 253}"),
    ],
    ids=["no name", "a long one"],
)
def test_a_binding_to_a_name_that_no_set_can_have_says_why_it_is_none(
    name: object, why: str
) -> None:
    world, ref = World(), Ref(CLUSTER_SET_BINDING, "ns/s")
    world.put(
        CLUSTER_SET_BINDING,
        {"metadata": {"name": "s", "namespace": "ns"}, "spec": {"clusterSet": name}},
    )

    run(world, BindingPlanner(), "ns/s")

    assert conditions(world, ref)["Bound"] == ("False", "ClusterSetNotFound", why)
