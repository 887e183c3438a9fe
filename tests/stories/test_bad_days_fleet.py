"""Bad days of placements and of the fleet: what one sees, and what ends it.

Each story has its lines in docs/bad-days.md.
"""

import pytest

from rollout.analysis.clusters import explain_cluster
from rollout.analysis.sentences import share_facts
from rollout.analysis.snapshot import snapshot_of
from rollout.errors import Denied, HubError, Invalid
from rollout.model import names
from rollout.model.kinds import PLACEMENT, PLACEMENT_DECISION, Obj, Ref
from tests.support import make
from tests.support.story import HOUR, MIN, SEC, SETTLED, T0, US, Story, only, said

# -- placements --------------------------------------------------------------------------------


def test_a_placement_that_does_not_exist_holds_and_one_that_comes_ends_it() -> None:
    documents = [*make.clusters(2), make.cluster_set(), make.binding(), make.workload()]
    story = Story(documents).end()

    assert said(story) == ("PlacementNotFound", 4)
    assert story.said(names.PLACEMENT_VERIFIED) == ("False", "PlacementDecisionNotFound")
    assert story.message == (
        "placement p: placement default/p does not exist; create it, or correct the placementRef"
    )

    story.add(make.placement())
    assert said(story.end()) == ("Complete", 0)


def test_other_placements_of_the_workload_go_on_without_the_one_that_is_missing() -> None:
    story = Story([*make.fleet(2), make.workload(placements=["missing", "p"])]).end()

    assert said(story) == ("PlacementNotFound", 4)
    assert sorted(story.works()) == ["c00", "c01"]


def test_a_placement_deleted_midway_removes_nothing_and_touches_nothing() -> None:
    strategy = make.progressive(maxConcurrency=2)
    story = Story([*make.fleet(6), make.workload(strategy=strategy)]).to(30 * SEC)
    before = story.versions()
    assert sorted(before) == ["c00", "c01", "c02", "c03"]
    story.hub.delete(Ref(PLACEMENT, "default/p"))
    story.end()

    assert said(story) == ("PlacementNotFound", 4)
    assert story.versions() == before
    assert story.hub.list(PLACEMENT_DECISION).items == ()


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted meanwhile"])
def test_a_placement_deleted_midway_and_made_anew_goes_on_where_it_was(restarted: bool) -> None:
    strategy = make.progressive(maxConcurrency=2)
    story = Story([*make.fleet(6), make.workload(strategy=strategy)]).to(MIN)
    before = story.touched()
    story.hub.delete(Ref(PLACEMENT, "default/p"))
    story.end()
    if restarted:
        story.restart().end()
        assert said(story) == ("PlacementNotFound", 4)
    story.add(make.placement())
    story.end()

    assert said(story) == ("Complete", 0)
    assert story.removed() == {}
    assert {c: at for c, at in story.touched().items() if c in before} == before
    assert len(story.lines) == 6


def test_a_placement_that_selects_nothing_is_never_complete() -> None:
    documents = [*make.fleet(2), make.workload()]
    documents[-2] = make.placement(only={"tier": "gold"})
    story = Story(documents).end()

    assert said(story) == ("NoTargets", 4)
    assert story.said(names.PLACEMENT_VERIFIED) == ("False", "PlacementDecisionEmpty")
    assert story.said(names.PLACEMENT_ROLLED_OUT) == ("False", "Progressing")
    assert story.said(names.MANIFESTWORK_APPLIED) == ("False", "PlacementDecisionEmpty")

    story.add(make.cluster("gold", {"tier": "gold"}))
    assert said(story.end()) == ("Complete", 0)


def torn_documents(told: Obj) -> list[Obj]:
    """Decisions by others: c00, c01 on a page, and a placement status that says ``told``."""
    placement = {**make.placement(ours=False), "status": told}
    return [*make.clusters(4), placement, make.decision(["c00", "c01"]), make.workload()]


def test_torn_decisions_are_not_acted_upon_until_they_agree_with_the_placement() -> None:
    story = Story(torn_documents(make.told(("", 3, ["p-0-1"])))).end()

    assert said(story) == ("TornDecisions", 3)
    assert "group 0 '' has 2 clusters on 1 pages, its status says 3 on 1" in story.message
    assert story.works() == {}

    page = Ref(PLACEMENT_DECISION, "default/p-0-1")
    clusters = ("c00", "c01", "c02")
    story.hub.patch_status(page, {"status": make.decision(clusters)["status"]})
    story.end()
    assert said(story) == ("Complete", 0)
    assert sorted(story.works()) == ["c00", "c01", "c02"]


