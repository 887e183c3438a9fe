"""A spec without a mistake of each kind that people write, with every field that is read filled in."""

from rollout.model.kinds import KINDS, Obj
from tests.support.documents import MANIFEST

_ADC = {"group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs"}
_LABELS = {
    "matchLabels": {"tier": "prod"},
    "matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}],
}
_CLAIMS = {"matchExpressions": [{"key": "k", "operator": "Exists"}]}
_PROGRESSIVE = {
    "type": "Progressive",
    "progressive": {
        "minSuccessTime": "5m",
        "progressDeadline": "10m",
        "maxFailures": 1,
        "maxConcurrency": "25%",
        "mandatoryDecisionGroups": [{"groupName": "g", "groupIndex": 0}],
    },
}
_ANALYSIS = {
    "args": [{"name": "least", "value": "0.9"}],
    "dryRun": [{"metricName": "trial.*"}],
    "metrics": [
        {
            "name": "rate",
            "interval": "1m",
            "count": 3,
            "failureLimit": 1,
            "successCondition": "result[0] > {{args.least}}",
            "provider": {
                "prometheus": {
                    "address": "http://prometheus:9090",
                    "query": "rate",
                    "headers": [{"key": "Accept", "value": "*/*"}],
                }
            },
        }
    ],
}
_CALENDAR = {
    "workloads": {"kinds": ["ManifestWorkReplicaSet"], "selector": _LABELS},
    "clusters": {"labelSelector": _LABELS, "claimSelector": _CLAIMS},
    "timeZone": "Europe/Berlin",
    "blocks": ["Touch"],
    "windows": [
        {"name": "nights", "action": "Allow", "schedule": "0 22 * * *", "duration": "8h"},
        {"name": "fair", "action": "Deny", "from": "2026-06-01T00:00", "until": "2026-06-02T00:00"},
    ],
}

SPECS: dict[str, Obj] = {
    "Placement": {
        "clusterSets": ["a", "b"],
        "numberOfClusters": 3,
        "predicates": [
            {
                "requiredClusterSelector": {
                    "labelSelector": _LABELS,
                    "claimSelector": _CLAIMS,
                    "celSelector": {"celExpressions": ["true"]},
                }
            }
        ],
        "prioritizerPolicy": {
            "mode": "Exact",
            "configurations": [
                {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": 2},
                {
                    "scoreCoordinate": {
                        "type": "AddOn",
                        "addOn": {"resourceName": "r", "scoreName": "s"},
                    }
                },
            ],
        },
        "spreadPolicy": {
            "spreadConstraints": [
                {
                    "topologyKey": "zone",
                    "topologyKeyType": "Label",
                    "maxSkew": 1,
                    "whenUnsatisfiable": "DoNotSchedule",
                }
            ]
        },
        "tolerations": [
            {"key": "k", "operator": "Exists", "effect": "NoSelect", "tolerationSeconds": 5},
            {"key": "k", "value": "v"},
        ],
        "decisionStrategy": {
            "groupStrategy": {
                "clustersPerDecisionGroup": "20%",
                "decisionGroups": [
                    {
                        "groupName": "canary",
                        "groupClusterSelector": {
                            "labelSelector": _LABELS,
                            "claimSelector": _CLAIMS,
                        },
                    }
                ],
            }
        },
        "sortBy": "Score",
        "scoreRateLimit": "5m",
    },
    "ManifestWorkReplicaSet": {
        "manifestWorkTemplate": {
            "workload": {"manifests": [MANIFEST]},
            "deleteOption": {"propagationPolicy": "Orphan", "ttlSecondsAfterFinished": 5},
            "manifestConfigs": [
                {
                    "resourceIdentifier": {"resource": "configmaps", "name": "a"},
                    "conditionRules": [
                        {"condition": "Progressing", "type": "CEL", "celExpressions": ["true"]}
                    ],
                    "updateStrategy": {"type": "CreateOnly"},
                }
            ],
        },
        "placementRefs": [
            {"name": "p", "rolloutStrategy": _PROGRESSIVE},
            {"name": "q", "rolloutStrategy": {"type": "All", "all": {"minSuccessTime": "1m"}}},
        ],
        "cascadeDeletionPolicy": "Foreground",
    },
    "ManagedClusterSet": {
        "clusterSelector": {"selectorType": "LabelSelector", "labelSelector": _LABELS},
        "managedNamespaces": [{"name": "x"}],
    },
    "ManagedClusterSetBinding": {"clusterSet": "s"},
    "ClusterManagementAddOn": {
        "addOnMeta": {"displayName": "x"},
        "supportedConfigs": [{**_ADC, "defaultConfig": {"namespace": "d", "name": "n"}}],
        "installStrategy": {
            "type": "Placements",
            "placements": [
                {
                    "namespace": "n",
                    "name": "p",
                    "configs": [{**_ADC, "namespace": "d", "name": "c"}],
                    "rolloutStrategy": _PROGRESSIVE,
                },
                {"namespace": "n", "name": "q"},
            ],
        },
    },
    "AddOnDeploymentConfig": {
        "agentInstallNamespace": "agents",
        "customizedVariables": [{"name": "A", "value": "b"}],
        "nodePlacement": {"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]},
        "registries": [{"source": "a", "mirror": "b"}],
        "proxyConfig": {"httpProxy": "http://p", "noProxy": "localhost"},
        "resourceRequirements": [{"containerID": "*:*:*", "resources": {}}],
    },
    "AddOnTemplate": {
        "addonName": "x",
        "agentSpec": {"workload": {"manifests": [MANIFEST]}},
        "registration": [{"type": "KubeClient", "kubeClient": {"hubPermissions": []}}],
    },
    "RolloutAnalysis": _ANALYSIS,
    **dict.fromkeys(("Calendar", "ClusterCalendar"), _CALENDAR),
    "ClusterValues": {
        "workload": {"name": "web"},
        "rules": [
            {
                "clusters": {"labelSelector": _LABELS},
                "set": [
                    {
                        "target": {"kind": "ConfigMap", "name": "app"},
                        "path": "/data/a",
                        "value": "'x'",
                    },
                    {"target": {"kind": "ConfigMap"}, "path": "/data/b", "literal": "y"},
                ],
            }
        ],
    },
    "Approval": {
        "workload": {"kind": "ManifestWorkReplicaSet", "name": "web"},
        "revision": "5f3a9c",
        "decision": "Approve",
        "gate": "before:west",
        "actor": "ann",
        "expires": "2026-06-01T12:00:00Z",
    },
    "Freeze": {"reason": "incident", "actor": "ann", "until": "2026-06-01T12:00:00Z"},
}


def whole(kind: str, spec: object) -> Obj:
    """An object of the kind with this spec."""
    meta = {"name": "web", "namespace": "apps"}
    return {
        "apiVersion": KINDS[kind].api_version,
        "kind": kind,
        "metadata": meta,
        "spec": spec,
    }
