"""Bad days that people make: edits midway, pauses, skips, works changed by hand, names too long.

Each story has its lines in docs/bad-days.md.
"""

import pytest

from rollout.clock import VirtualClock
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.content import content_hash
from rollout.model.kinds import MANIFEST_WORK, REPLICA_SET, Ref, ref_of
from tests.support import make
from tests.support.story import MIN, SEC, T0, Story, only, said, version_of

FAILING = {"defaults": {"outcome": "fail"}}


def test_a_template_changed_midway_overwrites_what_is_in_flight_first() -> None:
    strategy = make.progressive(maxConcurrency=2, minSuccessTime="1m")
    story = Story([*make.fleet(5), make.workload(strategy=strategy)]).to(80 * SEC)
    assert sorted(story.touched()) == ["c00", "c01", "c02", "c03"]
    story.template(make.template("2"))
    story.end()

    assert [clusters for _, clusters in story.waves("2")] == [
        ["c02", "c03"],
        ["c00", "c01"],
        ["c04"],
    ]
    assert story.waves("2")[0][0] == 80 * SEC
    assert "c04" not in story.touched("1")
    assert said(story) == ("Complete", 0)


def test_a_change_from_0_to_false_reaches_the_clusters() -> None:
    """To Python the two are equal; the patch once said nothing, and the rollout never ended."""
    before, after = make.template(), make.template()
    before["workload"]["manifests"][0]["data"]["on"] = 0
    after["workload"]["manifests"][0]["data"]["on"] = False
    story = Story([*make.fleet(2), make.workload(spec=before)]).end()
    story.template(after)
    story.end()

    assert said(story) == ("Complete", 0)
    for work in story.works().values():
        assert work["spec"]["workload"]["manifests"][0]["data"]["on"] is False


def test_paused_means_that_nothing_is_touched_removed_or_restored() -> None:
    strategy = make.progressive(maxConcurrency=2)
    story = Story([*make.fleet(6), make.workload(strategy=strategy)]).to(MIN)
    before = story.versions()
    story.annotate(names.PAUSED, "true")
    story.settle()
    story.lose("c00")
    story.hub.patch(
        Ref(MANIFEST_WORK, f"c01/{story.works()['c01']['metadata']['name']}"),
        {"spec": make.template("by hand")},
    )
    story.end()

    assert said(story) == ("Paused", 4)
    assert story.message == f"paused by annotation {names.PAUSED}; set it to false to resume"
    assert story.versions() == {**before, "c01": "by hand"}

    story.annotate(names.PAUSED, "false")
    story.end()
    assert said(story) == ("Complete", 0)
    assert story.versions() == {f"c0{n}": "1" for n in range(1, 6)}


def test_soaks_and_deadlines_run_on_while_paused() -> None:
    strategy = make.progressive(maxConcurrency=1, minSuccessTime="1m", progressDeadline="2m")
    agents = only("c01", outcome="silent")
    story = Story([*make.fleet(3), make.workload(strategy=strategy)], agents).to(10 * SEC)
    story.annotate(names.PAUSED, "true")
    story.to(10 * MIN)
    story.annotate(names.PAUSED, None)
    story.settle()

    assert story.touched()["c01"] == 10 * MIN
    story.annotate(names.PAUSED, "true")
    story.to(20 * MIN)
    story.annotate(names.PAUSED, None)
    story.settle()
    assert said(story) == ("MaxFailuresExceeded", 1)


def test_a_skipped_cluster_is_not_waited_for_and_not_touched() -> None:
    strategy = make.progressive(maxConcurrency=1)
    documents = [
        *make.fleet(3),
        make.workload(strategy=strategy, annotations={names.SKIP: "c00,c02"}),
    ]
    story = Story(documents).end()

    assert said(story) == ("Complete", 0)
    assert story.message == "1 clusters succeeded, 2 skipped"
    assert sorted(story.works()) == ["c01"]

    story.annotate(names.SKIP, "c00")
    assert said(story.end()) == ("Complete", 0)
    assert sorted(story.works()) == ["c01", "c02"]


def test_works_deleted_and_edited_by_hand_are_put_back_without_a_new_rollout() -> None:
    strategy = make.progressive(maxConcurrency=1, minSuccessTime="5m")
    story = Story([*make.fleet(3), make.workload(strategy=strategy)]).end()
    start = story.on(MIN).now
    works = {cluster: obj["metadata"]["name"] for cluster, obj in story.works().items()}
    story.hub.delete(Ref(MANIFEST_WORK, f"c00/{works['c00']}"))
    story.hub.patch(
        Ref(MANIFEST_WORK, f"c01/{works['c01']}"),
        {
            "metadata": {"labels": {"theirs": "kept"}, "annotations": {"theirs": "kept"}},
            "spec": make.template("by hand"),
        },
    )
    story.on(5 * SEC)

    assert set(story.versions().values()) == {"1"}
    names_now = {cluster: obj["metadata"]["name"] for cluster, obj in story.works().items()}
    assert names_now == works
    assert story.works()["c01"]["metadata"]["labels"]["theirs"] == "kept"
    assert story.works()["c01"]["metadata"]["annotations"]["theirs"] == "kept"
    assert said(story) == ("Complete", 0)
    assert story.now == start + 5 * SEC


