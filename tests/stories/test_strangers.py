"""Record pages and kept revisions that somebody else wrote or changed are not believed, and are put right.

One that bears our names in another namespace says nothing, and is in nobody's way.
"""

import json
from contextlib import suppress
from typing import Any

import pytest

from rollout.analysis.clusters import explain_cluster
from rollout.analysis.sentences import share_facts
from rollout.analysis.snapshot import snapshot_of
from rollout.clock import VirtualClock
from rollout.errors import Gone
from rollout.hub.admission import admit
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.content import content_hash
from rollout.model.kinds import (
    MANIFEST_WORK,
    REPLICA_SET,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.operate import Who, undo
from rollout.planning.revisions import read_revision, revision_ref
from rollout.rollouts.record import CLUSTERS, page_object, page_ref, record_id
from tests.stories.test_values import story as valued
from tests.stories.test_values import values
from tests.support import make
from tests.support.story import HOUR, MIN, SEC, T0, Story

ONE_BY_ONE = make.progressive(maxConcurrency=1, progressDeadline="24h")
NOBODY = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "nobody"}]


def copied(story: Story, kind: Kind, obj: Obj, **more: object) -> None:
    """The same object in a stranger's namespace, but for what is said here."""
    meta = {key: obj["metadata"].get(key) for key in ("name", "labels", "annotations")}
    head = {"apiVersion": kind.api_version, "kind": kind.name}
    owners = more.pop("owners", [])
    meta = {**meta, "namespace": "evil", "ownerReferences": owners}
    story.hub.create(Ref(kind, f"evil/{meta['name']}"), {**head, "metadata": meta, **more})


def test_a_template_of_theirs_is_never_restored() -> None:
    story = Story([*make.fleet(3), make.workload(strategy=ONE_BY_ONE)]).end()
    (kept,) = story.hub.list(ROLLOUT_REVISION).items
    story.template(make.template("2"))
    story.settle()
    assert story.versions()["c02"] == "1"

    copied(story, ROLLOUT_REVISION, kept, revision=1, template=make.template("666"))
    story.hub.delete(ref_of(MANIFEST_WORK, story.works()["c02"]))
    story.on(5 * SEC)

    assert story.versions()["c02"] == "1"


def test_a_kept_template_that_was_altered_is_none() -> None:
    story = Story([*make.fleet(3), make.workload(strategy=ONE_BY_ONE)]).end()
    (kept,) = story.hub.list(ROLLOUT_REVISION).items
    story.template(make.template("2"))
    story.settle()

    story.hub.patch(ref_of(ROLLOUT_REVISION, kept), {"template": make.template("666")})
    story.hub.delete(ref_of(MANIFEST_WORK, story.works()["c02"]))
    story.on(5 * SEC)

    assert "666" not in story.versions().values()


def test_a_revision_that_somebody_made_under_a_name_of_ours_makes_way_and_is_told_once() -> None:
    story = Story([*make.fleet(3), make.workload(strategy=make.everywhere())]).end()
    second = content_hash(make.template("2"))
    ref = revision_ref(Ref(REPLICA_SET, "default/web"), second)
    head = {"apiVersion": ROLLOUT_REVISION.api_version, "kind": ROLLOUT_REVISION.name}
    meta: Obj = {"namespace": "default", "name": ref.name}
    meta["managedFields"] = [{"manager": "mallory", "time": "2026-01-01T00:00:00Z"}]
    story.hub.create(
        ref, {**head, "metadata": meta, "revision": 7, "template": make.template("666")}
    )
    story.on(MIN)
    assert repairs(story, "RevisionRepaired") == []

    story.template(make.template("2"))
    story.end()

    assert read_revision(story.hub.get(ref)) is not None
    (told,) = repairs(story, "RevisionRepaired")
    assert told == (
        f"RolloutRevision {ref.name} was not a revision of this workload and was written by mallory; "
        "it is deleted and written anew"
    )


