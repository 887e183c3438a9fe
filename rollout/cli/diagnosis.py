"""What is wrong with a hub? Checks over what an API server says; each finding says what to do.

Every check takes `Send`, the one way to ask, so that a test can answer.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rollout.api.crds import crd
from rollout.errors import Gone
from rollout.model.kinds import (
    KINDS,
    Kind,
    Obj,
)

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
WRITTEN_OF_ADDONS: Mapping[str, tuple[str, ...]] = {
    "ClusterManagementAddOn": (
        "spec.installStrategy.placements[].rolloutStrategy",
        "status.defaultconfigReferences[].desiredConfig.specHash",
        "status.installProgressions[].configReferences[].lastKnownGoodConfig.specHash",
        "status.installProgressions[].conditions[].observedGeneration",
    ),
    "ManagedClusterAddOn": (
        "status.configReferences[].desiredConfig.specHash",
        "status.configReferences[].lastObservedGeneration",
        "status.conditions[].message",
    ),
}
"""The same of add-ons, without which everything else goes on."""


def check_kinds(send: Send, *, addons: bool = False) -> Iterator[Finding]:
    """Is each CustomResourceDefinition there, and does it keep what we write?

    ``addons``: those of add-ons too. A hub may do without them.
    """
    missing: list[str] = []
    wanted = {**WRITTEN, **(WRITTEN_OF_ADDONS if addons else {})}
    for name in sorted(wanted):
        kind = KINDS[name]
        try:
            found = ask(send, f"{CRD_PATH}{kind.plural}.{kind.group}")
        except Gone:
            missing.append(name)
            continue
        yield from _kind_findings(kind, found, wanted[name])
    if not missing:
        yield Finding("kinds", Level.OK, f"all {len(wanted)} kinds are installed")
    needed = _listed(name for name in missing if name in WRITTEN)
    if needed:
        yield Finding(
            "kinds",
            Level.PROBLEM,
            f"not installed: {needed}",
            "kubectl apply -k manifests/standalone on a hub of its own; on an OCM hub,"
            " `clusteradm init` or the ClusterManager installs them",
        )
    lacking = _listed(name for name in missing if name not in WRITTEN)
    if lacking:
        yield Finding(
            "kinds",
            Level.NOTE,
            f"not installed: {lacking}; no add-on is installed or configured, all else goes on",
            "to roll add-ons out, kubectl apply -k manifests/crds; the controller notices within"
            " five minutes",
        )


def _listed(kinds: Iterable[str]) -> str:
    return ", ".join(f"{KINDS[name].plural}.{KINDS[name].group}" for name in kinds)


def _kind_findings(kind: Kind, found: Obj, written: Iterable[str]) -> Iterator[Finding]:
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
    pruned = [path for path in written if not keeps(schema, path)]
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
