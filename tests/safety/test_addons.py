"""What random histories once found of add-ons, each as the shortest story that shows it."""

from rollout.fleet.addons import AddOns
from rollout.model import names
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    PLACEMENT,
    Obj,
    Ref,
)
from rollout.model.waits import Reason, Wait
from rollout.planning.addons import AddOnPlanner
from rollout.rollouts.addon_share import AddOnShare
from rollout.rollouts.selections import UNTOLD, Reading
from rollout.strategies.base import Health
from tests.support import make
from tests.support.addons import (
    CMA,
    MIN,
    NAME,
    SEC,
    Rig,
    addon,
    config,
    fleet,
    installed_at,
    progressive,
    refer,
)
from tests.support.templates import config_map

TEMPLATES = "addontemplates"
CONFIG = Ref(ADDON_DEPLOYMENT_CONFIG, "default/default")


def own(name: str = "own", level: str = "1") -> Obj:
    """What one cluster has besides, of a kind that nothing else refers to."""
    return {
        "apiVersion": config()["apiVersion"],
        "kind": "AddOnTemplate",
        "metadata": {"name": name},
        "spec": {
            "addonName": level,
            "agentSpec": {"workload": {"manifests": [config_map(level=level)]}},
        },
    }


def refer_own(name: str = "own") -> Obj:
    return {k: v for k, v in refer(name, TEMPLATES).items() if k != "namespace"}


def placed(*clusters: str, documents: tuple[Obj, ...] = (), **options: object) -> Rig:
    """An add-on on these clusters, by placement p."""
    supported = ("addondeploymentconfigs", TEMPLATES)
    at = installed_at("p", strategy=progressive(**options))
    whole = [*fleet(*clusters), config(), addon("default", placements=[at], supported=supported)]
    return Rig([*whole, *documents]).decide(list(clusters))


def give_own(rig: Rig, cluster: str, *refs: Obj) -> Rig:
    return rig.edit(
        Ref(MANAGED_CLUSTER_ADDON, f"{cluster}/{NAME}"), {"spec": {"configs": list(refs) or None}}
    )


def share_of(rig: Rig) -> AddOnShare:
    addons = rig.engine.fleet.rollout(CMA)
    assert addons is not None
    found = addons.shares["default/p"]
    assert isinstance(found, AddOnShare)
    return found


def names_of(rig: Rig, cluster: str) -> list[str]:
    return [name for name, *_ in rig.carries(cluster)]


def test_going_back_to_what_was_applied_is_no_success_while_something_else_is_deployed() -> None:
    rig = placed("c0").works_do(["c0"])
    rig.set_config("bad")

    rig.set_config("test")

    standing = share_of(rig).live.ledger.standings["c0"]
    assert (standing.health, standing.verdict) == (Health.PROGRESSING, None)


def test_whoever_is_to_be_removed_is_not_told_to_deploy_without_configurations() -> None:
    clusters = [f"c{n:02d}" for n in range(12)]
    rig = placed(*clusters, maxConcurrency="0%").decide([]).later(20 * SEC)

    assert rig.installed() == clusters
    assert rig.says("c00", names.CONFIGURED)[0] == "False"
    assert not rig.hub.list(MANIFEST_WORK).items


def test_removals_one_after_the_other_are_braked_as_those_at_once() -> None:
    clusters = [f"c{n:02d}" for n in range(30)]
    rig = placed(*clusters, maxConcurrency="100%")
    rig.decide(clusters[8:]).later(20 * SEC)
    assert len(rig.installed()) == 22

    rig.decide(clusters[14:]).later(20 * SEC)

    assert len(rig.installed()) == 22
    assert rig.halted() == ("True", "RemovalBrake")


def test_held_removals_are_said_where_nobody_is_selected_any_more() -> None:
    clusters = [f"c{n:02d}" for n in range(12)]
    rig = placed(*clusters, maxConcurrency="100%")

    rig.decide([]).later(20 * SEC)

    assert len(rig.installed()) == 12
    assert rig.halted() == ("True", "RemovalBrake")


def test_a_configuration_of_its_own_that_comes_late_jumps_no_queue() -> None:
    rig = placed("c0", "c1", maxConcurrency=1, maxFailures=1)
    give_own(rig, "c1", refer_own())
    assert rig.later(2 * MIN).carries("c1") == []

    rig.add(own())
    rig.settle()
    assert rig.carries("c1") == []

    rig.works_do(["c0"]).settle()
    assert names_of(rig, "c1") == ["default", "own"]