def test_the_present_revision_that_somebody_edits_is_written_anew_and_told_once() -> None:
    story = Story([*make.fleet(3), make.workload(strategy=make.everywhere())]).end()
    (kept,) = story.hub.list(ROLLOUT_REVISION).items

    story.hub.patch(ref_of(ROLLOUT_REVISION, kept), {"template": make.template("666")})
    story.on(MIN)

    (after,) = story.hub.list(ROLLOUT_REVISION).items
    assert after["template"] == kept["template"]
    (told,) = repairs(story, "RevisionRepaired")
    assert kept["metadata"]["name"] in told


def edits(kept: Obj) -> dict[str, Obj]:
    """What somebody may do to a kept revision."""
    return {
        "another template": {"template": make.template("666")},
        "another number": {"revision": kept["revision"] + 7},
        "another owner": {"metadata": {"ownerReferences": NOBODY}},
        "no label": {"metadata": {"labels": None}},
        "no template": {"template": None},
    }


def two_revisions(**more: Any) -> tuple[Story, Obj]:
    """Version 2 is rolled out; what is kept of version 1."""
    workload = make.workload(strategy=make.everywhere())
    story = Story([*make.fleet(3), workload], **more).end()
    (kept,) = story.hub.list(ROLLOUT_REVISION).items
    story.template(make.template("2"))
    return story.end(), kept


def says(kept: Obj) -> Obj:
    """What a revision says, but for what each object of the hub has for itself."""
    meta = {k: kept["metadata"].get(k) for k in ("labels", "annotations", "ownerReferences")}
    return {**{k: v for k, v in kept.items() if k != "metadata"}, "metadata": meta}


@pytest.mark.parametrize("edit", edits({"revision": 1}))
def test_an_earlier_revision_that_somebody_edits_is_put_back_and_told_at_once(edit: str) -> None:
    story, kept = two_revisions()
    ref = ref_of(ROLLOUT_REVISION, kept)

    story.hub.patch(ref, edits(kept)[edit])
    story.on(2 * SEC)

    assert says(story.hub.get(ref)) == says(kept)
    assert repairs(story, "RevisionRepaired") == [
        f"RolloutRevision {ref.name} was changed by somebody; it is written again from memory"
    ]
    put_back = story.hub.get(ref)["metadata"]["uid"]
    story.on(HOUR)
    assert story.hub.get(ref)["metadata"]["uid"] == put_back
    assert len(repairs(story, "RevisionRepaired")) == 1


def test_clusters_go_back_to_an_earlier_revision_that_somebody_edited() -> None:
    story, kept = two_revisions()

    undo(story.hub, Ref(REPLICA_SET, "default/web"), Who("ada", story.clock.now()))
    story.hub.patch(ref_of(ROLLOUT_REVISION, kept), {"template": make.template("666")})
    story.on(5 * MIN)

    assert set(story.versions().values()) == {"1"}


def test_it_is_put_back_also_where_the_spec_is_wrong_and_more_is_kept_than_is_asked_for() -> None:
    clock = VirtualClock(T0)
    story, kept = two_revisions(clock=clock, hub=MemoryHub(clock, admit=lambda ref, new, old: new))
    web, ref = Ref(REPLICA_SET, "default/web"), ref_of(ROLLOUT_REVISION, kept)
    asked = {"metadata": {"annotations": {names.HISTORY_LIMIT: "0"}}}
    story.hub.patch(web, {"spec": {"placementRefs": []}, **asked})
    story.on(MIN)
    assert "placementRefs" in story.message

    story.hub.patch(ref, {"template": make.template("666")})
    story.on(MIN)

    assert says(story.hub.get(ref)) == says(kept)


def test_a_rendered_content_that_somebody_edits_is_put_back_and_told() -> None:
    story = valued(values(), make.workload(strategy=make.everywhere())).end()
    kept = next(each for each in story.hub.list(ROLLOUT_REVISION).items if each.get("base"))
    ref = ref_of(ROLLOUT_REVISION, kept)

    story.hub.patch(ref, {"values": [{**kept["values"][0], "value": "666"}]})
    story.on(2 * SEC)

    assert says(story.hub.get(ref)) == says(kept)
    (told,) = repairs(story, "RevisionRepaired")
    assert ref.name in told


