"""Who looks at a dashboard on the server: its own account, and people with the roles of the examples."""

import yaml

from rollout.errors import AlreadyExists
from rollout.hub.kube import KubeHub
from rollout.model.kinds import KINDS, Obj, Ref, key_of, ref_of
from tests.kube.processes import SYSTEM, kind_of, token_of
from tests.kube.setting import CLUSTER_ROLE, ROOT, rules_count
from tests.unit.project.test_manifests import documents

ACCOUNT = f"{SYSTEM}/rollout-dashboard"
_FILES = (
    "base/namespace.yaml",
    "components/dashboard/serviceaccount.yaml",
    "components/dashboard/rbac.yaml",
)


def install_dashboard(admin: KubeHub) -> None:
    """The account of the dashboard with the rights of its manifests, and the roles of the examples."""
    for path in _FILES:
        for obj in documents(ROOT / "manifests" / path):
            ensure(admin, obj)
    for obj in yaml.safe_load_all((ROOT / "examples" / "operate" / "roles.yaml").read_text()):
        if obj["kind"] == "ClusterRole":
            ensure(admin, obj)
    _counts(admin, ACCOUNT, "rollout-dashboard")


def person(admin: KubeHub, name: str, *roles: str) -> str:
    """A service account with such roles. Returns: its token."""
    meta = {"namespace": "default", "name": name}
    ensure(admin, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    group = "rbac.authorization.k8s.io"
    for role in roles:
        binding = {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{name}-{role}"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", **meta}],
        }
        ensure(admin, binding)
        _counts(admin, f"default/{name}", role)
    return token_of(admin, f"default/{name}")


def _counts(admin: KubeHub, account: str, role: str) -> None:
    """Wait until the server goes by it: the dashboard remembers for a while what it was told."""
    user = f"system:serviceaccount:{account.replace('/', ':')}"
    rules_count(admin, user, admin.get(Ref(CLUSTER_ROLE, role))["rules"])


def ensure(admin: KubeHub, obj: Obj) -> None:
    """Create an object with its status, unless it is there."""
    kind, meta = KINDS.get(obj["kind"]) or kind_of(obj), obj["metadata"]
    ref = Ref(kind, key_of(meta.get("namespace", ""), meta["name"]))
    try:
        stored = admin.create(ref, {k: v for k, v in obj.items() if k != "status"})
    except AlreadyExists:
        return
    if obj.get("status") and kind.has_status:
        admin.patch_status(ref_of(kind, stored), {"status": obj["status"]})
