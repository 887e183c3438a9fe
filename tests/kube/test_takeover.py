"""From OCM's controllers to ours and back, on a real server: what runs goes on, and no spec is written anew."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import PLACEMENT, REPLICA_SET, Obj, Ref
from tests.kube import ocm
from tests.kube.cluster import Cluster
from tests.kube.processes import FieldAgents, Process, install, kubeconfig_of
from tests.kube.setting import eventually, is_gone
from tests.kube.tenants import Tenant, identities, stays_so
from tests.support import make

pytestmark = pytest.mark.kube

AGENTS = """
apiVersion: rollout-engine.io/v1alpha1
kind: AgentScenario
spec:
  defaults:
    applyAfter: 20ms
    readyAfter: 50ms
    deleteAfter: 20ms
"""
"""They have nothing to add to what `ocm.said` says."""
LABELS = {"team": "shop", "example.com/tier": "front"}
Start = Callable[[], Process]


@pytest.fixture
def tenant(admin: KubeHub) -> Tenant:
    install(admin)
    return Tenant(admin, "shop")


@pytest.fixture
def ours(server: Cluster, tenant: Tenant, tmp_path: Path) -> Iterator[Start]:
    """Starts our controller, with the cluster's agents; they end with the test."""
    kubeconfig = kubeconfig_of(server, tenant.hub)
    started: list[Process] = []
    with ExitStack() as ends:

        def start() -> Process:
            if not started:
                ends.callback(FieldAgents(server.kubeconfig, AGENTS).stop)
            process = Process(kubeconfig, tmp_path, f"pod-{len(started)}").start()
            ends.callback(process.stop)
            started.append(process)
            return process.wait_until_it_leads()

        yield start
        for process in started:
            assert "Traceback" not in process.log()


def contents(works: dict[str, Obj]) -> dict[str, Obj]:
    """Everything of works that is not their agents'."""
    return {
        cluster: {
            "spec": work["spec"],
            **{key: work["metadata"].get(key) for key in ("uid", "labels", "ownerReferences")},
        }
        for cluster, work in works.items()
    }


def versions(works: dict[str, Obj]) -> dict[str, str]:
    return {cluster: work["metadata"]["resourceVersion"] for cluster, work in works.items()}


def group(name: str) -> Obj:
    selector = {"labelSelector": {"matchLabels": {make.GROUP: name}}}
    return {"groupName": name, "groupClusterSelector": selector}


def test_a_rollout_that_ocm_has_finished_is_taken_over_without_a_write_to_a_work(
    tenant: Tenant, ours: Start
) -> None:
    clusters = tenant.fleet(108)
    for cluster in clusters[:3]:
        tenant.relabel(cluster, **{make.GROUP: "canary"})
    placement = tenant.place(
        decisionStrategy={"groupStrategy": {"decisionGroups": [group("canary")]}}
    )
    workload = ocm.deploy(
        tenant, strategy=make.progressive(mandatory=["canary"], maxConcurrency="10%"), labels=LABELS
    )
    ocm.decide(tenant, ("canary", clusters[:3]), ("", clusters[3:]))
    ocm.apply(tenant, clusters, "1")
    ocm.report(tenant, len(clusters), len(clusters))
    works, pages = tenant.works(), ocm.decisions(tenant)
    assert len(pages) == 3

    ours()

    tenant.is_rolled_out(clusters)
    stays_so("no work is written", lambda: versions(tenant.works()) == versions(works), 2)
    assert tenant.hub.get(workload)["metadata"]["generation"] == 1
    assert tenant.hub.get(placement)["status"]["decisionGroups"] == [
        {"decisionGroupIndex": 0, "decisionGroupName": "canary", "clusterCount": 3,
         "decisions": ["p-decision-1"]},
        {"decisionGroupIndex": 1, "decisionGroupName": "", "clusterCount": 105,
         "decisions": ["p-decision-2", "p-decision-3"]},
    ]  # fmt: skip
    assert tenant.decided() == clusters
    kept = ("name", "uid", "labels", "ownerReferences")
    assert [[p["metadata"][key] for key in kept] for p in ocm.decisions(tenant)] == [
        [p["metadata"][key] for key in kept] for p in pages
    ]


