"""What a workload knows outlives the placementRef under which it was found out."""

from datetime import timedelta
from typing import Any

import pytest

from rollout.errors import Unavailable
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.instants import rfc3339
from rollout.model.kinds import CLUSTER_CALENDAR, MANAGED_CLUSTER, MANAGED_CLUSTER_ADDON, Obj, Ref
from tests.stories.operating import BAD_2, TWO_AT_ONCE, revision, rolled_out
from tests.support import make
from tests.support.addon_story import AddOnStory, addon_documents
from tests.support.addons import CMA
from tests.support.story import HOUR, MIN, SEC, Story

ONE_AT_ONCE = make.progressive(maxConcurrency=1, maxFailures=0, minSuccessTime="10m")
RESTARTS = pytest.mark.parametrize("restarts", [False, True], ids=["it lives on", "it restarts"])


def in_two_zones(strategy: Obj, **notes: str) -> Story:
    """Placements pa and pb, each with three clusters; version 2 fails in zone a."""
    clusters = [make.cluster(f"{zone}{n}", {"zone": zone}) for zone in "ab" for n in range(3)]
    placements = [make.placement(f"p{zone}", only={"zone": zone}) for zone in "ab"]
    refs = [{"name": f"p{zone}", "rolloutStrategy": strategy} for zone in "ab"]
    fleet = [*clusters, make.cluster_set(), make.binding(), *placements]
    bad = {**BAD_2, "clusters": {"matchLabels": {"zone": "a"}}}
    return Story([*fleet, make.workload(refs=refs, annotations=notes)], {"rules": [bad]}).end()


def name_placements(story: Story, *named: str, restarts: bool = False) -> None:
    """These are its placementRefs from now on, with the strategy of the first one."""
    first, *_ = story.mwrs()["spec"]["placementRefs"]
    if restarts:
        story.engine.stop()
    story.edit({"spec": {"placementRefs": [{**first, "name": name} for name in named]}})
    if restarts:
        story.restart()


def taken_back() -> Story:
    """Placement pa has taken version 2 back; one cluster of pb has it, and is well."""
    story = in_two_zones(ONE_AT_ONCE, **{names.ROLLBACK: "Automatic"})
    story.template(make.template("2"))
    story.end()
    assert story.reason == "RolledBack"
    assert [c for c, version in story.versions().items() if version == "2"] == ["b0"]
    return story


# -- a revision that was taken back ---------------------------------------------------------------


@RESTARTS
def test_a_revision_stays_barred_when_the_placement_that_took_it_back_is_left_out(
    restarts: bool,
) -> None:
    story = taken_back()

    name_placements(story, "pb", restarts=restarts)
    story.end()

    assert story.reason == "RolledBack"
    assert story.versions() == {"b0": "2", "b1": "1", "b2": "1"}


@RESTARTS
def test_a_revision_stays_barred_when_the_placement_that_took_it_back_is_renamed(
    restarts: bool,
) -> None:
    story = taken_back()
    story.add(make.placement("pc", only={"zone": "a"}))
    story.settle()
    began = story.now

    name_placements(story, "pc", "pb", restarts=restarts)
    story.end()

    assert story.reason == "RolledBack"
    assert [line.cluster for line in story.lines if line.after >= began] == []


def test_a_retry_and_another_template_lift_a_bar_of_a_placement_that_is_gone() -> None:
    story = taken_back()
    name_placements(story, "pb")
    story.end()
    story.annotate(names.RETRY, "again")
    story.end()
    assert set(story.versions().values()) == {"2"}

    story = taken_back()
    name_placements(story, "pb")
    story.template(make.template("3"))
    story.end()
    assert set(story.versions().values()) == {"3"}


@RESTARTS
def test_a_rollback_goes_on_when_its_placement_is_renamed(restarts: bool) -> None:
    strategy = make.progressive(progressDeadline="5m", minSuccessTime="1m")
    notes = {names.ROLLBACK: "Automatic", names.ROLLBACK_CONCURRENCY: "1"}
    story = rolled_out(6, notes, strategy=strategy)
    story.add(make.placement("p2"))
    story.template(make.template("2"))
    while story.settle().reason != "RollingBack":
        story.on(SEC)
    story.on(2 * MIN)

    name_placements(story, "p2", restarts=restarts)
    story.end()

    assert story.versions() == dict.fromkeys(story.versions(), "1")
    twice = [line.cluster for line in story.lines if line.version == "2"]
    assert sorted(twice) == sorted(set(twice))


# -- what a cluster can go back to ----------------------------------------------------------------


def test_a_cluster_that_changes_its_placement_keeps_what_it_can_go_back_to() -> None:
    story = in_two_zones(TWO_AT_ONCE)
    story.template(make.template("3"))
    story.end()
    story.hub.patch(Ref(MANAGED_CLUSTER, "a0"), {"metadata": {"labels": {"zone": "b"}}})
    story.end()

    story.annotate(names.UNDO, revision(story))
    story.end()

    assert story.versions() == dict.fromkeys(story.versions(), "1")


@RESTARTS
def test_clusters_of_a_renamed_placement_keep_what_they_can_go_back_to(restarts: bool) -> None:
    story = rolled_out(4)
    story.template(make.template("3"))
    story.end()
    story.add(make.placement("p2"))
    story.settle()
    name_placements(story, "p2", restarts=restarts)
    story.end()

    story.annotate(names.UNDO, revision(story))
    story.end()

    assert story.versions() == dict.fromkeys(story.versions(), "1")


