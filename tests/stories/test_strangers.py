"""What do record pages and kept revisions say that lie in another namespace? Nothing.

One that bears the name and the words of ours somewhere else is not believed, and is in nobody's way.
"""

import json

import pytest

from rollout.model.kinds import (
    MANIFEST_WORK,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from tests.support import make
from tests.support.story import HOUR, SEC, Story

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
