"""What could be in an object where a schema is loose? A catalogue, and the schemas that let it in.

OCM's own schemas refuse some of this, ours nearly all; `shapeless` refuses nothing, so that the
controller alone has to cope. Whoever adds a case: nothing here may become good.
"""

import copy
import json
from collections.abc import Iterator
from typing import Any

from rollout.model import names
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    PLACEMENT,
    REPLICA_SET,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    SCORE,
    Kind,
    Obj,
)
from tests.support import make

ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}
DEEP = "[" * 5_000
HUGE = "x" * 200_000
MANY = {f"example.com/label-{n}": "x" * 60 for n in range(300)}


def shapeless(crd: Obj) -> Obj:
    """The CustomResourceDefinition without a word on what spec, status or data are."""
    found = copy.deepcopy(crd)
    for version in found["spec"]["versions"]:
        version.pop("additionalPrinterColumns", None)
        schema = version["schema"]["openAPIV3Schema"]
        properties = {
            field: ANYTHING
            for field in schema["properties"]
            if field not in ("apiVersion", "kind", "metadata")
        }
        version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    return found


def _selector(value: Any) -> Obj:
    return {"predicates": [{"requiredClusterSelector": value}]}


def _labels(**expression: Any) -> Obj:
    return _selector({"labelSelector": {"matchExpressions": [expression]}})


def _cel(*texts: Any) -> Obj:
    return _selector({"celSelector": {"celExpressions": list(texts)}})


def _weight(weight: Any, **coordinate: Any) -> Obj:
    coordinate = coordinate or {"builtIn": "Steady"}
    return {"prioritizerPolicy": {"configurations": [
        {"scoreCoordinate": coordinate, "weight": weight}]}}  # fmt: skip


def _spread(**constraint: Any) -> Obj:
    return {"spreadPolicy": {"spreadConstraints": [
        {"topologyKey": "zone", "topologyKeyType": "Label", **constraint}]}}  # fmt: skip


def _toleration(**fields: Any) -> Obj:
    return {"tolerations": [fields]}


def _groups(**fields: Any) -> Obj:
    return {"decisionStrategy": {"groupStrategy": fields}}


def _group(name: Any, selector: Any = None) -> Obj:
    return {"groupName": name, "groupClusterSelector": selector or {}}


