from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollout.model.kinds import MANAGED_CLUSTER, PLACEMENT, PLACEMENT_DECISION, Obj, Ref
from rollout.model.placement import Coordinate
from rollout.placement.scheduler import DEFAULT_FILTERS, Plugins
from rollout.placement.weights import BUILTINS
from rollout.planning.decisions import LONGEST_ORDER
from rollout.planning.placements import PlacementPlanner
from rollout.planning.plan import Create, Delete, PatchStatus
from tests.placing import SET_LABEL, T0, World, simple

SECOND, TICK = timedelta(seconds=1), timedelta(microseconds=1)
ENV = {"matchLabels": {"env": "prod"}}


def predicate(labels: Obj | None = None, *expressions: str) -> Obj:
    selector: Obj = {"labelSelector": labels} if labels else {}
    if expressions:
        selector["celSelector"] = {"celExpressions": list(expressions)}
    return {"requiredClusterSelector": selector}


def groups(*names: str, size: Any = None) -> Obj:
    listed = [
        {"groupName": n, "groupClusterSelector": {"labelSelector": {"matchLabels": {"g": n}}}}
        for n in names
    ]
    strategy: Obj = {"decisionGroups": listed}
    if size is not None:
        strategy["clustersPerDecisionGroup"] = size
    return {"decisionStrategy": {"groupStrategy": strategy}}


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
    assert meta["labels"] == {
        "cluster.open-cluster-management.io/placement": "p",
        "cluster.open-cluster-management.io/decision-group-name": "",
        "cluster.open-cluster-management.io/decision-group-index": "0",
    }
    assert meta["ownerReferences"] == [
        {
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "Placement",
            "name": "p",
            "uid": "uid-of-p",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    notes = [(n.reason, n.action, n.message) for n in plan.notes]
    assert notes == [
        (
            "DecisionCreate",
            "DecisionCreated",
            "Decision p-decision-1 is created with placement p in namespace ns",
        ),
        ("ScoreUpdate", "ScoreUpdated", "a:100 b:100 "),
    ]
    world.settle()
    assert world.pages() == {"p-decision-1": ["a", "b"]}
    status = world.status()
    assert status["numberOfSelectedClusters"] == 2
    assert status["decisionGroups"] == [
        {
            "decisionGroupIndex": 0,
            "decisionGroupName": "",
            "decisions": ["p-decision-1"],
            "clusterCount": 2,
        }
    ]
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


def satisfied(world: World) -> tuple[str, str, str]:
    return world.condition("PlacementSatisfied")


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


# Writing pages.


def test_labels_of_others_stay_and_ours_and_the_owner_are_repaired() -> None:
    world = simple("a")
    world.placement({})
    world.settle()
    ref = Ref(PLACEMENT_DECISION, "ns/p-decision-1")
    meta = world.objects[ref]["metadata"]
    labels = {
        **meta["labels"],
        "theirs": "1",
        "cluster.open-cluster-management.io/decision-group-name": "x",
    }
    stale = [{**meta["ownerReferences"][0], "uid": "of-a-former-life"}]
    world.put(
        PLACEMENT_DECISION,
        {**world.objects[ref], "metadata": {**meta, "labels": labels, "ownerReferences": stale}},
    )
    world.settle()

    repaired = world.objects[ref]["metadata"]
    assert repaired["labels"]["theirs"] == "1"
    assert repaired["labels"]["cluster.open-cluster-management.io/decision-group-name"] == ""
    assert [o["uid"] for o in repaired["ownerReferences"]] == ["uid-of-p"]


def test_a_page_that_somebody_deleted_comes_back() -> None:
    world = simple("a")
    world.placement({})
    world.settle()

    assert world.remove(Ref(PLACEMENT_DECISION, "ns/p-decision-1")) == {Ref(PLACEMENT, "ns/p")}
    world.settle()
    assert world.decided() == ["a"]


def test_pages_that_another_controller_owns_are_never_deleted() -> None:
    world = simple("a")
    label = {"cluster.open-cluster-management.io/placement": "p"}
    owner = [{"kind": "Other", "name": "o", "controller": True}]
    world.put(
        PLACEMENT_DECISION,
        {
            "metadata": {
                "namespace": "ns",
                "name": "theirs",
                "labels": label,
                "ownerReferences": owner,
            }
        },
    )
    world.placement({})

    assert not [w for plan in world.settle() for w in plan.writes if isinstance(w, Delete)]


def test_a_page_without_our_label_is_adopted() -> None:
    world = simple("a")
    world.put(PLACEMENT_DECISION, {"metadata": {"namespace": "ns", "name": "p-decision-1"}})
    world.placement({})
    world.settle()

    assert world.decided() == ["a"]


specs = st.builds(
    lambda number, size, names, env: {
        **({} if number is None else {"numberOfClusters": number}),
        **groups(*names, size=size),
        "predicates": [predicate(ENV)] if env else [],
    },
    st.none() | st.integers(0, 8),
    st.sampled_from((None, 1, 2, "50%")),
    st.sampled_from(((), ("g1",), ("g2", "g1"))),
    st.booleans(),
)
labels = st.fixed_dictionaries(
    {}, optional={"g": st.sampled_from(("g1", "g2")), "env": st.just("prod")}
)
fleets = st.dictionaries(st.sampled_from([f"c{i}" for i in range(8)]), labels)


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(specs, fleets, st.booleans()), min_size=2, max_size=4))
def test_no_cluster_is_ever_missing_from_all_pages_while_they_are_rewritten(
    history: list[tuple[Obj, dict[str, dict[str, str]], bool]],
) -> None:
    world = simple()
    before: set[str] = set()
    for spec, fleet, sticky in history:
        for ref in [r for r in world.objects if r.kind.name == "ManagedCluster"]:
            if ref.key not in fleet:
                world.remove(ref)
        for name, have in fleet.items():
            world.cluster(name, have)
        order = {"rollout-engine.io/decision-order": "sticky"} if sticky else {}
        world.placement(spec, annotations=order)
        seen = [set(world.decided())] + [set(world.decided()) for _ in world.steps()]
        after = set(world.decided())

        kept = before & after
        assert all(kept <= union <= before | after for union in seen), (kept, seen)
        assert len(world.decided()) == len(after)
        assert world.status()["numberOfSelectedClusters"] == len(after)
        assert sum(g["clusterCount"] for g in world.status()["decisionGroups"]) == len(after)
        assert {p for g in world.status()["decisionGroups"] for p in g["decisions"]} == set(
            world.pages()
        )
        assert world.plan().writes == ()
        before = after


