"""OCM's own acceptance tables, the second part: whole rollouts, and the cases further to them.

Sections are those of the ManifestWorkReplicaSet spec, 9.6 and 9.7. Where strict differs from OCM the
strict answer is asserted, and the row of the semantics that asks for it is named.
"""

from rollout.clock import VirtualClock
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, PLACEMENT, PLACEMENT_DECISION, Ref, ref_of
from tests.stories.acceptance import (
    GRACE,
    MWRS,
    NOBODY,
    QUIET,
    RULES,
    SETTLE,
    available,
    mwrs,
    story,
    theirs,
)
from tests.support import make
from tests.support.story import MIN, SEC, T0, Story

# -- 9.6 integration ---------------------------------------------------------------------------


def test_a_workload_is_created_updated_and_deleted() -> None:
    clusters = ["c1", "c2", "c3"]
    labels = {"team": "payments"}
    s = story(*theirs("p", clusters), mwrs(labels=labels)).settle()
    assert sorted(s.works()) == clusters
    for work in s.works().values():
        assert labels.items() <= work["metadata"]["labels"].items()
    assert s.summary()["total"] == 3

    s.decide(make.decision(["c1", "c2"]))
    s.on(QUIET)
    assert sorted(s.works()) == ["c1", "c2"]
    assert s.summary()["total"] == 2

    s.hub.delete(MWRS)
    s.settle()
    assert s.hub.list(MANIFEST_WORK).items == ()


def test_the_status_follows_the_works() -> None:
    s = story(*theirs("p", ["c1"]), mwrs()).settle()
    assert s.said(names.PLACEMENT_ROLLED_OUT)[0] == "False"
    s.done("c1")
    found = s.summary()
    assert (found["total"], found["applied"], found["available"]) == (1, 1, 1)
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("True", "Complete")

    s.report("c1", Applied="True", Available="False", Progressing="True", Degraded="True")
    s.settle()
    found = s.summary()
    keys = ("total", "applied", "available", "degraded", "progressing")
    assert tuple(found[key] for key in keys) == (1, 1, 0, 1, 1)
    assert s.said(names.MANIFESTWORK_APPLIED) == ("False", "NotAsExpected")
    # Row 11: soaked is final for its revision, trouble later is health. OCM: False, Progressing.
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("True", "Complete")


def test_another_placement_takes_the_place_of_the_first() -> None:
    documents = [*theirs("one", ["c1", "c2"]), *theirs("two", ["c2", "c3"])]
    s = story(*documents, mwrs(placements=["one"])).settle()
    before = s.works()
    s.edit({"spec": {"placementRefs": [{"name": "two"}]}})
    s.on(QUIET)

    works = s.works()
    assert sorted(works) == ["c2", "c3"]
    labels = {w["metadata"]["labels"][names.WORK_PLACEMENT_LABEL] for w in works.values()}
    assert labels == {"two"}
    # Row 21: the work of a cluster that both select changes its label and is not made anew.
    assert works["c2"]["metadata"]["uid"] == before["c2"]["metadata"]["uid"]


SIX = [f"c{n}" for n in range(1, 7)]


def test_progressive_two_at_a_time() -> None:
    s = story(*theirs("p", SIX), mwrs(strategy=make.progressive(maxConcurrency=2))).settle()
    for n in (2, 4, 6):
        assert sorted(s.works()) == SIX[:n]
        assert s.said(names.PLACEMENT_ROLLED_OUT) == ("False", "Progressing")
        s.done(*SIX[n - 2 : n])

    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("True", "Complete")


def test_more_failures_than_tolerated_stop_it() -> None:
    strategy = make.progressive(maxConcurrency=2, maxFailures=1)
    rules = ("Progressing", "Degraded")
    s = story(*theirs("p", SIX[:3]), mwrs(strategy=strategy, rules=rules)).settle()
    for cluster in ("c1", "c2"):
        s.report(cluster, Applied="True", Progressing="True", Degraded="True")
    s.on(GRACE)

    assert sorted(s.works()) == ["c1", "c2"]
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("False", "Progressing")
    assert s.reason == "MaxFailuresExceeded"


def test_min_success_time_is_waited_for() -> None:
    """Row 8: with condition rules success settles for 15 s, so a shorter soak is 15 s."""
    strategy = make.progressive(maxConcurrency=1, minSuccessTime="20s")
    s = story(*theirs("p", ["c1", "c2"]), mwrs(strategy=strategy)).settle()
    s.done("c1")
    s.on(4 * SEC)
    assert sorted(s.works()) == ["c1"]
    s.on(1 * SEC)
    assert sorted(s.works()) == ["c1", "c2"]
    s.done("c2")
    assert s.said(names.PLACEMENT_ROLLED_OUT)[0] == "False"
    s.on(5 * SEC)
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("True", "Complete")


def test_a_deadline_and_a_budget_let_it_go_on() -> None:
    strategy = make.progressive(maxConcurrency=1, progressDeadline="5s", maxFailures=1)
    rules = ("Progressing", "Degraded")
    s = story(*theirs("p", ["c1", "c2"]), mwrs(strategy=strategy, rules=rules)).settle()
    s.report("c1", Applied="True", Progressing="True", Degraded="True")
    s.to(4 * SEC)
    assert sorted(s.works()) == ["c1"]
    s.to(5 * SEC)
    assert sorted(s.works()) == ["c1", "c2"]
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("False", "Progressing")


