"""The day of docs/operating.md on a real API server, with the rights of the people in it.

A release that fails on its canaries, taken back; its fix, paused, resumed, approved. The controller is a
process with the rights of its manifests, agents speak HTTP, and people type commands, each with a service
account that has the role of the examples and no more. Waits are short; all else is as on the page.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from rollout.account.states import Code, state_of
from rollout.api.load import load
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.intents import read_asked
from rollout.model.kinds import APPROVAL, MANIFEST_WORK, REPLICA_SET, Obj, Ref
from tests.kube.cluster import Cluster
from tests.kube.processes import FieldAgents, Process, install, kubeconfig_of
from tests.kube.setting import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    ROOT,
    SERVICE_ACCOUNT,
    WIPERS,
    eventually,
    namespace,
    put,
)
from tests.support.shapes import run

pytestmark = pytest.mark.kube

CANARY, OPERATE = ROOT / "examples" / "canary", ROOT / "examples" / "operate"
SHOP = Ref(REPLICA_SET, "default/storefront")
WEST = {f"prod-us-west-{n:02d}" for n in range(1, 11)}
EAST = {f"prod-us-east-{n:02d}" for n in range(1, 11)}
FLEET = 310
AGENTS = """
apiVersion: rollout-engine.io/v1alpha1
kind: AgentScenario
spec:
  seed: 150
  defaults:
    applyAfter: {min: 10ms, max: 100ms}
    readyAfter: {min: 50ms, max: 300ms}
  rules:
  - manifests: {kind: Deployment, image: "*/storefront:1.5.0"}
    behaviour: {outcome: fail}
"""
PEOPLE = {
    "ann": ("rollout-viewer", "rollout-operator"),
    "ben": ("rollout-viewer", "rollout-approver"),
    "eve": ("rollout-freezer",),
}


def hurried(path: Path) -> Obj:
    """The release of a file, with soaks and deadlines that a test can wait for."""
    text = path.read_text()
    text = text.replace("minSuccessTime: 5m", "minSuccessTime: 1s")
    obj: Obj = yaml.safe_load(text.replace("progressDeadline: 10m", "progressDeadline: 1m"))
    return obj


class People:
    """Commands as people type them, each with an account of their own."""

    def __init__(self, server: Cluster, hub: KubeHub, place: Path) -> None:
        self._place = place
        for obj in yaml.safe_load_all((OPERATE / "roles.yaml").read_text()):
            hub.create(Ref(CLUSTER_ROLE, obj["metadata"]["name"]), obj)
        self._kubeconfigs = {"git": server.kubeconfig}
        for name, roles in PEOPLE.items():
            hub.create(Ref(SERVICE_ACCOUNT, f"default/{name}"), {})
            for role in roles:
                subject = {"kind": "ServiceAccount", "namespace": "default", "name": name}
                reference = {
                    "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role,
                }  # fmt: skip
                binding = {"subjects": [subject], "roleRef": reference}
                hub.create(Ref(CLUSTER_ROLE_BINDING, f"{name}:{role}"), binding)
            self._kubeconfigs[name] = kubeconfig_of(server, hub, f"default/{name}")

    def type(self, who: str, line: str, code: int = 0) -> str:
        """What a person is told who types this. Their name is the claim that goes with it."""
        words = line.split()
        by = (
            ["--by", who]
            if words[0] in ("pause", "resume", "approve", "freeze", "unfreeze")
            else []
        )
        found = run(*words, *by, "--kubeconfig", str(self._kubeconfigs[who]))
        assert found.exit_code == code, found.output
        return found.stdout if not code or found.stdout else found.stderr

    def release(self, version: str) -> None:
        """Git applies a release."""
        path = self._place / f"{version}.yaml"
        source = (
            CANARY / "workload.yaml"
            if version == "1.4.0"
            else OPERATE / f"storefront-{version}.yaml"
        )
        path.write_text(yaml.safe_dump(hurried(source)))
        self.type("git", f"apply -f {path}")


@pytest.fixture
def hub(admin: KubeHub) -> KubeHub:
    """The manifests are applied, and there are 310 clusters."""
    install(admin)
    files = [CANARY / f"{name}.yaml" for name in ("clusterset", "clusters", "placement")]
    objects = list(load(files).objects)
    with ThreadPoolExecutor(WIPERS) as pool:
        clusters = [obj for obj in objects if obj["kind"] == "ManagedCluster"]
        list(pool.map(lambda obj: namespace(admin, obj["metadata"]["name"]), clusters))
        list(pool.map(lambda obj: put(admin, obj), objects))
    return admin


@pytest.fixture
def people(server: Cluster, hub: KubeHub, tmp_path: Path) -> People:
    return People(server, hub, tmp_path)


@pytest.fixture
def controller(server: Cluster, hub: KubeHub, tmp_path: Path) -> Iterator[Process]:
    """The controller, and the agents of all clusters."""
    agents = FieldAgents(server.kubeconfig, AGENTS)
    process = Process(kubeconfig_of(server, hub), tmp_path, "pod-0").start()
    yield process
    process.stop()
    agents.stop()
    assert "Traceback" not in process.log()


def carrying(hub: KubeHub, version: str) -> set[str]:
    """The clusters whose work has this version's image."""
    return {
        work["metadata"]["namespace"]
        for work in hub.list(MANIFEST_WORK).items
        if f"storefront:{version}" in str(work["spec"]["workload"]["manifests"][1])
    }


