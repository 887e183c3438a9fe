"""Analyses on a real API server: runs are objects there, Jobs run there, a real HTTP server is asked.

The controller is a process with the rights of the manifests and of components `secrets` and `jobs`.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rollout.errors import AlreadyExists, Gone
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import (
    ANALYSIS_TEMPLATE,
    MANIFEST_WORK,
    REPLICA_SET,
    ROLLOUT_ANALYSIS,
    ROLLOUT_ANALYSIS_RUN,
    Obj,
    Ref,
    ref_of,
)
from rollout.planning.analyses import ANALYSIS_REPAIRED
from rollout.providers.jobs import JOB
from rollout.runtime.events import EVENT
from tests.kube.cluster import Cluster
from tests.kube.controlled import Controlled
from tests.kube.setting import eventually, managed_cluster, namespace, put
from tests.support import make
from tests.support.bad_server import bad_server

pytestmark = pytest.mark.kube

CLUSTERS = ("c00", "c01", "c02")
WEB = Ref(REPLICA_SET, "default/web")


@pytest.fixture
def running(server: Cluster, admin: KubeHub, tmp_path: Path) -> Iterator[Controlled]:
    """A controller that may read Secrets and start Jobs in namespace ``default``."""
    started = Controlled(server, admin, tmp_path, ("secrets", "jobs"))
    yield started
    started.stop()


def begin(admin: KubeHub, running: Controlled, provider: Obj, **annotations: Any) -> None:
    """Three clusters, one after the other, and the template ``slo``; then the controller."""
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
    admin: KubeHub, running: Controlled
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
    admin: KubeHub, running: Controlled
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
    admin: KubeHub, running: Controlled
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
    admin: KubeHub, running: Controlled
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


def made_up(admin: KubeHub, ref: Ref) -> Obj:
    """A run that somebody makes up in place of the one that is deleted, before the controller makes its own."""
    own = admin.get(ref)
    metadata = {"name": ref.name, "namespace": ref.namespace}
    made = {each: own[each] for each in ("apiVersion", "kind", "spec")} | {"metadata": metadata}
    for _ in range(50):
        with suppress(Gone):
            admin.delete(ref)
        with suppress(AlreadyExists):
            return admin.create(ref, made)
    raise AssertionError("the controller was always faster")


def test_a_run_that_somebody_made_up_makes_way_and_a_verdict_that_somebody_wrote_is_put_right(
    admin: KubeHub, running: Controlled
) -> None:
    with bad_server() as address:
        asked = {"web": {"url": f"{address}/error"}}
        begin(admin, running, asked, **{names.ANALYSIS: "slo"})
        found: list[Ref] = []

        def begun() -> None:
            found[:] = [ref_of(ROLLOUT_ANALYSIS_RUN, admin.list(ROLLOUT_ANALYSIS_RUN).items[0])]

        eventually("it is measured", begun)
        ref = found[0]
        forged = made_up(admin, ref)

        def measured() -> None:
            run = admin.get(ref)
            assert run["metadata"]["uid"] != forged["metadata"]["uid"]
            assert run["status"]["metrics"][0]["error"] >= 1

        eventually("it is deleted, and one of the workload's own measures", measured)
        admin.patch_status(
            ref, {"status": {"phase": "Successful", "finishedAt": "2026-01-01T00:00:30Z"}}
        )
        eventually("it is put right", lambda: phases(admin) in (["Running"], ["Error"]))

    def told() -> list[str]:
        found = [e for e in admin.list(EVENT).items if e.get("reason") == ANALYSIS_REPAIRED]
        return [str(event.get("note", "")) for event in found]

    eventually("both are told", lambda: len(told()) >= 2)
    assert any("is none of this workload" in each for each in told())
    assert any("said Successful" in each and "(last written by" in each for each in told())
    assert running.refused == []


@pytest.mark.usefixtures("templates_of_others")
def test_a_template_of_another_tool_is_read_as_it_is(admin: KubeHub, running: Controlled) -> None:
    with bad_server() as address:
        asked = {"web": {"url": f"{address}/good", "jsonPath": "$.data.rate"}}
        metric = {"name": "ok", "successCondition": "result > 0.5", "provider": asked}
        other = {
            "apiVersion": ANALYSIS_TEMPLATE.api_version,
            "kind": ANALYSIS_TEMPLATE.name,
            "metadata": {"name": "theirs", "namespace": "default"},
            "spec": {"metrics": [metric]},
        }
        admin.create(ref_of(ANALYSIS_TEMPLATE, other), other)
        begin(admin, running, asked, **{names.CLUSTER_ANALYSIS: "theirs"})

        eventually("all are rolled out", lambda: reason(admin) == "Complete")
        assert phases(admin) == ["Successful"] * 3
