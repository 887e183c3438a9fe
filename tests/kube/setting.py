"""What do tests on a real API server begin with? Our kinds, namespaces, clusters; and how it all ends."""

import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

import yaml

from rollout.errors import AlreadyExists, Gone, HubError
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.hub.kube_session import Times
from rollout.model.kinds import KINDS, MANAGED_CLUSTER, Kind, Obj, Ref, key_of, ref_of
from rollout.model.names import CLUSTER_AVAILABLE, CLUSTER_SET_LABEL
from rollout.runtime.events import EVENT

ROOT = Path(__file__).parents[2]
CRDS = ROOT / "manifests" / "crds"
RBAC = (
    ROOT / "manifests" / "base" / "rbac.yaml",
    ROOT / "manifests" / "components" / "placements" / "rbac.yaml",
    ROOT / "manifests" / "components" / "addons" / "rbac.yaml",
)
CRD = Kind(
    "CustomResourceDefinition",
    "customresourcedefinitions",
    "apiextensions.k8s.io",
    "v1",
    namespaced=False,
)
NAMESPACE = Kind("Namespace", "namespaces", "", "v1", namespaced=False)
CLUSTER_ROLE = Kind(
    "ClusterRole", "clusterroles", "rbac.authorization.k8s.io", "v1", namespaced=False
)
CLUSTER_ROLE_BINDING = Kind(
    "ClusterRoleBinding", "clusterrolebindings", "rbac.authorization.k8s.io", "v1", namespaced=False
)
ROLE = Kind("Role", "roles", "rbac.authorization.k8s.io", "v1", namespaced=True)
ROLE_BINDING = Kind(
    "RoleBinding", "rolebindings", "rbac.authorization.k8s.io", "v1", namespaced=True
)
SERVICE_ACCOUNT = Kind(
    "ServiceAccount", "serviceaccounts", "", "v1", namespaced=True, has_status=False
)
BOOTSTRAPPED = "kubernetes.io/bootstrapping"
"""The label of the rights that an API server makes for itself."""
WIPERS = 16
PATIENCE = 240.0
"""Seconds until a test gives up waiting: a machine may be slow, or busy with something else."""
TIMES = Times(connect=60, read=120, write=120)
"""Of a test's own requests: it does not try again what a busy server answers late."""


def connect(kubeconfig: Path) -> KubeHub:
    """A hub for a test's own hands."""
    return KubeHub(Access(str(kubeconfig)), times=TIMES)