def test_whoever_undoes_to_a_revision_amid_a_rollback_is_heard() -> None:
    notes = {names.ROLLBACK: "Automatic", names.ROLLBACK_CONCURRENCY: "1"}
    story = rolled_out(6, notes)
    first = revision(story)
    story.template(make.template("3"))
    story.end()
    story.template(make.template("2"))
    while story.settle().reason != "RollingBack":
        story.on(SEC)
    waiting = {cluster for cluster, version in story.versions().items() if version == "2"}

    undo = {names.UNDO: revision(story), names.UNDO_TO: first}
    story.edit({"metadata": {"annotations": undo}})
    story.end()

    assert {story.versions()[cluster] for cluster in waiting} == {"1"}


# -- waivers --------------------------------------------------------------------------------------


def test_a_waiver_of_an_earlier_revision_does_not_count_in_a_placement_that_is_new() -> None:
    """S20."""
    notes = {names.SKIP: "c03"}
    workload = make.workload(strategy=TWO_AT_ONCE, annotations=notes)
    story = Story([*make.fleet(4), make.placement("p2"), workload]).end()
    story.template(make.template("3"))
    story.on(5 * SEC)

    name_placements(story, "p2")
    story.end()

    assert story.versions()["c03"] == "3"


# -- the removal brake ----------------------------------------------------------------------------

QUIET_DAYS: Obj = {
    "apiVersion": CLUSTER_CALENDAR.api_version,
    "kind": "ClusterCalendar",
    "metadata": {"name": "quiet-days"},
    "spec": {
        "windows": [
            {
                "name": "none",
                "action": "Deny",
                "from": "2026-01-01T01:00Z",
                "until": "2026-01-03T00:00Z",
            }
        ],
        "blocks": ["Touch"],
    },
}


def renamed_amid_quiet_days() -> Story:
    """24 clusters of p2 whose works still bear the label of p, since nothing is written."""
    clusters = [make.cluster(f"c{n:02d}", {"on": "yes"}) for n in range(24)]
    placements = [make.placement("p"), make.placement("p2", only={"on": "yes"})]
    fleet = [*clusters, make.cluster_set(), make.binding(), *placements]
    story = Story([*fleet, make.workload(), QUIET_DAYS])
    story.to(2 * HOUR)
    name_placements(story, "p2")
    story.on(HOUR)
    return story


def leave(story: Story, count: int) -> None:
    for number in range(count):
        leaving = Ref(MANAGED_CLUSTER, f"c{number:02d}")
        story.hub.patch(leaving, {"metadata": {"labels": {"on": "no"}}})


@RESTARTS
def test_the_label_of_a_placement_that_is_gone_gets_nobody_past_the_removal_brake(
    restarts: bool,
) -> None:
    """S11: nobody asked for them to go, though their works bear the old label."""
    story = renamed_amid_quiet_days()
    if restarts:
        story.engine.stop()
    leave(story, 20)
    if restarts:
        story.restart()
    story.on(HOUR)

    assert story.reason == "RemovalBrake"
    assert story.removed() == {}


def test_who_takes_a_placement_out_has_asked_for_its_clusters_to_go_whenever_that_is() -> None:
    story = in_two_zones(make.everywhere())
    story.annotate(names.PAUSED, "true")
    name_placements(story, "pb")
    story.on(timedelta(hours=1))
    assert story.removed() == {}

    story.annotate(names.PAUSED, None)
    story.end()

    assert sorted(story.removed()) == ["a0", "a1", "a2"]


class Unanswered:
    """A hub that deletes, and whose answers to that are lost."""

    def __init__(self, hub: MemoryHub) -> None:
        self._hub = hub

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hub, name)

    def delete(self, ref: Ref, uid: str | None = None, version: int | None = None) -> None:
        self._hub.delete(ref, uid, version)
        raise Unavailable(f"delete {ref}: the connection was cut")


def test_removals_whose_answers_are_lost_count_for_the_brake() -> None:
    """S11: eight of forty clusters go, and four more would be too many."""
    clusters = [make.cluster(f"c{n:02d}", {"on": "yes"}) for n in range(40)]
    fleet = [*clusters, make.cluster_set(), make.binding(), make.placement(only={"on": "yes"})]
    story = Story([*fleet, make.workload()], wrap=Unanswered).end()
    story.on(HOUR)

    leave(story, 8)
    story.on(MIN)
    leave(story, 12)
    story.on(MIN)

    assert story.reason == "RemovalBrake"
    assert len(story.removed()) == 8


def without_placements(restarts: bool) -> Story:
    """An add-on on four clusters whose only placement a person takes out."""
    story = AddOnStory(addon_documents(4, annotations={})).end()
    if restarts:
        story.engine.stop()
    story.hub.patch(CMA, {"spec": {"installStrategy": {"type": "Placements", "placements": []}}})
    if restarts:
        story.restart()
    return story.on(HOUR)


def test_an_addon_whose_last_placement_a_person_takes_out_leaves_its_clusters() -> None:
    story = without_placements(restarts=False)

    assert not story.hub.list(MANAGED_CLUSTER_ADDON).items


def test_it_is_told_how_to_release_what_no_process_saw_a_person_take_out() -> None:
    """Row 16: it stays, and the status of an add-on without placements has no place to say why."""
    story = without_placements(restarts=True)

    assert len(story.hub.list(MANAGED_CLUSTER_ADDON).items) == 4
    told = [note for note in story.notes if note.ref == CMA and note.warning]
    assert names.RELEASE_REMOVALS in told[-1].message
    until = rfc3339(story.clock.now() + HOUR)
    story.hub.patch(CMA, {"metadata": {"annotations": {names.RELEASE_REMOVALS: until}}})
    assert not story.on(MIN).hub.list(MANAGED_CLUSTER_ADDON).items
