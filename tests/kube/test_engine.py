"""The whole engine on a real API server: it places, rolls out, halts, supersedes and cleans up."""

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rollout.api.load import load
from rollout.errors import Denied
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import (
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_RECORD,
    Obj,
    Ref,
)
from tests.kube.cluster import Cluster
from tests.kube.driving import QUICK, Running
from tests.kube.setting import (
    ROOT,
    eventually,
    grant,
    is_gone,
    managed_cluster,
    namespace,
    put,
    watches,
)
from tests.support.shapes import run as typed

pytestmark = pytest.mark.kube

STOREFRONT = Ref(REPLICA_SET, "default/storefront")
CLUSTERS = [
    *(f"prod-us-west-{n:02d}" for n in range(1, 6)),
    *(f"prod-us-east-{n:02d}" for n in range(1, 6)),
    *(f"prod-eu-west-{n:02d}" for n in range(1, 31)),
]
BAD_RELEASE = (
    QUICK
    + """
  rules:
  - manifests: {kind: Deployment, image: "*/storefront:1.5.0"}
    behaviour:
      outcome: fail
"""
)
Run = Callable[..., Running]


def group_of(name: str) -> str:
    region = name.removeprefix("prod-us-").partition("-")[0]
    return f"prod-canary-{region}" if "-us-" in name else ""


def documents() -> list[Obj]:
    loaded = load([ROOT / "examples" / "canary"])
    assert not loaded.errors
    kinds = ("ManagedClusterSet", "ManagedClusterSetBinding", "Placement", REPLICA_SET.name)
    found = [obj for obj in loaded.objects if obj["kind"] in kinds]
    return sorted(found, key=lambda obj: kinds.index(obj["kind"]))


def quick(workload: Obj) -> Obj:
    """The workload of the example with a soak that a test can wait for."""
    workload = copy.deepcopy(workload)
    for ref in workload["spec"]["placementRefs"]:
        ref["rolloutStrategy"]["progressive"].update(minSuccessTime="300ms", progressDeadline="10m")
    return workload


@pytest.fixture
def canary(admin: KubeHub) -> KubeHub:
    """A hub with 40 clusters in three groups, and the canary example."""
    namespace(admin, *CLUSTERS)
    for name in CLUSTERS:
        put(admin, managed_cluster(name, group_of(name)))
    for obj in documents():
        put(admin, quick(obj) if obj["kind"] == REPLICA_SET.name else obj)
    return admin


@pytest.fixture
def run(server: Cluster) -> Iterator[Run]:
    """Starts engines with their agents; all end with the test."""
    started: list[Running] = []

    def start(scenario: str = QUICK, kubeconfig: Path = server.kubeconfig) -> Running:
        started.append(Running(kubeconfig, server.kubeconfig, scenario).start())
        return started[-1]

    yield start
    for running in started:
        running.stop()


def ready(hub: KubeHub) -> tuple[str, str]:
    obj = hub.get(STOREFRONT)
    for condition in (obj.get("status") or {}).get("conditions") or []:
        current = condition.get("observedGeneration") == obj["metadata"]["generation"]
        if condition["type"] == names.READY and current:
            return condition["status"], condition["reason"]
    return "", ""


def images(hub: KubeHub) -> dict[str, str]:
    """Cluster to the image that its work brings."""
    found: dict[str, str] = {}
    for work in hub.list(MANIFEST_WORK).items:
        for manifest in work["spec"]["workload"]["manifests"]:
            if manifest["kind"] == "Deployment":
                container = manifest["spec"]["template"]["spec"]["containers"][0]
                found[work["metadata"]["namespace"]] = container["image"].rpartition(":")[2]
    return found


def release(hub: KubeHub, version: str) -> None:
    manifests = copy.deepcopy(
        hub.get(STOREFRONT)["spec"]["manifestWorkTemplate"]["workload"]["manifests"]
    )
    for manifest in manifests:
        if manifest["kind"] == "Deployment":
            container: Any = manifest["spec"]["template"]["spec"]["containers"][0]
            container["image"] = f"registry.example.com/storefront:{version}"
    template = {"workload": {"manifests": manifests}}
    hub.patch(STOREFRONT, {"spec": {"manifestWorkTemplate": template}})


def rolled_out(hub: KubeHub) -> Callable[[], None]:
    def check() -> None:
        assert ready(hub) == ("True", "RolledOut")

    return check


