"""Analyses on a real API server: runs are objects there, Jobs run there, a real HTTP server is asked."""

from collections.abc import Iterator
from typing import Any

import pytest

from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import (
    MANIFEST_WORK,
    REPLICA_SET,
    ROLLOUT_ANALYSIS,
    ROLLOUT_ANALYSIS_RUN,
    Obj,
    Ref,
    ref_of,
)
from rollout.providers.jobs import JOB
from tests.kube.cluster import Cluster
from tests.kube.driving import Running
from tests.kube.setting import eventually, managed_cluster, namespace, put
from tests.support import make
from tests.support.bad_server import bad_server

pytestmark = pytest.mark.kube

CLUSTERS = ("c00", "c01", "c02")
WEB = Ref(REPLICA_SET, "default/web")


@pytest.fixture
def running(server: Cluster) -> Iterator[Running]:
    started = Running(server.kubeconfig, server.kubeconfig)
    yield started
    started.stop()


def begin(admin: KubeHub, running: Running, provider: Obj, **annotations: Any) -> None:
    """Three clusters, one after the other, and the template ``slo``; then the engine."""
    namespace(admin, *CLUSTERS)
    for name in CLUSTERS:
        put(admin, managed_cluster(name, ""))
    for obj in (make.cluster_set(), make.binding(), make.placement()):
        put(admin, obj)
    metric = {"name": "ok", "provider": provider}
    if "web" in provider:
        metric["successCondition"] = "result > 0.5"
    put(
        admin,
        {
            "apiVersion": ROLLOUT_ANALYSIS.api_version,
            "kind": ROLLOUT_ANALYSIS.name,
            "metadata": {"name": "slo", "namespace": "default"},
            "spec": {"metrics": [metric]},
        },
    )
    strategy = make.progressive(maxConcurrency=1)
    put(admin, make.workload(strategy=strategy, annotations=annotations))
    running.start()


def touched(admin: KubeHub) -> list[str]:
    return sorted(work["metadata"]["namespace"] for work in admin.list(MANIFEST_WORK).items)


def reason(admin: KubeHub) -> str:
    conditions = admin.get(WEB)["status"]["conditions"]
    return {c["type"]: str(c["reason"]) for c in conditions}[names.PROGRESSING]


def phases(admin: KubeHub) -> list[str]:
    return [run["status"]["phase"] for run in admin.list(ROLLOUT_ANALYSIS_RUN).items]


def test_each_cluster_is_measured_before_the_next_one_is_touched(
    admin: KubeHub, running: Running
) -> None:
    with bad_server() as address:
        asked = {"web": {"url": f"{address}/good", "jsonPath": "$.data.rate"}}
        begin(admin, running, asked, **{names.CLUSTER_ANALYSIS: "slo"})

        def done() -> None:
            assert reason(admin) == "Complete"
            assert phases(admin) == ["Successful"] * 3

        eventually("all are rolled out and measured", done)

    def is_right() -> bool:
        template = admin.get(Ref(ROLLOUT_ANALYSIS, "default/slo"))
        return bool(template["status"]["conditions"][0]["status"] == "False")

    eventually("the template is right", is_right)
    assert running.refused == []


def test_a_provider_that_is_out_keeps_the_next_cluster_waiting_and_takes_nothing_back(
    admin: KubeHub, running: Running
) -> None:
    with bad_server() as address:
        asked = {"web": {"url": f"{address}/error"}}
        begin(admin, running, asked, **{names.CLUSTER_ANALYSIS: "slo", names.ROLLBACK: "Automatic"})

        def measured() -> None:
            run = admin.list(ROLLOUT_ANALYSIS_RUN).items[0]
            assert run["status"]["metrics"][0]["error"] >= 1

        eventually("it was tried to measure", measured)

    assert len(touched(admin)) == 1
    assert reason(admin) == "RollingOut"


def test_a_job_measures_and_its_failure_is_a_failure_of_its_cluster(
    admin: KubeHub, running: Running
) -> None:
    container = {"name": "smoke", "image": "smoke:1"}
    pod = {"restartPolicy": "Never", "containers": [container]}
    asked = {"job": {"spec": {"backoffLimit": 0, "template": {"spec": pod}}}}
    begin(admin, running, asked, **{names.CLUSTER_ANALYSIS: "slo"})
    found: list[Ref] = []

    def begun() -> None:
        job = admin.list(JOB, "default").items[0]
        found[:] = [Ref(JOB, f"default/{job['metadata']['name']}")]

    eventually("the Job is there", begun)
    failed = {"type": "Failed", "status": "True"}
    admin.patch_status(found[0], {"status": {"conditions": [failed]}})

    def halted() -> None:
        assert phases(admin) == ["Failed"]
        assert reason(admin) == "MaxFailuresExceeded"

    eventually("the revision halts", halted)


def job_works(admin: KubeHub) -> list[Obj]:
    """The works that carry Jobs of analyses."""
    found = admin.list(MANIFEST_WORK).items
    return [work for work in found if names.ANALYSIS_RUN in (work["metadata"].get("labels") or {})]


def test_a_job_on_the_cluster_measures_it_by_what_its_agent_reports(
    admin: KubeHub, running: Running
) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "smoke", "image": "smoke:1"}]}
    asked = {"job": {"onCluster": True, "spec": {"template": {"spec": pod}}}}
    begin(admin, running, asked, **{names.CLUSTER_ANALYSIS: "slo"})

    def begun() -> None:
        assert [work["metadata"]["namespace"] for work in job_works(admin)] == ["c00"]

    eventually("the Job is on its way to the first cluster", begun)
    assert len(touched(admin)) == 2, "nobody is touched but c00, which has the Job besides"
    value = {"name": "Complete", "fieldValue": {"type": "String", "string": "True"}}
    meta = {"ordinal": 0, "group": "batch", "kind": "Job", "resource": "jobs"}
    said = {"resourceMeta": meta, "conditions": [], "statusFeedback": {"values": [value]}}

    def done() -> None:
        for work in job_works(
            admin
        ):  # the simulated agents know nothing of Jobs, and write over it
            status = {"resourceStatus": {"manifests": [said]}}
            admin.patch_status(ref_of(MANIFEST_WORK, work), {"status": status})
        assert reason(admin) == "Complete"
        assert phases(admin) == ["Successful"] * 3
        assert job_works(admin) == []

    eventually("each cluster has run its Job, and none is left", done)
    assert running.refused == []
