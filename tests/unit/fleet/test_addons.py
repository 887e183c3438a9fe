"""What the fleet knows of add-ons, and what it makes of it: rollouts through the engine."""

import json
from datetime import timedelta
from typing import Any

from rollout.errors import NotServed
from rollout.fleet.fleet import Fleet
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    PLACEMENT,
    ROLLOUT_RECORD,
    Kind,
    Obj,
    Ref,
    kind_by_resource,
    ref_of,
)
from rollout.rollouts.addon_configs import read_addon_work
from rollout.rollouts.addon_workload import AddOnWorkload
from rollout.rollouts.mirror import Mirror
from rollout.rollouts.record import HEAD, page_ref, record_id
from rollout.runtime.planners import trackers
from tests.support import make
from tests.support.addons import (
    CMA,
    GROUP,
    MIN,
    NAME,
    SEC,
    T0,
    Rig,
    addon,
    cluster_addon,
    config,
    fleet,
    installed_at,
    progressive,
    refer,
)

CONFIG = kind_by_resource(GROUP, "addondeploymentconfigs", namespaced=True)


def canary(**notes: str) -> Rig:
    """Three clusters, one at a time, well for a minute, within five."""
    strategy = progressive(
        maxConcurrency=1, minSuccessTime="1m", progressDeadline="5m", maxFailures=1
    )
    placed = installed_at("p", strategy=strategy)
    documents = [config(), addon("default", placements=[placed], annotations=notes)]
    return Rig([*fleet("c0", "c1", "c2"), *documents]).decide(["c0", "c1", "c2"])


def test_a_fix_is_never_blocked_by_what_it_fixes() -> None:
    """OCM takes over the time of the bad revision (add-on weakness A-8; row 18)."""
    rig = canary().later(6 * MIN)
    assert rig.take_touched() == ["c0", "c1"]

    rig.later(6 * MIN)
    assert rig.halted() == ("True", "MaxFailuresExceeded")
    rig.set_config("fix")

    assert rig.take_touched() == ["c0"]
    assert rig.halted() == ("False", "RollingOut")


def test_the_soak_starts_anew_when_success_breaks() -> None:
    rig = canary().works_do(["c0"]).later(50 * SEC)
    rig.works_do(["c0"], ready=False).later(20 * SEC).works_do(["c0"]).later(50 * SEC)
    rig.take_touched()

    assert rig.later(10 * SEC - timedelta(microseconds=1)).take_touched() == []
    assert rig.later(timedelta(microseconds=1)).take_touched() == ["c1"]


def test_once_soaked_an_addon_that_is_unwell_takes_no_slot() -> None:
    """With OCM it soaks for ever (add-on weakness A-7; row 11)."""
    rig = canary().works_do(["c0"]).later(MIN)
    rig.works_do(["c0"], ready=False).works_do(["c1"]).later(MIN)

    assert rig.take_touched() == ["c0", "c1", "c2"]
    assert rig.carries("c0")[0][1] == rig.carries("c0")[0][2]


def test_a_skipped_cluster_is_neither_touched_nor_wanted() -> None:
    rig = canary(**{names.SKIP: "c0"}).works_do(["c1"]).later(MIN).works_do(["c2"]).later(MIN)

    assert rig.take_touched() == ["c1", "c2"]
    assert rig.message() == (
        "selected clusters 3. configured addons 2/2 completed with no errors, 0 failed 0 timeout."
    )


def test_what_is_changed_by_hand_is_put_back() -> None:
    rig = canary().works_do(["c0"])
    before = rig.references("c0")

    ref = Ref(MANAGED_CLUSTER_ADDON, f"c0/{NAME}")
    rig.hub.patch_status(ref, {"status": {"configReferences": []}})
    rig.settle()

    assert [r["desiredConfig"] for r in rig.references("c0")] == [
        r["desiredConfig"] for r in before
    ]


def test_the_mark_of_what_the_strategy_installed_is_put_back() -> None:
    rig = canary()
    ref = Ref(MANAGED_CLUSTER_ADDON, f"c1/{NAME}")
    marked = rig.cluster("c1")["metadata"]["annotations"]

    rig.hub.patch(ref, {"metadata": {"annotations": {names.INSTALLED_BY: None}}})
    rig.settle()

    assert rig.cluster("c1")["metadata"]["annotations"] == marked
    rig.decide(["c0", "c2"]).later(MIN)
    assert rig.installed() == ["c0", "c2"]


def test_what_somebody_made_by_hand_in_its_place_is_not_marked() -> None:
    rig = canary()
    rig.decide(["c0", "c2"]).later(MIN)
    rig.add(cluster_addon("c1"))

    rig.settle()

    assert names.INSTALLED_BY not in (rig.cluster("c1")["metadata"].get("annotations") or {})


