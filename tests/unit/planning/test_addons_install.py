"""Where add-ons are installed, and what goes when nobody selects its cluster any more."""

import pytest

from rollout.model import names
from rollout.model.kinds import (
    CONFIG_MAP,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    PLACEMENT,
    Obj,
    Ref,
)
from tests.support import make
from tests.support.addons import (
    ADDON_API,
    CMA,
    MIN,
    NAME,
    SEC,
    Rig,
    addon,
    cluster_addon,
    config,
    fleet,
    installed_at,
    progressive,
)

HOSTING = "addon.open-cluster-management.io/hosting-cluster-name"


def placed(*clusters: str) -> Rig:
    """An add-on on these clusters, by placement p."""
    documents = [config(), addon("default", placements=[installed_at()])]
    return Rig([*fleet("c0", "c1", "c2"), *documents]).decide(list(clusters))


def test_it_is_installed_where_placements_select_and_removed_where_none_does() -> None:
    rig = placed("c0", "c1")
    assert rig.installed() == ["c0", "c1"]

    rig.decide(["c1", "c2"]).later(10 * SEC)
    assert rig.installed() == ["c1", "c2"]


def test_what_is_deleted_by_hand_is_installed_again_as_it_was_supposed_to_be() -> None:
    rig = placed("c0", "c1").works_do(["c0", "c1"])

    rig.hub.delete(Ref(MANAGED_CLUSTER_ADDON, f"c1/{NAME}"))
    rig.settle()

    assert rig.installed() == ["c0", "c1"]
    assert [name for name, *_ in rig.carries("c1")] == ["default"]


def test_what_a_person_holds_is_installed_when_it_is_released() -> None:
    documents = [config(), addon("default", placements=[installed_at()])]
    rig = Rig([*fleet("c0", "c1"), *documents])
    rig.hub.patch(CMA, {"metadata": {"annotations": {names.HOLD: "c1"}}})
    rig.decide(["c0", "c1"])
    assert rig.installed() == ["c0"]

    rig.hub.patch(CMA, {"metadata": {"annotations": {names.HOLD: None}}})
    rig.settle()
    assert rig.installed() == ["c0", "c1"]