def test_a_deselected_cluster_keeps_its_work_until_decisions_have_been_still_for_10_s() -> None:
    documents = torn_documents(make.told(("", 2, ["p-0-1"])))
    story = Story(documents).end()
    page, placement = Ref(PLACEMENT_DECISION, "default/p-0-1"), Ref(PLACEMENT, "default/p")
    start = story.on(MIN).now
    story.hub.patch_status(page, {"status": make.decision(["c00"])["status"]})
    story.hub.patch_status(placement, {"status": make.told(("", 1, ["p-0-1"]))})

    story.to(start + 10 * SEC - US)
    assert sorted(story.works()) == ["c00", "c01"]
    story.to(start + 10 * SEC)
    assert "deletionTimestamp" in story.works()["c01"]["metadata"]
    story.end()
    assert sorted(story.works()) == ["c00"]


# -- the fleet ---------------------------------------------------------------------------------


def test_a_cluster_deleted_midway_is_simply_gone() -> None:
    strategy = make.progressive(maxConcurrency=1, minSuccessTime="1m")
    story = Story([*make.fleet(3), make.workload(strategy=strategy)]).to(30 * SEC)
    story.lose("c00")
    story.end()

    assert said(story) == ("Complete", 0)
    assert sorted(story.works()) == ["c01", "c02"]
    assert story.touched()["c01"] == 30 * SEC
    assert story.summary()["desiredTotal"] == 2


def lost_in_flight() -> Story:
    """The first canary was not Available when it left, and its rollout was not at its end."""
    strategy = make.progressive(mandatory=["canary"], minSuccessTime="5m")
    agents = only("c00", offline=[{"from": "1m"}], availability="Unknown")
    story = Story([*make.fleet(4, canary=2), make.workload(strategy=strategy)], agents).to(2 * MIN)
    story.lose("c00")
    return story.end()


def test_a_cluster_lost_in_flight_is_a_failure_until_the_revision_changes() -> None:
    """It was not Available when it left: losing clusters can never open a gate."""
    story = lost_in_flight()

    assert said(story) == ("MaxFailuresExceeded", 1)
    assert "1 failed in the whole fleet, 0 tolerated" in story.message
    assert sorted(story.touched()) == ["c00", "c01"]

    story.restart().end()
    assert said(story) == ("MaxFailuresExceeded", 1)

    story.template(make.template("2"))
    assert said(story.end()) == ("Complete", 0)


def test_who_asks_about_a_lost_cluster_reads_that_it_was_lost_and_counts_as_failed() -> None:
    story = lost_in_flight()

    explained = explain_cluster(snapshot_of(story.hub, story.clock.now()), "c00")

    assert explained is not None
    facts = dict(share_facts(explained.shares[0], explained.now))
    assert facts["Not selected"]
    assert (facts["Stage"], facts["Phase"], facts["Reason"]) == ("canary #0", "✖ Lost", "Lost")
    assert facts["Waiting for"].endswith("until then it counts as failed")


def test_a_lost_cluster_that_comes_back_is_lost_no_more() -> None:
    strategy = make.progressive(mandatory=["canary"], minSuccessTime="5m")
    window = [{"from": "1m", "to": "3m"}]
    agents = only("c00", offline=window, availability="Unknown")
    story = Story([*make.fleet(4, canary=2), make.workload(strategy=strategy)], agents).to(2 * MIN)
    story.lose("c00")
    story.to(10 * MIN)
    assert said(story) == ("MaxFailuresExceeded", 1)

    story.add(make.cluster("c00", {make.GROUP: "canary"}))
    assert said(story.end()) == ("Complete", 0)
    assert len(story.works()) == 4


def test_many_clusters_going_at_once_though_nobody_edited_anything_are_held_by_the_brake() -> None:
    story = Story([*make.fleet(30), make.workload()]).end()
    story.on(HOUR)
    for n in range(11):
        story.lose(f"c{n:02d}")
    story.end()

    assert said(story) == ("RemovalBrake", 4)
    assert story.message.startswith("11 of 30 clusters would lose the workload within 10 minutes")
    assert names.RELEASE_REMOVALS in story.message
    assert len(story.works()) == 30

    until = (T0 + story.now + 5 * MIN).strftime("%Y-%m-%dT%H:%M:%SZ")
    story.annotate(names.RELEASE_REMOVALS, until)
    story.end()
    assert said(story) == ("Complete", 0)
    assert len(story.works()) == 19