def test_works_that_are_gone_leave_nothing_of_their_clusters_behind() -> None:
    workload = AddOnWorkload(NAME, {}, {}, Mirror(), profile="strict")
    work = read_addon_work({"metadata": {"namespace": "c0", "name": "w"}})
    empty = {name: len(kept) for name, kept in vars(workload).items() if isinstance(kept, dict)}

    workload.put_work("c0", "c0/w", work)
    assert list(workload.works("c0")) == [work]
    workload.drop_work("c0", "c0/w")

    assert {name: len(vars(workload)[name]) for name in empty} == empty


def test_in_profile_ocm_the_addons_own_times_count() -> None:
    rig = canary(**{names.SEMANTICS: "ocm"}).works_do(["c0"])
    assert rig.later(30 * SEC).take_touched() == ["c0"]
    assert rig.later(31 * SEC).take_touched() == ["c1"]


def test_an_own_configuration_that_is_missing_fails_its_cluster_alone() -> None:
    placed = installed_at("p", strategy=progressive(maxFailures=1))
    rig = Rig(
        [
            *fleet("c0", "c1"),
            config(),
            cluster_addon("c0", refer("gone")),
            addon("default", placements=[placed]),
        ]
    ).decide(["c0", "c1"])

    rig.works_do(["c1"]).later(2 * MIN)

    assert rig.carries("c0") == []
    assert rig.message() == (
        "selected clusters 2. configured addons 1/2 progressing..., 1 failed 0 timeout."
    )
    assert rig.halted() == ("False", "CompleteWithFailures")


def test_records_lie_in_the_controllers_namespace_and_go_with_the_placement() -> None:
    rig = canary()

    def records() -> list[Obj]:
        found = rig.hub.list(ROLLOUT_RECORD, "rollout-system").items
        return [o for o in found if names.RECORD_LABEL in (o["metadata"].get("labels") or {})]

    assert records()
    for page in records():
        assert page["metadata"]["annotations"][names.OWNER] == CMA.key
        assert page["metadata"]["annotations"][names.RECORD_PLACEMENT] == "default/p"
        assert page["metadata"]["ownerReferences"][0]["kind"] == "ClusterManagementAddOn"

    rig.add(make.placement("q", ours=False))
    rig.decide(["c0", "c1", "c2"], placement="q")
    rig.set_addon(addon("default", placements=[installed_at("q")])).later(MIN)
    kept = {p["metadata"]["annotations"][names.RECORD_PLACEMENT] for p in records()}
    assert kept == {"default/q"}


def test_a_record_that_an_earlier_addon_left_is_replaced_by_the_engine() -> None:
    """To create it under the same name is refused until it is collected, and nothing is told before."""
    ref = page_ref("rollout-system", record_id(CMA, "default/p"), 0)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": NAME, "uid": "of-the-earlier"}
    left = {
        "apiVersion": "rollout-engine.io/v1alpha1",
        "kind": "RolloutRecord",
        "metadata": {
            **make.meta(ref.name, ref.namespace),
            "annotations": {names.OWNER: CMA.key, names.RECORD_PLACEMENT: "default/p"},
            "ownerReferences": [owner],
        },
        "data": {"head.json": "{}"},
    }
    documents = [left, config(), addon("default", placements=[installed_at("p")])]
    rig = Rig([*fleet("c0"), *documents]).decide(["c0"])

    assert rig.take_touched() == ["c0"]
    (mine,) = rig.hub.get(ref)["metadata"]["ownerReferences"]
    assert mine["uid"] == rig.hub.get(CMA)["metadata"]["uid"]


class Deaf:
    """A hub whose watch of ClusterManagementAddOns misses what happens while it is down."""

    def __init__(self, hub: MemoryHub) -> None:
        self._hub = hub
        self.is_down = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hub, name)

    def watch(self, kind: Kind, since: int, sink: Any, expired: Any = None) -> Any:
        if kind is not CMA.kind:
            return self._hub.watch(kind, since, sink, expired)
        self.expire = expired
        return self._hub.watch(kind, since, lambda e: None if self.is_down else sink(e), expired)


class Missing(Rig):
    """An engine that can miss what becomes of the add-on, and lists it again."""

    def seen(self) -> Any:
        self.ears = Deaf(self.hub)
        return self.ears

    def replace_unseen(self, document: Obj) -> None:
        self.ears.is_down = True
        self.hub.delete(CMA)
        self.add(document)
        self.ears.is_down = False
        self.ears.expire()


def test_an_addon_made_anew_behind_the_engines_back_begins_its_own_rollout() -> None:
    """With the old one's record it wrote pages for a dead owner, which were collected, for ever."""
    document = addon("default", placements=[installed_at("p")])
    rig = Missing([*fleet("c0", "c1"), config(), document])
    rig.decide(["c0", "c1"]).later(MIN)

    rig.replace_unseen(document)
    rig.later(MIN)

    uid = rig.hub.get(CMA)["metadata"]["uid"]
    page = rig.hub.get(page_ref("rollout-system", record_id(CMA, "default/p"), 0))
    assert [owner["uid"] for owner in page["metadata"]["ownerReferences"]] == [uid]
    assert rig.installed() == ["c0", "c1"]
    assert rig.cluster("c0")["metadata"]["annotations"][names.INSTALLED_BY] == uid
    version = page["metadata"]["resourceVersion"]
    rig.later(60 * MIN)
    assert (
        rig.hub.get(page_ref("rollout-system", record_id(CMA, "default/p"), 0))["metadata"][
            "resourceVersion"
        ]
        == version
    )