def test_whoever_edits_a_revision_again_and_again_has_it_put_back_once_a_second_at_most() -> None:
    story, kept = two_revisions(gather=SEC)
    ref, uids = ref_of(ROLLOUT_REVISION, kept), set[str]()

    for n in range(100):
        with suppress(Gone):
            story.hub.patch(ref, {"template": make.template(str(n + 666))})
            uids.add(story.hub.get(ref)["metadata"]["uid"])
        story.on(SEC / 10)
    story.on(2 * SEC)

    assert len(uids) in range(5, 12)
    assert says(story.hub.get(ref)) == says(kept)


def test_a_server_that_alters_what_is_put_back_is_not_written_to_over_and_over() -> None:
    clock, made = VirtualClock(T0), list[Ref]()

    def alters(ref: Ref, new: Obj, old: Obj | None) -> Obj:
        if ref.kind is ROLLOUT_REVISION and old is None and clock.now() > T0 + 2 * HOUR:
            made.append(ref)
            new = {**new, "template": make.template("666")}
        return admit(ref, new, old)

    story, kept = two_revisions(clock=clock, hub=MemoryHub(clock, admit=alters))
    story.to(3 * HOUR)

    story.hub.patch(ref_of(ROLLOUT_REVISION, kept), {"template": make.template("666")})
    story.on(HOUR)

    assert len(made) == 1


def test_what_a_new_process_finds_edited_is_not_believed_and_stays_until_it_is_asked_for() -> None:
    story, kept = two_revisions()
    ref = ref_of(ROLLOUT_REVISION, kept)

    story.hub.patch(ref, {"template": make.template("666")})
    story.restart().on(MIN)

    assert repairs(story, "RevisionRepaired") == []
    story.template(make.template("1"))
    story.end()
    assert story.hub.get(ref)["template"] == kept["template"]
    (told,) = repairs(story, "RevisionRepaired")
    assert ref.name in told


def test_a_revision_that_is_merely_written_or_goes_is_not_told_as_repaired() -> None:
    limit = {names.HISTORY_LIMIT: "1"}
    workload = make.workload(strategy=make.everywhere(), annotations=limit)
    story = Story([*make.fleet(3), workload]).end()
    for version in ("2", "3", "2"):
        story.template(make.template(version))
        story.end()
    (kept, *_) = story.hub.list(ROLLOUT_REVISION).items
    story.hub.delete(ref_of(ROLLOUT_REVISION, kept))
    story.on(MIN).restart().on(MIN)

    assert repairs(story, "RevisionRepaired") == repairs(story) == []


@pytest.mark.parametrize("is_owned", [False, True], ids=["of nobody", "of another workload"])
def test_a_page_that_has_our_name_before_the_workload_exists_makes_way_and_is_told_once(
    is_owned: bool,
) -> None:
    rid, web = record_id(Ref(REPLICA_SET, "default/web"), "p"), Ref(REPLICA_SET, "default/web")
    story = Story([*make.fleet(3), make.workload("other", strategy=make.everywhere())]).end()
    other = story.hub.get(Ref(REPLICA_SET, "default/other"))["metadata"]["uid"]
    forged = page_object(rid, web, other, "p", page=0, data={"head.json": "{}"})
    if not is_owned:
        forged["metadata"]["ownerReferences"] = []
    ref = page_ref("default", rid, 0)
    story.hub.create(ref, forged)

    story.hub.create(web, make.workload(strategy=make.everywhere()))
    story.on(MIN)

    (owner,) = story.hub.get(ref)["metadata"]["ownerReferences"]
    assert owner["uid"] == story.hub.get(web)["metadata"]["uid"]
    assert repairs(story) == [
        f"RolloutRecord {ref.name} was not a page of this workload; it is deleted and written anew"
    ]


