from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollout.model.cluster import Cluster
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    PLACEMENT,
    SCORE,
    Kind,
    Obj,
    Ref,
)
from tests.support.placing import SET_LABEL, World, simple

P, Q = Ref(PLACEMENT, "ns/p"), Ref(PLACEMENT, "ns/q")


UNREADABLE: Obj = {
    "selectorType": "LabelSelector",
    "labelSelector": {"matchExpressions": [{"key": "x", "operator": "Im"}]},
}


def placements(refs: Iterable[Ref]) -> set[str]:
    return {ref.name for ref in refs if ref.kind == PLACEMENT}


def sets(refs: Iterable[Ref]) -> set[str]:
    return {ref.name for ref in refs if ref.kind == CLUSTER_SET}


def of_labels(**labels: str) -> Obj:
    return {"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": labels}}}]}


def of_claim(key: str) -> Obj:
    expression = {"key": key, "operator": "Exists"}
    return {
        "predicates": [
            {"requiredClusterSelector": {"claimSelector": {"matchExpressions": [expression]}}}
        ]
    }


def of_cel(text: str) -> Obj:
    return {
        "predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": [text]}}}]
    }


def weighing(builtin: str) -> Obj:
    coordinate = {"scoreCoordinate": {"type": "BuiltIn", "builtIn": builtin}, "weight": 1}
    return {"prioritizerPolicy": {"configurations": [coordinate]}}


def of_group(**labels: str) -> Obj:
    group = {"groupName": "gg", "groupClusterSelector": {"labelSelector": {"matchLabels": labels}}}
    return {"decisionStrategy": {"groupStrategy": {"decisionGroups": [group]}}}


IN_DEV = {"metadata": {"labels": {"env": "dev"}}}
CLAIMED = {"status": {"clusterClaims": [{"name": "id", "value": "2"}]}}
TAINTED = {"spec": {"taints": [{"key": "k", "effect": "NoSelect"}]}}
GROWN = {"status": {"allocatable": {"cpu": "9"}}}
GOING = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
OTHER = {"metadata": {"labels": {"x": "y"}}}


@pytest.mark.parametrize(
    ("spec", "changed", "wakes"),
    [
        pytest.param({}, {"metadata": {"resourceVersion": "77"}}, False, id="heartbeat"),
        pytest.param({}, IN_DEV, False, id="label nobody reads"),
        pytest.param(of_labels(env="prod"), IN_DEV, True, id="label"),
        pytest.param(of_labels(env="prod"), OTHER, False, id="other label"),
        pytest.param(of_group(env="prod"), IN_DEV, True, id="label of a group"),
        pytest.param(of_claim("id"), CLAIMED, True, id="claim"),
        pytest.param({}, CLAIMED, False, id="claim nobody reads"),
        pytest.param({}, TAINTED, True, id="taint"),
        pytest.param({}, GROWN, False, id="resources nobody weighs"),
        pytest.param(weighing("ResourceAllocatableCPU"), GROWN, True, id="resources"),
        pytest.param(
            of_cel("managedCluster.status.x == 1"),
            {"status": {"x": 1}},
            True,
            id="anything with CEL",
        ),
        pytest.param({}, {"status": {"x": 1}}, False, id="anything without CEL"),
        pytest.param({}, GOING, True, id="begins to go"),
    ],
)
def test_a_change_of_a_cluster_wakes_only_those_who_can_see_it(
    spec: Obj, changed: Obj, wakes: bool
) -> None:
    world = World()
    world.cluster_set()
    meta = {"name": "a", "uid": "u", "labels": {SET_LABEL: "s", "env": "prod"}}
    world.put(
        MANAGED_CLUSTER,
        {"metadata": meta, "status": {"clusterClaims": [{"name": "id", "value": "1"}]}},
    )
    world.placement(spec)
    new_meta = {**meta, **changed.get("metadata", {})}
    new_meta["labels"] = {**meta["labels"], **changed.get("metadata", {}).get("labels", {})}  # type: ignore[dict-item]  # a map
    old_status = {"clusterClaims": [{"name": "id", "value": "1"}]}
    refs = world.put(
        MANAGED_CLUSTER,
        {
            "metadata": new_meta,
            "spec": changed.get("spec", {}),
            "status": changed.get("status", old_status),
        },
    )

    expected = {"p"} if wakes else set()
    assert placements(refs) == expected


def test_a_cluster_that_moves_wakes_the_placements_of_both_sets() -> None:
    world = World()
    world.cluster_set("s")
    world.cluster_set("t")
    world.cluster("a")
    world.placement({"clusterSets": ["s"]}, "p")
    world.placement({"clusterSets": ["t"]}, "q")
    world.placement({"clusterSets": ["u"]}, "r")

    refs = world.cluster("a", {SET_LABEL: "t"})

    assert (placements(refs), sets(refs)) == ({"p", "q"}, {"s", "t"})