PLACEMENTS: dict[str, Any] = {
    "number-negative": {"numberOfClusters": -1},
    "number-huge": {"numberOfClusters": 2**40},
    "number-word": {"numberOfClusters": "many"},
    "number-half": {"numberOfClusters": 2.5},
    "number-true": {"numberOfClusters": True},
    "sets-word": {"clusterSets": "all"},
    "sets-mixed": {"clusterSets": [7, {}, None]},
    "sets-nowhere": {"clusterSets": ["no-such-set"]},
    "predicates-object": {"predicates": {"a": "b"}},
    "predicates-mixed": {"predicates": [None, 7, "x", []]},
    "selector-word": _selector("everything"),
    "labels-operator": _labels(key="a", operator="Like", values=["b"]),
    "labels-no-values": _labels(key="a", operator="In"),
    "labels-too-many-values": _labels(key="a", operator="Exists", values=["b"]),
    "labels-no-key": _labels(operator="Exists"),
    "labels-bad-key": _labels(key="not a/label key", operator="Exists"),
    "labels-number": _selector({"labelSelector": {"matchLabels": {"a": 1}}}),
    "labels-list": _selector({"labelSelector": {"matchLabels": ["a", "b"]}}),
    "claims-operator": _selector(
        {"claimSelector": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}}
    ),
    "cel-syntax": _cel("managedCluster.metadata.("),
    "cel-number": _cel("1 + 1"),
    "cel-unknown": _cel("nobody.metadata.name == 'x'"),
    "cel-deep": _cel("(" * 5_000 + "true" + ")" * 5_000),
    "cel-long": _cel(" || ".join(["true"] * 20_000)),
    "cel-regexp": _cel("managedCluster.metadata.name.matches('(')"),
    "cel-costly": _cel(
        "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, "
        "[1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, [1,2,3,4,5,6,7,8,9].all(f, "
        "a + b + c + d + e + f > 0))))))"
    ),
    "cel-long-text": _cel(
        f"['{'a' * 7_000}'.replace('a', 'bbbbbbbbbbbb')].all(s, [1,2,3,4,5,6,7,8,9].all(a, "
        "[1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, "
        "!s.matches('x+c'))))))"
    ),
    "cel-divides-by-zero": _cel("1 / 0 == 1"),
    "cel-no-text": _cel(7, None, ["true"]),
    "mode": {"prioritizerPolicy": {"mode": "Random"}},
    "weight-11": _weight(11),
    "weight-word": _weight("heavy"),
    "weight-huge": _weight(-(2**40)),
    "built-in": _weight(1, type="BuiltIn", builtIn="Luck"),
    "add-on-empty": _weight(1, type="AddOn"),
    "add-on-number": _weight(1, type="AddOn", addOn={"resourceName": 7, "scoreName": []}),
    "coordinate-type": _weight(1, type="Dice"),
    "configurations-word": {"prioritizerPolicy": {"configurations": "all"}},
    "spread-skew": _spread(maxSkew=-5),
    "spread-type": _spread(topologyKeyType="Taint"),
    "spread-when": _spread(whenUnsatisfiable="Never"),
    "spread-key": _spread(topologyKey=""),
    "toleration-operator": _toleration(key="a", operator="Maybe"),
    "toleration-no-key": _toleration(operator="Equal", value="x"),
    "toleration-value": _toleration(key="a", operator="Exists", value="x"),
    "toleration-effect": _toleration(key="a", operator="Exists", effect="NoExecute"),
    "toleration-seconds": _toleration(key="a", operator="Exists", tolerationSeconds="soon"),
    "tolerations-word": {"tolerations": "all"},
    "group-size-negative": _groups(clustersPerDecisionGroup=-5),
    "group-size-zero-percent": _groups(clustersPerDecisionGroup="0%"),
    "group-size-101-percent": _groups(clustersPerDecisionGroup="101%"),
    "group-size-object": _groups(clustersPerDecisionGroup={}),
    "groups-no-name": _groups(decisionGroups=[{"groupClusterSelector": {}}]),
    "groups-bad-name": _groups(decisionGroups=[_group("-bad name-")]),
    "groups-selector": _groups(
        decisionGroups=[
            _group("ab", {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "~"}]}})
        ]
    ),
    "groups-word": _groups(decisionGroups="canary"),
    "strategy-word": {"decisionStrategy": "groups"},
    "sort-by": {"sortBy": "Luck"},
    "score-rate": {"scoreRateLimit": "-1 fortnight"},
    "spec-word": "all clusters",
    "spec-list": [1, 2],
    "spec-number": 7,
}
"""Specs of Placements that cannot be followed; each must say so."""


def _progressive(**fields: Any) -> Any:
    return {"type": "Progressive", "progressive": fields}


STRATEGIES: dict[str, Any] = {
    "type-unknown": {"type": "BlueGreen"},
    "type-number": {"type": 7},
    "word": "Progressive",
    "progressive-word": {"type": "Progressive", "progressive": "slowly"},
    "concurrency-negative": _progressive(maxConcurrency=-1),
    "concurrency-101-percent": _progressive(maxConcurrency="101%"),
    "concurrency-word": _progressive(maxConcurrency="ten"),
    "concurrency-object": _progressive(maxConcurrency={"x": 1}),
    "failures-negative": _progressive(maxFailures="-1"),
    "failures-half": _progressive(maxFailures=0.5),
    "soak-negative": _progressive(minSuccessTime="-5m"),
    "soak-junk": _progressive(minSuccessTime="x5mx"),
    "soak-number": _progressive(minSuccessTime=5),
    "soak-eternal": _progressive(minSuccessTime="99999999999999999999h"),
    "deadline-word": _progressive(progressDeadline="never"),
    "deadline-junk": _progressive(progressDeadline="1h junk"),
    "deadline-short": _progressive(progressDeadline="5ms"),
    "group-index": _progressive(mandatoryDecisionGroups=[{"groupIndex": -1}]),
    "groups-word": _progressive(mandatoryDecisionGroups="canary"),
}
"""Strategies of placementRefs that cannot be followed."""

TEMPLATES: dict[str, Any] = {
    "none": None,
    "word": "manifests",
    "no-manifests": {"workload": {"manifests": []}},
    "manifests-word": {"workload": {"manifests": "x"}},
    "manifests-words": {"workload": {"manifests": ["x", 7, None]}},
    "workload-list": {"workload": []},
}
"""Templates that nothing can be made of."""

