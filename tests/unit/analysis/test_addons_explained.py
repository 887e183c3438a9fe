"""Why is an add-on not done, or not on a cluster; and is what is worked out anew what the engine said?"""

from datetime import datetime

from rollout.analysis.clusters import explain_cluster
from rollout.analysis.full_run import FullRun
from rollout.analysis.histories import Role, history
from rollout.analysis.snapshot import snapshot_of
from rollout.hub.memory import MemoryHub
from rollout.sim.scenario_file import parse_scenario
from rollout.strategies.base import Phase
from tests.support.addon_changes import CHANGES, NOW, canaries, four, rolled_out
from tests.support.addons import CMA, MIN, config
from tests.support.changes import storing


def moment() -> tuple[MemoryHub, datetime]:
    """A config edit on its way, when nothing more happens: two of the agents never get ready."""
    hub, clock = rolled_out(canaries())
    storing([config(value="two")])(hub)
    FullRun(hub, clock, parse_scenario(SILENT)).run()
    return hub, clock.now()


SILENT = """
apiVersion: rollout-engine.io/v1alpha1
kind: AgentScenario
spec:
  rules: [{clusters: {names: [c02, c03]}, behaviour: {outcome: hang}}]
"""


def test_an_addon_says_why_it_is_not_done_and_what_would_end_that() -> None:
    hub, now = moment()

    account = snapshot_of(hub, now).account(CMA)

    assert account is not None
    assert (account.kind, account.key, account.members) == ("ClusterManagementAddOn", "hello", 12)
    assert (account.wait.reason, account.done) == ("RollingOut", False)
    assert [(title, stage.passed) for title, stage in account.stages] == [
        ("canary #0", True),
        ("the rest", False),
    ]
    assert account.stages[1][1].phases[Phase.PROGRESSING] == 2


def test_each_cluster_has_one_reason_for_every_workload_that_it_is_to_have() -> None:
    hub, now = moment()
    snapshot = snapshot_of(hub, now)

    reasons = {}
    for i in range(12):
        account = explain_cluster(snapshot, f"c{i:02}")
        assert account is not None
        (share,) = account.shares
        reasons[account.name] = share.wait.reason if share.wait else share.phase

    assert {reasons["c00"], reasons["c11"]} == {Phase.SOAKED}
    assert {reasons["c02"], reasons["c03"]} == {"Progressing"}
    assert set(reasons.values()) == {Phase.SOAKED, "Progressing"}


def test_a_cluster_that_no_placement_selects_says_why() -> None:
    rig = four()
    rig.decide(["c0", "c1", "c3"])

    account = explain_cluster(snapshot_of(rig.hub, rig.clock.now()), "c2", CMA)

    assert account is not None
    assert list(account.shares[0].refused or ()) == ["default/p"]


def test_what_is_worked_out_anew_is_what_the_engine_had_said() -> None:
    rig = four()
    for change, _ in CHANGES.values():
        change(rig.hub)
        rig.settle().later(MIN)
        account = snapshot_of(rig.hub, rig.clock.now()).account(CMA)
        assert account is not None
        if rig.hub.get(CMA)["spec"]["installStrategy"]["type"] == "Placements":
            assert account.wait.reason == rig.halted()[1]
        else:
            assert account.wait.reason == "Manual"


def test_a_look_at_a_hub_writes_nothing() -> None:
    hub, now = moment()
    before = dict(hub.everything())
    snapshot = snapshot_of(hub, now)

    for ref in snapshot.workloads():
        snapshot.account(ref)
        history(hub, snapshot, ref)
    for ref in snapshot.workloads():
        snapshot.account(ref, detail=False)

    assert dict(hub.everything()) == before


def test_the_history_of_an_addon_has_what_is_asked_for_and_what_is_still_carried() -> None:
    hub, now = moment()
    kept = rolled_out(canaries())[0]

    found = history(hub, snapshot_of(hub, now), CMA)
    before = history(kept, snapshot_of(kept, NOW), CMA)

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

    line = snapshot_of(hub, now).account(CMA, detail=False)
    assert line is not None

    assert (line.kind, line.namespace, line.name) == ("ClusterManagementAddOn", "", "hello")
    assert (line.reason, line.stage, line.updated, line.members) == (
        "RollingOut",
        "the rest",
        12,
        12,
    )
