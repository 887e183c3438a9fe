"""Does the admission policy of examples/security stop who may patch, on a real API server?

A server that has ValidatingAdmissionPolicies evaluates the policy itself. An older one asks a webhook of the
test, with the policy's own rules: the requests are real, and CEL evaluates the policy's own expressions.
"""

import http.server
import json
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest

from rollout.errors import Denied, Invalid, NotServed
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import REPLICA_SET, Kind, Obj, Ref
from tests.kube.cluster import Cluster
from tests.kube.setting import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    connect,
    eventually,
    namespace,
    rules_count,
)
from tests.support import make
from tests.support.guard import (
    ALL_OURS,
    MANAGERS,
    OPERATORS,
    OPERATORS_OWN,
    Judge,
    documents,
)

pytestmark = pytest.mark.kube

_GROUP = "admissionregistration.k8s.io"
POLICY = Kind("ValidatingAdmissionPolicy", "validatingadmissionpolicies", _GROUP, "v1",
              namespaced=False)  # fmt: skip
BINDING = Kind("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", _GROUP, "v1",
               namespaced=False)  # fmt: skip
HOOK = Kind("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", _GROUP, "v1",
            namespaced=False)  # fmt: skip
WEB = Ref(REPLICA_SET, "guarded/web")
PATCH = [{"apiGroups": ["work.open-cluster-management.io"],
          "resources": ["manifestworkreplicasets"],
          "verbs": ["get", "create", "patch"]}]  # fmt: skip
FORBIDDEN = "only release-managers may change"
OTHERS = {"somebody": "developers", "olga": OPERATORS, "git": MANAGERS}


@pytest.fixture
def people(server: Cluster, admin: KubeHub) -> Iterator[dict[str, KubeHub]]:
    """A workload whose annotations are all set, three people who may patch it, and the policy."""
    namespace(admin, "guarded")
    annotations = dict.fromkeys(ALL_OURS, "before")
    admin.create(WEB, make.workload(name="web", namespace="guarded", annotations=annotations))
    hubs = {name: _person(server, admin, name, group) for name, group in OTHERS.items()}
    with _in_force(server, admin):
        eventually("the policy counts", lambda: bool(_refusal(hubs["somebody"], _other_gates())))
        yield hubs
    for hub in hubs.values():
        hub.close()


def _other_gates() -> Obj:
    """Another change each time: while the policy does not count yet, it is let through."""
    return {"metadata": {"annotations": {names.GATES: uuid4().hex}}}


def _person(server: Cluster, admin: KubeHub, name: str, group: str) -> KubeHub:
    """Somebody of a group who may create and patch workloads everywhere."""
    authority = "rbac.authorization.k8s.io"
    subject = {"apiGroup": authority, "kind": "User", "name": name}
    role = {"apiGroup": authority, "kind": "ClusterRole", "name": f"patches-{name}"}
    admin.create(Ref(CLUSTER_ROLE, f"patches-{name}"), {"rules": PATCH})
    admin.create(
        Ref(CLUSTER_ROLE_BINDING, f"patches-{name}"), {"roleRef": role, "subjects": [subject]}
    )
    rules_count(admin, name, PATCH, "guarded")
    return connect(server.user(name, group))


@contextmanager
def _in_force(server: Cluster, admin: KubeHub) -> Iterator[None]:
    """The server goes by the policy."""
    policy, binding = documents()
    try:
        admin.list(POLICY)
    except NotServed:
        with _webhook(server, policy["spec"]) as hook, _there(admin, HOOK, {"webhooks": [hook]}):
            yield
        return
    with _there(admin, POLICY, policy), _there(admin, BINDING, binding):
        yield


@contextmanager
def _there(admin: KubeHub, kind: Kind, obj: Obj) -> Iterator[None]:
    """The object is there under the policy's name, and gone afterwards."""
    ref = Ref(kind, "rollout-guard-workloads")
    admin.create(ref, obj)
    try:
        yield
    finally:
        admin.delete(ref)


@contextmanager
def _webhook(server: Cluster, spec: Obj) -> Iterator[Obj]:
    """A server that judges by the policy, and how the API server is told to ask it."""
    judge, keys = Judge(spec), server.folder / "pki"

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps({**review, "response": _answer(judge, review["request"])}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(keys / "server.crt", keys / "server.key")
    listener.socket = context.wrap_socket(listener.socket, server_side=True)
    thread = threading.Thread(target=listener.serve_forever)
    thread.start()
    authority = b64encode((keys / "ca.crt").read_bytes()).decode()
    address = f"https://127.0.0.1:{listener.server_port}/"
    try:
        yield {
            "name": "guard.rollout-engine.io",
            "clientConfig": {"url": address, "caBundle": authority},
            "rules": spec["matchConstraints"]["resourceRules"],
            "failurePolicy": spec["failurePolicy"],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()


def _answer(judge: Judge, request: Obj) -> Obj:
    asker = request["userInfo"]
    refused = judge.refusals(
        request["object"], request["oldObject"], groups=asker["groups"], user=asker["username"]
    )
    status = {"code": 403, "message": "; ".join(refused)}
    return {"uid": request["uid"], "allowed": not refused, "status": status}


def _refusal(hub: KubeHub, changes: Obj) -> str:
    """What the server says to a person who changes the workload; "" where it lets it through."""
    try:
        hub.patch(WEB, changes)
    except (Denied, Invalid) as error:
        return str(error)
    return ""


def test_who_may_patch_changes_of_a_guarded_workload_only_what_the_policy_lets_them(
    people: dict[str, KubeHub], admin: KubeHub
) -> None:
    def stored() -> Obj:
        found = admin.get(WEB)
        return {"spec": found["spec"], "annotations": found["metadata"]["annotations"]}

    before = stored()
    for name in ALL_OURS:
        for value in ("after", None):
            change: Obj = {"metadata": {"annotations": {name: value}}}
            assert "only r" in _refusal(people["somebody"], change), name
            if name not in OPERATORS_OWN:
                assert FORBIDDEN in _refusal(people["olga"], change), name
    template: Obj = {"spec": {"manifestWorkTemplate": {"workload": {"manifests": []}}}}
    for name in ("somebody", "olga"):
        assert "change their spec" in _refusal(people[name], template)
        assert "may create workloads" in _refusal_of_a_new_one(people[name])
    assert stored() == before

    for name in OPERATORS_OWN:
        assert _refusal(people["olga"], {"metadata": {"annotations": {name: "after"}}}) == ""
    everything = {"metadata": {"annotations": dict.fromkeys(ALL_OURS, "by git")}, **template}
    assert _refusal(people["git"], everything) == ""
    assert _refusal_of_a_new_one(people["git"]) == ""
    assert stored()["annotations"] == dict.fromkeys(ALL_OURS, "by git")


def _refusal_of_a_new_one(hub: KubeHub) -> str:
    """What the server says to a person who creates a workload; "" where it lets it through."""
    try:
        hub.create(Ref(REPLICA_SET, "guarded/new"), make.workload(name="new", namespace="guarded"))
    except (Denied, Invalid) as error:
        return str(error)
    return ""
