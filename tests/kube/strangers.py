"""People on a real server who may not move a rollout: a tenant's developer, an agent, a maker of works,
and a forger's objects.

The developer has exactly what Kubernetes' `edit` gives in one namespace: the API server makes the roles
that `edit` is put together from, and they are bound as they are. The agent has what OCM's work agent has
on the hub.
"""

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from rollout.errors import Conflict
from rollout.hub.kube import KubeHub
from rollout.hub.kube_objects import path_of
from rollout.model import names
from rollout.model.kinds import REPLICA_SET, Kind, Obj, Ref
from rollout.rollouts.record import record_id
from tests.kube.cluster import Cluster
from tests.kube.processes import Process, kubeconfig_of
from tests.kube.setting import (
    CLUSTER_ROLE,
    ROLE,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
    connect,
    eventually,
    put,
    rules_count,
)
from tests.kube.tenants import Tenant
from tests.support import make

CONFIG_MAP = Kind("ConfigMap", "configmaps", "", "v1", namespaced=True, has_status=False)
CONTROLLER_REVISION = Kind(
    "ControllerRevision", "controllerrevisions", "apps", "v1", namespaced=True, has_status=False
)
EDIT = ("system:aggregate-to-edit", "system:aggregate-to-view")
"""What the ClusterRole `edit` is put together from."""
ADMIN = ("system:aggregate-to-admin", *EDIT)
AGENT = [
    {
        "apiGroups": ["work.open-cluster-management.io"],
        "resources": ["manifestworks"],
        "verbs": ["get", "list", "watch", "update", "patch"],
    },
    {
        "apiGroups": ["work.open-cluster-management.io"],
        "resources": ["manifestworks/status"],
        "verbs": ["update", "patch"],
    },
    {
        "apiGroups": ["", "events.k8s.io"],
        "resources": ["events"],
        "verbs": ["create", "patch", "update"],
    },
]
"""Of OCM's work agent, in the namespace of its cluster."""
WORKER = [
    {
        "apiGroups": ["work.open-cluster-management.io"],
        "resources": ["manifestworks"],
        "verbs": ["create"],
    }
]
"""Of whoever may bring works of his own to a cluster, in its namespace, and do nothing else."""


def developer(server: Cluster, admin: KubeHub, namespace: str) -> KubeHub:
    """Somebody with `edit` in this namespace, and nothing else."""
    account = _account(admin, namespace, "developer")
    for role in EDIT:
        _bind(admin, namespace, "developer", "ClusterRole", role)
        rules_count(admin, _user(account), admin.get(Ref(CLUSTER_ROLE, role))["rules"], namespace)
    return connect(kubeconfig_of(server, admin, account))


REVISIONS = [
    {"apiGroups": ["apps"], "resources": ["controllerrevisions"], "verbs": ["create", "delete"]}
]
"""What tenants' roles that say `apps/*` give beyond `edit`."""


def let_keep_revisions(admin: KubeHub, namespace: str) -> None:
    """Let the developer of this namespace write ControllerRevisions too."""
    admin.create(Ref(ROLE, f"{namespace}/revisions"), {"rules": REVISIONS})
    _bind(admin, namespace, "developer", "Role", "revisions")
    rules_count(admin, _user(f"{namespace}/developer"), REVISIONS, namespace)


def agent(server: Cluster, admin: KubeHub, cluster: str) -> KubeHub:
    """The agent of this cluster."""
    return _whoever(server, admin, cluster, "agent", AGENT)


def worker(server: Cluster, admin: KubeHub, cluster: str) -> KubeHub:
    """Somebody who may create works in this cluster's namespace."""
    return _whoever(server, admin, cluster, "worker", WORKER)


def _whoever(
    server: Cluster, admin: KubeHub, namespace: str, name: str, rules: list[Obj]
) -> KubeHub:
    """An account of this namespace with these rights there, and no others."""
    account = _account(admin, namespace, name)
    admin.create(Ref(ROLE, f"{namespace}/{name}"), {"rules": rules})
    _bind(admin, namespace, name, "Role", name)
    rules_count(admin, _user(account), rules, namespace)
    return connect(kubeconfig_of(server, admin, account))


def answer_to(
    server: Cluster, path: str, token: str, headers: Mapping[str, str] | None = None
) -> int:
    """The status that whoever has this token is answered with, and who sends these headers besides."""
    known = ssl.create_default_context(cafile=str(server.folder / "pki" / "ca.crt"))
    whole = {"Authorization": f"Bearer {token}", **(headers or {})}
    try:
        with urlopen(Request(server.url + path, headers=whole), timeout=60, context=known) as found:
            status: int = found.status
            return status
    except HTTPError as error:
        with error:
            return error.code


def _user(account: str) -> str:
    return f"system:serviceaccount:{account.replace('/', ':')}"


def _account(admin: KubeHub, namespace: str, name: str) -> str:
    admin.create(Ref(SERVICE_ACCOUNT, f"{namespace}/{name}"), {})
    return f"{namespace}/{name}"


def _bind(admin: KubeHub, namespace: str, account: str, kind: str, role: str) -> None:
    name = f"{account}-{role.rpartition(':')[2]}"
    binding = {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }
    admin.create(Ref(ROLE_BINDING, f"{namespace}/{name}"), binding)


# -- what they forge -------------------------------------------------------------------------------


