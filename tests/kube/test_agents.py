"""Can a hub be tried without any agent? `rollout agents simulate`, a process of its own, on a real API server."""

import signal
import subprocess
import sys

import pytest

from rollout.cli.agents import AGENT_LEASE
from rollout.clock import SystemClock
from rollout.hub.kube import KubeHub
from rollout.model.instants import rfc3339_micro
from rollout.model.kinds import LEASE, MANAGED_CLUSTER, MANIFEST_WORK, Obj, Ref
from tests.kube.cluster import Cluster
from tests.kube.setting import PATIENCE, eventually, namespace, put
from tests.support import make

pytestmark = pytest.mark.kube

WORK: Obj = {
    "apiVersion": "work.open-cluster-management.io/v1",
    "kind": "ManifestWork",
    "metadata": {"name": "web", "namespace": "tried"},
    "spec": make.workload()["spec"]["manifestWorkTemplate"],
}


def said(hub: KubeHub, ref: Ref) -> dict[str, str]:
    """The conditions of an object: type to status."""
    conditions = (hub.get(ref).get("status") or {}).get("conditions") or []
    return {each["type"]: each["status"] for each in conditions}


def started(server: Cluster) -> "subprocess.Popen[str]":
    command = (
        sys.executable,
        "-m",
        "rollout",
        "agents",
        "simulate",
        "--kubeconfig",
        server.kubeconfig,
    )
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_cluster_that_was_only_created_joins_and_reports_its_works(
    server: Cluster, admin: KubeHub
) -> None:
    bare = {k: v for k, v in make.clusters(1)[0].items() if k != "status"}
    bare["metadata"] = {**bare["metadata"], "name": "tried"}
    put(admin, bare)
    with started(server) as process:
        assert process.stdout is not None
        assert "acting for the agents of" in process.stdout.readline()
        assert (
            said(admin, Ref(MANAGED_CLUSTER, "tried"))["ManagedClusterConditionAvailable"] == "True"
        )

        put(admin, WORK)
        work = Ref(MANIFEST_WORK, "tried/web")
        eventually("the work is available", lambda: said(admin, work).get("Available") == "True")

        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors.strip()) == (130, "")


def test_a_hub_with_a_real_agent_is_left_alone(server: Cluster, admin: KubeHub) -> None:
    namespace(admin, "real")
    now = rfc3339_micro(SystemClock().now())
    lease = Ref(LEASE, f"real/{AGENT_LEASE}")
    admin.create(
        lease,
        {
            "apiVersion": LEASE.api_version,
            "kind": "Lease",
            "metadata": {"namespace": "real", "name": AGENT_LEASE},
            "spec": {"renewTime": now},
        },
    )
    with started(server) as process:
        _, errors = process.communicate(timeout=PATIENCE)

    admin.delete(lease)
    assert process.returncode == 1
    assert errors.startswith("error: a real agent is at work for cluster real")
