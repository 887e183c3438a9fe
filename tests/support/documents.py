"""Documents as people write them, without a mistake: one of each sort that validation has to accept."""

from typing import Any

from rollout.model.kinds import KINDS, Obj


def of(kind: str, **parts: Any) -> Obj:
    return {
        "apiVersion": KINDS[kind].api_version,
        "kind": kind,
        "metadata": {"name": "web", "namespace": "apps"},
        **parts,
    }


MANIFEST = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def work(**spec: Any) -> Obj:
    return of("ManifestWork", spec={"workload": {"manifests": [MANIFEST]}, **spec})


def configured(**config: Any) -> Obj:
    identifier = {"resource": "configmaps", "name": "a"}
    return work(manifestConfigs=[{"resourceIdentifier": identifier, **config}])


def workload(**strategy: Any) -> Obj:
    return of(
        "ManifestWorkReplicaSet",
        spec={
            "manifestWorkTemplate": {"workload": {"manifests": [MANIFEST]}},
            "placementRefs": [{"name": "p", "rolloutStrategy": strategy}],
        },
    )


def cluster(**spec: Any) -> Obj:
    return of("ManagedCluster", metadata={"name": "c1"}, spec=spec)


GOOD: list[Obj] = [
    cluster(),
    cluster(
        hubAcceptsClient=True,
        leaseDurationSeconds=60,
        managedClusterClientConfigs=[{"url": "https://c1:6443", "caBundle": "aGk="}],
        taints=[{"key": "a.b/c", "effect": "NoSelect", "timeAdded": None}],
    ),
    of("ManagedCluster", metadata={"name": "c1"}),
    of("ManagedClusterSet"),
    of(
        "ManagedClusterSet",
        spec={"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}},
    ),
    of("ManagedClusterSetBinding", spec={"clusterSet": "web"}),
    of("Placement", spec={}),
    of(
        "Placement",
        spec={"numberOfClusters": 3, "tolerations": [{"key": "", "operator": "Exists"}]},
    ),
    of("Placement", spec={"sortBy": None, "prioritizerPolicy": {"mode": ""}}),
    of("PlacementDecision", status={"decisions": [{"clusterName": "c1", "reason": ""}]}),
    of("AddOnPlacementScore", status={"scores": [{"name": "a", "value": -100}]}),
    work(
        executor={
            "subject": {"type": "ServiceAccount", "serviceAccount": {"namespace": "a", "name": "b"}}
        }
    ),
    configured(
        conditionRules=[
            {"condition": "Progressing", "type": "CEL", "celExpressions": ["true"]},
            {"condition": "Complete", "type": "WellKnownConditions"},
        ],
        feedbackRules=[{"type": "JSONPaths", "jsonPaths": [{"name": "a", "path": ".b"}]}],
        updateStrategy={
            "type": "ServerSideApply",
            "serverSideApply": {"fieldManager": "work-agent-x"},
        },
    ),
    workload(type="All"),
    workload(type="Progressive", progressive={"maxConcurrency": "25%", "maxFailures": "5"}),
    of("ConfigMap", data=5),
]


def every_place(obj: Any, value: object) -> list[Any]:
    """Copies of ``obj``, each with ``value`` in another place."""
    places: list[Any] = [value]
    if isinstance(obj, dict):
        for name, inner in obj.items():
            places += [{**obj, name: new} for new in every_place(inner, value)]
    elif isinstance(obj, list):
        for i, inner in enumerate(obj):
            places += [[*obj[:i], new, *obj[i + 1 :]] for new in every_place(inner, value)]
    return places
