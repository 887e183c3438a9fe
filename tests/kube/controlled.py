"""Runs the controller as people have it: a process with the rights of the manifests, and agents beside it."""

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from rollout.hub.kube import KubeHub
from rollout.model.kinds import Obj, Ref
from tests.kube.cluster import Cluster
from tests.kube.driving import QUICK as QUICK_AGENTS
from tests.kube.processes import (
    ACCOUNT,
    QUICK,
    SYSTEM,
    FieldAgents,
    Process,
    install,
    kind_of,
    kubeconfig_of,
)
from tests.kube.setting import ROLE_BINDING, namespace, put_new, rules_count
from tests.unit.project.test_manifests import MANIFESTS

USER = f"system:serviceaccount:{ACCOUNT.replace('/', ':')}"
LOOPBACK = {"ROLLOUT_MEASURE_HOSTS": "127.0.0.1", "ROLLOUT_NOTIFY_HOSTS": "127.0.0.1"}
_REFUSED = re.compile(r'^rollout_writes_total\{.*result="refused".*\} ([1-9]\S*)$', re.MULTILINE)


@dataclass
class Controlled:
    """A controller and agents. `start` them once all is there, `stop` ends both.

    ``components``: of the manifests, those that a RoleBinding gives the controller in namespace ``default``.
    """

    server: Cluster
    admin: KubeHub
    folder: Path
    components: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    process: Process | None = None
    agents: FieldAgents | None = None

    def start(self) -> "Controlled":
        namespace(self.admin, SYSTEM, "default")
        install(self.admin)
        for component in self.components:
            self._bind(component)
        env = {**QUICK, **LOOPBACK, **self.env}
        kubeconfig = kubeconfig_of(self.server, self.admin)
        self.process = Process(kubeconfig, self.folder, "controller", env).start()
        self.process.wait_until_it_leads()
        self.agents = FieldAgents(self.server.kubeconfig, QUICK_AGENTS)
        return self

    def _bind(self, component: str) -> None:
        """As a RoleBinding of a namespace's admin does."""
        for role in yaml.safe_load_all(
            (MANIFESTS / "components" / component / "rbac.yaml").read_text()
        ):
            name = role["metadata"]["name"]
            put_new(self.admin, Ref(kind_of(role), name), role)
            space, _, account = ACCOUNT.partition("/")
            binding: Obj = {
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": role["kind"],
                    "name": name,
                },
                "subjects": [{"kind": "ServiceAccount", "namespace": space, "name": account}],
            }
            put_new(self.admin, Ref(ROLE_BINDING, f"default/{name}"), binding)
            rules_count(self.admin, USER, role["rules"], "default")

    @property
    def refused(self) -> list[str]:
        """How many writes the server refused, by the controller's own count; nothing where it was none."""
        assert self.process is not None
        status, text = self.process.fetch("/metrics")
        assert status == 200, text
        return _REFUSED.findall(text)

    def stop(self) -> None:
        if self.agents is not None:
            self.agents.stop()
        if self.process is not None:
            self.process.signal(signal.SIGTERM)  # it gives its lease back
            self.process.ended()
            self.process.stop()
