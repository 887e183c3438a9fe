"""What becomes of clusters of an add-on whose own configurations are missing for a while."""

import json

import pytest

from rollout.model import names
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    MANAGED_CLUSTER_ADDON,
    ROLLOUT_RECORD,
    Ref,
    ref_of,
)
from tests.support import make
from tests.support.addon_story import AddOnStory, addon_documents
from tests.support.addons import NAME, Rig, addon, config, fleet, installed_at, refer
from tests.support.story import HOUR, MIN, SEC

FAILED = ["c01", "c02", "c03"]
FAILS = {"rules": [{"clusters": {"names": FAILED}, "behaviour": {"outcome": "fail"}}]}


def names_own(story: AddOnStory, *configs: str) -> None:
    """The clusters that failed name these configurations of their own."""
    for cluster in FAILED:
        ref = Ref(MANAGED_CLUSTER_ADDON, f"{cluster}/{NAME}")
        story.hub.patch(ref, {"spec": {"configs": [refer(each) for each in configs]}})


def forgets_before(story: AddOnStory) -> None:
    """The record says what earlier versions wrote down."""
    for obj in story.hub.list(ROLLOUT_RECORD).items:
        if "clusters.json" in obj["data"]:
            lines = json.loads(obj["data"]["clusters.json"])
            told = [lines[c].pop("before", None) for c in FAILED]
            assert None not in told
            story.hub.patch(
                ref_of(ROLLOUT_RECORD, obj), {"data": {"clusters.json": json.dumps(lines)}}
            )


@pytest.mark.parametrize("then", ["nothing", "restart", "a record of an earlier version"])
def test_clusters_that_failed_and_lacked_something_meanwhile_wait_for_a_slot(then: str) -> None:
    """S1, R1: what they finally failed on is not in flight again, so one cluster is touched at a time."""
    strategy = make.progressive(maxConcurrency=1, maxFailures=3, minSuccessTime="10m")
    gate = {names.HEALTH_GATE: "Available"}
    story = AddOnStory(addon_documents(4, strategy=strategy, annotations=gate), FAILS)
    story.to(3 * HOUR)
    story.release("2")
    story.on(5 * SEC)
    assert story.versions()["c00"] == "2"

    names_own(story, "missing")
    story.on(90 * SEC)
    if then != "nothing":
        story.engine.stop()
        if then != "restart":
            forgets_before(story)
        story.restart()
    names_own(story)
    story.on(5 * MIN)

    assert [cluster for cluster, version in story.versions().items() if version == "2"] == ["c00"]


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_cluster_is_told_of_its_own_though_the_shared_one_is_gone(is_restarted: bool) -> None:
    """What the revision was made of that is gone, an engine that starts then reads from nowhere."""
    documents = [config(), config("own", "own"), addon("default", placements=[installed_at("p")])]
    rig = Rig([*fleet("c0"), *documents]).decide(["c0"])
    assert [told[0] for told in rig.carries("c0")] == ["default"]
    rig.hub.delete(Ref(ADDON_DEPLOYMENT_CONFIG, "default/default"))
    if not is_restarted:
        rig.settle()

    ref = Ref(MANAGED_CLUSTER_ADDON, f"c0/{NAME}")
    rig.hub.patch(ref, {"spec": {"configs": [refer("own")]}})
    rig.restart() if is_restarted else rig.settle()

    assert [told[0] for told in rig.carries("c0")] == ["own"]
    rig.take_touched()
    rig.later(HOUR)
    assert rig.take_touched() == []
