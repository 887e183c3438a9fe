"""Objects that are good, and objects that are bad: who refuses them, the API server, our checks, or both."""

import copy
from typing import Any

from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    CLUSTER_MANAGEMENT_ADDON,
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    SCORE,
    Kind,
    Obj,
)

Path = tuple[str | int, ...]
MANIFEST: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}


def _object(kind: Kind, **fields: Any) -> Obj:
    meta = {"name": "x", **({"namespace": "default"} if kind.namespaced else {})}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": meta, **fields}


_PROGRESSIVE = {
    "type": "Progressive",
    "progressive": {
        "mandatoryDecisionGroups": [{"groupName": "canary"}, {"groupIndex": 1}],
        "maxConcurrency": "25%",
        "minSuccessTime": "5m",
        "progressDeadline": "1h30m",
        "maxFailures": 2,
    },
}
_RESOURCE = {
    "group": "addon.open-cluster-management.io",
    "resource": "addondeploymentconfigs",
}
_REFERENCE = {**_RESOURCE, "namespace": "default", "name": "x"}
GOOD: dict[str, Obj] = {
    kind.name: _object(kind, **fields)
    for kind, fields in (
        (
            MANAGED_CLUSTER,
            {"spec": {"taints": [{"key": "gpu", "value": "x", "effect": "NoSelect"}]}},
        ),
        (CLUSTER_SET, {"spec": {"clusterSelector": {"selectorType": "LabelSelector"}}}),
        (CLUSTER_SET_BINDING, {"spec": {"clusterSet": "x"}}),
        (
            PLACEMENT,
            {
                "spec": {
                    "numberOfClusters": 3,
                    "tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 60}],
                    "prioritizerPolicy": {
                        "configurations": [{"scoreCoordinate": {"builtIn": "Steady"}, "weight": 3}]
                    },
                    "decisionStrategy": {
                        "groupStrategy": {
                            "clustersPerDecisionGroup": "20%",
                            "decisionGroups": [{"groupName": "canary"}],
                        }
                    },
                    "spreadPolicy": {
                        "spreadConstraints": [{"topologyKey": "region", "topologyKeyType": "Label"}]
                    },
                    "predicates": [
                        {
                            "requiredClusterSelector": {
                                "labelSelector": {
                                    "matchExpressions": [
                                        {"key": "a", "operator": "In", "values": ["b"]}
                                    ]
                                }
                            }
                        }
                    ],
                }
            },
        ),
        (PLACEMENT_DECISION, {}),
        (SCORE, {}),
        (
            MANIFEST_WORK,
            {
                "spec": {
                    "workload": {"manifests": [MANIFEST]},
                    "deleteOption": {
                        "propagationPolicy": "SelectivelyOrphan",
                        "selectivelyOrphans": {
                            "orphaningRules": [{"resource": "configmaps", "name": "x"}]
                        },
                    },
                    "manifestConfigs": [
                        {
                            "resourceIdentifier": {"resource": "configmaps", "name": "x"},
                            "updateStrategy": {"type": "ServerSideApply", "serverSideApply": {}},
                            "feedbackRules": [
                                {
                                    "type": "JSONPaths",
                                    "jsonPaths": [{"name": "n", "path": ".status.n"}],
                                }
                            ],
                        }
                    ],
                }
            },
        ),
        (
            REPLICA_SET,
            {
                "spec": {
                    "placementRefs": [{"name": "p", "rolloutStrategy": _PROGRESSIVE}],
                    "manifestWorkTemplate": {"workload": {"manifests": [MANIFEST]}},
                }
            },
        ),
        (
            CLUSTER_MANAGEMENT_ADDON,
            {
                "spec": {
                    "addOnMeta": {"displayName": "X"},
                    "supportedConfigs": [
                        {**_RESOURCE, "defaultConfig": {"namespace": "default", "name": "x"}}
                    ],
                    "installStrategy": {
                        "type": "Placements",
                        "placements": [
                            {
                                "namespace": "default",
                                "name": "p",
                                "configs": [_REFERENCE],
                                "rolloutStrategy": _PROGRESSIVE,
                            }
                        ],
                    },
                }
            },
        ),
        (MANAGED_CLUSTER_ADDON, {"spec": {"configs": [_REFERENCE]}}),
        (
            ADDON_DEPLOYMENT_CONFIG,
            {
                "spec": {
                    "customizedVariables": [{"name": "IMAGE", "value": "x:1"}],
                    "nodePlacement": {"nodeSelector": {"a": "b"}},
                    "registries": [{"source": "a", "mirror": "b"}],
                    "resourceRequirements": [{"containerID": "deployments:x:y", "resources": {}}],
                }
            },
        ),
    )
}
"""One object of each kind in which most fields are set."""

