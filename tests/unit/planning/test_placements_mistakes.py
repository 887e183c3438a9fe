"""What becomes of the decisions of a Placement that cannot be read, in each of the profiles?"""

import pytest

from rollout.model.kinds import Obj
from rollout.model.names import DECISION_ORDER, SEMANTICS
from rollout.model.placement import Coordinate
from rollout.placement.cel import bounds
from rollout.placement.prioritizers import BUILTINS
from rollout.placement.scheduler import DEFAULT_FILTERS, Plugins
from rollout.planning.placements import PlacementPlanner
from tests.support.placing import SET_LABEL, groups, predicate, satisfied, simple

# Misbehaving input keeps the last good decisions.

MISTAKES = {
    "negative number": {"numberOfClusters": -1},
    "bad operator": {
        "predicates": [predicate({"matchExpressions": [{"key": "e", "operator": "Gt"}]})]
    },
    "CEL that does not compile": {"predicates": [predicate(None, "nosuch == 1")]},
    "CEL that is no bool": {"predicates": [predicate(None, "1 + 1")]},
    "toleration": {"tolerations": [{"key": "k", "operator": "Exists", "value": "v"}]},
    "mode": {"prioritizerPolicy": {"mode": "Sum"}},
    "group size": groups(size="abc"),
}


