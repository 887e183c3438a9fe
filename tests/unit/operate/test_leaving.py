"""Does nothing of ours stay in statuses that OCM's controllers go on with?"""

import json
from datetime import timedelta

import pytest

from rollout.cli.doctor import leave
from rollout.cli.options import Stop
from rollout.clock import VirtualClock
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.instants import rfc3339
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    CLUSTER_SET,
    LEASE,
    MANAGED_CLUSTER_ADDON,
    REPLICA_SET,
    Obj,
    Ref,
)
from rollout.operate.leaving import remains
from tests.support import make
from tests.support.addons import (
    ADDON_API,
    GROUP,
    NAME,
    Rig,
    addon,
    config,
    fleet,
    installed_at,
)
from tests.support.desk import T0, WEB, Desk, decided
from tests.support.templates import config_map

LOCK = Ref(LEASE, "rollout-system/rollout-controller")


def hub() -> MemoryHub:
    """A hub with a workload that is rolling out."""
    return Desk([*decided("a", "b"), make.workload()]).converge().hub


def types(obj: Obj) -> list[str]:
    return [each["type"] for each in obj["status"]["conditions"]]


def run(found: MemoryHub, capsys: pytest.CaptureFixture[str], **chosen: object) -> str:
    asked = {"dry_run": False, "output": "", **chosen}
    assert leave(found, LOCK, T0, **asked) == 0  # type: ignore[arg-type]  # by name
    return capsys.readouterr().out


def test_our_conditions_and_numbers_are_taken_out_and_ocms_stay(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = hub()
    told = run(found, capsys)
    status = found.get(WEB)["status"]
    assert types(found.get(WEB)) == [
        names.PLACEMENT_VERIFIED, names.MANIFESTWORK_APPLIED, names.PLACEMENT_ROLLED_OUT,
    ]  # fmt: skip
    assert status["summary"]["total"] == 2
    assert status["summary"]["desiredTotal"] == status["summary"]["updated"] == 0
    assert not status.get("updateRevision")
    assert "condition Progressing, condition Ready" in told
    assert "1 statuses were changed" in told
    assert "stay: they go with their workloads" in told
    assert list(remains(found)) == []


def test_a_dry_run_says_the_same_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    found = hub()
    before = found.get(WEB)
    told = json.loads(run(found, capsys, dry_run=True, output="json"))
    assert found.get(WEB) == before
    assert [each["key"] for each in told["changed"]] == ["default/web"]
    assert told["stay"]


def test_progressions_of_addons_lose_what_is_ours(capsys: pytest.CaptureFixture[str]) -> None:
    rig = Rig([*fleet("c0"), config(), addon("default", placements=[installed_at("p")])])
    rig.decide(["c0"])
    run(rig.hub, capsys)
    (progression,) = rig.hub.get(Ref(CLUSTER_MANAGEMENT_ADDON, "hello"))["status"][
        "installProgressions"
    ]
    assert [each["type"] for each in progression["conditions"]] == [names.PROGRESSING]


@pytest.mark.parametrize("value", ["1", "{{TYPO}}"])
def test_addons_of_a_template_lose_what_is_said_of_its_rendering_and_keep_ocms_conditions(
    value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    uses = {"group": GROUP, "resource": "addontemplates", "name": "tpl"}
    workload = {"manifests": [config_map(v=value)]}
    template = {"apiVersion": ADDON_API, "kind": "AddOnTemplate", "metadata": make.meta("tpl"),
                "spec": {"addonName": NAME, "agentSpec": {"workload": workload}}}  # fmt: skip
    rig = Rig([*fleet("c0", "c1"), template,
               addon(placements=[installed_at("p", uses)], supported=("addontemplates",))])  # fmt: skip
    rig.decide(["c0", "c1"])
    of = {cluster: Ref(MANAGED_CLUSTER_ADDON, f"{cluster}/{NAME}") for cluster in ("c0", "c1")}
    before = {cluster: types(rig.hub.get(ref)) for cluster, ref in of.items()}
    assert all(names.RENDERED in said for said in before.values())

    told = run(rig.hub, capsys)

    for cluster, ref in of.items():
        left = [each for each in before[cluster] if each != names.RENDERED]
        assert types(rig.hub.get(ref)) == left != []
        assert f"{ref}: condition Rendered taken out" in told
    assert list(remains(rig.hub)) == []


def test_sets_lose_that_they_were_misconfigured_and_keep_ocms_condition(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = MemoryHub(VirtualClock(T0))
    ref = Ref(CLUSTER_SET, "prod")
    found.create(ref, {"apiVersion": CLUSTER_SET.api_version, "kind": CLUSTER_SET.name,
                       "metadata": make.meta("prod"), "spec": {}})  # fmt: skip
    said = [
        make.condition(name, "False") for name in (names.CLUSTER_SET_EMPTY, names.MISCONFIGURED)
    ]
    found.patch_status(ref, {"status": {"conditions": said}})

    foreseen = json.loads(run(found, capsys, dry_run=True, output="json"))
    assert types(found.get(ref)) == [names.CLUSTER_SET_EMPTY, names.MISCONFIGURED]
    told = json.loads(run(found, capsys, output="json"))

    changed = [{"kind": "ManagedClusterSet", "key": "prod", "parts": ["condition Misconfigured"]}]
    assert foreseen["changed"] == told["changed"] == changed
    assert types(found.get(ref)) == [names.CLUSTER_SET_EMPTY]


def test_that_calendars_are_overridden_is_taken_out_too(capsys: pytest.CaptureFixture[str]) -> None:
    found = hub()
    ours = make.condition(names.CALENDARS_FOLLOWED, "False")
    found.patch_status(WEB, {"status": {"conditions": [ours]}})

    told = run(found, capsys)

    assert f"condition {names.CALENDARS_FOLLOWED}" in told
    assert types(found.get(WEB)) == []


@pytest.mark.parametrize(("age", "leads"), [(5, True), (60, False)])
def test_while_a_controller_leads_nothing_is_taken_out(
    age: int, leads: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    found = hub()
    renewed = rfc3339(T0 - timedelta(seconds=age))
    found.create(LOCK, {"apiVersion": LEASE.api_version, "kind": "Lease", "metadata": {},
                        "spec": {"holderIdentity": "pod-1", "renewTime": renewed,
                                 "leaseDurationSeconds": 15}})  # fmt: skip
    if not leads:
        run(found, capsys)
        return
    with pytest.raises(Stop, match="pod-1 leads"):
        run(found, capsys)
    assert "Ready" in types(found.get(Ref(REPLICA_SET, WEB.key)))
