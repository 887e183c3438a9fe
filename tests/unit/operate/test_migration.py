"""What the first edition remembered is taken over where works and status bear it out, and only there."""

import json

import pytest

from rollout.model import names
from rollout.model.content import content_hash
from rollout.model.kinds import (
    CONFIG_MAP,
    CONTROLLER_REVISION,
    PLACEMENT,
    REPLICA_SET,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.operate.migration import MigrationStep, migration, perform
from rollout.planning.revisions import revision_ref
from rollout.rollouts.record import CLUSTERS, HEAD
from tests.support import make
from tests.support.story import HOUR, MIN, SEC, Story

WEB = Ref(REPLICA_SET, "default/web")
CAREFUL = make.progressive(mandatory=["canary"], maxConcurrency=1, minSuccessTime="30m")


def as_first_edition(story: Story) -> None:
    """The same things remembered, as the first edition kept them."""
    for kind, old in ((ROLLOUT_RECORD, CONFIG_MAP), (ROLLOUT_REVISION, CONTROLLER_REVISION)):
        for obj in story.hub.list(kind).items:
            meta = {
                key: obj["metadata"].get(key)
                for key in ("name", "namespace", "labels", "annotations", "ownerReferences")
            }
            kept = obj["data"] if kind is ROLLOUT_RECORD else obj["template"]
            written: Obj = {"metadata": meta, "data": kept}
            if kind is ROLLOUT_REVISION:
                written["revision"] = obj["revision"]
            story.hub.delete(ref_of(kind, obj))
            write(story, old, written)


def write(story: Story, kind: Kind, obj: Obj) -> None:
    meta = obj["metadata"]
    head = {"apiVersion": kind.api_version, "kind": kind.name}
    story.hub.create(Ref(kind, f"{meta['namespace']}/{meta['name']}"), {**head, **obj})


def migrated(story: Story) -> list[MigrationStep]:
    """Take over, while no controller runs."""
    found = list(migration(story.hub, "rollout-system"))
    for step in found:
        perform(story.hub, step)
    return found


def old_ones(story: Story) -> list[Obj]:
    return [o for kind in (CONFIG_MAP, CONTROLLER_REVISION) for o in story.hub.list(kind).items]


def doubts(steps: list[MigrationStep]) -> str:
    return "\n".join(doubt for step in steps for doubt in step.doubts)


def edited(story: Story, page: int, key: str, **changes: object) -> None:
    """Forge a page of the first edition."""
    (ref,) = [
        ref_of(CONFIG_MAP, obj)
        for obj in story.hub.list(CONFIG_MAP).items
        if obj["metadata"]["name"].endswith(f"-{page}")
    ]
    data = story.hub.get(ref)["data"]
    body = json.loads(data[key])
    found = (
        {c: {**line, **changes} for c, line in body.items()} if key == CLUSTERS else body | changes
    )
    story.hub.patch(ref, {"data": {key: json.dumps(found)}})


def test_a_fleet_that_was_rolled_out_stays_as_it_is() -> None:
    story = Story([*make.fleet(6, canary=2), make.workload()]).end()
    before = story.versions(), len(story.lines)
    as_first_edition(story)

    steps = migrated(story)
    story.restart()
    story.to(story.now + HOUR)

    assert (story.versions(), len(story.lines)) == before
    assert story.reason == "Complete"
    assert old_ones(story) == []
    assert story.hub.list(ROLLOUT_REVISION).items
    assert "not borne out" not in doubts(steps)
    assert migrated(story) == []


def test_a_soak_in_progress_begins_again_and_no_gate_opens() -> None:
    workload = make.workload(strategy=CAREFUL, annotations={names.GATES: "before:rest"})
    story = Story([*make.fleet(6, canary=2), workload])
    story.to(story.now + 20 * MIN)
    assert sorted(story.versions()) == ["c00", "c01"]
    as_first_edition(story)

    steps = migrated(story)
    story.restart()
    story.to(story.now + 29 * MIN)
    assert sorted(story.versions()) == ["c00", "c01"]
    story.to(story.now + HOUR)

    assert sorted(story.versions()) == ["c00", "c01"]
    assert story.reason == "ApprovalNeeded"
    assert "not borne out by their works" in doubts(steps)


@pytest.mark.parametrize("health", ["Succeeded", "Progressing"])
def test_forged_pages_move_nothing(health: str) -> None:
    workload = make.workload(strategy=CAREFUL, annotations={names.GATES: "before:rest"})
    story = Story([*make.fleet(6, canary=2), workload])
    story.to(story.now + 5 * MIN)
    as_first_edition(story)
    edited(story, 1, CLUSTERS, health=health, verdict="Soaked", soaked=["0123456789abcdef"])
    rollback = {
        "revision": json.loads(_head(story))["revision"],
        "cause": "Undo",
        "began": "2026-01-01T00:00:00.000000Z",
        "to": "0123456789abcdef",
    }
    edited(story, 0, HEAD, opened=["before:rest"], passed=["canary/0", "rest"], rollback=rollback)
    lines = len(story.lines)

    steps = migrated(story)
    story.restart()
    story.to(story.now + 20 * MIN)

    assert len(story.lines) == lines
    assert "gates are asked again" in doubts(steps)
    assert "stays barred" in doubts(steps)


def _head(story: Story) -> str:
    pages = story.hub.list(CONFIG_MAP).items
    return next(str(p["data"][HEAD]) for p in pages if HEAD in p["data"])


@pytest.mark.parametrize("is_owned", [False, True], ids=["of nobody", "of another object"])
def test_a_page_without_the_workload_as_its_owner_says_nothing_and_goes(is_owned: bool) -> None:
    story = Story([*make.fleet(3), make.workload()]).end()
    as_first_edition(story)
    other = story.hub.get(Ref(PLACEMENT, "default/p"))
    owner = {key: other[key] for key in ("apiVersion", "kind")}
    owner |= {"name": "p", "uid": other["metadata"]["uid"]}
    owners = [owner] if is_owned else []
    for obj in story.hub.list(CONFIG_MAP).items:
        story.hub.patch(ref_of(CONFIG_MAP, obj), {"metadata": {"ownerReferences": owners}})

    steps = migrated(story)

    assert story.hub.list(ROLLOUT_RECORD).items == ()
    assert story.hub.list(CONFIG_MAP).items == ()
    assert "name no owner" in doubts(steps)


def test_an_object_that_only_looks_like_ours_is_left_alone() -> None:
    story = Story([*make.fleet(3), make.workload()]).end()
    label = {names.RECORD_LABEL: "x"}
    write(story, CONFIG_MAP, {"metadata": {**make.meta("mine", "default"), "labels": label}})

    steps = migrated(story)

    assert [o["metadata"]["name"] for o in old_ones(story)] == ["mine"]
    assert "it is left where it is" in doubts(steps)


def test_a_template_that_no_cluster_carries_is_not_believed() -> None:
    story = Story([*make.fleet(3), make.workload()]).end()
    as_first_edition(story)
    (kept,) = story.hub.list(CONTROLLER_REVISION).items
    evil = make.template("666")
    name = revision_ref(WEB, content_hash(evil)).name
    notes = {names.OWNER: WEB.key, names.REVISION: content_hash(evil)}
    meta = {**kept["metadata"], "name": name, "annotations": notes}
    for key in ("uid", "resourceVersion", "creationTimestamp"):
        meta.pop(key, None)
    write(story, CONTROLLER_REVISION, {"metadata": meta, "data": evil, "revision": 9})

    steps = migrated(story)

    (taken,) = story.hub.list(ROLLOUT_REVISION).items
    assert taken["template"]["workload"] == make.template("1")["workload"]
    assert "no cluster carries it" in doubts(steps)
    assert old_ones(story) == []


def test_what_the_controller_has_written_already_is_left_as_it_is() -> None:
    story = Story([*make.fleet(3), make.workload()]).end()
    as_first_edition(story)
    story.restart()
    story.on(5 * SEC)
    mine = story.hub.list(ROLLOUT_RECORD).items

    steps = migrated(story)

    assert story.hub.list(ROLLOUT_RECORD).items == mine
    assert "is there already" in doubts(steps)
    assert old_ones(story) == []