_STRATEGY: Path = ("spec", "placementRefs", 0, "rolloutStrategy")
_PROGRESS: Path = (*_STRATEGY, "progressive")
_GROUPS: Path = ("spec", "decisionStrategy", "groupStrategy")
_SPREAD: Path = ("spec", "spreadPolicy", "spreadConstraints", 0)
_TOLERATION: Path = ("spec", "tolerations", 0)
_TEMPLATE: Path = ("spec", "manifestWorkTemplate", "workload", "manifests")
_WORKLOAD: Path = ("spec", "workload", "manifests")
_CONFIG: Path = ("spec", "manifestConfigs", 0)
_INSTALL: Path = ("spec", "installStrategy")
_PLACED: Path = (*_INSTALL, "placements", 0)
_PLACED_PROGRESS: Path = (*_PLACED, "rolloutStrategy", "progressive")

BAD: list[tuple[Kind, Path, Any]] = [
    (PLACEMENT, ("spec",), None),
    (PLACEMENT, ("spec",), "x"),
    (PLACEMENT, ("spec", "numberOfClusters"), -1),
    (PLACEMENT, ("spec", "numberOfClusters"), "3"),
    (PLACEMENT, ("spec", "numberOfClusters"), 1.5),
    (PLACEMENT, ("spec", "clusterSets"), "prod"),
    (PLACEMENT, ("spec", "clusterSets"), [1]),
    (PLACEMENT, ("spec", "sortBy"), "Name"),
    (PLACEMENT, ("spec", "scoreRateLimit"), "1 minute"),
    (PLACEMENT, (*_TOLERATION, "operator"), "Like"),
    (PLACEMENT, (*_TOLERATION, "effect"), "NoExecute"),
    (PLACEMENT, (*_TOLERATION, "key"), "not a key"),
    (PLACEMENT, (*_TOLERATION, "tolerationSeconds"), "60"),
    (PLACEMENT, (*_TOLERATION, "value"), "x" * 1025),
    (PLACEMENT, ("spec", "prioritizerPolicy", "mode"), "Other"),
    (PLACEMENT, ("spec", "prioritizerPolicy", "configurations", 0, "weight"), 11),
    (PLACEMENT, ("spec", "prioritizerPolicy", "configurations", 0, "weight"), -11),
    (
        PLACEMENT,
        ("spec", "prioritizerPolicy", "configurations", 0, "scoreCoordinate", "type"),
        "Custom",
    ),
    (
        PLACEMENT,
        ("spec", "prioritizerPolicy", "configurations", 0, "scoreCoordinate", "addOn"),
        {"resourceName": ""},
    ),
    (PLACEMENT, ("spec", "prioritizerPolicy", "configurations", 0), {}),
    (PLACEMENT, (*_GROUPS, "clustersPerDecisionGroup"), "0%"),
    (PLACEMENT, (*_GROUPS, "clustersPerDecisionGroup"), "101%"),
    (PLACEMENT, (*_GROUPS, "clustersPerDecisionGroup"), -5),
    (PLACEMENT, (*_GROUPS, "clustersPerDecisionGroup"), "many"),
    (PLACEMENT, (*_GROUPS, "decisionGroups", 0, "groupName"), "-canary"),
    (PLACEMENT, (*_GROUPS, "decisionGroups", 0, "groupName"), "a b"),
    (PLACEMENT, (*_GROUPS, "decisionGroups", 0), {}),
    (PLACEMENT, (*_SPREAD, "maxSkew"), 0),
    (PLACEMENT, (*_SPREAD, "topologyKeyType"), "Taint"),
    (PLACEMENT, (*_SPREAD, "topologyKey"), ""),
    (PLACEMENT, (*_SPREAD, "whenUnsatisfiable"), "Never"),
    (PLACEMENT, ("spec", "predicates"), {}),
    (MANAGED_CLUSTER, ("spec", "hubAcceptsClient"), "yes"),
    (MANAGED_CLUSTER, ("spec", "leaseDurationSeconds"), -1),
    (MANAGED_CLUSTER, ("spec", "taints", 0, "effect"), "NoExecute"),
    (MANAGED_CLUSTER, ("spec", "taints", 0, "key"), ""),
    (MANAGED_CLUSTER, ("spec", "taints", 0, "key"), "a/b/c"),
    (MANAGED_CLUSTER, ("spec", "taints", 0), {"key": "a"}),
    (MANAGED_CLUSTER, ("spec", "managedClusterClientConfigs"), [{"url": "http://x"}]),
    (CLUSTER_SET, ("spec", "clusterSelector", "selectorType"), "Everything"),
    (CLUSTER_SET, ("spec", "managedNamespaces"), [{"name": "Not_A_Name"}]),
    (CLUSTER_SET_BINDING, ("spec",), None),
    (CLUSTER_SET_BINDING, ("spec", "clusterSet"), ""),
    (CLUSTER_SET_BINDING, ("spec", "clusterSet"), 7),
    (MANIFEST_WORK, ("spec", "workload"), []),
    (MANIFEST_WORK, _WORKLOAD, "x"),
    (MANIFEST_WORK, _WORKLOAD, ["x"]),
    (MANIFEST_WORK, ("spec", "deleteOption", "propagationPolicy"), "Background"),
    (MANIFEST_WORK, ("spec", "deleteOption", "ttlSecondsAfterFinished"), -1),
    (
        MANIFEST_WORK,
        ("spec", "deleteOption", "selectivelyOrphans", "orphaningRules", 0),
        {"resource": "configmaps"},
    ),
    (MANIFEST_WORK, (*_CONFIG, "resourceIdentifier", "name"), ""),
    (MANIFEST_WORK, (*_CONFIG, "updateStrategy", "type"), "Replace"),
    (MANIFEST_WORK, (*_CONFIG, "updateStrategy", "serverSideApply", "fieldManager"), "me"),
    (MANIFEST_WORK, (*_CONFIG, "feedbackRules", 0, "type"), "All"),
    (MANIFEST_WORK, (*_CONFIG, "feedbackRules", 0, "jsonPaths", 0, "name"), ""),
    (MANIFEST_WORK, (*_CONFIG, "conditionRules"), [{"condition": "Progressing", "type": "Rego"}]),
    (MANIFEST_WORK, (*_CONFIG, "conditionRules"), [{"condition": "", "type": "CEL"}]),
    (REPLICA_SET, ("spec", "placementRefs"), []),
    (REPLICA_SET, ("spec", "placementRefs"), None),
    (REPLICA_SET, ("spec", "placementRefs", 0, "name"), ""),
    (REPLICA_SET, ("spec", "cascadeDeletionPolicy"), "Orphan"),
    (REPLICA_SET, (*_STRATEGY, "type"), "BlueGreen"),
    (REPLICA_SET, (*_PROGRESS, "maxConcurrency"), {"x": 1}),
    (REPLICA_SET, (*_PROGRESS, "maxConcurrency"), "101%"),
    (REPLICA_SET, (*_PROGRESS, "maxConcurrency"), "ten"),
    (REPLICA_SET, (*_PROGRESS, "maxConcurrency"), -1),
    (REPLICA_SET, (*_PROGRESS, "maxFailures"), "-1"),
    (REPLICA_SET, (*_PROGRESS, "maxFailures"), 0.5),
    (REPLICA_SET, (*_PROGRESS, "minSuccessTime"), "5"),
    (REPLICA_SET, (*_PROGRESS, "minSuccessTime"), "-5m"),
    (REPLICA_SET, (*_PROGRESS, "minSuccessTime"), "x5mx"),
    (REPLICA_SET, (*_PROGRESS, "progressDeadline"), "never"),
    (REPLICA_SET, (*_PROGRESS, "progressDeadline"), "1h junk"),
    (REPLICA_SET, (*_PROGRESS, "mandatoryDecisionGroups", 0, "groupIndex"), -1),
    (REPLICA_SET, (*_PROGRESS, "mandatoryDecisionGroups"), "canary"),
    (REPLICA_SET, _TEMPLATE, [7]),
    (CLUSTER_MANAGEMENT_ADDON, (*_INSTALL, "type"), "Automatic"),
    (CLUSTER_MANAGEMENT_ADDON, (*_INSTALL, "placements"), "p"),
    (CLUSTER_MANAGEMENT_ADDON, (*_PLACED, "name"), ""),
    (CLUSTER_MANAGEMENT_ADDON, (*_PLACED, "configs", 0, "resource"), ""),
    (CLUSTER_MANAGEMENT_ADDON, (*_PLACED, "configs", 0), _RESOURCE),
    (CLUSTER_MANAGEMENT_ADDON, (*_PLACED, "rolloutStrategy", "type"), "BlueGreen"),
    (CLUSTER_MANAGEMENT_ADDON, (*_PLACED_PROGRESS, "maxConcurrency"), "101%"),
    (CLUSTER_MANAGEMENT_ADDON, (*_PLACED_PROGRESS, "minSuccessTime"), "5"),
    (CLUSTER_MANAGEMENT_ADDON, (*_PLACED_PROGRESS, "maxFailures"), "-1"),
    (CLUSTER_MANAGEMENT_ADDON, ("spec", "supportedConfigs", 0, "resource"), ""),
    (CLUSTER_MANAGEMENT_ADDON, ("spec", "supportedConfigs", 0, "defaultConfig"), {}),
    (MANAGED_CLUSTER_ADDON, ("spec", "configs"), {}),
    (MANAGED_CLUSTER_ADDON, ("spec", "configs", 0, "name"), ""),
    (ADDON_DEPLOYMENT_CONFIG, ("spec", "customizedVariables", 0, "name"), "1X"),
    (ADDON_DEPLOYMENT_CONFIG, ("spec", "customizedVariables", 0, "value"), "x" * 1025),
    (ADDON_DEPLOYMENT_CONFIG, ("spec", "agentInstallNamespace"), "x" * 64),
    (ADDON_DEPLOYMENT_CONFIG, ("spec", "registries", 0), {"source": "a"}),
    (ADDON_DEPLOYMENT_CONFIG, ("spec", "resourceRequirements", 0, "containerID"), "x"),
]
"""Refused by the API server and by our own checks alike: a kind, a field, and what is in it."""