def stands(hub: KubeHub, reason: str) -> None:
    """Wait until the workload says so."""

    def look() -> None:
        found = state_of(hub.get(SHOP))
        assert found.reason == reason, found

    eventually(f"it is {reason}", look)


def a_bad_release_is_taken_back(hub: KubeHub, people: People) -> None:
    people.release("1.5.0")
    stands(hub, "RolledBack")
    assert len(carrying(hub, "1.4.0")) == FLEET
    again = {w["metadata"]["namespace"] for w in hub.list(MANIFEST_WORK).items
             if w["metadata"]["generation"] > 1}  # fmt: skip
    assert again == WEST, "nobody but the first canary group ever had it"
    why = people.type("ann", "status mwrs storefront", Code.FAILED)
    assert "rolled back (more failures than maxFailures): 10 of 10 clusters rolled back" in why
    assert "rolled back" in people.type("ann", "explain rollout storefront")
    assert "barred" in people.type("ann", "history mwrs storefront")


def its_fix_is_approved_by_who_may(hub: KubeHub, people: People) -> None:
    assert "forbidden" in people.type("ann", "approve mwrs storefront", 1)
    assert "forbidden" in people.type("ben", "pause mwrs storefront", 1)
    assert "forbidden" in people.type("ben", "freeze", 1)
    people.type("eve", "freeze --reason incident")
    stands(hub, "Frozen")
    people.type("ben", "approve mwrs storefront --reason well")
    people.type("eve", "unfreeze")


def test_a_bad_release_is_taken_back_and_its_fix_approved_by_who_may(
    hub: KubeHub, people: People, controller: Process
) -> None:
    controller.wait_until_it_leads()
    people.release("1.4.0")
    assert "RolledOut" in people.type("ann", "status mwrs storefront --wait --timeout 10m")
    assert len(carrying(hub, "1.4.0")) == FLEET

    a_bad_release_is_taken_back(hub, people)

    people.type("ann", "pause mwrs storefront --reason dashboards")
    people.release("1.5.1")
    stands(hub, "Paused")
    assert carrying(hub, "1.5.1") == set()
    assert "by ann (unverified)" in people.type("ann", "explain rollout storefront")
    people.type("ann", "resume mwrs storefront")
    stands(hub, "ApprovalNeeded")
    assert carrying(hub, "1.5.1") == WEST | EAST

    its_fix_is_approved_by_who_may(hub, people)
    stands(hub, "RolledOut")
    assert len(carrying(hub, "1.5.1")) == FLEET
    told = people.type("ann", "describe mwrs storefront")
    assert "before:rest (the rest): open, approved by ben (unverified)" in told
    assert [obj["spec"]["actor"] for obj in hub.list(APPROVAL).items] == ["ben"]
    asked = read_asked(hub.get(SHOP)["metadata"]["annotations"])
    assert (asked["resume"].by, names.PAUSED in hub.get(SHOP)["metadata"]["annotations"]) == (
        "ann",
        False,
    )