def test_one_that_failed_before_its_own_configuration_came_late_still_waits_for_a_slot() -> None:
    rig = placed("c0", "c1", maxConcurrency=1, maxFailures=2)
    rig.works_do(["c0"], applied=False).later(2 * MIN)
    rig.works_do(["c1"], applied=False).later(2 * MIN)
    assert [name for name, *_ in rig.carries("c1")] == ["default"]
    old = rig.carries("c0")[0][1]
    new = rig.set_config("new").carries("c0")[0][1]

    give_own(rig, "c1", refer_own())
    rig.add(own())
    rig.settle()
    assert [rig.carries(cluster)[0][1] for cluster in ("c0", "c1")] == [new, old]
    assert names_of(rig, "c1") == ["default", "own"]

    rig.works_do(["c0"]).settle()
    assert [rig.carries(cluster)[0][1] for cluster in ("c0", "c1")] == [new, new]


def test_trying_again_holds_no_place_for_one_that_can_be_brought_nothing() -> None:
    rig = placed("c0", "c1", maxConcurrency=1, maxFailures=2)
    rig.works_do(["c0"]).works_do(["c1"])
    give_own(rig, "c0", refer_own())
    rig.set_config("new").works_do(["c1"], applied=False).later(2 * MIN)
    assert rig.message().endswith("2 failed 0 timeout.")

    rig.edit(CMA, {"metadata": {"annotations": {names.RETRY: "now"}}})
    assert rig.message().endswith("1 failed 0 timeout.")
    rig.later(2 * MIN)
    assert rig.message().endswith("2 failed 0 timeout.")

    rig.add(own())
    rig.settle()
    assert names_of(rig, "c0") == ["default", "own"]


def test_a_kind_that_is_wanted_again_at_once_is_still_known() -> None:
    rig = placed("c0", "c1", documents=(own(),), maxConcurrency="100%")
    give_own(rig, "c0", refer_own())
    rig.hub.patch(Ref(MANAGED_CLUSTER_ADDON, f"c0/{NAME}"), {"spec": {"configs": None}})
    rig.hub.patch(Ref(MANAGED_CLUSTER_ADDON, f"c1/{NAME}"), {"spec": {"configs": [refer_own()]}})

    rig.settle().works_do(["c0", "c1"])

    assert names_of(rig, "c1") == ["default", "own"]
    assert rig.halted() == ("False", "Complete")


def test_an_addon_that_is_made_anew_at_once_still_finds_its_configuration() -> None:
    rig = placed("c0").works_do(["c0"])
    again = {k: v for k, v in rig.hub.get(CMA).items() if k != "status"}

    rig.hub.delete(CMA)
    rig.hub.create(CMA, {**again, "metadata": {"name": NAME}})
    rig.settle()

    assert rig.halted()[1] != "ConfigNotFound"


def test_a_configuration_that_is_missing_while_reads_are_torn_begins_no_other_revision() -> None:
    rig = placed("c0", "c1", maxConcurrency=1).works_do(["c0"])
    rig.works_do(["c1"])
    assert rig.halted() == ("False", "Complete")
    before = share_of(rig).live.head

    rig.edit(Ref(PLACEMENT, "default/p"), {"status": None})
    rig.hub.patch_status(Ref(PLACEMENT, "default/p"), {"status": make.told(("", 7, ["p-0"]))})
    rig.settle()
    assert rig.halted() == ("True", "TornDecisions")
    rig.hub.delete(CONFIG)
    rig.settle()

    assert share_of(rig).live.head.revision == before.revision
    assert share_of(rig).live.head.passed == before.passed


def test_what_a_cluster_still_carries_is_known_though_it_is_asked_for_no_more() -> None:
    rig = placed("c0", documents=(config("other"),), maxConcurrency="0%")
    at = installed_at("p", refer("other"), strategy=progressive(maxConcurrency="100%"))
    rig.set_addon(addon("default", placements=[at])).works_do(["c0"])
    held = installed_at("p", strategy=progressive(maxConcurrency="0%"))
    rig.set_addon(addon("default", placements=[held]))
    assert [carried[0::3] for carried in rig.carries("c0")] == [("other", 1)]

    rig.set_config("edited", "other")

    assert [carried[0::3] for carried in rig.carries("c0")] == [("other", 2)]


def test_a_hold_that_this_engine_is_about_to_end_is_told_only_if_it_stays() -> None:
    rig = placed("c0", "c1").works_do(["c0", "c1"])
    share, now = share_of(rig), rig.clock.now()
    share.hold = Wait(Reason.TORN_DECISIONS, "half written")
    share.reading = Reading(share.reading.selection, hold=share.hold, untold_until=now + UNTOLD)
    view = rig.engine.fleet.tracker(AddOns)

    held, told = (AddOnPlanner().plan(NAME, view, at) for at in (now, now + UNTOLD))

    assert (held.writes, held.notes, held.recheck_at) == ((), (), now + UNTOLD)
    assert [note.reason for note in told.notes] == ["RolloutHeld"]
    assert len(told.writes) == 1
