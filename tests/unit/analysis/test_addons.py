"""What is foreseen of add-ons is what is done then; and how long does a plan hold?"""

from datetime import datetime

import pytest

from rollout.analysis.copies import TrialChange, holding
from rollout.analysis.forecast import Forecast, WorkloadPlan, forecast
from rollout.analysis.full_run import FullRun
from rollout.analysis.seals import fingerprint
from rollout.analysis.simulating import question, simulate
from rollout.clock import VirtualClock
from rollout.hub.memory import MemoryHub
from rollout.model.events import Event
from rollout.model.kinds import MANAGED_CLUSTER, MANAGED_CLUSTER_ADDON, Obj, Ref, kind_by_resource
from rollout.model.names import PAUSED, SKIP
from rollout.sim.scenario_file import parse_scenario
from tests.support import make
from tests.support.addon_changes import (
    CHANGES,
    GROUPS,
    NEW_VALUE,
    NOW,
    annotated,
    canaries,
    four,
    patching,
    rolled_out,
)
from tests.support.addons import (
    MIN,
    NAME,
    Rig,
    addon,
    cluster_addon,
    config,
    fleet,
    installed_at,
    refer,
)
from tests.support.changes import storing
from tests.support.shapes import placement

INSTANT = """
apiVersion: rollout-engine.io/v1alpha1
kind: AgentScenario
spec: {defaults: {applyAfter: 0s, readyAfter: 0s}}
"""


def only(found: Forecast) -> WorkloadPlan:
    (plan,) = found.workloads
    return plan


class Listener:
    """When which cluster was told to apply something else, in the order in which it was written."""

    def __init__(self, hub: MemoryHub, clock: VirtualClock) -> None:
        self.touched: list[tuple[datetime, str]] = []
        self._clock = clock
        self._told = {
            obj["metadata"]["namespace"]: desired(obj)
            for obj in hub.list(MANAGED_CLUSTER_ADDON).items
        }
        hub.watch(MANAGED_CLUSTER_ADDON, hub.list(MANAGED_CLUSTER_ADDON).version, self._hear)

    def _hear(self, event: Event) -> None:
        before = self._told.get(event.ref.namespace, [])
        after = self._told[event.ref.namespace] = desired(event.obj)
        if before != after:
            self.touched.append((self._clock.now(), event.ref.namespace))


def desired(obj: Obj) -> list[object]:
    return [
        each["desiredConfig"] for each in (obj.get("status") or {}).get("configReferences") or []
    ]


# -- what is planned is what is executed


def test_a_config_edit_touches_whom_it_was_planned_to_in_the_order_that_was_planned() -> None:
    hub, clock = rolled_out(canaries())
    start, edit = clock.now(), storing([config(value="two")])

    plan = only(forecast(hub, edit, start))
    listener = Listener(hub, clock)
    edit(hub)
    FullRun(hub, clock, parse_scenario(INSTANT)).run()

    stages = plan.placements[0].stages
    order = [each for stage in stages for each in stage.updated]
    assert [each for _, each in listener.touched] == order
    assert sorted(order) == [f"c{i:02}" for i in range(12)]
    now = [each for stage in stages for each in stage.at_once]
    assert [each for at, each in listener.touched if at == start] == now == ["c00", "c01"]
    assert plan.finish.at == clock.now() == start + 25 * MIN


def test_a_new_addon_is_installed_everywhere_at_once_and_configured_by_stage() -> None:
    hub, clock = holding({}, NOW)
    create = storing(canaries())

    plan = only(forecast(hub, create, NOW))
    listener = Listener(hub, clock)
    create(hub)
    FullRun(hub, clock, parse_scenario(INSTANT)).run()

    stages = plan.placements[0].stages
    assert [each for _, each in listener.touched] == [c for stage in stages for c in stage.added]
    assert stages[0].at_once == ("c00", "c01")
    assert plan.installed == tuple(f"c{i:02}" for i in range(2, 12))
    made = {o["metadata"]["creationTimestamp"] for o in hub.list(MANAGED_CLUSTER_ADDON).items}
    assert made == {"2026-01-01T00:00:00Z"}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_foreseen_for_right_now_is_what_is_written_then(name: str) -> None:
    change, touched = CHANGES[name]
    rig = four()

    found = forecast(rig.hub, change, rig.clock.now())
    change(rig.hub)
    rig.settle()

    assert right_now(found) == touched
    assert sorted(rig.take_touched()) == touched


def right_now(found: Forecast) -> list[str]:
    """The clusters that would be told to apply something else at once."""
    clusters = [c for plan in found.workloads for c in plan.aside]
    for plan in found.workloads:
        clusters += [c for p in plan.placements for stage in p.stages for c in stage.at_once]
    return sorted(clusters)


def test_an_addon_that_is_installed_by_hand_is_configured_at_once_everywhere() -> None:
    rig = Rig([*fleet("c0", "c1"), config(), addon("default")])
    rig.add(cluster_addon("c0"), cluster_addon("c1"))
    rig.settle().take_touched()

    found = forecast(rig.hub, NEW_VALUE, rig.clock.now())
    NEW_VALUE(rig.hub)
    rig.settle()

    plan = only(found)
    assert (plan.placements, plan.aside, plan.finish.at) == ((), ("c0", "c1"), rig.clock.now())
    assert rig.take_touched() == ["c0", "c1"]


