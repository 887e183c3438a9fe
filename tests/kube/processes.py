"""`rollout controller` as a process of its own, with the rights that the manifests give it, and no more."""

import base64
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from rollout.clock import SteadyClock
from rollout.errors import AlreadyExists
from rollout.hub.kube import KubeHub
from rollout.hub.kube_objects import path_of
from rollout.model.kinds import LEASE, Kind, Obj, Ref, key_of
from rollout.sim.agents import Agents
from rollout.sim.scenario_file import parse_scenario
from tests.kube.cluster import Cluster, free_port
from tests.kube.setting import PATIENCE, ROOT, connect, eventually
from tests.unit.project.test_manifests import MANIFESTS, build

SYSTEM = "rollout-system"
ACCOUNT = f"{SYSTEM}/rollout-controller"
WRONG_CLOCK = "tests.kube.wrong_clock"
LOCK = Ref(LEASE, ACCOUNT)
CLUSTER_SCOPED = ("Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition")
QUICK = {
    "ROLLOUT_SETTLE_SECONDS": "0.1",
    "ROLLOUT_AGENT_STATUS_INTERVAL_SECONDS": "0.05",
    "ROLLOUT_FAILURE_GRACE_SECONDS": "1",
    "ROLLOUT_VALUES_SETTLE_SECONDS": "2",
    "ROLLOUT_GATHER_SECONDS": "0.05",
    "ROLLOUT_LOG_FORMAT": "json",
}
"""A test cannot wait for 15 s per stage. Leases are as people have them: a busy machine costs no lead."""
LONG_LEASE = {
    **QUICK,
    "ROLLOUT_LEASE_DURATION_SECONDS": "120",
    "ROLLOUT_RENEW_DEADLINE_SECONDS": "90",
}
"""Where one controller serves many tests, and nobody follows it: a machine that stands still ends none."""
SHORT_LEASE = {
    **QUICK,
    "ROLLOUT_LEASE_DURATION_SECONDS": "10",
    "ROLLOUT_RENEW_DEADLINE_SECONDS": "7",
    "ROLLOUT_RETRY_SECONDS": "0.5",
    "ROLLOUT_WRITE_TIMEOUT_SECONDS": "2.5",
}
"""Where one has to run out. A machine that is busy for some seconds still costs no lead."""


def kind_of(obj: Obj) -> Kind:
    """The kind of any object of a manifest: its plural is made as those are."""
    group, _, version = obj["apiVersion"].rpartition("/")
    plural = re.sub("ys$", "ies", obj["kind"].lower() + "s")
    return Kind(obj["kind"], plural, group, version, namespaced=obj["kind"] not in CLUSTER_SCOPED)


def install(hub: KubeHub, folder: str = "standalone") -> None:
    """As `kubectl apply -k`, but for what is there already."""
    for obj in build(MANIFESTS / folder):
        if obj["kind"] in ("CustomResourceDefinition", "PodDisruptionBudget"):
            continue  # the server of all tests has the first, and is too old for policy/v1
        kind = kind_of(obj)
        meta = obj["metadata"]
        try:
            hub.create(Ref(kind, key_of(meta.get("namespace", ""), meta["name"])), obj)
        except AlreadyExists:
            continue


def token_of(hub: KubeHub, account: str = ACCOUNT) -> str:
    """A token of a service account, as a pod gets one."""
    namespace, _, name = account.partition("/")
    kind = Kind("ServiceAccount", "serviceaccounts", "", "v1", namespaced=True)
    question = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = hub.send("POST", path_of(kind, namespace, name, "token"), question)
    found: str = json.loads(answer)["status"]["token"]
    return found


def kubeconfig_of(server: Cluster, hub: KubeHub, account: str = ACCOUNT) -> Path:
    """A kubeconfig with such a token."""
    authority = base64.b64encode((server.folder / "pki" / "ca.crt").read_bytes()).decode()
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {
            "server": server.url, "certificate-authority-data": authority}}],
        "users": [{"name": "c", "user": {"token": token_of(hub, account)}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }  # fmt: skip
    path = server.folder / f"{account.replace('/', '-')}.kubeconfig"
    path.write_text(json.dumps(config))
    path.chmod(0o600)
    return path


@dataclass
class Process:
    """One controller. ``name`` begins its identity; ``ahead``: seconds that its clock is ahead.

    ``program``: the module that is run where its clock is wrong.
    """

    kubeconfig: Path
    folder: Path
    name: str
    env: dict[str, str] = field(default_factory=lambda: dict(QUICK))
    ahead: float = 0.0
    program: str = WRONG_CLOCK

    def start(self) -> "Process":
        self.port, self.debug_port, self.health_port = free_port(), free_port(), free_port()
        env = {
            **{k: v for k, v in os.environ.items() if not k.startswith("ROLLOUT_")},
            **self.env,
            "POD_NAME": self.name,
            "POD_NAMESPACE": SYSTEM,
            "PYTHONUNBUFFERED": "1",
            "ROLLOUT_LISTEN": f"127.0.0.1:{self.port}",
            "ROLLOUT_HEALTH_LISTEN": f"127.0.0.1:{self.health_port}",
            "ROLLOUT_DEBUG_LISTEN": f"127.0.0.1:{self.debug_port}",
        }
        self._log = (self.folder / f"{self.name}.log").open("ab")
        program = [self.program, str(self.ahead)] if self.ahead else ["rollout"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", *program, "controller", "--kubeconfig", str(self.kubeconfig)],
            cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            start_new_session=True,
        )  # fmt: skip
        return self

    def log(self) -> str:
        return (self.folder / f"{self.name}.log").read_text()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def ended(self) -> int:
        """Its exit code, once it has ended."""
        return self.process.wait(PATIENCE)

    def stop(self) -> None:
        """End it, whatever it does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait(PATIENCE)
        self._log.close()

    def fetch(self, path: str, *, token: str = "", body: bytes | None = None) -> tuple[int, str]:
        """Status and body; status 0 where nobody answers."""
        ports = {"debug": self.debug_port, "metrics": self.port}
        port = ports.get(path.split("/")[1], self.health_port)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""

    @property
    def leads(self) -> bool:
        return self.fetch("/readyz") == (200, "it leads\n")

    def wait_until_it_leads(self) -> "Process":
        try:
            eventually(f"{self.name} leads", lambda: self.leads)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log()[-3000:]}") from error
        return self


class FieldAgents:
    """Simulated agents, with a connection and a thread of their own."""

    def __init__(self, kubeconfig: Path, scenario: str) -> None:
        self._hub = connect(kubeconfig)
        self._agents = Agents(self._hub, SteadyClock(), parse_scenario(scenario))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._drive, name="agents", daemon=True)
        self._thread.start()

    def _drive(self) -> None:
        self._agents.start()
        while not self._ended.wait(0.01):
            self._agents.run_due()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join(PATIENCE)
        self._agents.close()
        self._hub.close()
