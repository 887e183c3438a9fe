"""What is wrong with a hub? Checks over what an API server says; each finding says what to do.

Every check takes `Send`, the one way to ask, so that a test can answer.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rollout.api.crds import crd
from rollout.errors import Denied, Gone
from rollout.model.kinds import (
    KINDS,
    Kind,
    Obj,
)
from rollout.runtime.permissions import Permission

Send = Callable[[str, str, Obj | None], bytes]
"""``(method, path, body) -> answer``. Raises: HubError."""

CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"


class Level(Enum):
    """How bad it is. Only a problem makes the exit code 1."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found, and what to do about it."""

    check: str
    level: Level
    what: str
    fix: str = ""


def ask(send: Send, path: str) -> Any:
    """The JSON at a path. Raises: HubError."""
    return json.loads(send("GET", path, None))


# -- kinds ---------------------------------------------------------------------------------------

WRITTEN: Mapping[str, tuple[str, ...]] = {
    "Placement": (
        "status.numberOfSelectedClusters",
        "status.decisionGroups[].clusterCount",
        "status.conditions[].observedGeneration",
    ),
    "PlacementDecision": ("status.decisions[].clusterName", "status.decisions[].reason"),
    "ManifestWork": ("spec.workload.manifests", "status.conditions[].observedGeneration"),
    "ManifestWorkReplicaSet": (
        "spec.manifestWorkTemplate",
        "status.conditions[].observedGeneration",
        "status.summary.desiredTotal",
        "status.summary.updated",
        "status.placementSummary[].summary",
    ),
    "ManagedCluster": ("spec.taints[].timeAdded", "status.conditions"),
    "ManagedClusterSet": ("spec.clusterSelector", "status.conditions[].observedGeneration"),
    "ManagedClusterSetBinding": ("status.conditions[].observedGeneration",),
    "AddOnPlacementScore": ("status.scores[].value",),
}
"""Fields that we write or rely on: a schema without one prunes it, without a word."""


def check_kinds(send: Send) -> Iterator[Finding]:
    """Is each CustomResourceDefinition there, and does it keep what we write?"""
    missing: list[str] = []
    for name in sorted(WRITTEN):
        kind = KINDS[name]
        crd_name = f"{kind.plural}.{kind.group}"
        try:
            found = ask(send, CRD_PATH + crd_name)
        except Gone:
            missing.append(crd_name)
            continue
        yield from _kind_findings(kind, found)
    if missing:
        yield Finding(
            "kinds",
            Level.PROBLEM,
            f"not installed: {', '.join(missing)}",
            "kubectl apply -k manifests/standalone on a hub of its own; on an OCM hub,"
            " `clusteradm init` or the ClusterManager installs them",
        )
    else:
        yield Finding("kinds", Level.OK, f"all {len(WRITTEN)} kinds are installed")


def _kind_findings(kind: Kind, found: Obj) -> Iterator[Finding]:
    versions = {v["name"]: v for v in found.get("spec", {}).get("versions", ())}
    ours = versions.get(kind.version)
    name = f"{kind.plural}.{kind.group}"
    if ours is None or not ours.get("served"):
        served = ", ".join(sorted(v for v, said in versions.items() if said.get("served")))
        yield Finding(
            "kinds",
            Level.PROBLEM,
            f"{name} does not serve {kind.version} (it serves {served or 'nothing'})",
            "install the definition of a release that serves this version",
        )
        return
    if kind.has_status and "status" not in (ours.get("subresources") or {}):
        yield Finding(
            "kinds",
            Level.PROBLEM,
            f"{name} has no status subresource",
            "install OCM's or our definition (manifests/crds)",
        )
    schema = (ours.get("schema") or {}).get("openAPIV3Schema") or {}
    pruned = [path for path in WRITTEN[kind.name] if not keeps(schema, path)]
    if pruned:
        yield Finding(
            "kinds",
            Level.PROBLEM,
            f"{name} is somebody else's: it prunes {', '.join(pruned)}",
            f"install OCM's or our definition of {name} (manifests/crds)",
        )
    elif schema != crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]:
        yield Finding(
            "kinds",
            Level.NOTE,
            f"{name} is not ours, and keeps all that we write: OCM's, most likely",
            "nothing is to be done; what our definition refuses, this one may let in",
        )


def keeps(schema: Obj, path: str) -> bool:
    """Whether an object may hold a field: ``a.b[].c``."""
    for part in path.split("."):
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            return True
        name = part.removesuffix("[]")
        properties = schema.get("properties") or {}
        if name not in properties:
            return isinstance(schema.get("additionalProperties"), dict)
        schema = properties[name]
        if part.endswith("[]"):
            schema = schema.get("items") or {}
    return True


# -- permissions ---------------------------------------------------------------------------------


def check_permissions(
    send: Send, permissions: tuple[Permission, ...], namespace: str, account: str
) -> Iterator[Finding]:
    """Is everything allowed that a controller does?

    Args:
        namespace: where the lease lies.
        account: the service account ``ns/name`` that is asked about; "" for whoever asks.
    """
    who = f"service account {account}" if account else "the user of this kubeconfig"
    refused: list[str] = []
    for permission in permissions:
        for verb in permission.verbs:
            try:
                allowed = _may(send, permission, verb, namespace, account)
            except Denied as error:
                yield Finding(
                    "permissions",
                    Level.NOTE,
                    f"cannot find out what {who} may do: {error}",
                    "run as somebody who may create subjectaccessreviews",
                )
                return
            if not allowed:
                place = f" in namespace {namespace}" if permission.here else ""
                target = f"{permission.resource}.{permission.group}".rstrip(".")
                refused.append(f"{verb} {target}{place}")
    if refused:
        yield Finding(
            "permissions",
            Level.PROBLEM,
            f"{who} may not {', '.join(refused)}",
            "apply the ClusterRole and Role of manifests/standalone or manifests/on-ocm, and bind"
            " them to the service account",
        )
    else:
        yield Finding("permissions", Level.OK, f"{who} may do all that a controller does")


def _may(send: Send, permission: Permission, verb: str, namespace: str, account: str) -> bool:
    resource, _, sub = permission.resource.partition("/")
    attributes = {
        "group": permission.group,
        "resource": resource,
        "subresource": sub,
        "verb": verb,
        "namespace": namespace if permission.here else "",
    }
    kind = "SubjectAccessReview" if account else "SelfSubjectAccessReview"
    spec: Obj = {"resourceAttributes": {k: v for k, v in attributes.items() if v}}
    if account:
        place, _, name = account.partition("/")
        spec["user"] = f"system:serviceaccount:{place}:{name}"
        spec["groups"] = [
            "system:serviceaccounts",
            f"system:serviceaccounts:{place}",
            "system:authenticated",
        ]
    question = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    answer = json.loads(send("POST", f"/apis/authorization.k8s.io/v1/{kind.lower()}s", question))
    return bool((answer.get("status") or {}).get("allowed"))