def test_gains_land_before_losses_and_deletions_come_last() -> None:
    world = simple(*(f"c{i}" for i in range(4)))
    world.placement(groups(size=1))
    world.settle()
    world.placement({})
    plan = world.plan()

    pages = [[(type(w).__name__, w.ref.name) for w in wave] for wave in plan.waves]
    assert pages == [
        [("PatchStatus", "p-decision-1")],
        [("Delete", f"p-decision-{n}") for n in (2, 3, 4)],
        [("PatchStatus", "p")],
    ]


def test_pages_that_move_up_are_written_once_each_in_their_order() -> None:
    world = simple("c0", "c1", "c2", "c3")
    world.placement(groups(size=1))
    world.settle()
    world.remove(Ref(MANAGED_CLUSTER, "c0"))

    pages = [[w.ref.name for w in wave] for wave in world.plan().waves]
    assert pages == [
        ["p-decision-1"], ["p-decision-2"], ["p-decision-3"], ["p-decision-4"], ["p"],
    ]  # fmt: skip


def test_beyond_the_longest_order_pages_are_written_twice_and_nobody_is_missing() -> None:
    names = [f"c{n:02d}" for n in range(LONGEST_ORDER + 5)]
    world = simple(*names)
    world.placement(groups(size=1))
    world.settle()
    world.remove(Ref(MANAGED_CLUSTER, "c00"))

    written = Counter(w.ref.name for w in world.plan().writes if isinstance(w, PatchStatus))
    assert set(written.values()) == {1, 2}
    assert len(world.plan().waves) == LONGEST_ORDER + 4  # and gains, losses, a page, the status
    unions = [set(world.decided()) for _ in world.steps()]
    assert all(set(names[1:]) <= union for union in unions)
    assert world.decided() == names[1:]


def test_sticky_pages_do_not_move_for_an_early_newcomer() -> None:
    world = simple("b", "c", "d")
    world.placement(groups(size=2), annotations={"rollout-engine.io/decision-order": "sticky"})
    world.settle()
    world.cluster("a")
    world.settle()

    assert list(world.pages().values()) == [["b", "c"], ["d", "a"]]


# Scores.