@pytest.mark.parametrize("spec", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_keeps_the_decisions_says_so_and_is_mended(spec: Obj) -> None:
    world = simple("a", "b")
    world.placement({})
    world.settle()
    world.placement(spec)
    plans = world.settle()

    assert world.decided() == ["a", "b"]
    assert world.status()["numberOfSelectedClusters"] == 2
    status, reason, message = world.condition("PlacementMisconfigured")
    assert (status, reason) == ("True", "Misconfigured")
    assert message.startswith("spec.")
    assert satisfied(world)[:2] == ("False", "NotAllDecisionsScheduled")
    assert [(n.reason, n.warning) for n in plans[0].notes] == [("PlacementMisconfigured", True)]
    assert world.plan().notes == ()

    world.placement({"numberOfClusters": 1})
    world.settle()
    assert world.decided() == ["a"]
    assert world.condition("PlacementMisconfigured")[:2] == ("False", "Succeedconfigured")


@pytest.mark.parametrize(("name", "value"), [(SEMANTICS, "OCM"), (DECISION_ORDER, "Sticky")])
def test_an_annotation_that_cannot_be_read_is_a_mistake(name: str, value: str) -> None:
    world = simple("a", "b")
    world.placement({})
    world.settle()
    world.placement({"numberOfClusters": 1}, annotations={name: value})
    world.settle()

    assert world.decided() == ["a", "b"]
    message = world.condition("PlacementMisconfigured")[2]
    assert f"metadata.annotations[{name}]" in message


def test_every_mistake_is_listed_at_once() -> None:
    world = simple("a")
    world.placement({"numberOfClusters": -1, "prioritizerPolicy": {"mode": "Sum"}})
    world.settle()

    message = world.condition("PlacementMisconfigured")[2]
    assert "spec.numberOfClusters" in message
    assert "spec.prioritizerPolicy.mode" in message


def test_a_name_too_long_for_a_label_is_a_condition() -> None:
    world = simple("a")
    name = "p" * 64
    world.placement({}, name=name)
    world.settle(f"ns/{name}")

    assert world.condition("PlacementMisconfigured", name)[2].startswith("metadata.name")


def test_a_count_written_as_a_string_is_a_count() -> None:
    world = simple("a", "b", "c")
    world.placement(groups(size="2"))
    world.settle()

    assert [len(c) for c in world.pages().values()] == [2, 1]


def test_a_set_with_a_broken_selector_evicts_nobody_and_hinders_no_other() -> None:
    world = simple("a", "b")
    world.cluster_set("t")
    world.cluster("t1", {SET_LABEL: "t"})
    world.placement({})
    world.settle()
    bad = {
        "selectorType": "LabelSelector",
        "labelSelector": {"matchExpressions": [{"key": "x", "operator": "Foo"}]},
    }
    world.cluster_set("t", bad)
    world.cluster("c")
    world.cluster("t2", {SET_LABEL: "t"})
    world.settle()

    assert world.decided() == ["a", "b", "c", "t1"]
    assert satisfied(world)[2].endswith("; unreadable ManagedClusterSets: t")


CPU = {
    "scoreCoordinate": {"type": "BuiltIn", "builtIn": "ResourceAllocatableCPU"},
    "weight": 1,
}


@pytest.mark.parametrize("absurd", ["9" * 400, "9" * 5000, "1e400"], ids=lambda text: text[:6])
def test_a_cluster_with_an_absurd_quantity_scores_nothing_and_hinders_no_other(absurd: str) -> None:
    world = simple()
    for name, cpu in (("a", "1"), ("b", "4"), ("c", absurd)):
        world.cluster(name, status={"allocatable": {"cpu": cpu}, "capacity": {"cpu": "8"}})
    policy = {"mode": "Exact", "configurations": [CPU]}
    world.placement({"numberOfClusters": 1, "prioritizerPolicy": policy})
    world.settle()

    assert world.decided() == ["b"]


def test_a_plugin_that_fails_keeps_the_decisions() -> None:
    class Wild:
        name = "example.com/Wild"

        def score(self, cycle: object, feasible: object) -> dict[str, int]:
            return {"a": 1000}

    world = simple("a", "b")
    world.planner = PlacementPlanner(Plugins(DEFAULT_FILTERS, {**BUILTINS, Wild.name: Wild}))
    world.placement({})
    world.settle()
    coordinate = {"scoreCoordinate": {"type": "BuiltIn", "builtIn": Wild.name}, "weight": 1}
    world.placement({"numberOfClusters": 1, "prioritizerPolicy": {"configurations": [coordinate]}})
    world.settle()

    assert world.decided() == ["a", "b"]
    assert "example.com/Wild" in satisfied(world)[2]
    assert Coordinate(builtin=Wild.name).label == Wild.name


def test_failing_expressions_are_in_the_condition() -> None:
    world = simple("a", "b")
    world.placement({"predicates": [predicate(None, "managedCluster.nothere == 1")]})
    world.settle()

    passed = "Placement configurations check pass"
    failed = "CEL expression 'managedCluster.nothere == 1' failed on 2 clusters"
    assert world.condition("PlacementMisconfigured") == (
        "False",
        "Succeedconfigured",
        f"{passed}; {failed}, first on a: no such key: nothere",
    )


TEN = "[1,2,3,4,5,6,7,8,9,10]"
HEAVY = f"{TEN}.all(a, {TEN}.all(b, {TEN}.all(c, a + b + c > 0)))"


@pytest.mark.parametrize("profile", ["strict", "ocm"])
def test_a_placement_whose_expressions_take_too_much_is_misconfigured_and_says_how_much(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MOST_STEPS", 5_000)
    world = simple("a", "b", "c")
    asked = {"rollout-engine.io/semantics": profile}
    world.placement({}, annotations=asked)
    world.settle()
    world.placement({"predicates": [predicate(None, HEAVY)]}, annotations=asked)
    world.settle()

    assert world.decided() == (["a", "b", "c"] if profile == "strict" else [])
    status, reason, message = world.condition("PlacementMisconfigured")
    assert (status, reason) == ("True", "Misconfigured")
    assert "steps for 3 clusters, and at most 5000 are accepted" in message


@pytest.mark.parametrize("profile", ["strict", "ocm"])
def test_a_placement_with_too_many_expressions_is_misconfigured(profile: str) -> None:
    world = simple("a")
    spec = {"predicates": [predicate(None, f"managedCluster != {n}") for n in range(2_600)]}
    world.placement(spec, annotations={"rollout-engine.io/semantics": profile})
    world.settle()

    status, _, message = world.condition("PlacementMisconfigured")
    assert status == "True"
    assert "at most 64 CEL expressions in all predicates, not 2600" in message


@pytest.mark.parametrize("profile", ["strict", "ocm"])
def test_a_placement_that_is_decided_in_slices_is_decided_as_at_once(profile: str) -> None:
    world = simple("a", "b", "c")
    world.planner = PlacementPlanner(slice_steps=1_000)
    spec = {"predicates": [predicate(None, f"{HEAVY} && managedCluster.metadata.name != 'b'")]}
    world.placement(spec, annotations={"rollout-engine.io/semantics": profile})

    assert [world.plan().unfinished for _ in range(4)] == [True, True, True, False]
    world.settle()
    assert world.decided() == ["a", "c"]


# Profile ocm.

OCM = {"rollout-engine.io/semantics": "ocm"}


def test_profile_ocm_empties_the_decisions_of_a_misconfigured_placement() -> None:
    world = simple("a", "b")
    world.placement({}, annotations=OCM)
    world.settle()
    world.placement({"tolerations": [{"value": "x"}]}, annotations=OCM)
    world.settle()

    assert world.pages() == {"p-decision-1": []}
    assert world.condition("PlacementMisconfigured")[2] == (
        "TaintToleration:If the key is empty, operator must be Exists."
    )


@pytest.mark.parametrize("seconds", ["soon", "²", 1.5, True])
def test_profile_ocm_says_so_where_a_toleration_has_no_number_of_seconds(seconds: object) -> None:
    world = simple("a")
    world.placement(
        {"tolerations": [{"operator": "Exists", "tolerationSeconds": seconds}]}, annotations=OCM
    )
    world.settle()

    assert world.condition("PlacementMisconfigured")[2] == (
        "TaintToleration:tolerationSeconds is not a whole number."
    )


@pytest.mark.parametrize("spec", [{"numberOfClusters": -1}, {}])
def test_profile_ocm_writes_nothing_where_ocms_pass_ends_early(spec: Obj) -> None:
    world = simple("a")
    if not spec:
        world.cluster_set("bad", {"selectorType": "Regex"})
    world.placement(spec, annotations=OCM)

    assert world.plan().writes == ()


def test_profile_ocm_takes_an_absent_weight_for_1_as_the_crd_does() -> None:
    world = simple("a", "b")
    world.score("b", "usage", {"cpu": 5})
    configuration = {
        "scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "usage", "scoreName": "cpu"}}
    }
    policy = {"mode": "Exact", "configurations": [configuration]}
    world.placement({"numberOfClusters": 1, "prioritizerPolicy": policy}, annotations=OCM)
    world.settle()

    assert world.decided() == ["b"]