def test_what_is_installed_belongs_to_the_addon() -> None:
    meta = placed("c0").cluster("c0")["metadata"]

    assert meta["ownerReferences"] == [
        {
            "apiVersion": ADDON_API,
            "kind": "ClusterManagementAddOn",
            "name": NAME,
            "uid": placed_uid(meta),
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def placed_uid(meta: dict[str, dict[str, str]]) -> str:
    """The marker names the owner too."""
    return meta["annotations"][names.INSTALLED_BY]


def test_an_addon_made_by_hand_gets_its_owner_once_and_keeps_others() -> None:
    mine = cluster_addon("c0")
    rig = Rig([*fleet("c0"), addon()])
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": make.meta("x", "c0")}
    uid = rig.hub.create(Ref(CONFIG_MAP, "c0/x"), document)["metadata"]["uid"]
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": uid, "controller": True}
    mine["metadata"]["ownerReferences"] = [other]
    rig.add(mine)
    rig.settle()

    owners = rig.cluster("c0")["metadata"]["ownerReferences"]
    assert [(o["uid"], o["controller"]) for o in owners] == [
        (uid, True),
        (rig.hub.get(CMA)["metadata"]["uid"], False),
    ]
    version = rig.cluster("c0")["metadata"]["resourceVersion"]
    assert rig.later(MIN).cluster("c0")["metadata"]["resourceVersion"] == version


@pytest.mark.parametrize(
    "taken",
    [{"ownerReferences": None}, {"annotations": {names.INSTALLED_BY: None}}],
    ids=["owner", "mark"],
)
def test_what_somebody_takes_away_from_the_addon_is_put_back_and_told(taken: Obj) -> None:
    rig = placed("c0", "c1")
    uid = placed_uid(rig.cluster("c0")["metadata"])
    rig.hub.patch(Ref(MANAGED_CLUSTER_ADDON, f"c1/{NAME}"), {"metadata": taken})
    rig.settle()

    for meta in (rig.cluster(name)["metadata"] for name in ("c0", "c1")):
        assert placed_uid(meta) == uid
        assert [owner["uid"] for owner in meta["ownerReferences"]] == [uid]
    told = [note.message for note in rig.notes if note.reason == "AddOnRepaired"]
    assert len(told) == 1
    assert "of cluster c1 " in told[0]


def test_an_addon_made_by_hand_gets_its_owner_without_a_word() -> None:
    rig = Rig([*fleet("c0"), addon(), cluster_addon("c0")]).later(MIN)
    assert [owner["name"] for owner in rig.cluster("c0")["metadata"]["ownerReferences"]] == [NAME]
    assert "AddOnRepaired" not in {note.reason for note in rig.notes}


def test_only_what_the_strategy_made_is_removed() -> None:
    """Switching to placements removes nothing that a person installed (add-on weakness A-10)."""
    rig = Rig([*fleet("c0", "c1", "c2"), config(), addon("default"), cluster_addon("c0")])
    rig.set_addon(addon("default", placements=[installed_at()])).decide(["c1", "c2"]).later(MIN)
    assert rig.installed() == ["c0", "c1", "c2"]

    rig.decide(["c2"]).later(MIN)
    assert rig.installed() == ["c0", "c2"]


def test_a_missing_placement_removes_nothing_and_says_so() -> None:
    """OCM takes it for one that selects nobody (add-on weakness A-9; row 16)."""
    rig = placed("c0", "c1")

    rig.hub.delete(Ref(PLACEMENT, "default/p"))
    rig.later(60 * MIN).restart().later(60 * MIN)

    assert rig.installed() == ["c0", "c1"]
    assert rig.halted() == ("True", "PlacementNotFound")


def test_many_at_once_are_not_removed_before_a_person_says_so() -> None:
    clusters = [f"c{n:02d}" for n in range(20)]
    documents = [config(), addon("default", placements=[installed_at()])]
    rig = Rig([*fleet(*clusters), *documents]).decide(clusters).later(60 * MIN)

    rig.decide(clusters[:4]).later(MIN)
    assert len(rig.installed()) == 20
    assert rig.halted() == ("True", "RemovalBrake")

    released = {"annotations": {names.RELEASE_REMOVALS: "2030-01-01T00:00:00Z"}}
    rig.edit(CMA, {"metadata": released})
    assert len(rig.installed()) == 4


def test_what_is_going_already_is_not_counted_twice_by_the_brake() -> None:
    """An agent's finalizer keeps an add-on there for a while after it was deleted."""
    clusters = [f"c{n:02d}" for n in range(60)]
    documents = [config(), addon("default", placements=[installed_at()])]
    rig = Rig([*fleet(*clusters), *documents]).decide(clusters).later(60 * MIN)
    for cluster in clusters:
        ref = Ref(MANAGED_CLUSTER_ADDON, f"{cluster}/{NAME}")
        rig.hub.patch(ref, {"metadata": {"finalizers": ["example.com/pre-delete"]}})

    rig.decide(clusters[:53]).later(MIN)

    going = [c for c in clusters if "deletionTimestamp" in rig.cluster(c)["metadata"]]
    assert going == clusters[53:]
    assert rig.halted()[1] != "RemovalBrake"


def test_few_at_a_time_are_braked_as_many_at_once_are() -> None:
    """What was removed in the last minutes counts, also after a restart."""
    clusters = [f"c{n:02d}" for n in range(20)]
    documents = [config(), addon("default", placements=[installed_at()])]
    rig = Rig([*fleet(*clusters), *documents]).decide(clusters).later(60 * MIN)

    for left in range(19, 4, -1):
        rig.decide(clusters[:left]).later(20 * SEC)
        if left == 15:
            rig.restart()

    assert len(rig.installed()) == 10
    assert rig.halted() == ("True", "RemovalBrake")


def test_a_paused_addon_is_neither_installed_nor_changed_nor_removed() -> None:
    rig = placed("c0", "c1")
    rig.edit(CMA, {"metadata": {"annotations": {names.PAUSED: "true"}}})
    rig.take_touched()

    rig.set_config("other").decide(["c1", "c2"]).later(MIN)

    assert (rig.installed(), rig.take_touched()) == (["c0", "c1"], [])
    assert rig.halted() == ("True", "Paused")


def test_annotations_of_the_addon_api_follow_from_cluster_to_addon() -> None:
    rig = placed("c0", "c1")
    assert HOSTING not in rig.cluster("c0")["metadata"]["annotations"]

    rig.edit(Ref(MANAGED_CLUSTER, "c0"), {"metadata": {"annotations": {HOSTING: "h", "a/b": "c"}}})
    assert rig.cluster("c0")["metadata"]["annotations"][HOSTING] == "h"
    assert "a/b" not in rig.cluster("c0")["metadata"]["annotations"]
    assert HOSTING not in rig.cluster("c1")["metadata"]["annotations"]

    rig.edit(Ref(MANAGED_CLUSTER, "c0"), {"metadata": {"annotations": {HOSTING: None}}})
    assert HOSTING not in rig.cluster("c0")["metadata"]["annotations"]


def test_annotations_are_there_from_the_start_and_those_of_others_stay() -> None:
    document = make.cluster("c0")
    document["metadata"]["annotations"] = {HOSTING: "h"}
    documents = [config(), addon("default", placements=[installed_at()])]
    rig = Rig([document, make.placement("p", ours=False), *documents]).decide(["c0"])
    assert rig.cluster("c0")["metadata"]["annotations"][HOSTING] == "h"

    own = Ref(MANAGED_CLUSTER_ADDON, f"c0/{NAME}")
    values = "addon.open-cluster-management.io/values"
    rig.edit(own, {"metadata": {"annotations": {values: "{}", HOSTING: "x"}}})
    kept = rig.cluster("c0")["metadata"]["annotations"]
    assert (kept[values], kept[HOSTING]) == ("{}", "h")


def test_addons_installed_by_hand_mirror_nothing() -> None:
    document = make.cluster("c0")
    document["metadata"]["annotations"] = {HOSTING: "h"}
    rig = Rig([document, addon(), cluster_addon("c0")])

    assert HOSTING not in (rig.cluster("c0")["metadata"].get("annotations") or {})


def test_what_cannot_be_installed_fails_in_its_stage_and_blocks_no_slot() -> None:
    """OCM waits for it for ever (add-on weakness A-11; row 19)."""
    strategy = progressive(maxConcurrency=1, maxFailures=1)
    documents = [config(), addon("default", placements=[installed_at(strategy=strategy)])]
    rig = Rig([*fleet("c1", "c2"), *documents], checks=True)
    rig.refuse("c0").decide(["c0", "c1", "c2"]).later(2 * MIN).works_do(["c1"])

    assert rig.installed() == ["c1", "c2"]
    assert rig.take_touched() == ["c1", "c2"]
    assert rig.message() == (
        "selected clusters 3. configured addons 2/3 progressing..., 1 failed 0 timeout."
    )


@pytest.mark.parametrize("gate", [False, True])
def test_with_the_health_gate_applied_is_not_yet_well(gate: bool) -> None:
    """Without it success means that objects exist, as with OCM (add-on weakness A-1)."""
    notes = {names.HEALTH_GATE: "Available"} if gate else {}
    strategy = progressive(maxConcurrency=1)
    documents = [
        config(),
        addon("default", placements=[installed_at(strategy=strategy)], annotations=notes),
    ]
    rig = Rig([*fleet("c0", "c1"), *documents]).decide(["c0", "c1"])

    rig.works_do(["c0"], degraded=True).later(60 * MIN)

    assert rig.take_touched() == (["c0"] if gate else ["c0", "c1"])


def test_what_is_kept_back_while_paused_is_told_when_it_is_resumed_also_where_nobody_selects() -> (
    None
):
    documents = [config(), addon("default", placements=[installed_at()])]
    rig = Rig([*fleet("c0", "c1"), *documents, cluster_addon("c1")]).decide(["c0"])
    before = desired_at(rig, "c1")

    rig.edit(CMA, {"metadata": {"annotations": {names.PAUSED: "true"}}})
    rig.set_config("other")
    assert desired_at(rig, "c1") == before

    rig.edit(CMA, {"metadata": {"annotations": {names.PAUSED: None}}})
    assert desired_at(rig, "c1") != before


def test_a_held_cluster_that_nobody_selects_is_told_how_it_stands_and_of_no_other_configuration() -> (
    None
):
    documents = [config(), addon("default", placements=[installed_at()]), cluster_addon("c1")]
    rig = Rig([*fleet("c0", "c1"), *documents]).decide(["c0"])
    before = desired_at(rig, "c1")
    rig.edit(CMA, {"metadata": {"annotations": {names.HOLD: "c1"}}}).take_touched()

    rig.set_config("other").later(10 * SEC)
    assert desired_at(rig, "c1") == before
    assert rig.take_touched() == ["c0"]
    rig.works_do(["c1"])
    assert rig.says("c1", "Progressing")[1] == "Completed"

    rig.edit(CMA, {"metadata": {"annotations": {names.HOLD: None}}})
    assert desired_at(rig, "c1") != before


def desired_at(rig: Rig, cluster: str) -> list[str]:
    """The hashes of what a cluster is told to apply."""
    return [desired for _, desired, *_ in rig.carries(cluster)]