BY_NAME = {"prioritizerPolicy": {"mode": "Exact", "configurations": [
    {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "usage", "scoreName": "cpu"}}, "weight": 1}
]}}  # fmt: skip


def scores(world: World, name: str = "p-decision-1") -> dict[str, int | None]:
    found = world.objects[Ref(PLACEMENT_DECISION, f"ns/{name}")]["status"]["decisions"]
    return {d["clusterName"]: d.get("score") for d in found}


def test_decisions_carry_scores_and_a_zero_is_left_out() -> None:
    world = simple("a", "b")
    world.score("a", "usage", {"cpu": 7})
    world.placement(BY_NAME)
    world.settle()

    assert scores(world) == {"a": 7, "b": None}


def test_changed_scores_alone_are_written_at_most_once_per_limit() -> None:
    world = simple("a", "b")
    world.placement({**BY_NAME, "scoreRateLimit": "30s"})
    world.settle()
    world.score("a", "usage", {"cpu": 7})
    early = world.plan(now=T0 + 30 * SECOND - TICK)

    assert (early.writes, early.recheck_at) == ((), T0 + 30 * SECOND)
    world.settle(now=T0 + 30 * SECOND)
    assert scores(world) == {"a": 7, "b": None}
    assert world.status()["lastScoreUpdateTime"] == "2026-01-01T12:00:30Z"


def test_a_changed_selection_carries_the_latest_scores_at_once() -> None:
    world = simple("a", "b")
    world.placement(BY_NAME)
    world.settle()
    world.score("a", "usage", {"cpu": 7})
    world.cluster("c")
    world.settle()

    assert scores(world) == {"a": 7, "b": None, "c": None}


def test_sort_by_score_orders_within_groups() -> None:
    world = simple("a", "b", "c")
    world.score("c", "usage", {"cpu": 9})
    world.score("a", "usage", {"cpu": -9})
    world.placement({**BY_NAME, "sortBy": "Score"})
    world.settle()

    assert world.pages() == {"p-decision-1": ["c", "b", "a"]}


def told(world: World) -> list[tuple[str, str]]:
    return [(n.reason, n.message) for n in world.plan().notes if n.reason != "ScoreUpdate"]


def test_pages_that_change_together_are_told_of_together() -> None:
    world = simple(*(f"c{n:02d}" for n in range(12)))
    world.placement(groups(size=1))
    end = "with placement p in namespace ns"
    ten = ", ".join(f"p-decision-{n}" for n in range(1, 11))
    assert told(world) == [("DecisionCreate", f"Decisions {ten} and 2 more are created {end}")]

    world.settle()
    for name in ("c10", "c11"):
        world.remove(Ref(MANAGED_CLUSTER, name))
    gone = "Decisions p-decision-11, p-decision-12 are deleted"
    assert told(world) == [("DecisionDelete", f"{gone} {end}")]


def test_in_profile_ocm_every_page_is_told_of_on_its_own() -> None:
    world = simple("a", "b")
    world.placement(groups(size=1), annotations={"rollout-engine.io/semantics": "ocm"})
    of = [f"Decision p-decision-{n} is" for n in (1, 2)]
    end = "with placement p in namespace ns"
    assert told(world) == [
        *(("DecisionCreate", f"{page} created {end}") for page in of),
        *(("DecisionUpdate", f"{page} updated {end}") for page in of),
    ]


def test_the_score_text_is_cut_at_1000_characters() -> None:
    world = simple(*(f"cluster-with-a-long-name-{i:04}" for i in range(60)))
    world.placement({})
    text = next(n.message for n in world.plan().notes if n.reason == "ScoreUpdate")

    assert len(text) <= 1006
    assert text.endswith(":100 ......")


def test_an_expired_score_is_looked_at_right_after_its_end() -> None:
    world = simple("a", "b")
    world.score("b", "usage", {"cpu": 50}, until="2026-01-01T12:05:00Z")
    world.placement({**BY_NAME, "numberOfClusters": 1})
    world.settle()
    end = T0 + timedelta(minutes=5)

    assert world.decided() == ["b"]
    assert world.plan().recheck_at == end + TICK
    world.settle(now=end + TICK)
    assert world.decided() == ["a"]
    assert world.plan(now=end + TICK).writes == ()


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
        "b: not selected: the cut came before it; rank 2, total 100 (Balance 100 x 1, Steady 0 x 1)",
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