@pytest.mark.parametrize("owners", [[], NOBODY], ids=["of nobody", "of somebody"])
def test_a_page_of_theirs_is_in_nobodys_way(owners: list[Obj]) -> None:
    story = Story([*make.fleet(3), make.workload(strategy=ONE_BY_ONE)]).end()
    for page in story.records():
        copied(story, ROLLOUT_RECORD, page, data={}, owners=owners)
    story.template(make.template("2"))
    story.to(story.now + HOUR)

    assert set(story.versions().values()) == {"2"}


def test_a_restart_believes_no_page_of_theirs() -> None:
    story = Story([*make.fleet(3), make.workload(strategy=ONE_BY_ONE)])
    story.settle()
    assert sorted(story.works()) == ["c00"]
    for page in story.records():
        data = dict(page["data"])
        if "clusters.json" in data:
            lines = json.loads(data["clusters.json"])
            for line in lines.values():
                line.update(health="Succeeded", verdict="Soaked")
            data["clusters.json"] = json.dumps(lines)
        copied(story, ROLLOUT_RECORD, page, data=data)
    story.restart().settle()

    assert sorted(story.works()) == ["c00"]


# -- pages beside their workload, changed by somebody who may write them ---------------------------

CANARIES_FIRST = make.progressive(mandatory=["canary"], maxConcurrency=1, minSuccessTime="30m")
EARLIER = "2026-01-01T00:00:00.000000Z"
TAKEN_OFF: dict[str, Obj] = {
    "its annotations": {"metadata": {"annotations": None}},
    "its owner": {"metadata": {"ownerReferences": None}},
    "another one's name": {"metadata": {"annotations": {names.OWNER: "default/other"}}},
    "its data": {"data": None},
}


def soaking_canaries() -> Story:
    """Two canaries have just been touched and soak for half an hour; the rest waits for them."""
    story = Story([*make.fleet(6, canary=2), make.workload(strategy=CANARIES_FIRST)])
    story.to(MIN)
    assert sorted(story.works()) == ["c00", "c01"]
    return story


def pages(story: Story) -> list[tuple[Obj, Obj, Obj]]:
    """What each page says, and of what."""
    kept = ("annotations", "labels")
    return [
        (page["data"], {k: page["metadata"].get(k) for k in kept}, owners)
        for page in story.records()
        for owners in [page["metadata"].get("ownerReferences")]
    ]


def all_soaked(story: Story) -> str:
    (work, *_) = story.works().values()
    revision = work["metadata"]["annotations"][names.REVISION]
    line = {"revision": revision, "touchedAt": EARLIER, "health": "Succeeded", "since": EARLIER}
    return json.dumps({f"c0{n}": {**line, "verdict": "Soaked"} for n in range(6)})


def repairs(story: Story, reason: str = "RecordRepaired") -> list[str]:
    return [note.message for note in story.notes if note.reason == reason]


def test_clusters_that_somebody_adds_to_the_page_of_the_head_are_not_believed() -> None:
    story = soaking_canaries()
    before = pages(story)
    head = ref_of(ROLLOUT_RECORD, story.records()[0])

    story.hub.patch(head, {"data": {CLUSTERS: all_soaked(story)}})
    story.on(5 * SEC)
    assert pages(story) == before
    assert any(head.name in told for told in repairs(story))

    story.hub.patch(head, {"data": {CLUSTERS: all_soaked(story)}})
    story.restart().on(5 * SEC)  # nobody who knows better lives when it is read
    assert CLUSTERS not in story.records()[0]["data"]
    assert sorted(story.works()) == ["c00", "c01"]