def test_a_missing_configuration_is_foreseen_to_hold_its_placement() -> None:
    rig = four()

    plan = only(forecast(rig.hub, CHANGES["a missing config"][0], rig.clock.now()))

    hold = plan.placements[0].hold
    assert hold is not None
    assert hold.reason == "ConfigNotFound"
    assert plan.finish.at is None
    assert "the configuration object is created" in plan.finish.why


def test_a_plan_shows_what_a_cluster_is_told_to_apply_and_what_is_in_it() -> None:
    rig = four()

    plan = only(forecast(rig.hub, NEW_VALUE, rig.clock.now()))

    assert plan.diff_of == "c0"
    changed = [line.strip() for line in plan.diff.splitlines() if line[0] in "+-"]
    assert changed[:2] == ["--- c0 now", f"+++ c0 then, revision {plan.after}"]
    assert [line.split(":")[0] for line in changed[2:4]] == ["-    specHash", "+    specHash"]
    assert changed[4:] == ["-    - name: test", "-      value: test", "+    - name: two", "+      value: two"]  # fmt: skip


def test_what_a_cluster_applied_before_the_object_changed_is_not_made_up() -> None:
    """c0 still carries the first content; the object has the second; the third is planned."""
    rig = four()
    annotated(**{PAUSED: "true"})(rig.hub)
    rig.settle().set_config("second")

    plan = only(forecast(rig.hub, storing([config(value="third")]), rig.clock.now()))

    assert "second" not in plan.diff
    assert "-    specHash" in plan.diff
    assert "+    - name: third" in plan.diff


def test_clusters_that_a_placement_leaves_out_lose_the_addon() -> None:
    hub, clock = rolled_out(canaries())
    smaller = placement(decisionStrategy=GROUPS, numberOfClusters=10)

    plan = only(forecast(hub, storing([smaller]), clock.now()))

    assert len(plan.removal.clusters) == 2
    assert plan.removal.removed == plan.removal.clusters


def test_an_addon_that_a_change_does_not_concern_is_not_in_the_plan() -> None:
    hub, clock = rolled_out(canaries())

    found = forecast(hub, storing([config("unused")]), clock.now())

    assert [str(each) for each in found.objects] == ["AddOnDeploymentConfig default/unused"]
    assert found.workloads == ()


# -- configurations of kinds that we know nothing of


def test_a_configuration_of_any_kind_is_read_once_something_refers_to_it() -> None:
    """The hub has a Proxy that nothing refers to yet; the file makes the add-on refer to it."""
    hub = MemoryHub(VirtualClock(NOW))
    storing(canaries())(hub)
    kind = kind_by_resource("example.com", "proxies", namespaced=True)
    proxy = {"metadata": make.meta("proxy", "default"), "spec": {"url": "a"}}
    hub.create(Ref(kind, "default/proxy"), proxy)
    asked = installed_at("fleet", refer("default"), refer("proxy", "proxies", "example.com"))
    configured = addon(placements=[asked])
    configured["spec"]["supportedConfigs"].append({"group": "example.com", "resource": "proxies"})

    plan = only(forecast(hub, storing([configured]), NOW))

    assert plan.placements[0].hold is None
    assert "url: a" in plan.diff


# -- how it would go


def test_a_simulation_of_an_addon_is_what_becomes_of_it() -> None:
    hub, clock = rolled_out(canaries())
    edit = storing([config(value="two")])

    found = simulate(question(edit, parse_scenario(INSTANT), hub=hub, now=clock.now()))

    assert found.outcome.touched == found.outcome.soaked == 12
    assert found.outcome.lasted == 25 * MIN
    assert [(stage.title, len(stage.rows)) for stage in found.timeline.stages] == [
        ("canary #0", 2),
        ("the rest", 10),
    ]
    assert found.whole_because == "there are add-ons to roll out"


# -- whether a plan still holds


def sealed(hub: MemoryHub) -> str:
    return fingerprint([config(value="two")], hub)


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        (storing([config(value="x")]), False),
        (annotated(**{SKIP: "c0"}), False),
        (patching(Ref(MANAGED_CLUSTER_ADDON, f"c0/{NAME}"), {"spec": {"configs": []}}), False),
        (patching(Ref(MANAGED_CLUSTER, "c0"), {"spec": {"leaseDurationSeconds": 30}}), False),
        (lambda hub: None, True),
    ],
)
def test_a_plan_is_bound_to_what_addons_are_configured_with(
    change: TrialChange, holds: bool
) -> None:
    rig = four()
    before = sealed(rig.hub)

    change(rig.hub)

    assert (sealed(rig.hub) == before) is holds


def test_what_an_agent_says_does_not_break_a_plan() -> None:
    rig = four()
    before = sealed(rig.hub)
    ref = Ref(MANAGED_CLUSTER_ADDON, f"c0/{NAME}")
    said = [*rig.cluster("c0")["status"]["conditions"], {"type": "Odd", "status": "True"}]

    rig.hub.patch_status(ref, {"status": {"conditions": said}})

    assert sealed(rig.hub) == before
