"""Checks a hub by the answers of its API server; each finding says what to do.

Every check takes `Send`, the one way to ask, so that a test can answer.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rollout.api.crds import crd
from rollout.errors import Gone
from rollout.model.kinds import CLUSTER_PROFILE, KINDS, SHARED_DECISION, Kind, Obj

Send = Callable[[str, str, Obj | None], bytes]
"""``(method, path, body) -> answer``. Raises: HubError."""

CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"


class Level(Enum):
    """How bad it is. Only a problem makes the exit code 1."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class CheckResult:
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


WRITTEN_FOR_OTHERS: Mapping[Kind, tuple[str, ...]] = {
    SHARED_DECISION: ("decisions[].clusterProfileRef.namespace", "schedulerName"),
    CLUSTER_PROFILE: ("spec.clusterManager.name", "status.properties[].value"),
}
"""The same of SIG Multicluster's kinds, where they are published."""
THEIRS = "SIG Multicluster's definitions (kubernetes-sigs/cluster-inventory-api)"


def check_published(send: Send, kinds: Iterable[Kind]) -> Iterator[CheckResult]:
    """Can the kinds that are to be published be written?"""
    for kind in kinds:
        name = f"{kind.plural}.{kind.group}"
        try:
            found = ask(send, f"{CRD_PATH}{name}")
        except Gone:
            yield CheckResult(
                "kinds",
                Level.PROBLEM,
                f"not installed: {name}; nothing is published there, all else goes on",
                f"install {THEIRS}; the controller notices within five minutes",
            )
            continue
        lacks = tuple(_kind_findings(kind, found, WRITTEN_FOR_OTHERS[kind], whose=THEIRS))
        yield from lacks
        if not lacks:
            yield CheckResult("kinds", Level.OK, f"{name} can be published")


def check_kinds(send: Send, *, addons: bool = False) -> Iterator[CheckResult]:
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
        yield CheckResult("kinds", Level.OK, f"all {len(wanted)} kinds are installed")
    needed = _listed(name for name in missing if name in WRITTEN)
    if needed:
        yield CheckResult(
            "kinds",
            Level.PROBLEM,
            f"not installed: {needed}",
            "kubectl apply -k manifests/standalone on a hub of its own; on an OCM hub,"
            " `clusteradm init` or the ClusterManager installs them",
        )
    lacking = _listed(name for name in missing if name not in WRITTEN)
    if lacking:
        yield CheckResult(
            "kinds",
            Level.NOTE,
            f"not installed: {lacking}; no add-on is installed or configured, all else goes on",
            "to roll add-ons out, kubectl apply -k manifests/crds; the controller notices within"
            " five minutes",
        )


def _listed(kinds: Iterable[str]) -> str:
    return ", ".join(f"{KINDS[name].plural}.{KINDS[name].group}" for name in kinds)


def _kind_findings(
    kind: Kind,
    found: Obj,
    written: Iterable[str],
    whose: str = "OCM's or our definition (manifests/crds)",
) -> Iterator[CheckResult]:
    versions = {v["name"]: v for v in found.get("spec", {}).get("versions", ())}
    ours = versions.get(kind.version)
    name = f"{kind.plural}.{kind.group}"
    if ours is None or not ours.get("served"):
        served = ", ".join(sorted(v for v, said in versions.items() if said.get("served")))
        yield CheckResult(
            "kinds",
            Level.PROBLEM,
            f"{name} does not serve {kind.version} (it serves {served or 'nothing'})",
            "install the definition of a release that serves this version",
        )
        return
    if kind.has_status and "status" not in (ours.get("subresources") or {}):
        what = f"{name} has no status subresource"
        yield CheckResult("kinds", Level.PROBLEM, what, f"install {whose}")
    schema = _schema(kind, found)
    pruned = [path for path in written if not keeps(schema, path)]
    if pruned:
        what = f"{name} is somebody else's: it prunes {', '.join(pruned)}"
        yield CheckResult("kinds", Level.PROBLEM, what, f"install {whose}")
    elif whose != THEIRS and schema != _schema(kind, crd(kind)):
        yield CheckResult(
            "kinds",
            Level.NOTE,
            f"{name} is not ours, and keeps all that we write: OCM's, most likely",
            "nothing is to be done; what our definition refuses, this one may let in",
        )


def _schema(kind: Kind, found: Obj) -> Obj:
    """The schema of the version that we write, in a CustomResourceDefinition."""
    for each in found["spec"]["versions"]:
        if each["name"] == kind.version:
            return (each.get("schema") or {}).get("openAPIV3Schema") or {}
    return {}


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