def test_a_kind_that_the_server_does_not_have_holds_only_what_refers_to_it() -> None:
    tunings = kind_by_resource("example.org", "tunings", namespaced=True)

    class WithoutTunings(Rig):
        def start(self) -> "WithoutTunings":
            listed = self.hub.list

            def listing(kind: Kind, *args: Any, **more: Any) -> Any:
                if kind is tunings and not self.has_kind:
                    raise NotServed("no such resource")
                return listed(kind, *args, **more)

            self.has_kind = False
            self.hub.list = listing  # type: ignore[method-assign]  # a server without the kind
            super().start()
            return self

    document = addon(placements=[installed_at("p", refer("t", "tunings", "example.org"))])
    document["spec"]["supportedConfigs"].append({"group": "example.org", "resource": "tunings"})
    rig = WithoutTunings([*fleet("c0"), document], checks=False)
    rig.decide(["c0"]).later(MIN)
    assert rig.halted() == ("True", "ConfigNotFound")

    rig.has_kind = True
    rig.hub.create(
        Ref(tunings, "default/t"),
        {"metadata": {"namespace": "default", "name": "t"}, "spec": {"a": 1}},
    )
    rig.later(10 * MIN)
    assert [name for name, *_ in rig.carries("c0")] == ["t"]
    assert rig.engine.fleet.outages.spans == ()


def test_a_cluster_that_one_placement_lost_and_another_selects_is_no_failure_of_the_first() -> None:
    """Rows 17, 21."""
    strategy = progressive(maxConcurrency=1, maxFailures=0)
    placements = [installed_at("p", strategy=strategy), installed_at("q")]
    documents = [config(), addon("default", placements=placements)]
    rig = Rig([*fleet("c0", "c1", placements=("p", "q")), *documents])
    rig.decide([], placement="q").decide(["c0", "c1"])
    gone = make.condition(names.CLUSTER_AVAILABLE, "Unknown")
    rig.hub.patch_status(Ref(MANAGED_CLUSTER, "c0"), {"status": {"conditions": [gone]}})
    rig.decide(["c1"]).later(MIN)
    assert rig.halted("p") == ("True", "MaxFailuresExceeded")
    rig.take_touched()

    rig.decide(["c0"], placement="q").later(MIN)

    assert rig.halted("p") == ("False", "RollingOut")
    assert "c1" in rig.take_touched()


def test_a_placement_that_is_gone_holds_only_its_own_clusters() -> None:
    """One missing placement stops the whole add-on with OCM (add-on weakness A-9; row 26)."""
    placements = [installed_at("p"), installed_at("q")]
    documents = [config(), addon("default", placements=placements)]
    rig = Rig([*fleet("c0", "c1", placements=("p", "q")), *documents])
    rig.decide(["c0"]).decide(["c1"], placement="q")
    rig.hub.delete(Ref(PLACEMENT, "default/q"))
    rig.settle().take_touched()

    rig.set_config("new")

    assert rig.take_touched() == ["c0"]
    assert rig.halted("q") == ("True", "PlacementNotFound")


def rolled_out(rig: Rig) -> str:
    """The revision that the record of the placement names."""
    page = rig.hub.get(page_ref("rollout-system", record_id(CMA, "default/p"), 0))
    return str(json.loads(page["data"][HEAD])["revision"])


def test_what_is_missing_is_no_new_revision_though_the_placement_is_gone_too() -> None:
    rig = canary()
    before = rolled_out(rig)

    rig.hub.delete(Ref(PLACEMENT, "default/p"))
    rig.hub.delete(Ref(CONFIG, "default/default"))
    rig.settle().later(MIN)

    assert rig.halted() == ("True", "PlacementNotFound")
    assert rolled_out(rig) == before


def test_a_configuration_whose_kind_is_wanted_again_at_once_is_still_known() -> None:
    """Nobody has asked in between which kinds are wanted, so none is read again."""
    documents = [addon("default", placements=[installed_at("p")]), config()]
    known = Fleet(trackers=trackers(rolls_addons=True))
    for version, document in enumerate([*documents, addon(placements=[]), documents[0]], 1):
        kind = CONFIG if document is documents[1] else CMA.kind
        event = Event(ref_of(kind, document), Change.MODIFIED, document, version)
        known.apply(event, T0)

    known.refresh(CMA, T0)

    workload = known.rollout(CMA)
    assert isinstance(workload, AddOnWorkload)
    assert [ref.name for ref in workload.known] == ["default"]
