"""What is foreseen and explained of add-ons is what the engine then does, and why."""

from datetime import UTC, datetime

import pytest

from rollout.analysis.clusters import explain_cluster
from rollout.analysis.copies import Change, copied, storing
from rollout.analysis.forecast import Forecast, WorkloadPlan, forecast
from rollout.analysis.histories import Role, history, lines
from rollout.analysis.rollouts import explain_rollout
from rollout.analysis.seals import fingerprint
from rollout.analysis.sight import look
from rollout.analysis.simulating import question, simulate
from rollout.analysis.whole import Whole
from rollout.clock import VirtualClock
from rollout.hub.base import EmbeddedHub
from rollout.hub.memory import MemoryHub
from rollout.model.events import Event
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    Obj,
    Ref,
    kind_by_resource,
)
from rollout.model.names import PAUSED, SKIP
from rollout.sim.scenario import Scenario
from rollout.sim.scenario_file import parse_scenario
from rollout.strategies.base import Phase
from tests import make
from tests.addons import (
    CMA,
    MIN,
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
from tests.cli.shapes import binding, cluster, cluster_set, placement

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG = Ref(ADDON_DEPLOYMENT_CONFIG, "default/default")
CANARY_FIRST = progressive(
    maxConcurrency="25%", minSuccessTime="5m", mandatoryDecisionGroups=[{"groupName": "canary"}]
)
GROUPS: Obj = {
    "groupStrategy": {
        "decisionGroups": [
            {
                "groupName": "canary",
                "groupClusterSelector": {"labelSelector": {"matchLabels": {"ring": "canary"}}},
            }
        ]
    }
}
INSTANT = """
apiVersion: rollout-engine.io/v1alpha1
kind: AgentScenario
spec: {defaults: {applyAfter: 0s, readyAfter: 0s}}
"""


def canaries(value: str = "one", size: int = 12) -> list[Obj]:
    """An add-on on some clusters, of which two are canaries."""
    rings = [{"ring": "canary"} if i < 2 else {} for i in range(size)]
    clusters = [cluster(f"c{i:02}", ring) for i, ring in enumerate(rings)]
    chosen = placement(decisionStrategy=GROUPS)
    placed = installed_at("fleet", refer("default"), strategy=CANARY_FIRST)
    own = [config(value=value), addon(placements=[placed])]
    return [cluster_set(), binding(), *clusters, chosen, *own]


def rolled_out(objects: list[Obj]) -> tuple[MemoryHub, VirtualClock]:
    hub, clock = copied(None, NOW)
    storing(objects)(hub)
    Whole(hub, clock, Scenario()).run()
    return hub, clock


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
    Whole(hub, clock, parse_scenario(INSTANT)).run()

    stages = plan.placements[0].stages
    order = [each for stage in stages for each in stage.updated]
    assert [each for _, each in listener.touched] == order
    assert sorted(order) == [f"c{i:02}" for i in range(12)]
    now = [each for stage in stages for each in stage.at_once]
    assert [each for at, each in listener.touched if at == start] == now == ["c00", "c01"]
    assert plan.finish.at == clock.now() == start + 25 * MIN


def test_a_new_addon_is_installed_everywhere_at_once_and_configured_by_stage() -> None:
    hub, clock = copied(None, NOW)
    create = storing(canaries())

    plan = only(forecast(hub, create, NOW))
    listener = Listener(hub, clock)
    create(hub)
    Whole(hub, clock, parse_scenario(INSTANT)).run()

    stages = plan.placements[0].stages
    assert [each for _, each in listener.touched] == [c for stage in stages for c in stage.added]
    assert stages[0].at_once == ("c00", "c01")
    assert plan.installed == tuple(f"c{i:02}" for i in range(2, 12))
    made = {o["metadata"]["creationTimestamp"] for o in hub.list(MANAGED_CLUSTER_ADDON).items}
    assert made == {"2026-01-01T00:00:00Z"}


def patching(ref: Ref, changes: Obj) -> Change:
    def change(hub: EmbeddedHub) -> None:
        hub.patch(ref, changes)

    return change


def deleting(ref: Ref) -> Change:
    def change(hub: EmbeddedHub) -> None:
        hub.delete(ref)

    return change


def in_turn(*changes: Change) -> Change:
    def change(hub: EmbeddedHub) -> None:
        for each in changes:
            each(hub)

    return change


def annotated(**annotations: str) -> Change:
    return patching(CMA, {"metadata": {"annotations": annotations}})


def placed(*configs: str, **options: object) -> Obj:
    strategy = progressive(maxConcurrency=2, **options)
    return installed_at("p", *map(refer, configs), strategy=strategy)


def spec_of(document: Obj) -> Change:
    return patching(CMA, {"spec": document["spec"]})


NEW_VALUE = storing([config(value="two")])
CHANGES: dict[str, tuple[Change, list[str]]] = {
    "a config edit": (NEW_VALUE, ["c0", "c1"]),
    "a config of one cluster's own": (storing([config("own", "x")]), ["c3"]),
    "both": (in_turn(NEW_VALUE, storing([config("own", "x")])), ["c0", "c1", "c3"]),
    "another config": (spec_of(addon(placements=[placed("other")])), ["c0", "c1"]),
    "the same once more": (storing([config(value="test")]), []),
    "a missing config": (spec_of(addon(placements=[placed("nowhere")])), []),
    "a config that is deleted": (deleting(CONFIG), []),
    "an edit while paused": (in_turn(NEW_VALUE, annotated(**{PAUSED: "true"})), []),
    "an edit with a cluster skipped": (in_turn(NEW_VALUE, annotated(**{SKIP: "c0"})), ["c1", "c2"]),
    "an edit with a soak": (  # c3, whose own configuration stays, soaks with the new revision
        in_turn(NEW_VALUE, spec_of(addon(placements=[placed("default", minSuccessTime="1m")]))),
        ["c0"],
    ),
    "an end of the install strategy": (spec_of(addon("other")), []),
}


def four() -> Rig:
    """An add-on on four clusters, all well; c3 has a configuration of its own."""
    documents = [*fleet("c0", "c1", "c2", "c3"), config(), config("other", "o"), config("own", "w")]
    rig = Rig([*documents, addon(placements=[placed("default")])])
    rig.decide(["c0", "c1", "c2", "c3"])
    rig.works_do(["c0", "c1"]).works_do(["c2", "c3"]).later(MIN)
    rig.edit(Ref(MANAGED_CLUSTER_ADDON, f"c3/{NAME}"), {"spec": {"configs": [refer("own")]}})
    rig.works_do(["c3"]).later(MIN)
    assert rig.halted() == ("False", "Complete")
    rig.take_touched()
    return rig


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


# -- what is explained


def moment() -> tuple[MemoryHub, datetime]:
    """A config edit on its way, when nothing more happens: two of the agents never get ready."""
    hub, clock = rolled_out(canaries())
    storing([config(value="two")])(hub)
    Whole(hub, clock, parse_scenario(SILENT)).run()
    return hub, clock.now()


SILENT = """
apiVersion: rollout-engine.io/v1alpha1
kind: AgentScenario
spec:
  rules: [{clusters: {names: [c02, c03]}, behaviour: {outcome: hang}}]
"""


def test_an_addon_says_why_it_is_not_done_and_what_would_end_that() -> None:
    hub, now = moment()

    account = explain_rollout(look(hub, now), CMA)

    assert account is not None
    assert (account.kind, account.key, account.total) == ("ClusterManagementAddOn", "hello", 12)
    assert (account.wait.reason, account.done) == ("RollingOut", False)
    assert [(stage.title, stage.passed) for stage in account.stages] == [
        ("canary #0", True),
        ("the rest", False),
    ]
    assert account.stages[1].phases[Phase.PROGRESSING] == 2


def test_each_cluster_has_one_reason_for_every_workload_that_it_is_to_have() -> None:
    hub, now = moment()
    sight = look(hub, now)

    reasons = {}
    for i in range(12):
        account = explain_cluster(sight, f"c{i:02}")
        assert account is not None
        (share,) = account.shares
        reasons[account.name] = share.wait.reason if share.wait else share.phase

    assert {reasons["c00"], reasons["c11"]} == {Phase.SOAKED}
    assert {reasons["c02"], reasons["c03"]} == {"Progressing"}
    assert set(reasons.values()) == {Phase.SOAKED, "Progressing"}


def test_a_cluster_that_no_placement_selects_says_why() -> None:
    rig = four()
    rig.decide(["c0", "c1", "c3"])

    account = explain_cluster(look(rig.hub, rig.clock.now()), "c2", CMA)

    assert account is not None
    assert list(account.shares[0].refused or ()) == ["default/p"]


def test_what_is_worked_out_anew_is_what_the_engine_had_said() -> None:
    rig = four()
    for change, _ in CHANGES.values():
        change(rig.hub)
        rig.settle().later(MIN)
        account = explain_rollout(look(rig.hub, rig.clock.now()), CMA)
        assert account is not None
        if rig.hub.get(CMA)["spec"]["installStrategy"]["type"] == "Placements":
            assert account.wait.reason == rig.halted()[1]
        else:
            assert account.wait.reason == "Manual"


def test_a_look_at_a_hub_writes_nothing() -> None:
    hub, now = moment()
    before = dict(hub.everything())
    sight = look(hub, now)

    for ref in sight.workloads():
        explain_rollout(sight, ref)
        history(hub, sight, ref)
    lines(sight)

    assert dict(hub.everything()) == before


def test_the_history_of_an_addon_has_what_is_asked_for_and_what_is_still_carried() -> None:
    hub, now = moment()
    kept = rolled_out(canaries())[0]

    found = history(hub, look(hub, now), CMA)
    before = history(kept, look(kept, NOW), CMA)

    assert found is not None
    assert before is not None
    rolling, current = found.revisions[0], found.revisions[-1]
    assert (rolling.role, rolling.clusters, found.unknown) == (Role.ROLLING, 12, 0)
    assert rolling is current
    assert [(r.role, r.clusters) for r in before.revisions] == [(Role.CURRENT, 12)]
    (config_of,) = rolling.made_of
    assert config_of.startswith("addondeploymentconfigs.addon.open-cluster-management.io/default/")


def test_addons_are_listed_beside_workloads_whatever_the_namespace() -> None:
    hub, now = moment()

    (line,) = lines(look(hub, now), "elsewhere")

    assert (line.kind, line.namespace, line.name) == ("ClusterManagementAddOn", "", "hello")
    assert (line.reason, line.stage, line.updated, line.total) == ("RollingOut", "the rest", 12, 12)


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
def test_a_plan_is_bound_to_what_addons_are_configured_with(change: Change, holds: bool) -> None:
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
