"""Does `rollout doctor --leave` take out what is ours only where nobody would write it again?"""

from datetime import timedelta
from pathlib import Path

import pytest

from rollout.clock import SystemClock
from rollout.model.instants import rfc3339_micro
from rollout.model.kinds import KINDS, LEASE, Obj, Ref, ref_of
from rollout.model.names import PROFILE_LABEL
from tests.kube.facade import Facade, facade
from tests.support import make
from tests.support.shapes import run

__all__ = ["facade"]  # fixtures

LABELLED = {PROFILE_LABEL: "strict"}
MIN = timedelta(minutes=1)


def put(facade: Facade, obj: Obj) -> Ref:
    ref = ref_of(KINDS[obj["kind"]], obj)
    facade.do(lambda hub: hub.create(ref, obj))
    return ref


def lease(
    name: str, holder: str, age: timedelta = timedelta(0), place: str = "rollout-system"
) -> Obj:
    renewed = rfc3339_micro(SystemClock().now() - age)
    return {
        "apiVersion": LEASE.api_version,
        "kind": "Lease",
        "metadata": {"name": name, "namespace": place, "labels": LABELLED},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed},
    }


@pytest.fixture
def workload(facade: Facade) -> Ref:
    """One whose status has our conditions."""
    ref = put(facade, make.workload())
    conditions = [make.condition("Progressing"), make.condition("Ready")]
    status = {"status": {"conditions": conditions}}
    facade.do(lambda hub: hub.patch_status(ref, status))
    return ref


def conditions(facade: Facade, ref: Ref) -> list[str]:
    status = facade.do(lambda hub: hub.get(ref)).get("status") or {}
    return [each["type"] for each in status.get("conditions") or ()]


def left(facade: Facade, folder: Path) -> tuple[int, str]:
    kubeconfig = str(facade.kubeconfig(folder))
    found = run("doctor", "--leave", "-n", "rollout-system", "--kubeconfig", kubeconfig)
    return found.exit_code, found.output


def test_nothing_is_taken_out_while_any_shard_or_other_controller_leads(
    facade: Facade, tmp_path: Path, workload: Ref
) -> None:
    put(facade, lease("rollout-controller", "", MIN))
    put(facade, lease("rollout-controller-1", "pod-of-shard-1"))
    put(facade, lease("mine", "pod-elsewhere", place="elsewhere"))

    code, words = left(facade, tmp_path)

    assert code == 1
    assert "pod-of-shard-1 leads by Lease rollout-system/rollout-controller-1" in words
    assert "pod-elsewhere leads by Lease elsewhere/mine" in words
    assert conditions(facade, workload) == ["Progressing", "Ready"]


def test_what_is_ours_is_taken_out_once_all_shards_have_ended(
    facade: Facade, tmp_path: Path, workload: Ref
) -> None:
    put(facade, lease("rollout-controller", "", MIN))
    put(facade, lease("rollout-controller-1", "pod-of-shard-1", MIN))
    other = lease("of-somebody-else", "pod-of-theirs")
    other["metadata"]["labels"] = {}
    put(facade, other)

    code, words = left(facade, tmp_path)

    assert (code, conditions(facade, workload)) == (0, []), words
