"""How are pages of decisions rewritten? Nobody ever missing, few writes, and the scores they carry."""

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollout.model.kinds import MANAGED_CLUSTER, PLACEMENT, PLACEMENT_DECISION, Obj, Ref
from rollout.model.writes import Delete, PatchStatus
from rollout.planning.decisions import LONGEST_ORDER
from tests.support.placing import ENV, SECOND, T0, TICK, World, groups, predicate, simple

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


@pytest.mark.parametrize("newcomers", ["z", "xyz"])
def test_a_page_that_only_loses_clusters_waits_until_the_newcomers_are_there(
    newcomers: str,
) -> None:
    world = simple()
    for name in "abcd":
        world.cluster(name, {"g": "g1", "env": "prod"})
    world.cluster("m", {"g": "g2", "env": "prod"})
    world.placement(
        {**groups("g1", "g2", "g3"), "numberOfClusters": 5, "predicates": [predicate(ENV)]}
    )
    world.settle()
    for name in "abc"[: len(newcomers)]:
        world.cluster(name, {"g": "g1"})  # it matches no more
    world.cluster("m", {"g": "g3", "env": "prod"})
    for name in newcomers:
        world.cluster(name, {"g": "g2", "env": "prod"})

    fewest = 5
    for write in world.plan().writes:
        world.write(write)
        fewest = min(fewest, len(set(world.decided())))

    assert fewest == 5
    assert set(newcomers) < set(world.decided())


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


# Scores.

BY_SCORE = {"sortBy": "Score", "prioritizerPolicy": {"mode": "Exact", "configurations": [
    {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "usage", "scoreName": "cpu"}}, "weight": 1}
]}}  # fmt: skip


def scores(world: World, name: str = "p-decision-1") -> dict[str, int | None]:
    found = world.objects[Ref(PLACEMENT_DECISION, f"ns/{name}")]["status"]["decisions"]
    return {d["clusterName"]: d.get("score") for d in found}


def test_decisions_carry_scores_and_a_zero_is_left_out() -> None:
    world = simple("a", "b")
    world.score("a", "usage", {"cpu": 7})
    world.placement(BY_SCORE)
    world.settle()

    assert scores(world) == {"a": 7, "b": None}


@pytest.mark.parametrize("before", ["ClusterName", "Score"])
def test_decisions_carry_no_scores_where_clusters_go_by_name(before: str) -> None:
    """So a takeover rewrites none of OCM's pages; scores of another time are taken away."""
    world = simple("a", "b")
    world.score("a", "usage", {"cpu": 7})
    for hours, order in enumerate((before, "ClusterName")):
        world.placement({**BY_SCORE, "sortBy": order})
        world.settle(now=T0 + hours * 3600 * SECOND)
    assert scores(world) == {"a": None, "b": None}
    assert ("lastScoreUpdateTime" in world.status()) is (before == "Score")


def test_changed_scores_alone_are_written_at_most_once_per_limit() -> None:
    world = simple("a", "b")
    world.placement({**BY_SCORE, "scoreRateLimit": "30s"})
    world.settle()
    world.score("a", "usage", {"cpu": 7})
    early = world.plan(now=T0 + 30 * SECOND - TICK)

    assert (early.writes, early.recheck_at) == ((), T0 + 30 * SECOND)
    world.settle(now=T0 + 30 * SECOND)
    assert scores(world) == {"a": 7, "b": None}
    assert world.status()["lastScoreUpdateTime"] == "2026-01-01T12:00:30Z"


def test_a_limit_beyond_the_end_of_time_waits_for_ever() -> None:
    world = simple("a", "b")
    world.placement({**BY_SCORE, "scoreRateLimit": "999999999h"})
    world.settle()
    world.score("a", "usage", {"cpu": 7})
    plan = world.plan()

    assert (plan.writes, plan.recheck_at) == ((), None)


def test_a_changed_selection_carries_the_latest_scores_at_once() -> None:
    world = simple("a", "b")
    world.placement(BY_SCORE)
    world.settle()
    world.score("a", "usage", {"cpu": 7})
    world.cluster("c")
    world.settle()

    assert scores(world) == {"a": 7, "b": None, "c": None}


def test_sort_by_score_orders_within_groups() -> None:
    world = simple("a", "b", "c")
    world.score("c", "usage", {"cpu": 9})
    world.score("a", "usage", {"cpu": -9})
    world.placement(BY_SCORE)
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
    world.placement({**BY_SCORE, "numberOfClusters": 1})
    world.settle()
    end = T0 + timedelta(minutes=5)

    assert world.decided() == ["b"]
    assert world.plan().recheck_at == end + TICK
    world.settle(now=end + TICK)
    assert world.decided() == ["a"]
    assert world.plan(now=end + TICK).writes == ()