SERVER_ALONE: list[tuple[Kind, Path, Any]] = [
    (MANIFEST_WORK, (*_WORKLOAD, 0), {"metadata": {"name": "x"}}),
    (MANIFEST_WORK, (*_WORKLOAD, 0, "metadata", "labels"), {"a": 1}),
    (CLUSTER_MANAGEMENT_ADDON, ("spec", "supportedConfigs"), [_RESOURCE, _RESOURCE]),
]
"""Refused by the API server alone: what is inside an embedded object, and twins in a list that is a map."""

OURS_ALONE: list[tuple[Kind, Path, Any]] = [
    (PLACEMENT, ("spec", "numberOfClusters"), 2**31),
    (
        PLACEMENT,
        ("spec", "predicates", 0, "requiredClusterSelector", "labelSelector"),
        {"matchExpressions": [{"key": "a", "operator": "Like"}]},
    ),
    (MANIFEST_WORK, (*_CONFIG, "conditionRules"), [{"condition": "Progressing", "type": "CEL"}]),
]
"""Refused by our own checks alone: what the server does not look at (the format of a number), or no
schema of that time can say. The controller copes."""

NULLS: list[tuple[Kind, Path, Any]] = [
    (PLACEMENT, ("spec", "clusterSets"), None),
    (PLACEMENT, ("spec", "numberOfClusters"), None),
    (PLACEMENT, (*_TOLERATION, "operator"), None),
    (MANIFEST_WORK, ("spec", "deleteOption"), None),
    (REPLICA_SET, (*_PROGRESS, "maxConcurrency"), None),
    (REPLICA_SET, (*_PROGRESS, "minSuccessTime"), None),
]
"""Null means absent, to both."""


def bad(kind: Kind, path: Path, value: Any) -> Obj:
    """A good object of the kind with ``value`` in one field."""
    obj = copy.deepcopy(GOOD[kind.name])
    node: Any = obj
    for part in path[:-1]:
        node = node[part]
    node[path[-1]] = value
    return obj


def case_id(case: tuple[Kind, Path, Any]) -> str:
    kind, path, value = case
    return f"{kind.name} {'.'.join(map(str, path))} = {str(value)[:30]}"