def test_the_brake_does_not_hold_what_a_person_edited() -> None:
    documents = make.clusters(30)
    for n, each in enumerate(documents):
        each["metadata"]["labels"]["tier"] = "gold" if n < 5 else "tin"
    story = Story(
        [*documents, make.cluster_set(), make.binding(), make.placement(), make.workload()]
    ).end()
    story.on(HOUR)
    spec = make.placement(only={"tier": "gold"})["spec"]
    story.hub.patch(Ref(PLACEMENT, "default/p"), {"spec": spec})
    story.end()

    assert said(story) == ("Complete", 0)
    assert len(story.works()) == 5


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted meanwhile"])
def test_the_brake_does_not_hold_what_goes_because_a_placement_ref_was_exchanged(
    restarted: bool,
) -> None:
    documents = make.clusters(30)
    for n, each in enumerate(documents):
        each["metadata"]["labels"]["side"] = "left" if n < 15 else "right"
    sides = [make.placement(side, only={"side": side}) for side in ("left", "right")]
    workload = make.workload(placements=["left"])
    story = Story([*documents, make.cluster_set(), make.binding(), *sides, workload]).end()
    story.on(HOUR)
    if restarted:
        story.engine.stop()
    story.edit({"spec": {"placementRefs": [{"name": "right"}]}})
    if restarted:
        story.restart()
    story.end()

    assert said(story) == ("Complete", 0)
    assert sorted(story.works()) == [f"c{n:02d}" for n in range(15, 30)]


def test_the_brake_counts_what_went_before_a_restart() -> None:
    story = Story([*make.fleet(40), make.workload()]).end()
    story.on(HOUR)
    story.lose(*(f"c{n:02d}" for n in range(4)))
    story.on(MIN).restart().settle()
    story.lose(*(f"c{n:02d}" for n in range(4, 8)))
    story.on(MIN)
    assert len(story.works()) == 32
    story.lose("c08", "c09", "c10")
    story.on(MIN)
    assert said(story) == ("RemovalBrake", 4)
    assert len(story.works()) == 32
    story.end()
    assert said(story) == ("Complete", 0)
    assert len(story.works()) == 29


@pytest.mark.parametrize(
    "refusal",
    [
        Denied("works is forbidden"),
        Invalid("unable to create new content in namespace c01 because it is being terminated"),
    ],
    ids=["403", "a terminating namespace"],
)
def test_a_cluster_whose_namespace_refuses_writes_is_a_failure_until_it_takes_them(
    refusal: HubError,
) -> None:
    strategy = make.progressive(maxFailures=1)
    story = Story([*make.fleet(3), make.workload(strategy=strategy)])
    story.denied["c01"] = refusal
    story.to(MIN - US)
    assert said(story) == ("RollingOut", 3)

    story.to(MIN)
    assert said(story) == ("CompleteWithFailures", 5)
    assert any("c01 (WriteRejected) failed" in note.message for note in story.notes)

    story.denied.clear()
    story.to(HOUR)
    assert said(story) == ("Complete", 0)
    assert sorted(story.works()) == ["c00", "c01", "c02"]


def test_a_refused_write_is_tried_again_for_as_long_as_it_takes() -> None:
    """It once was tried for two minutes and then forgotten, where there was no deadline."""
    story = Story([*make.fleet(3), make.workload(strategy=make.progressive(maxFailures=1))])
    story.denied["c01"] = Denied("no")
    story.to(48 * HOUR)
    story.denied.clear()
    story.on(5 * MIN + SETTLED)

    assert said(story) == ("Complete", 0)


def test_after_a_restart_nobody_takes_the_clusters_of_a_placement_that_is_gone() -> None:
    strategy = make.progressive(maxConcurrency=1)
    workload = make.workload(placements=("p", "q"), strategy=strategy)
    story = Story([*make.fleet(4), make.placement("q"), workload]).end()
    story.hub.delete(Ref(PLACEMENT, "default/p"))
    for obj in story.hub.list(PLACEMENT_DECISION).items:
        if obj["metadata"]["labels"][names.PLACEMENT_LABEL] == "p":
            story.hub.delete(Ref(PLACEMENT_DECISION, f"default/{obj['metadata']['name']}"))
    story.end()
    story.restart().end()
    story.template(make.template("2"))
    story.end()

    assert story.reason == "PlacementNotFound"
    assert set(story.versions().values()) == {"1"}
    owners = {o["metadata"]["labels"][names.WORK_PLACEMENT_LABEL] for o in story.works().values()}
    assert owners == {"p"}
