"""What becomes of clusters of an add-on whose own configurations are missing for a while."""

import json

import pytest

from rollout.model import names
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    ADDON_TEMPLATE,
    MANAGED_CLUSTER_ADDON,
    ROLLOUT_RECORD,
    Obj,
    Ref,
    kind_by_resource,
    ref_of,
)
from tests.support import make
from tests.support.addon_story import AddOnStory, addon_documents
from tests.support.addons import (
    CMA,
    NAME,
    Rig,
    addon,
    cluster_addon,
    config,
    fleet,
    installed_at,
    progressive,
    refer,
)
from tests.support.story import HOUR, MIN, SEC

ADDON = Ref(MANAGED_CLUSTER_ADDON, f"c0/{NAME}")
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
    """An engine that starts after that finds nowhere what the revision was made of."""
    documents = [config(), config("own", "own"), addon("default", placements=[installed_at("p")])]
    rig = Rig([*fleet("c0"), *documents]).decide(["c0"])
    assert [told[0] for told in rig.carries("c0")] == ["default"]
    rig.hub.delete(Ref(ADDON_DEPLOYMENT_CONFIG, "default/default"))
    if not is_restarted:
        rig.settle()

    rig.hub.patch(ADDON, {"spec": {"configs": [refer("own")]}})
    rig.restart() if is_restarted else rig.settle()

    assert [told[0] for told in rig.carries("c0")] == ["own"]
    rig.take_touched()
    rig.later(HOUR)
    assert rig.take_touched() == []


PLAIN = {"name": "plain"}
OF_ANOTHER = {"name": "another", "specHash": "1" * 64}


def with_two_kinds() -> Rig:
    """c0 was told of two shared configurations, one of each kind; it has its own of the first kind."""
    managed = addon(
        "default",
        supported=("addondeploymentconfigs", "addontemplates"),
        placements=[installed_at("p")],
    )
    managed["spec"]["supportedConfigs"][1]["defaultConfig"] = PLAIN
    plain = {
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": "AddOnTemplate",
        "metadata": PLAIN,
        "spec": {"addonName": NAME, "agentSpec": {"workload": {"manifests": []}}},
    }
    rig = Rig([*fleet("c0"), config(), config("own", "own"), config("new", "new"), plain, managed])
    rig.decide(["c0"])
    rig.edit(ADDON, {"spec": {"configs": [refer("own")]}})
    assert [told[0] for told in rig.carries("c0")] == ["own", "plain"]
    return rig


def told_of(rig: Rig) -> list[str]:
    """The names of what c0 is told to apply once it has another configuration of its own, and the
    engine has begun anew after a shared one was deleted.
    """
    rig.engine.stop()
    rig.hub.delete(Ref(ADDON_TEMPLATE, PLAIN["name"]))
    rig.hub.patch(ADDON, {"spec": {"configs": [refer("new")]}})
    rig.restart().later(HOUR)
    return [told[0] for told in rig.carries("c0")]


def test_what_a_cluster_carries_besides_its_own_stands_in_for_the_shared_one_that_is_gone() -> None:
    assert told_of(with_two_kinds()) == ["new", "plain"]


@pytest.mark.parametrize("rest", [[], [OF_ANOTHER]], ids=["nothing", "another"])
def test_what_nobody_shares_does_not_stand_in_for_what_is_gone(rest: list[Obj]) -> None:
    """Somebody wrote that over what the engine told; it is left until the shared one is back."""
    rig = with_two_kinds()
    group = rig.references("c0")[0]["group"]
    written = [
        {"group": group, "resource": "addontemplates", **each, "desiredConfig": each}
        for each in rest
    ]
    rig.engine.stop()
    rig.hub.patch_status(ADDON, {"status": {"configReferences": written}})

    assert told_of(rig) == [each["name"] for each in rest]


TUNING = kind_by_resource("example.com", "tunings", namespaced=True)


def soaking_on_an_older_revision() -> Rig:
    """c0 has a Tuning of its own beside what all share. It has just succeeded with that, and is held; then
    what all share changes. One cluster may be in flight.
    """
    strategy = progressive(maxConcurrency=1, minSuccessTime="10m")
    managed = addon("default", placements=[installed_at("p", strategy=strategy)])
    managed["spec"]["supportedConfigs"].append({"group": TUNING.group, "resource": TUNING.plural})
    rig = Rig([*fleet("c0", "c1"), config(), managed], checks=False)
    rig.hub.create(
        Ref(TUNING, "default/own"),
        {
            "apiVersion": TUNING.api_version,
            "kind": TUNING.name,
            "metadata": make.meta("own"),
            "spec": {"level": 1},
        },
    )
    rig.add(cluster_addon("c0", refer("own", TUNING.plural, TUNING.group)))
    rig.decide(["c0", "c1"]).works_do(["c0"])
    assert (len(rig.carries("c0")), rig.carries("c1")) == (2, [])
    rig.edit(CMA, {"metadata": {"annotations": {names.HOLD: "c0"}}})
    return rig.set_config("newer")


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_held_cluster_with_its_own_frees_its_slot_when_it_has_soaked_on_an_older_revision(
    is_restarted: bool,
) -> None:
    """R5: an engine that starts meanwhile finds nowhere what the older revision was made of."""
    rig = soaking_on_an_older_revision()
    if is_restarted:
        rig.restart()
    rig.later(5 * MIN)
    assert rig.carries("c1") == []

    rig.later(10 * MIN)

    assert [told[0] for told in rig.carries("c1")] == ["default"]


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_held_cluster_that_is_to_have_something_else_of_its_own_keeps_its_slot(
    is_restarted: bool,
) -> None:
    rig = soaking_on_an_older_revision()
    if is_restarted:
        rig.engine.stop()
    rig.hub.patch(Ref(TUNING, "default/own"), {"spec": {"level": 2}})
    rig.restart() if is_restarted else rig.settle()

    rig.later(15 * MIN)

    assert rig.carries("c1") == []