def test_a_rollout_that_ocm_has_begun_is_finished_and_what_is_done_is_left_alone(
    tenant: Tenant, ours: Start
) -> None:
    clusters = tenant.fleet(12)
    tenant.place()
    workload = ocm.deploy(tenant, strategy=make.progressive(maxConcurrency="25%"), labels=LABELS)
    ocm.decide(tenant, ("", clusters))
    ocm.apply(tenant, clusters, "1")
    tenant.hub.patch(workload, {"spec": {"manifestWorkTemplate": make.template("2")}})
    ocm.apply(tenant, clusters[:4], "2")
    ocm.apply(tenant, clusters[4:6], "2", done=False)
    ocm.report(tenant, len(clusters), 4)
    before = tenant.works()

    ours()

    tenant.is_rolled_out(clusters)
    after = tenant.works()
    assert {w["spec"]["workload"]["manifests"][0]["data"]["version"] for w in after.values()} == {
        "2"
    }
    done = clusters[:6]
    assert {c: identities(after)[c] for c in done} == {c: identities(before)[c] for c in done}
    assert identities(after) == {c: (before[c]["metadata"]["uid"], 2) for c in clusters}
    untouched = {c: versions(before)[c] for c in clusters[:4]}
    assert {c: versions(after)[c] for c in clusters[:4]} == untouched


def all_is_as_ocm_makes_it(tenant: Tenant, workload: Ref, clusters: list[str]) -> None:
    """What OCM's controllers find is theirs in every respect, and they have nothing to do."""
    stored = tenant.hub.get(workload)
    template = stored["spec"]["manifestWorkTemplate"]
    assert stored["metadata"]["finalizers"] == [names.REPLICASET_FINALIZER]
    reserved = {names.WORK_OWNER_LABEL: "shop.web", names.WORK_PLACEMENT_LABEL: "p"}
    works = tenant.works()
    for work in works.values():
        assert work["metadata"]["labels"] == {**LABELS, **reserved}
        assert "ownerReferences" not in work["metadata"]
        assert ocm.same_to_ocm(work, template)
        assert ocm.has_succeeded(work)
    (page,) = ocm.decisions(tenant)
    (owner,) = page["metadata"]["ownerReferences"]
    assert page["metadata"]["name"] == "p-decision-1"
    assert page["metadata"]["labels"] == {
        names.PLACEMENT_LABEL: "p", names.GROUP_NAME_LABEL: "", names.GROUP_INDEX_LABEL: "0"
    }  # fmt: skip
    placement = tenant.hub.get(tenant.ref(PLACEMENT, "p"))
    assert (owner["uid"], owner["controller"]) == (placement["metadata"]["uid"], True)
    assert [d["clusterName"] for d in page["status"]["decisions"]] == clusters
    assert placement["status"]["numberOfSelectedClusters"] == 6


def test_what_we_leave_behind_is_what_ocm_would_have_made_and_its_changes_are_taken_back(
    tenant: Tenant, ours: Start
) -> None:
    clusters = tenant.fleet(6)
    tenant.place()
    workload = tenant.deploy(strategy=make.progressive(maxConcurrency="50%"), labels=LABELS)
    process = ours()
    tenant.is_rolled_out(clusters)
    process.signal(signal.SIGTERM)
    assert process.ended() == 0

    all_is_as_ocm_makes_it(tenant, workload, clusters)

    # They roll a version out. Our annotations stay on the works, and are about an older one.
    tenant.hub.patch(workload, {"spec": {"manifestWorkTemplate": make.template("2")}})
    ocm.apply(tenant, clusters, "2")
    ocm.report(tenant, 6, 6)
    theirs = tenant.works()

    ours()

    tenant.is_rolled_out(clusters)
    stays_so("no spec is written", lambda: identities(tenant.works()) == identities(theirs), 1)
    assert contents(tenant.works()) == contents(theirs)
    tenant.hub.delete(workload)
    eventually("it is gone", lambda: is_gone(tenant.hub, tenant.ref(REPLICA_SET, "web")))
    tenant.runs_on([])