def test_a_cluster_that_leaves_a_set_of_labels_wakes_its_placements() -> None:
    world = World()
    world.cluster_set(
        "s", {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"env": "prod"}}}
    )
    world.cluster("a", {"env": "prod"})
    world.placement({})

    assert placements(world.cluster("a", {"env": "dev"})) == {"p"}
    assert placements(world.cluster("a", {"env": "test"})) == set()
    assert placements(world.cluster("a", {"env": "prod"})) == {"p"}
    assert placements(world.remove(Ref(MANAGED_CLUSTER, "a"))) == {"p"}


@pytest.mark.parametrize(
    "changed",
    [
        {"spec": {"taints": [{"key": "k", "effect": "NoSelect"}]}},
        {"labels": {"env": "dev"}},
        {"meta": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        None,
    ],
    ids=["it is tainted", "it loses a label", "it begins to go", "it is gone"],
)
def test_what_happens_to_a_cluster_wakes_those_who_have_it_though_its_set_cannot_be_read(
    changed: Obj | None,
) -> None:
    world = World()
    world.cluster_set()
    for name in ("a", "b"):
        world.cluster(name, {"env": "prod"})
    for name in ("p", "q"):
        world.placement(of_labels(env="prod") if name == "p" else of_labels(env="none"), name)
        world.settle(f"ns/{name}")
    world.cluster_set("s", UNREADABLE, bind="")
    world.settle()
    assert world.decided() == ["a", "b"]

    if changed is None:
        woken = world.remove(Ref(MANAGED_CLUSTER, "b"))
    else:
        woken = world.cluster(
            "b",
            changed.get("labels", {"env": "prod"}),
            **{key: part for key, part in changed.items() if key != "labels"},
        )

    assert placements(woken) == {"p"}
    world.settle()
    assert world.decided() == ["a"]


def test_a_score_wakes_those_who_have_the_cluster_though_its_set_cannot_be_read() -> None:
    world = World()
    world.cluster_set()
    world.cluster("a")
    coordinate = {"type": "AddOn", "addOn": {"resourceName": "usage", "scoreName": "cpu"}}
    weighed = {"prioritizerPolicy": {"configurations": [{"scoreCoordinate": coordinate}]}}
    world.placement(weighed)
    world.settle()
    world.cluster_set("s", UNREADABLE, bind="")

    score = {"metadata": {"namespace": "a", "name": "usage"}, "status": {"scores": []}}

    assert placements(world.put(SCORE, score)) == {"p"}


def test_only_namespaces_that_hold_a_binding_are_woken() -> None:
    world = simple("a")
    world.placement({})
    world.put(PLACEMENT, {"metadata": {"name": "far", "namespace": "elsewhere"}, "spec": {}})

    assert placements(world.cluster("b")) == {"p"}


def test_sets_and_bindings_wake_each_other_and_the_placements() -> None:
    world = simple("a")
    world.placement({})
    binding = Ref(CLUSTER_SET_BINDING, "ns/s")

    assert world.remove(Ref(CLUSTER_SET, "s")) == {P, binding, Ref(CLUSTER_SET, "s")}
    assert world.cluster_set(bind="") == {P, binding, Ref(CLUSTER_SET, "s")}
    assert world.remove(binding) == {P}
    assert world.bind("s", "ns") == {P, binding}
    assert world.bind("s", "ns") == set()


def test_a_score_wakes_those_who_weigh_or_read_it_and_see_the_cluster() -> None:
    world = simple("a")
    addon = {"type": "AddOn", "addOn": {"resourceName": "usage", "scoreName": "cpu"}}
    world.placement(
        {"prioritizerPolicy": {"configurations": [{"scoreCoordinate": addon, "weight": 1}]}}, "p"
    )
    world.placement(of_cel('managedCluster.scores("usage").size() > 0'), "q")
    world.placement(of_cel("managedCluster.scores(managedCluster.metadata.name).size() > 0"), "any")
    world.placement({}, "none")

    assert placements(world.score("a", "usage", {"cpu": 1})) == {"p", "q", "any"}
    assert placements(world.score("a", "usage", {"cpu": 1})) == set()
    assert placements(world.score("a", "other", {"cpu": 1})) == {"any"}
    assert placements(world.score("unknown", "usage", {"cpu": 1})) == set()
    assert placements(world.remove(Ref(SCORE, "a/usage"))) == {"p", "q", "any"}


def test_a_decision_wakes_its_placement_alone_and_counts_for_all() -> None:
    world = simple("a", "b")
    world.placement({})
    world.placement({"numberOfClusters": 1}, "q")
    world.settle("ns/p")
    world.settle("ns/q")

    assert world.store.decision_counts() == {"a": 2, "b": 1} or world.store.decision_counts() == {
        "a": 1,
        "b": 2,
    }
    page = next(ref for ref in world.objects if ref.name == "q-decision-1")
    assert world.remove(page) == {Q}
    assert world.store.decision_counts() == {"a": 1, "b": 1}


def test_counts_that_were_read_never_change() -> None:
    world = simple("a")
    world.placement({})
    before = world.store.decision_counts()
    world.settle()

    assert (dict(before), dict(world.store.decision_counts())) == ({}, {"a": 1})


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a kind that is kept here"):
        World().store.remove(Kind("Thing", "things", "", "v1", namespaced=False), "x")


def test_a_placement_with_cel_that_comes_back_sees_clusters_as_they_are_now() -> None:
    world = simple()
    expression = of_cel("managedCluster.status.x == 1")
    world.cluster("a", status={"x": 1}, meta={"uid": "u"})
    world.placement(expression)
    world.settle()
    world.remove(P)
    world.cluster("a", status={"x": 2}, meta={"uid": "u"})
    world.placement(expression)
    world.settle()

    assert world.decided() == []


names = st.sampled_from(("a", "b", "c"))
changes = st.one_of(
    st.tuples(
        st.just("cluster"), names, st.sampled_from(("s", "t", "")), st.sampled_from(("x", "y"))
    ),
    st.tuples(st.just("gone"), names, st.just(""), st.just("")),
    st.tuples(
        st.just("set"), st.sampled_from(("s", "t", "sel")), st.just(""), st.sampled_from(("x", "y"))
    ),
    st.tuples(st.just("spoil"), st.sampled_from(("s", "t", "sel")), st.just(""), st.just("")),
    st.tuples(st.just("unset"), st.sampled_from(("s", "t", "sel")), st.just(""), st.just("")),
    st.tuples(st.just("bind"), st.sampled_from(("s", "t", "sel")), st.just(""), st.just("")),
    st.tuples(st.just("unbind"), st.sampled_from(("s", "t", "sel")), st.just(""), st.just("")),
)


def apply(world: World, change: tuple[str, str, str, str]) -> set[Ref]:
    what, name, in_set, env = change
    match what:
        case "cluster":
            return world.cluster(name, {SET_LABEL: in_set, "env": env})
        case "set":
            by_label: Any = {
                "selectorType": "LabelSelector",
                "labelSelector": {"matchLabels": {"env": env}},
            }
            return world.cluster_set(name, by_label if name == "sel" else None, bind="")
        case "spoil":
            return world.cluster_set(name, UNREADABLE, bind="")
        case "bind":
            return world.bind(name, "ns")
    kind = {"gone": MANAGED_CLUSTER, "unset": CLUSTER_SET, "unbind": CLUSTER_SET_BINDING}[what]
    ref = Ref(kind, f"ns/{name}" if what == "unbind" else name)
    return world.remove(ref) if ref in world.objects else set()


@settings(max_examples=80, deadline=None)
@given(st.lists(changes, max_size=10))
def test_whoever_is_not_woken_has_nothing_to_do(history: list[tuple[str, str, str, str]]) -> None:
    world = World()
    specs = {
        "p": of_labels(env="x"),
        "q": {"clusterSets": ["s", "sel"]},
        "r": {"clusterSets": ["t"]},
    }
    for name, spec in specs.items():
        world.placement(spec, name)
        world.settle(f"ns/{name}")
    for change in history:
        woken = placements(apply(world, change))
        for name in specs:
            if name not in woken:
                world.planner = type(world.planner)()  # that remembers nothing
                assert world.plan(f"ns/{name}").writes == (), (name, change)
        for name in specs:
            world.settle(f"ns/{name}")


def test_membership_is_the_same_by_cluster_and_by_set() -> None:
    world = World()
    world.cluster_set("s")
    world.cluster_set("all", {"selectorType": "LabelSelector", "labelSelector": {}})
    world.cluster_set("none", {"selectorType": "LabelSelector"})
    world.cluster("a")
    world.cluster("b", {SET_LABEL: "other"})

    by_cluster = {c.name: world.store.sets_of(c) for c in world.store.index.pool()}
    by_set = {n: world.store.members([n]).names for n in ("s", "all", "none", "missing")}
    assert by_cluster == {"a": {"s", "all"}, "b": {"all"}}
    assert by_set == {"s": ("a",), "all": ("a", "b"), "none": (), "missing": ()}
    assert isinstance(world.store.cluster("a"), Cluster)