def old_page(workload: Ref, placement: str, number: int, data: Obj, **meta: object) -> Obj:
    """A record page as the first edition wrote them: a ConfigMap."""
    rid = record_id(workload, placement)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "namespace": workload.namespace,
            "name": f"rollout-record-{rid}-{number}",
            "labels": {names.RECORD_LABEL: rid},
            "annotations": {names.OWNER: workload.key, names.RECORD_PLACEMENT: placement},
            **meta,
        },
        "data": data,
    }


def old_revision(workload: Ref, content: str, template: Obj, **meta: object) -> Obj:
    """A kept template as the first edition wrote them: a ControllerRevision."""
    rid = record_id(workload, "")
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "namespace": workload.namespace,
            "name": f"rollout-revision-{rid}-{content}",
            "labels": {names.REVISION_LABEL: rid},
            "annotations": {names.OWNER: workload.key, names.REVISION: content},
            **meta,
        },
        "revision": 1,
        "data": template,
    }


def write(hub: KubeHub, kind: Kind, obj: Obj) -> Obj:
    meta = obj["metadata"]
    return hub.create(Ref(kind, f"{meta['namespace']}/{meta['name']}"), obj)


# -- a workload that holds -------------------------------------------------------------------------

CAREFUL = make.progressive(mandatory=["canary"], maxConcurrency=1, minSuccessTime="30m")
GATES = "before:rest"


@dataclass(frozen=True)
class Guarded(Tenant):
    """A tenant whose workload holds for half an hour at its canaries."""

    @property
    def clusters(self) -> list[str]:
        """Two canaries, then four others."""
        return [f"{self.name}-{n}" for n in range(6)]

    def settle(self) -> None:
        """The fleet is there; nothing is rolled out yet."""
        self.fleet(0)
        self.join(*self.clusters[:2], **{make.GROUP: "canary"})
        self.join(*self.clusters[2:], **{make.GROUP: "rest"})
        obj = make.placement("p", self.name, groups=["canary", "rest"])
        obj["spec"]["clusterSets"] = [self.name]
        put(self.hub, obj)

    def begin(self, **fields: object) -> None:
        """The careful workload; wait until its canaries have it."""
        self.deploy(**{"strategy": CAREFUL, "annotations": {names.GATES: GATES}, **fields})
        self.holds()

    def holds(self) -> None:
        """Wait until the canaries have the present template, one after the other, and soak."""

        def check() -> None:
            assert self.carrying(self.version) == self.clusters[:2]
            assert self.condition(self.web, names.PROGRESSING)[0] == "True"
            assert len(self.succeeded()) >= 2

        eventually("the canaries soak", check)

    def succeeded(self) -> list[str]:
        """The canaries whose agents have told of success."""
        works = self.works()
        return [c for c in self.clusters[:2] if (works[c].get("status") or {}).get("conditions")]

    def answers(self) -> None:
        """Wait until the controller has acted on what was there when this was called: twice the workload is
        edited, in a way that moves nothing, and twice its status tells of the edit.

        A workload is not planned again before all that its last plan decided is written.
        """
        for _ in range(2):
            refs = self.hub.get(self.web)["spec"]["placementRefs"]
            strategy = refs[0]["rolloutStrategy"]
            fields = strategy.setdefault(strategy["type"][0].lower() + strategy["type"][1:], {})
            is_odd = fields.get("progressDeadline") == "601m"
            fields["progressDeadline"] = "602m" if is_odd else "601m"
            self.hub.patch(self.web, {"spec": {"placementRefs": refs}})
            eventually("the edit is acted on", self.tells_of_the_present_spec)

    def tells_of_the_present_spec(self) -> bool:
        return self.condition(self.web, names.PROGRESSING)[0] != ""

    @property
    def web(self) -> Ref:
        return self.ref(REPLICA_SET, "web")

    @property
    def version(self) -> str:
        """Of the template."""
        spec = self.hub.get(self.web)["spec"]["manifestWorkTemplate"]
        return str(spec["workload"]["manifests"][0]["data"]["version"])

    def carrying(self, version: str) -> list[str]:
        """The clusters that have this version."""
        return [
            cluster
            for cluster, work in sorted(self.works().items())
            if work["spec"]["workload"]["manifests"][0]["data"]["version"] == version
        ]


@dataclass
class Lead:
    """The controller that leads; another one takes its place when it is killed."""

    kubeconfig: Path
    folder: Path
    env: dict[str, str]
    count: int = 0

    def start(self) -> "Lead":
        name = f"pod-{self.count}"
        self.process = Process(self.kubeconfig, self.folder, name, self.env).start()
        self.process.wait_until_it_leads()
        return self

    def restart(self) -> None:
        """Another one in its place."""
        self.end()
        self.follow()

    def end(self) -> None:
        """In good order: the next one need not wait for the lease."""
        self.process.process.terminate()
        self.process.ended()
        self.process.stop()

    def follow(self) -> None:
        self.count += 1
        self.start()

    @property
    def resident(self) -> int:
        """Bytes of memory that it has."""
        text = Path(f"/proc/{self.process.process.pid}/status").read_text()
        line = next(each for each in text.splitlines() if each.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024


def raw_patch(hub: KubeHub, ref: Ref, manager: str, **changes: object) -> None:
    """Replace fields of an object under another field manager's name.

    The controller may write the object between the read and the write; whoever attacks tries again.
    """
    path = path_of(ref.kind, ref.namespace, ref.name)
    for attempt in reversed(range(20)):
        stored = json.loads(hub.send("GET", path))
        try:
            hub.send("PUT", f"{path}?fieldManager={manager}", {**stored, **changes})
        except Conflict:
            if not attempt:
                raise
        else:
            return
