"""Does nothing of ours stay in statuses that OCM's controllers go on with?"""

import json
from datetime import timedelta

import pytest

from rollout.cli.doctor import leave
from rollout.cli.options import Stop
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.instants import rfc3339
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, LEASE, REPLICA_SET, Obj, Ref
from rollout.operate.leaving import remains
from tests.support import make
from tests.support.addons import Rig, addon, config, fleet, installed_at
from tests.support.desk import T0, WEB, Desk, decided

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