def test_the_canary_example_is_placed_and_rolled_out_group_after_group(
    canary: KubeHub, run: Run
) -> None:
    run()
    eventually("the rollout is done", rolled_out(canary))

    assert images(canary) == dict.fromkeys(CLUSTERS, "1.4.0")
    decisions = canary.list(PLACEMENT_DECISION, "default").items
    decided = [d["clusterName"] for o in decisions for d in o["status"]["decisions"]]
    assert sorted(decided) == sorted(CLUSTERS)
    started = {
        work["metadata"]["namespace"]: work["metadata"]["annotations"][names.STARTED_AT]
        for work in canary.list(MANIFEST_WORK).items
    }
    west, east, rest = (
        [started[c] for c in CLUSTERS if f"prod-{part}" in c]
        for part in ("us-west", "us-east", "eu")
    )
    assert max(west) < min(east)
    assert max(east) < min(rest)
    pages = canary.list(ROLLOUT_RECORD, "default", None).items
    assert any(names.RECORD_LABEL in (p["metadata"].get("labels") or {}) for p in pages)


def test_a_rollout_can_be_watched_to_its_end_from_the_command_line(
    canary: KubeHub, run: Run, server: Cluster
) -> None:
    def run_it_once_it_is_watched() -> None:
        eventually("it is watched", lambda: watches(canary, REPLICA_SET.plural) > 0)
        run()

    words = ["--timeout", "10m", "--kubeconfig", str(server.kubeconfig)]
    eventually("nobody watches it", lambda: watches(canary, REPLICA_SET.plural) == 0)
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(run_it_once_it_is_watched)
        tree = typed("get", "storefront", "--watch", *words)
        started.result()
    status = typed("status", "mwrs", "storefront", "--wait", *words)

    assert (tree.exit_code, status.exit_code) == (0, 0), tree.output + status.output
    assert "✔ RolledOut" in tree.stdout
    assert "40/40" in tree.stdout.split("Name:")[-1]
    assert tree.stdout.count("Name:") > 2


def test_a_bad_release_halts_in_the_first_group_and_a_fix_goes_everywhere(
    canary: KubeHub, run: Run
) -> None:
    running = run(BAD_RELEASE)
    eventually("the first release is done", rolled_out(canary))

    release(canary, "1.5.0")
    eventually("it halts", lambda: ready(canary) == ("False", "MaxFailuresExceeded"))
    halted = images(canary)
    touched = {cluster for cluster, image in halted.items() if image == "1.5.0"}
    assert touched
    assert all(group_of(cluster) == "prod-canary-west" for cluster in touched)

    release(canary, "1.5.1")
    eventually("the fix is everywhere", rolled_out(canary))
    assert images(canary) == dict.fromkeys(CLUSTERS, "1.5.1")
    assert running.engine.failures == 0


def test_a_deleted_workload_takes_its_works_along(canary: KubeHub, run: Run) -> None:
    run()
    eventually("some works are there", lambda: len(images(canary)) >= 5)

    canary.delete(STOREFRONT)

    eventually("its works are gone", lambda: canary.list(MANIFEST_WORK).items == ())
    eventually("and it, too", lambda: is_gone(canary, STOREFRONT))


def test_a_cluster_that_leaves_the_placement_loses_its_work_and_one_that_joins_gets_it(
    canary: KubeHub, run: Run
) -> None:
    run()
    eventually("the rollout is done", rolled_out(canary))

    namespace(canary, "prod-eu-west-99")
    put(canary, managed_cluster("prod-eu-west-99"))
    leaver = Ref(MANAGED_CLUSTER, "prod-eu-west-30")
    canary.patch(leaver, {"metadata": {"labels": {names.CLUSTER_SET_LABEL: "other"}}})

    wanted = {*CLUSTERS, "prod-eu-west-99"} - {"prod-eu-west-30"}
    eventually("the works follow", lambda: set(images(canary)) == wanted)
    eventually("all is rolled out again", rolled_out(canary))


def test_the_permissions_of_the_manifests_are_enough_for_a_whole_rollout(
    server: Cluster, canary: KubeHub, run: Run
) -> None:
    kubeconfig = server.user("rollout-controller")
    grant(canary, "rollout-controller")
    running = run(QUICK, kubeconfig)
    eventually("the rollout is done", rolled_out(canary))

    canary.delete(STOREFRONT)
    eventually("nothing is left", lambda: canary.list(MANIFEST_WORK).items == ())
    assert running.engine.failures == 0
    assert running.refused == []
    with pytest.raises(Denied):
        running.hub.delete(Ref(MANAGED_CLUSTER, CLUSTERS[0]))
    with pytest.raises(Denied):
        running.hub.send("GET", "/api/v1/secrets")
