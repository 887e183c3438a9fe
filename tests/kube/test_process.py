"""The controller as it is installed: a process with the rights of its service account."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rollout.errors import Gone
from rollout.hub.kube import KubeHub
from rollout.hub.kube_objects import path_of
from rollout.model import names
from rollout.model.kinds import (
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_RECORD,
    Obj,
    Ref,
)
from rollout.runtime.events import EVENT
from tests.kube.cluster import Cluster
from tests.kube.driving import QUICK as AGENTS
from tests.kube.processes import (
    ACCOUNT,
    LOCK,
    SHORT_LEASE,
    FieldAgents,
    Process,
    install,
    kind_of,
    kubeconfig_of,
    token_of,
)
from tests.kube.setting import eventually, is_gone, may, namespace, put
from tests.support import make
from tests.support.shapes import run as cli

pytestmark = pytest.mark.kube

CLUSTERS = 30
WEB = Ref(REPLICA_SET, "default/web")
Start = Callable[..., Process]


def secret() -> Obj:
    return {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"},
        "stringData": {"password": "hunter2hunter2"},
    }  # fmt: skip


@pytest.fixture
def hub(admin: KubeHub) -> KubeHub:
    """The manifests are applied, and there is a fleet."""
    install(admin)
    fleet = make.fleet(CLUSTERS, canary=3)
    namespace(admin, *(obj["metadata"]["name"] for obj in fleet if obj["kind"] == "ManagedCluster"))
    for obj in fleet:
        put(admin, obj)
    return admin


def workload(version: str = "1", **fields: Any) -> Obj:
    strategy = make.progressive(
        mandatoryDecisionGroups=[{"groupName": "canary"}], maxConcurrency="25%",
        minSuccessTime="300ms", progressDeadline="1m", **fields,
    )  # fmt: skip
    template = make.template(version)
    template["workload"]["manifests"].append(secret())
    return make.workload(strategy=strategy, spec=template)


@pytest.fixture
def start(server: Cluster, hub: KubeHub, tmp_path: Path) -> Iterator[Start]:
    """Starts controllers; all end with the test."""
    kubeconfig = kubeconfig_of(server, hub)
    started: list[Process] = []

    def begin(name: str = "pod-0", **env: str) -> Process:
        process = Process(kubeconfig, tmp_path, name)
        process.env.update(env)
        started.append(process.start())
        return process

    yield begin
    for process in started:
        process.stop()


@pytest.fixture
def agents(server: Cluster, hub: KubeHub) -> Iterator[FieldAgents]:
    found = FieldAgents(server.kubeconfig, AGENTS)
    yield found
    found.stop()


def verdict(hub: KubeHub) -> str:
    obj = hub.get(WEB)
    for condition in (obj.get("status") or {}).get("conditions") or []:
        current = condition.get("observedGeneration") == obj["metadata"]["generation"]
        if condition["type"] == names.READY and current and condition["status"] == "True":
            return str(condition["reason"])
    return ""


def rolled_out(hub: KubeHub, version: str) -> None:
    eventually(f"version {version} is rolled out", lambda: verdict(hub) == "RolledOut")
    works = hub.list(MANIFEST_WORK).items
    assert len(works) == CLUSTERS
    found = {work["spec"]["workload"]["manifests"][0]["data"]["version"] for work in works}
    assert found == {version}


def holder(hub: KubeHub) -> str:
    try:
        return str(hub.get(LOCK)["spec"].get("holderIdentity") or "")
    except Gone:
        return ""


@pytest.mark.usefixtures("agents")
def test_what_the_manifests_install_rolls_out_and_tells_of_it(hub: KubeHub, start: Start) -> None:
    process = start().wait_until_it_leads()
    put(hub, workload())
    rolled_out(hub, "1")

    wanted = {"DecisionCreate", "ScoreUpdate", "RolloutStarted", "StagePassed", "RolloutCompleted"}
    eventually("all of it is told as events", lambda: reasons(hub) >= wanted)
    told = hub.list(EVENT).items
    assert len(told) < CLUSTERS  # never one for each cluster
    about = [obj for obj in told if obj["regarding"]["kind"] == REPLICA_SET.name]
    assert {obj["regarding"]["uid"] for obj in about} == {hub.get(WEB)["metadata"]["uid"]}

    web = 'kind="ManifestWorkReplicaSet",name="web",namespace="default"'
    soaked = f'rollout_clusters{{{web},phase="Soaked"}} {float(CLUSTERS)}'
    eventually("all are counted", lambda: soaked in process.fetch("/metrics")[1])
    code, metrics = process.fetch("/metrics")
    assert (code, "rollout_leader 1.0" in metrics) == (200, True)
    assert process.fetch("/healthz") == (200, "ok\n")
    assert "Traceback" not in process.log()
    for line in process.log().splitlines():
        assert json.loads(line)["level"] in ("info", "warning"), line
    texts = [process.log(), metrics, json.dumps(told), json.dumps(hub.get(WEB)["status"])]
    records = [json.dumps(obj) for obj in hub.list(ROLLOUT_RECORD, "default").items]
    assert not any("hunter2" in text for text in (*texts, *records))


def reasons(hub: KubeHub) -> set[str]:
    return {obj["reason"] for obj in hub.list(EVENT).items}


def test_the_debug_endpoint_answers_whom_the_server_allows(hub: KubeHub, start: Start) -> None:
    process = start().wait_until_it_leads()
    eventually("the placement is decided", lambda: hub.list(PLACEMENT_DECISION).items != ())
    path = "/debug/placements/default/p"
    assert process.fetch(path)[0] == 401
    assert process.fetch(path, token="nonsense")[0] == 401
    curious, trusted = (_account(hub, name) for name in ("curious", "trusted"))
    _allow_debugging(hub, "trusted")
    code, words = process.fetch(path, token=curious)
    assert (code, "does not have permission" in words) == (403, True)
    eventually("the right counts", lambda: process.fetch(path, token=trusted)[0] == 200)
    answer = json.loads(process.fetch(path, token=trusted)[1])
    assert len(answer["selected"]) == CLUSTERS
    assert process.fetch("/debug/placements/default/none", token=trusted)[0] == 404
    body = json.dumps(make.placement("x", only={make.GROUP: "canary"})).encode()
    code, words = process.fetch("/debug/placements/", token=trusted, body=body)
    assert code == 200, words
    assert len(json.loads(words)["selected"]) == 3


def _account(hub: KubeHub, name: str) -> str:
    """A service account. Returns: its token."""
    hub.create(Ref(kind_of({"apiVersion": "v1", "kind": "ServiceAccount"}), f"default/{name}"), {})
    return token_of(hub, f"default/{name}")


def _allow_debugging(hub: KubeHub, name: str) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": f"debug-{name}"},
        "rules": [
            {"nonResourceURLs": ["/debug/placements/*"], "verbs": ["get", "post"]},
            {"apiGroups": [PLACEMENT.group], "resources": ["placements"],
             "verbs": ["get", "create"]},
        ],
    }  # fmt: skip
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": f"debug-{name}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                    "name": f"debug-{name}"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
    }  # fmt: skip
    for obj in (role, binding):
        hub.create(Ref(kind_of(obj), f"debug-{name}"), obj)


@pytest.mark.usefixtures("agents")
def test_told_to_stop_it_lets_the_lease_go_and_the_other_one_goes_on(
    hub: KubeHub, start: Start
) -> None:
    first = start("pod-0").wait_until_it_leads()
    second = start("pod-1")
    eventually("the second one stands by", lambda: "pod-0" in second.fetch("/readyz")[1])
    assert second.fetch("/readyz")[0] == 200
    put(hub, workload())
    eventually("it has begun", lambda: len(hub.list(MANIFEST_WORK).items) > 3)
    first.signal(signal.SIGTERM)
    assert first.ended() == 0
    assert not holder(hub).startswith("pod-0")  # it was let go, it did not run out
    eventually("the second one leads", lambda: holder(hub).startswith("pod-1"))
    rolled_out(hub, "1")


@pytest.mark.usefixtures("agents")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=lambda n: n.name)
def test_a_leader_that_dies_or_freezes_is_followed_and_changes_nothing_more(
    number: signal.Signals, hub: KubeHub, start: Start
) -> None:
    first = start("pod-0", **SHORT_LEASE).wait_until_it_leads()
    second = start("pod-1", **SHORT_LEASE)
    eventually("the second one stands by", lambda: second.fetch("/readyz")[0] == 200)
    put(hub, workload())
    eventually("it is half done", lambda: len(hub.list(MANIFEST_WORK).items) > 8)
    first.signal(number)
    obj = hub.get(WEB)
    changed = make.template("2")
    changed["workload"]["manifests"].append(secret())
    hub.patch(WEB, {"spec": {"manifestWorkTemplate": changed}})
    eventually("the second one leads", lambda: second.leads)
    assert obj["metadata"]["uid"] == hub.get(WEB)["metadata"]["uid"]
    if number is signal.SIGSTOP:
        first.signal(signal.SIGCONT)
        assert first.ended() == 3  # it has lost the lead
        assert "is lost" in first.log()
    rolled_out(hub, "2")
    assert holder(hub).startswith("pod-1")
    assert "Traceback" not in second.log()


def test_a_lease_that_somebody_takes_ends_the_leader(hub: KubeHub, start: Start) -> None:
    process = start().wait_until_it_leads()
    hub.patch(LOCK, {"spec": {"holderIdentity": "somebody"}})
    assert process.ended() == 3
    assert "somebody" in process.log()


def test_nothing_is_decided_while_a_right_is_missing_and_the_doctor_names_it(
    hub: KubeHub, server: Cluster, start: Start
) -> None:
    binding = Ref(
        kind_of({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"}),
        "rollout-controller",
    )
    stored = hub.get(binding)
    hub.delete(binding)
    user = f"system:serviceaccount:{ACCOUNT.replace('/', ':')}"
    eventually("that counts", lambda: not may(hub, user, "list", f"placements.{PLACEMENT.group}"))
    try:
        process = start()
        eventually(
            "it has tried", lambda: "reading everything failed" in process.fetch("/readyz")[1]
        )
        assert hub.list(PLACEMENT_DECISION).items == ()
        found = cli(
            "doctor", "--kubeconfig", str(server.kubeconfig), "--service-account", ACCOUNT, "-o", "json",
        )  # fmt: skip
        assert found.exit_code == 1
        problems = [
            f["what"] for f in json.loads(found.stdout)["findings"] if f["level"] == "problem"
        ]
        assert any("may not list managedclusters" in what for what in problems)
    finally:
        meta = {key: stored["metadata"][key] for key in ("name", "labels")}
        hub.create(binding, {**stored, "metadata": meta})
    process.wait_until_it_leads()
    eventually("it decides", lambda: hub.list(PLACEMENT_DECISION).items != ())


@pytest.mark.usefixtures("agents")
def test_the_doctor_is_content_with_what_the_manifests_install(
    hub: KubeHub, server: Cluster, start: Start
) -> None:
    process = start().wait_until_it_leads()
    put(hub, workload())
    rolled_out(hub, "1")
    kubeconfig = str(server.kubeconfig)
    found = cli("doctor", "--kubeconfig", kubeconfig, "--service-account", ACCOUNT)
    assert found.exit_code == 0, found.stdout
    # Somebody else writes a decision, while nobody is there to put it right at once:
    process.signal(signal.SIGTERM)
    assert process.ended() == 0
    (page, *_) = hub.list(PLACEMENT_DECISION).items
    path = path_of(PLACEMENT_DECISION, "default", page["metadata"]["name"], "status")
    stored = json.loads(hub.send("GET", path))
    stored["status"]["decisions"] = []
    hub.send("PUT", path + "?fieldManager=placement", stored)
    found = cli("doctor", "--kubeconfig", kubeconfig)
    assert found.exit_code == 1
    assert "placement wrote the status of a PlacementDecision" in found.stdout


@pytest.mark.usefixtures("agents")
def test_commands_work_on_the_server(
    hub: KubeHub, server: Cluster, start: Start, tmp_path: Path
) -> None:
    start().wait_until_it_leads()
    path = tmp_path / "web.yaml"
    path.write_text(json.dumps(workload()))
    at = ("--kubeconfig", str(server.kubeconfig))
    assert "created" in cli("apply", "-f", str(path), *at).stdout
    waited = cli("status", "mwrs", "web", "--wait", "--timeout", "10m", *at)
    assert waited.exit_code == 0, waited.stderr
    assert "unchanged" in cli("apply", "-f", str(path), *at).stdout
    listed = cli("get", "mwrs", *at)
    assert "web" in listed.stdout
    assert cli("get", "placements", "-A", "-o", "name", *at).stdout.strip().endswith("/p")
    assert cli("delete", "mwrs", "web", *at).exit_code == 0
    eventually("the works are gone", lambda: hub.list(MANIFEST_WORK).items == ())
    eventually("and it, too", lambda: is_gone(hub, WEB))
    gone = cli("get", "mwrs", "web", *at)
    assert gone.exit_code == 1


def test_the_lease_lies_where_the_role_allows_it(hub: KubeHub, start: Start) -> None:
    elsewhere = start(ROLLOUT_LEASE_NAMESPACE="default")
    start("pod-1").wait_until_it_leads()
    assert holder(hub).startswith("pod-1")
    eventually("it has tried", lambda: "cannot get resource" in elsewhere.fetch("/readyz")[1])
    code, why = elsewhere.fetch("/readyz")
    assert (code, why.partition(": ")[0]) == (503, "it cannot stand by")
    assert "Lease default/rollout-controller" in why