_REF = {"name": "p", "rolloutStrategy": make.everywhere()}
REPLICA_SETS: dict[str, Any] = {
    "refs-none": {"placementRefs": []},
    "refs-null": {"placementRefs": None},
    "refs-word": {"placementRefs": "p"},
    "refs-mixed": {"placementRefs": [None, 7, "p"]},
    "refs-no-name": {"placementRefs": [{"rolloutStrategy": make.everywhere()}]},
    "refs-nowhere": {"placementRefs": [{"name": "no-such-placement"}]},
    "cascade": {"placementRefs": [_REF], "cascadeDeletionPolicy": "Orphan"},
    **{
        f"strategy-{name}": {"placementRefs": [{"name": "p", "rolloutStrategy": strategy}]}
        for name, strategy in STRATEGIES.items()
    },
    **{
        f"template-{name}": {"placementRefs": [_REF], "manifestWorkTemplate": template}
        for name, template in TEMPLATES.items()
    },
}
"""Specs of ManifestWorkReplicaSets, over a good template, that cannot be followed; each must say so."""

CLUSTERS: dict[str, Obj] = {
    "taints-word": {"spec": {"taints": "all"}},
    "taints-mixed": {"spec": {"taints": [7, None, {"key": "a"}, {"effect": "x"}]}},
    "taint-time": {
        "spec": {"taints": [{"key": "a", "effect": "NoSelect", "timeAdded": "yesterday"}]}
    },
    "lease": {"spec": {"leaseDurationSeconds": -1, "hubAcceptsClient": "yes"}},
    "spec-word": {"spec": "a cluster"},
    "status-word": {"status": "fine"},
    "conditions-mixed": {"status": {"conditions": [7, None, {"type": 7}, "x"]}},
    "claims-mixed": {"status": {"clusterClaims": [7, {"name": 1}, {"name": "a", "value": {}}]}},
    "capacity-words": {"status": {"allocatable": {"cpu": "lots", "memory": [1]}, "capacity": 7}},
}
SETS: dict[str, Any] = {
    "type": {"clusterSelector": {"selectorType": "Everything"}},
    "operator": {
        "clusterSelector": {
            "selectorType": "LabelSelector",
            "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]},
        }
    },
    "word": "all clusters",
    "list": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": ["a"]}},
}
BINDINGS: dict[str, Any] = {
    "other": {"clusterSet": "somebody-elses"},
    "number": {"clusterSet": 7},
    "word": "x",
}
SCORES: dict[str, Any] = {
    "word": "high",
    "mixed": {"scores": [7, None, {"name": 1}, {"name": "a", "value": "high"}]},
    "until": {"scores": [{"name": "free", "value": 10**12}], "validUntil": "for ever"},
}
DECISIONS: dict[str, tuple[Any, Any]] = {
    "index-word": ("first", [{"clusterName": "nobody"}]),
    "index-negative": ("-1", [{"clusterName": "nobody"}]),
    "no-list": ("0", "everywhere"),
    "mixed": ("0", [7, None, {}, {"clusterName": 7}, {"clusterName": ""}]),
    "far-away": ("9999999999", [{"clusterName": "nobody"}, {"clusterName": "nobody"}]),
}
"""Group index and decisions of PlacementDecisions that say they are a good placement's."""

WORK_STATUSES: dict[str, Any] = {
    "word": "fine",
    "conditions-word": {"conditions": "all good"},
    "conditions-mixed": {"conditions": [7, None, {"type": 7}, {"type": "Applied"}]},
    "generation-word": {
        "conditions": [{"type": "Applied", "status": "True", "observedGeneration": "latest"}]
    },
    "times": {
        "conditions": [
            {"type": "Progressing", "status": "Perhaps", "lastTransitionTime": "the 31st of June"}
        ]
    },
}
"""Statuses of works that say they are a good workload's, on clusters that it does not select."""

