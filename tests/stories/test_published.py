"""Decisions are published for tools that read those of SIG Multicluster: through the whole engine."""

from datetime import UTC, datetime
from typing import Any

import pytest

from rollout.clock import VirtualClock
from rollout.errors import Gone, NotServed
from rollout.fleet.fleet import Fleet
from rollout.hub.base import Listing
from rollout.hub.memory import MemoryHub
from rollout.model.inventory import PUBLISHER
from rollout.model.kinds import (
    CLUSTER_PROFILE,
    KINDS,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_DECISION,
    SHARED_DECISION,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.runtime.engine import Engine
from rollout.runtime.pace import Pace
from rollout.runtime.planners import planners
from rollout.runtime.timers import VirtualTimers
from tests.support import make

BOTH = (SHARED_DECISION, CLUSTER_PROFILE)


class Lacking(MemoryHub):
    """A hub that does not know SIG Multicluster."""

    def list(self, kind: Kind, *args: Any, **more: Any) -> Listing:
        if kind in BOTH:
            raise NotServed(f"{kind.plural} are not served")
        return super().list(kind, *args, **more)


class World:
    """A fleet with one placement of all clusters, and an engine that publishes what it decides."""

    def __init__(self, *clusters: str, hub: type[MemoryHub] = MemoryHub, **placement: Any) -> None:
        self.clock = VirtualClock(datetime(2030, 1, 1, tzinfo=UTC))
        self.hub = hub(self.clock)
        self.put(
            MANAGED_CLUSTER,
            *(make.cluster(name, {make.GROUP: f"ring-{name[0]}"}) for name in clusters),
        )
        for obj in (make.cluster_set(), make.binding()):
            self.hub.create(ref_of(KINDS[obj["kind"]], obj), obj)
        self.put(PLACEMENT, make.placement(**placement))
        self.engine = Engine(
            self.hub,
            self.clock,
            lambda wake: VirtualTimers(self.clock, wake),
            planners(publishes=BOTH),
            Fleet(publishes=BOTH),
            pace=Pace(least_interval={}, strict=True),
        )
        self.engine.start()
        self.engine.run_until_idle()

    def put(self, kind: Kind, *objects: Obj) -> None:
        for obj in objects:
            ref = ref_of(kind, obj)
            self.hub.create(ref, obj)
            if obj.get("status"):
                self.hub.patch_status(ref, {"status": obj["status"]})

    def decided(self, page: str, count: int) -> None:
        """What a scheduler says in the placement's status when it is done."""
        group = {"decisionGroupIndex": 0, "decisionGroupName": "", "decisions": [page]}
        status = {"decisionGroups": [{**group, "clusterCount": count}]}
        self.hub.patch_status(Ref(PLACEMENT, "default/p"), {"status": status})

    def slices(self) -> dict[str, list[str]]:
        return {
            obj["metadata"]["name"]: [d["clusterProfileRef"]["name"] for d in obj["decisions"]]
            for obj in self.hub.list(SHARED_DECISION).items
        }

    def profiles(self) -> set[str]:
        return {obj["metadata"]["name"] for obj in self.hub.list(CLUSTER_PROFILE).items}

    def slice(self, name: str) -> Obj:
        return self.hub.get(Ref(SHARED_DECISION, f"default/{name}"))


def test_every_decision_is_published_with_its_group_its_order_and_its_owner() -> None:
    world = World("a1", "a2", "b1", groups=["ring-a"])

    assert world.slices() == {"p-decision-1": ["a1", "a2"], "p-decision-2": ["b1"]}
    found = world.slice("p-decision-2")
    labels = found["metadata"]["labels"]
    assert labels["multicluster.x-k8s.io/decision-key"] == "p"
    assert labels["multicluster.x-k8s.io/decision-index"] == "1"
    first = world.slice("p-decision-1")["metadata"]["labels"]
    assert first["cluster.open-cluster-management.io/decision-group-name"] == "ring-a"
    assert found["schedulerName"] == PUBLISHER
    assert found["decisions"] == [{"clusterProfileRef": {"name": "b1", "namespace": "default"}}]
    (owner,) = found["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Placement", "p")


def test_a_profile_says_what_the_agent_says_of_its_cluster() -> None:
    world = World("a1")
    status = {
        "version": {"kubernetes": "v1.34.1"},
        "clusterClaims": [{"name": "region", "value": "eu"}],
    }
    world.hub.patch_status(Ref(MANAGED_CLUSTER, "a1"), {"status": status})
    world.engine.run_until_idle()

    profile = world.hub.get(Ref(CLUSTER_PROFILE, "default/a1"))
    assert profile["spec"]["clusterManager"] == {"name": PUBLISHER}
    assert profile["metadata"]["labels"]["x-k8s.io/cluster-manager"] == PUBLISHER
    assert profile["status"]["version"] == {"kubernetes": "v1.34.1"}
    assert profile["status"]["properties"] == [{"name": "region", "value": "eu"}]
    (healthy,) = profile["status"]["conditions"]
    assert (healthy["type"], healthy["status"]) == ("ControlPlaneHealthy", "True")


def test_who_leaves_and_who_joins_is_published_too() -> None:
    world = World("a1", "a2")
    world.hub.delete(Ref(MANAGED_CLUSTER, "a1"))
    world.put(MANAGED_CLUSTER, make.cluster("a3"))
    world.engine.run_until_idle()

    assert world.slices() == {"p-decision-1": ["a2", "a3"]}
    assert world.profiles() == {"a2", "a3"}


def test_nothing_published_outlives_its_placement() -> None:
    world = World("a1")
    world.hub.delete(Ref(PLACEMENT, "default/p"))
    world.engine.run_until_idle()

    assert (world.slices(), world.profiles()) == ({}, set())


@pytest.mark.parametrize(
    "spoil", [{"decisions": []}, {"schedulerName": PUBLISHER, "metadata": {"labels": None}}]
)
def test_what_somebody_else_changed_is_put_right(spoil: Obj) -> None:
    world = World("a1")
    before = world.slice("p-decision-1")
    world.hub.patch(Ref(SHARED_DECISION, "default/p-decision-1"), spoil)
    world.engine.run_until_idle()

    after = world.slice("p-decision-1")
    assert after["decisions"] == before["decisions"]
    assert after["metadata"]["labels"] == before["metadata"]["labels"]


def test_what_another_publisher_wrote_is_left_alone() -> None:
    world = World()
    theirs = {"schedulerName": "open-cluster-management", "decisions": []}
    profile = {"spec": {"clusterManager": {"name": "open-cluster-management"}}}
    world.hub.create(Ref(SHARED_DECISION, "default/q-decision-1"), theirs)
    world.hub.create(Ref(CLUSTER_PROFILE, "default/a1"), profile)
    world.put(MANAGED_CLUSTER, make.cluster("a1"))
    world.put(PLACEMENT, make.placement("q"))
    world.engine.run_until_idle()

    assert world.slices() == {"p-decision-1": ["a1"], "q-decision-1": []}
    found = world.hub.get(Ref(CLUSTER_PROFILE, "default/a1"))
    assert found["spec"] == profile["spec"]
    assert "status" not in found


def test_decisions_of_another_scheduler_are_published_once_they_are_whole() -> None:
    world = World("a1", "a2", ours=False)
    page = make.decision(["a1", "a2"])
    ref = ref_of(PLACEMENT_DECISION, page)
    world.decided(ref.name, 2)
    half = {"decisions": page["status"]["decisions"][:1]}
    world.put(PLACEMENT_DECISION, {**page, "status": half})
    world.engine.run_until_idle()
    assert world.slices() == {}

    world.hub.patch_status(ref, {"status": page["status"]})
    world.engine.run_until_idle()
    assert world.slices() == {ref.name: ["a1", "a2"]}


def test_a_hub_that_lacks_the_kinds_loses_nothing_else() -> None:
    world = World("a1", hub=Lacking)

    (page,) = world.hub.list(PLACEMENT_DECISION).items
    assert [d["clusterName"] for d in page["status"]["decisions"]] == ["a1"]
    with pytest.raises(Gone):
        world.hub.get(Ref(SHARED_DECISION, "default/p-decision-1"))