def eventually(what: str, check: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait until ``check`` holds; a failed assertion counts as not yet.

    So does an object, or a field of it, that is not there: another process makes both, one after the other;
    and a server that does not answer, or does not know yet what somebody may do.
    """
    end = time.monotonic() + seconds  # noqa: TID251  a test waits for another process
    while True:
        try:
            if check() is not False:
                return
            problem = what
        except (AssertionError, LookupError, HubError) as error:
            problem = f"{what}: {error!r}"
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {problem}"  # noqa: TID251
        time.sleep(0.05)  # noqa: TID251


def not_before(begin: float, seconds: float, check: Callable[[], object]) -> None:
    """See that ``check`` holds for so long after ``begin``, of `time.monotonic`.

    A look that ends later says nothing: what it saw may have happened afterwards.
    """
    while True:
        held = check()
        if time.monotonic() >= begin + seconds:  # noqa: TID251
            return
        assert held, f"it came before {seconds:g} s were over"
        time.sleep(0.05)  # noqa: TID251


@cache
def crd_objects() -> tuple[Obj, ...]:
    return tuple(yaml.safe_load(path.read_text()) for path in sorted(CRDS.rglob("*.io_*.yaml")))


def install_crds(hub: KubeHub, crds: Sequence[Obj] | None = None) -> None:
    """Install all of manifests/crds, or others in their place, and wait until each is served."""
    wanted = crd_objects() if crds is None else crds
    for obj in wanted:
        hub.create(Ref(CRD, obj["metadata"]["name"]), obj)
    for obj in wanted:
        spec = obj["spec"]
        path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
        eventually(f"{path} is served", lambda path=path: _is_served(hub, path))  # type: ignore[misc]  # a lambda with a default


def crd_of(kind: Kind) -> Obj:
    """The definition of a kind of others, which takes any fields."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": kind.version, "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "names": {"kind": kind.name, "plural": kind.plural, "singular": kind.name.lower()},
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def may(admin: KubeHub, user: str, verb: str, resource: str, namespace: str = "") -> bool:
    """Whether the server would let a user do this. ``resource``: its plural, with ``.group``."""
    name, _, group = resource.partition(".")
    attributes = {"verb": verb, "resource": name, "group": group, "namespace": namespace}
    spec: Obj = {"user": user, "resourceAttributes": attributes}
    if user.startswith("system:serviceaccount:"):
        place = user.split(":")[2]
        spec["groups"] = ["system:serviceaccounts", f"system:serviceaccounts:{place}"]
    question = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": spec,
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(json.loads(admin.send("POST", path, question))["status"]["allowed"])


def rules_count(admin: KubeHub, user: str, rules: Iterable[Obj], namespace: str = "") -> None:
    """Wait until the server goes by new rules: it hears of its own roles a moment later."""
    for rule in rules:
        for resource in rule.get("resources", ()):
            if "/" not in resource and "resourceNames" not in rule:
                asked = rule["verbs"][0], f"{resource}.{rule['apiGroups'][0]}", namespace
                eventually(f"{user} may {asked}", partial(may, admin, user, *asked))


def grant(hub: KubeHub, user: str) -> None:
    """Let a user do what the manifests let the controller do in all namespaces, and no more.

    Under names of its own: what `tests.kube.processes.install` brings is something else.
    """
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
    rules: list[Obj] = []
    for path in RBAC:
        for obj in yaml.safe_load_all(path.read_text()):
            kind = {kind.name: kind for kind in (CLUSTER_ROLE, CLUSTER_ROLE_BINDING)}.get(
                obj["kind"]
            )
            if kind is None:
                continue
            name = f"{user}:{obj['metadata']['name']}"
            mine = {**obj, "metadata": {"name": name}}
            if kind is CLUSTER_ROLE_BINDING:
                role = f"{user}:{obj['roleRef']['name']}"
                mine |= {"subjects": [subject], "roleRef": {**obj["roleRef"], "name": role}}
            hub.create(Ref(kind, name), mine)
            rules += obj.get("rules", ())
    rules_count(hub, user, rules)


def _is_served(hub: KubeHub, path: str) -> bool:
    try:
        hub.send("GET", path)
    except HubError:
        return False
    return True


def is_gone(hub: KubeHub, ref: Ref) -> bool:
    try:
        hub.get(ref)
    except Gone:
        return True
    return False


def watches(hub: KubeHub, resource: str) -> int:
    """How many watches of a resource the server has, by its own count."""
    text = hub.send("GET", "/metrics").decode()
    found: list[str] = re.findall(
        rf'^apiserver_longrunning_(?:requests|gauge)\{{.*resource="{resource}".*verb="WATCH".*\}} (\d+)',
        text,
        re.MULTILINE,
    )
    return sum(int(number) for number in found)


def namespace(hub: KubeHub, *names: str) -> None:
    for name in names:
        try:
            hub.create(Ref(NAMESPACE, name), {})
        except AlreadyExists:
            continue


def put(hub: KubeHub, document: Obj) -> Obj:
    """Create an object from a file, with its status."""
    kind = KINDS[document["kind"]]
    meta = document["metadata"]
    ref = Ref(kind, key_of(meta.get("namespace", "") if kind.namespaced else "", meta["name"]))
    stored = hub.create(ref, document)
    if document.get("status") and kind.has_status:
        stored = hub.patch_status(ref, {"status": document["status"]})
    return stored


def put_new(hub: KubeHub, ref: Ref, obj: Obj) -> None:
    """Create an object, unless it is there."""
    try:
        hub.create(ref, obj)
    except AlreadyExists:
        return


def managed_cluster(name: str, group: str = "", **labels: str) -> Obj:
    found = {CLUSTER_SET_LABEL: "prod", **labels}
    if group:
        found["example.com/rollout-group"] = group
    condition = {
        "type": CLUSTER_AVAILABLE,
        "status": "True",
        "reason": "ManagedClusterAvailable",
        "message": "Managed cluster is available",
        "lastTransitionTime": "2026-01-12T09:00:00Z",
    }
    return {
        "apiVersion": MANAGED_CLUSTER.api_version,
        "kind": MANAGED_CLUSTER.name,
        "metadata": {"name": name, "labels": found},
        "spec": {"hubAcceptsClient": True, "leaseDurationSeconds": 60},
        "status": {"conditions": [condition]},
    }


def wipe(hub: KubeHub) -> None:
    """Remove every object of our kinds, accounts and their rights, events; finalizers or not.

    Namespaces stay: nobody here could end them.
    """
    with ThreadPoolExecutor(WIPERS) as pool:

        def is_empty() -> bool:
            """Agents that still act give finalizers back, and then it takes one more look."""
            listed = pool.map(lambda kind: (kind, hub.list(kind).items), _wiped())
            left = [
                (kind, obj) for kind, found in listed for obj in found if not _is_the_servers(obj)
            ]
            list(pool.map(lambda pair: _remove(hub, *pair), left))
            return not left

        eventually("nothing is left", is_empty)


def _wiped() -> Iterable[Kind]:
    served = {obj["spec"]["names"]["kind"] for obj in crd_objects()}
    for kind in KINDS.values():
        is_others = kind.group.endswith(("open-cluster-management.io", "argoproj.io"))
        if kind.name in served or not is_others:
            yield kind
    yield from (SERVICE_ACCOUNT, ROLE, ROLE_BINDING, CLUSTER_ROLE, CLUSTER_ROLE_BINDING, EVENT)


def _is_the_servers(obj: Obj) -> bool:
    meta = obj["metadata"]
    return meta.get("namespace") == "kube-system" or BOOTSTRAPPED in (meta.get("labels") or {})


def _remove(hub: KubeHub, kind: Kind, obj: Obj) -> None:
    ref = ref_of(kind, obj)
    try:
        if obj["metadata"].get("finalizers"):
            hub.patch(ref, {"metadata": {"finalizers": None}})
        hub.delete(ref)
    except Gone:
        return
