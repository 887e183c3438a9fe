"""Does any field of any object, whatever is in it, make the engine raise?"""

import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rollout.clock import VirtualClock
from rollout.fleet.fleet import Fleet
from rollout.hub.base import Listing
from rollout.hub.kube_objects import ObjectDecoder
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    FREEZE,
    KINDS,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    REPLICA_SET,
    Kind,
    Obj,
    ref_of,
)
from rollout.runtime.engine import Engine
from rollout.runtime.pace import Pace
from rollout.runtime.planners import planners, trackers
from rollout.runtime.timers import VirtualTimers, Wake
from rollout.sim.agents import Agents
from rollout.sim.reports import said_of
from rollout.sim.scenario import Scenario
from tests.kube.spoilt import all_spoilt, replaced, watched
from tests.support import make
from tests.support.story import MIN, Story

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def test_there_are_more_than_five_hundred_spoilt_objects_of_every_kind() -> None:
    found = Counter(obj["kind"] for obj in all_spoilt("beset", "c00", freezes=True))

    assert found.total() > 500
    assert found.keys() == {kind.name for kind in watched()}
    assert all(count >= 2 for count in found.values()), found


class Beset:
    """An engine with two clusters and a good workload, which hears of bad objects that no hub has taken."""

    def __init__(self) -> None:
        self._clock = VirtualClock(T0)
        self.hub = MemoryHub(self._clock)
        self._timers: list[VirtualTimers] = []
        self.engine = Engine(
            self.hub,
            self._clock,
            self._alarms,
            planners(watches_health=True, rolls_addons=True),
            Fleet(trackers=trackers(rolls_addons=True)),
            pace=Pace(strict=True),
        )
        for obj in [*make.fleet(2), make.workload()]:
            ref = ref_of(KINDS[obj["kind"]], obj)
            self.hub.create(ref, obj)
            if (
                "status" in obj
            ):  # it says that the cluster is there; a server drops it from what is created
                self.hub.patch_status(ref, {"status": obj["status"]})
        self.engine.start()

    def _alarms(self, wake: Wake) -> VirtualTimers:
        self._timers.append(VirtualTimers(self._clock, wake))
        return self._timers[0]

    def hear(self, bad: Iterable[Obj]) -> None:
        for number, obj in enumerate(bad):
            ref = ref_of(KINDS[obj["kind"]], obj)
            version = 10**6 + number
            stored = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}
            self.engine.inbox.put(Event(ref, Change.ADDED, stored, version))

    def on(self, seconds: int) -> None:
        for _ in range(seconds):
            for _ in range(20_000):
                if not self.engine.turn():
                    break
            self._clock.advance(timedelta(seconds=1))
            self._timers[0].run_due()

    def written(self) -> set[str]:
        """The clusters that works were written for."""
        return {ref_of(MANIFEST_WORK, obj).namespace for obj in self.hub.list(MANIFEST_WORK).items}


@pytest.mark.parametrize("cluster", ["c00", "elsewhere"])
def test_no_spoilt_object_makes_the_engine_raise_or_stops_a_rollout(cluster: str) -> None:
    beset = Beset()
    beset.hear(all_spoilt("beset", cluster))
    beset.on(30)

    assert beset.engine.passes > 300  # placements, workloads, sets, bindings, clusters, add-ons
    assert {"c00", "c01"} <= beset.written()


FREEZES = [obj for obj in all_spoilt("beset", "c00", freezes=True) if obj["kind"] == FREEZE.name]


@pytest.mark.parametrize("freeze", FREEZES, ids=lambda obj: obj["metadata"]["name"])
def test_a_spoilt_freeze_holds_the_whole_hub(freeze: Obj) -> None:
    beset = Beset()
    beset.hear([freeze])
    beset.on(30)

    assert beset.written() == set()


def test_no_spoilt_work_stops_the_simulated_agents() -> None:
    clock = VirtualClock(T0)
    hub = MemoryHub(clock)
    works = [
        replaced(obj, ("spec", "workload", "manifests"), [{"kind": "ConfigMap"}])
        for obj in all_spoilt("beset", "c00")
        if obj["kind"] == "ManifestWork" and isinstance(obj["status"], dict)
    ]
    hub.create(ref_of(MANAGED_CLUSTER, cluster := make.cluster("c00")), cluster)
    for obj in works:
        ref = ref_of(MANIFEST_WORK, obj)
        hub.create(ref, obj)
        hub.patch_status(ref, {"status": obj["status"]})
    quick = {"applyAfter": "1s", "readyAfter": "2s"}
    scenario = {"spec": {"resourceStatus": True, "defaults": quick}}
    agents = Agents(hub, clock, Scenario.model_validate(scenario))
    agents.start()
    for _ in range(10):
        agents.run_due()
        clock.advance(timedelta(seconds=1))

    silent = [obj for obj in hub.list(MANIFEST_WORK).items if not said_of(obj)]
    assert len(works) > 50
    assert silent == []


class Deep:
    """A hub on which the template of one workload is nested 2,000 levels deep, as API servers allow."""

    def __init__(self, hub: MemoryHub) -> None:
        self._hub, self._decoder = hub, ObjectDecoder()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hub, name)

    def list(self, kind: Kind, *args: Any) -> Listing:
        shown = self._hub.list(kind, *args)
        if kind is not REPLICA_SET:
            return shown
        items = json.dumps(shown.items).replace('"DEEP"', '{"a":' * 2_000 + "1" + "}" * 2_000)
        page = f'{{"metadata":{{"resourceVersion":"{shown.version}"}},"items":{items}}}'
        return Listing(tuple(self._decoder.page(kind, page.encode()).objects()), shown.version)


def deep(hub: MemoryHub) -> Any:
    return Deep(hub)


def test_a_workload_that_is_nested_too_deeply_is_held_alone_and_says_so() -> None:
    workload = make.workload(name="deep")
    workload["spec"]["manifestWorkTemplate"]["workload"]["manifests"][0]["data"]["x"] = "DEEP"
    story = Story([*make.fleet(2), workload, make.workload()], wrap=deep)
    story.to(MIN)

    assert story.said(names.PROGRESSING, "deep")[1] == "Misconfigured"
    message = story.condition(names.PROGRESSING, "deep").message
    assert "nested too deeply to be read: write it with fewer levels" in message
    assert sorted(story.works()) == ["c00", "c01"]
    assert story.works("deep") == {}


def test_a_template_that_becomes_nested_too_deeply_takes_nothing_from_its_clusters() -> None:
    story = Story([*make.fleet(2), make.workload()], wrap=deep)
    story.end()
    workload = story.mwrs()
    manifest = workload["spec"]["manifestWorkTemplate"]["workload"]["manifests"][0]
    nested = {**manifest, "data": {**manifest["data"], "x": "DEEP"}}
    story.template({"workload": {"manifests": [nested]}})
    story.restart().on(60 * MIN)

    assert story.said(names.PROGRESSING)[1] == "Misconfigured"
    assert sorted(story.works()) == ["c00", "c01"]