# -- 9.7 further cases -------------------------------------------------------------------------


def test_9_7_1_without_rules_it_finishes() -> None:
    strategy = make.progressive(maxConcurrency=1)
    s = story(*theirs("p", SIX[:3]), mwrs(strategy=strategy, rules=())).settle()
    for cluster in SIX[:3]:
        s.report(cluster, Applied="True", Available="True")
        s.settle()

    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("True", "Complete")


def test_9_7_2_a_failure_to_apply_counts() -> None:
    s = story(*theirs("p", SIX), mwrs(strategy=make.progressive(maxConcurrency=1))).settle()
    s.report("c1", Applied="False")
    s.on(GRACE)

    assert s.reason == "MaxFailuresExceeded"


def test_9_7_3_a_cluster_that_leaves_midway_takes_its_old_work_along() -> None:
    strategy = make.progressive(maxConcurrency=1)
    s = story(*theirs("p", SIX[:3]), mwrs()).settle()
    s.done(*SIX[:3])
    s.strategy(strategy)
    s.template(make.template("2", rules=RULES))
    s.settle()
    assert s.versions() == {"c1": "2", "c2": "1", "c3": "1"}
    s.decide(make.decision(["c1", "c2"]))
    s.on(QUIET)

    assert s.versions() == {"c1": "2", "c2": "1"}


def test_9_7_5_two_placements_share_a_cluster_and_the_template_changes_twice() -> None:
    documents = [*theirs("one", ["c1", "c2"]), *theirs("two", ["c2", "c3"])]
    s = story(*documents, mwrs(placements=["one", "two"])).settle()
    for version in ("2", "3"):
        s.template(make.template(version, rules=RULES))
        s.settle()

    assert s.versions() == {"c1": "3", "c2": "3", "c3": "3"}  # `works` fails for twins
    assert s.works()["c2"]["metadata"]["labels"][names.WORK_PLACEMENT_LABEL] == "one"
    assert available(s, "two") == "1 (1 / 1 clusters applied)"


def test_9_7_6_an_invalid_deadline_on_one_of_two_refs_shows_and_is_never_complete() -> None:
    clock = VirtualClock(T0)
    refs = [
        {"name": "one", "rolloutStrategy": make.everywhere()},
        {"name": "two", "rolloutStrategy": make.everywhere(progressDeadline="soon")},
    ]
    documents = [*theirs("one", ["c1"]), *theirs("two", ["c2"]), mwrs(refs=refs)]
    s = Story(documents, NOBODY, hub=MemoryHub(clock), clock=clock).settle()
    s.done("c1")

    assert s.reason == "Misconfigured"
    assert "'soon'" in s.message or '"soon"' in s.message
    assert s.said(names.PLACEMENT_VERIFIED) == ("False", "NotAsExpected")
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("False", "Progressing")
    assert sorted(s.works()) == ["c1"]


def test_9_7_7_a_name_with_dots_is_a_name() -> None:
    s = story(*theirs("p", ["c1"]), mwrs(name="a.b")).settle()
    s.report("c1", "a.b", Applied="True", Available="True", Progressing="False")
    s.on(SETTLE)

    assert s.said(names.PLACEMENT_ROLLED_OUT, "a.b") == ("True", "Complete")


def test_9_7_8_a_swap_of_clusters_is_not_complete_early() -> None:
    s = story(*theirs("p", SIX[:3]), mwrs()).settle()
    s.done(*SIX[:3])
    assert s.said(names.PLACEMENT_ROLLED_OUT)[0] == "True"
    s.decide(make.decision(["c1", "c2", "c4"]))
    s.settle()
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("False", "Progressing")
    s.on(QUIET)
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("False", "Progressing")
    s.done("c4")
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("True", "Complete")


def test_9_7_9_a_gap_in_the_group_indices_removes_nothing() -> None:
    """Row 14: every group that the decisions name counts."""
    pages = [make.decision([f"c{n}"], index=n) for n in (0, 2, 7)]
    s = story(make.placement(ours=False), *pages, mwrs()).settle()
    assert sorted(s.works()) == ["c0", "c2", "c7"]
    s.on(MIN)

    assert sorted(s.works()) == ["c0", "c2", "c7"]
    assert available(s) == "3 (3 / 3 clusters applied)"


def test_decisions_that_all_vanish_while_the_placement_stands_wait_and_then_are_believed() -> None:
    s = story(*theirs("p", SIX), mwrs()).settle()
    for obj in s.hub.list(PLACEMENT_DECISION).items:
        s.hub.delete(ref_of(PLACEMENT_DECISION, obj))
    s.on(QUIET - SEC)
    assert sorted(s.works()) == SIX
    s.on(SEC)
    assert s.works() == {}
    assert s.reason == "NoTargets"


def test_with_a_status_the_decisions_must_agree_with_it() -> None:
    """Row 15: decisions that contradict the placement's status remove nothing, however long."""
    told = {"status": make.told(("", 6, ["p-0-1"]))}
    s = story({**make.placement(ours=False), **told}, make.decision(SIX), mwrs()).settle()
    s.hub.delete(Ref(PLACEMENT_DECISION, "default/p-0-1"))
    s.on(60 * MIN)

    assert sorted(s.works()) == SIX
    assert s.reason == "TornDecisions"
    s.hub.patch_status(Ref(PLACEMENT, "default/p"), {"status": make.told()})
    s.on(QUIET)
    assert s.works() == {}