@pytest.mark.parametrize("number", [0, 1], ids=["the head", "the clusters"])
@pytest.mark.parametrize("change", TAKEN_OFF.values(), ids=TAKEN_OFF.keys())
def test_a_page_of_which_somebody_takes_something_off_is_written_again_and_told(
    change: Obj, number: int
) -> None:
    story = soaking_canaries()
    before = pages(story)
    page = ref_of(ROLLOUT_RECORD, story.records()[number])

    story.hub.patch(page, change)
    story.on(5 * SEC)

    assert pages(story) == before
    assert any(page.name in told for told in repairs(story))
    assert sorted(story.works()) == ["c00", "c01"]
    story.end()
    assert story.reason == "Complete"


@pytest.mark.parametrize("change", TAKEN_OFF.values(), ids=TAKEN_OFF.keys())
def test_pages_of_which_something_was_taken_off_while_nobody_looked_are_made_anew(
    change: Obj,
) -> None:
    """What they said is lost: the canaries soak again, and the rest waits for them."""
    story = soaking_canaries()
    for page in story.records():
        story.hub.patch(ref_of(ROLLOUT_RECORD, page), change)

    story.restart().on(29 * MIN)

    assert sorted(story.works()) == ["c00", "c01"]
    assert all(data and owners for data, _, owners in pages(story))
    story.end()
    assert story.reason == "Complete"


def test_a_page_that_somebody_deletes_is_written_again_and_told() -> None:
    story = soaking_canaries()
    before = pages(story)
    page = ref_of(ROLLOUT_RECORD, story.records()[1])

    story.hub.delete(page)
    story.on(5 * SEC)

    assert pages(story) == before
    assert repairs(story) == [
        f"RolloutRecord {page.name} was deleted; it is written again from memory"
    ]


# -- works that their agents change ----------------------------------------------------------------

OTHERS = {names.WORK_OWNER_LABEL: "other.thing"}
DISOWNED: dict[str, Obj] = {
    "given to another one": {"metadata": {"labels": OTHERS, "annotations": {names.OWNER: "o/t"}}},
    "given to nobody": {"metadata": {"annotations": {names.OWNER: None}}},
    "given away with other content": {
        "metadata": {"labels": OTHERS},
        "spec": make.template("666"),
    },
}


@pytest.mark.parametrize("change", DISOWNED.values(), ids=DISOWNED.keys())
def test_a_work_that_its_agent_gives_away_is_put_right_and_told(change: Obj) -> None:
    story = Story([*make.fleet(3), make.workload(strategy=make.everywhere())]).end()
    before = story.works()["c01"]

    story.hub.patch(ref_of(MANIFEST_WORK, before), change)
    story.on(5 * SEC)

    after = story.works()["c01"]
    assert after["spec"] == before["spec"]
    for kept in ("labels", "annotations"):
        assert after["metadata"][kept] == before["metadata"][kept]
    told = [note.message for note in story.notes if note.reason == "WorkRepaired"]
    assert told == ["the work of cluster c01 named another owner, or none; it is put right"]


def test_a_work_that_is_being_deleted_is_told_of_in_every_view() -> None:
    story = Story([*make.fleet(3), make.workload(strategy=make.everywhere())]).end()
    work = ref_of(MANIFEST_WORK, story.works()["c01"])
    story.hub.patch(work, {"metadata": {"finalizers": ["an-agent/at-work"]}})

    story.hub.delete(work)
    story.on(5 * SEC)

    text = "3 clusters succeeded; 1 work is being deleted (c01), and made again once gone"
    assert (story.message, story.state().message) == (text, text)
    snapshot = snapshot_of(story.hub, story.clock.now())
    account = snapshot.account(Ref(REPLICA_SET, "default/web"))
    assert account is not None
    assert account.message == text
    explained = explain_cluster(snapshot, "c01")
    assert explained is not None
    assert dict(share_facts(explained.shares[0], snapshot.now))["Work"] == (
        f"{work.key} is being deleted; it is made again once it is gone"
    )

    story.hub.patch(work, {"metadata": {"finalizers": None}})
    story.on(MIN)
    assert story.message == "3 clusters succeeded"
    assert sorted(story.works()) == ["c00", "c01", "c02"]