def test_drift_is_put_back_while_halted_too() -> None:
    strategy = make.progressive(maxConcurrency=1)
    story = Story([*make.fleet(3), make.workload(strategy=strategy)], FAILING).end()
    assert said(story) == ("MaxFailuresExceeded", 1)
    name = story.works()["c00"]["metadata"]["name"]
    story.hub.patch(Ref(MANIFEST_WORK, f"c00/{name}"), {"spec": make.template("by hand")})
    story.settle()

    assert story.versions() == {"c00": "1"}


@pytest.mark.parametrize("restarted", [False, True])
def test_profile_ocm_puts_no_drift_back_while_the_strategy_cannot_be_read(restarted: bool) -> None:
    """It never does; a process that begins then knows the profile, though not yet the terms."""
    clock = VirtualClock(T0)
    documents = [*make.fleet(3), make.workload(annotations={names.SEMANTICS: "ocm"})]
    story = Story(documents, hub=MemoryHub(clock), clock=clock).end()  # it takes any spec
    story.strategy(make.progressive(minSuccessTime="soon"))
    story.on(MIN)
    name = story.works()["c00"]["metadata"]["name"]
    if restarted:
        story.engine.stop()
    story.hub.patch(Ref(MANIFEST_WORK, f"c00/{name}"), {"spec": make.template("by hand")})
    if restarted:
        story.restart()
    story.on(MIN)

    assert said(story) == ("Misconfigured", 1)
    assert story.versions() == {"c00": "by hand", "c01": "1", "c02": "1"}


@pytest.mark.parametrize("restarted", [False, True])
def test_a_work_whose_labels_were_taken_off_is_known_by_its_name(restarted: bool) -> None:
    story = Story([*make.fleet(2), make.workload()]).end()
    (work,) = story.hub.list(MANIFEST_WORK, "c00").items
    if restarted:
        story.engine.stop()
    bare = {"metadata": {"labels": None, "annotations": None}}
    story.hub.patch(ref_of(MANIFEST_WORK, work), bare)
    if restarted:
        story.restart()
    story.end()

    (restored,) = story.hub.list(MANIFEST_WORK, "c00").items
    assert restored["metadata"]["labels"] == work["metadata"]["labels"]
    story.template(make.template("2"))
    story.end()
    assert (story.reason, set(story.versions().values())) == ("Complete", {"2"})
    story.hub.delete(Ref(REPLICA_SET, "default/web"))
    story.end()
    assert story.hub.list(MANIFEST_WORK).items == ()


def test_drift_on_an_older_revision_is_put_back_to_that_revision() -> None:
    strategy = make.progressive(maxConcurrency=1, minSuccessTime="10m")
    story = Story([*make.fleet(3), make.workload(strategy=strategy)]).end()
    story.template(make.template("2"))
    story.on(MIN)
    assert story.versions() == {"c00": "2", "c01": "1", "c02": "1"}
    name = story.works()["c02"]["metadata"]["name"]
    story.hub.patch(Ref(MANIFEST_WORK, f"c02/{name}"), {"spec": make.template("by hand")})
    story.settle()

    assert story.versions() == {"c00": "2", "c01": "1", "c02": "1"}
    revision = story.works()["c02"]["metadata"]["annotations"][names.REVISION]
    assert revision == content_hash(make.template("1"))


def test_two_workloads_with_long_names_in_two_namespaces_never_meet() -> None:
    name = "a-very-long-name-for-a-workload-" * 6 + "x"
    documents = [
        *make.fleet(2, namespace="team-a"),
        make.binding("team-b"),
        make.placement(namespace="team-b"),
        make.workload(name, "team-a", version="a"),
        make.workload(name, "team-b", version="b"),
    ]
    story = Story(documents).end()

    for team in ("a", "b"):
        works = story.works(name, f"team-{team}")
        assert {version_of(work) for work in works.values()} == {team}
        assert sorted(works) == ["c00", "c01"]
        for work in works.values():
            labels, notes = work["metadata"]["labels"], work["metadata"]["annotations"]
            assert len(labels[names.WORK_OWNER_LABEL]) <= 63
            assert notes[names.OWNER] == f"team-{team}/{name}"
            assert len(work["metadata"]["name"]) <= 121
    assert len(story.hub.list(MANIFEST_WORK).items) == 4