PAGES: dict[str, dict[str, str]] = {
    "no-json": {"head.json": "{", "clusters.json": "not at all"},
    "deep": {"head.json": DEEP, "clusters.json": DEEP},
    "lists": {"head.json": "[]", "clusters.json": '["a", 1]'},
    "words": {
        "head.json": json.dumps({"revision": [], "passed": 7, "basis": "x", "removals": [[1, 2]]}),
        "clusters.json": json.dumps({"a": 7, "b": {"touchedAt": "now", "health": "Great"}}),
    },
    "huge-numbers": {
        "head.json": json.dumps({"basis": {"workload": 10**400}, "outages": [["x", "y"], []]}),
        "clusters.json": json.dumps({"a": {"touchedAt": "9999-12-31T23:59:59Z", "health": 1}}),
    },
}
"""Pages of a record that nobody wrote; they carry the label of one."""

WISHES: dict[str, str] = {
    names.SEMANTICS: "both",
    names.PAUSED: "perhaps",
    names.SKIP: "," * 500 + "nobody",
    names.RELEASE_REMOVALS: "tomorrow",
    names.FAILURE_TOLERANCE: "Total",
    names.DECISION_ORDER: "random",
    "example.com/novel": HUGE,
}
"""Annotations that mean nothing, on objects that are good otherwise."""


def _object(kind: Kind, name: str, namespace: str, **fields: Any) -> Obj:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": make.meta(name, namespace if kind.namespaced else ""),
        **fields,
    }


def _with(obj: Obj, **meta: Any) -> Obj:
    return {**obj, "metadata": {**obj["metadata"], **meta}}


def refused(namespace: str) -> Iterator[Obj]:
    """Placements and workloads that cannot be followed, with a good placement ``p`` beside them."""
    for name, spec in PLACEMENTS.items():
        yield _object(PLACEMENT, f"p-{name}", namespace, spec=spec)
    for name, spec in REPLICA_SETS.items():
        whole = {"manifestWorkTemplate": make.template(), **spec}
        yield _object(REPLICA_SET, f"w-{name}", namespace, spec=whole)


def strange(namespace: str, clusters: list[str]) -> Iterator[Obj]:
    """What goes beside them: odd inputs, and forgeries that name the placement ``p`` and the
    workload ``web`` of the namespace. ``clusters``: two that these do not select.
    """
    cluster, other = clusters
    for name, fields in CLUSTERS.items():
        found = _object(MANAGED_CLUSTER, f"{namespace}-{name}", "", **fields)
        yield _with(found, labels={"tenant": namespace, make.GROUP: "odd"})
    for name, spec in SETS.items():
        yield _object(CLUSTER_SET, f"{namespace}-{name}", "", spec=spec)
        yield make.binding(namespace, f"{namespace}-{name}")
    for name, spec in BINDINGS.items():
        yield _object(CLUSTER_SET_BINDING, name, namespace, spec=spec)
    for name, status in SCORES.items():
        yield _object(SCORE, name, cluster, status=status)
    for name, (index, decisions) in DECISIONS.items():
        found = make.decision([], namespace=namespace, index=0)
        labels = {**found["metadata"]["labels"], names.GROUP_INDEX_LABEL: index.removeprefix("-")}
        found = _with(found, name=f"forged-{name}", labels=labels)
        yield {**found, "status": {"decisions": decisions}}
    for name, status in WORK_STATUSES.items():
        found = make.work(other, f"{namespace}.web", name=f"forged-{name}")
        wishes = {names.REVISION: "none", names.STARTED_AT: "never", names.OWNER: "//"}
        yield {**_with(found, annotations=wishes), "status": status}
    for number, (name, data) in enumerate(PAGES.items()):
        labels = {names.RECORD_LABEL: f"forged-{name}"}
        page = f"rollout-record-{'0' * 16}-{number}"
        yield _with(_object(ROLLOUT_RECORD, page, namespace, data=data), labels=labels)
    yield _with(
        _object(ROLLOUT_REVISION, "forged", namespace, revision=0, data={"spec": [7]}),
        labels={names.REVISION_LABEL: "web"},
    )
    yield _with(_object(PLACEMENT, "odd-wishes", namespace, spec={}), annotations=WISHES)
    yield _with(_object(PLACEMENT, "many-labels", namespace, spec={}), labels=MANY)
    yield make.workload("odd-wishes", namespace, annotations=WISHES)
    yield make.workload("many-labels", namespace, labels=MANY)
    yield make.workload("twice", namespace, placements=["p", "p", "p"])
    yield make.workload("many-refs", namespace, placements=[f"no-{n}" for n in range(300)])
    yield make.workload("dots.in.its.name", namespace)
    yield make.workload("l" + "o" * 70 + "ng", namespace)
