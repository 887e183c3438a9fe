"""Every bad field of what people write is named at once, in their words."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollout.api.shapes import SHAPES
from rollout.api.validation import validate
from rollout.model.kinds import KINDS, Obj
from rollout.model.problems import Problem, joined


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


@pytest.mark.parametrize("obj", GOOD, ids=lambda obj: str(obj["kind"]))
def test_a_good_object_has_no_problems(obj: Obj) -> None:
    assert validate(obj) == []


RULES = "spec.manifestConfigs[0].conditionRules"
STRATEGY = "spec.placementRefs[0].rolloutStrategy"
AMOUNT = 'a whole number of 0 or more, or a percentage from "0%" to "100%"'

BAD: list[tuple[Obj, str, object, str]] = [
    ({"kind": "placements"}, "kind", "placements", "did you mean Placement?"),
    (
        {"kind": "manifestworkreplicaset"},
        "kind",
        "manifestworkreplicaset",
        "did you mean ManifestWorkReplicaSet?",
    ),
    (
        {"kind": "Deployment", "apiVersion": "apps/v1"},
        "kind",
        "Deployment",
        f"one of {', '.join(SHAPES)}",
    ),
    ({}, "kind", None, f"one of {', '.join(SHAPES)}"),
    (
        of("Placement", apiVersion="cluster.open-cluster-management.io/v1alpha1"),
        "apiVersion",
        "cluster.open-cluster-management.io/v1alpha1",
        "cluster.open-cluster-management.io/v1beta1 for Placement",
    ),
    (of("Placement"), "spec", None, "this field is required"),
    (of("Placement", spec=[]), "spec", [], "an object"),
    (of("Placement", metadata=None, spec={}), "metadata", None, "an object"),
    (of("Placement", metadata={}, spec={}), "metadata.name", None, "this field is required"),
    (
        of("Placement", metadata={"name": "Web_x"}, spec={}),
        "metadata.name",
        "Web_x",
        "1 to 253 of a-z 0-9 - and ., beginning and ending with a letter or digit",
    ),
    (
        of("Placement", metadata={"name": "w", "namespace": "a.b"}, spec={}),
        "metadata.namespace",
        "a.b",
        "1 to 63 of a-z 0-9 and -, beginning and ending with a letter or digit",
    ),
    (
        of("Placement", metadata={"name": "w", "labels": {"a": 5}}, spec={}),
        "metadata.labels[a]",
        5,
        "a string: put it in quotes",
    ),
    (
        of("Placement", metadata={"name": "w", "labels": {"a": "x y"}}, spec={}),
        "metadata.labels[a]",
        "x y",
        "a label value: at most 63 of A-Z a-z 0-9 - _ ., beginning and ending with a letter or digit",
    ),
    (
        of("Placement", metadata={"name": "w", "labels": {"a b": "x"}}, spec={}),
        "metadata.labels[a b]",
        "a b",
        "a label key: [prefix/]name, the name at most 63 of A-Z a-z 0-9 - _ .",
    ),
    (
        of("Placement", metadata={"name": "w", "annotations": {"a b": "x"}}, spec={}),
        "metadata.annotations[a b]",
        "a b",
        "a label key: [prefix/]name, the name at most 63 of A-Z a-z 0-9 - _ .",
    ),
    (cluster(hubAcceptsClient="yes"), "spec.hubAcceptsClient", "yes", "true or false"),
    (
        cluster(leaseDurationSeconds="60"),
        "spec.leaseDurationSeconds",
        "60",
        "a whole number of 0 or more, without quotes",
    ),
    (
        cluster(managedClusterClientConfigs=[{"url": "http://x"}]),
        "spec.managedClusterClientConfigs[0].url",
        "http://x",
        "an address that begins with https://",
    ),
    (
        cluster(taints=[{"key": "k", "effect": "Never"}]),
        "spec.taints[0].effect",
        "Never",
        "one of NoSelect, PreferNoSelect, NoSelectIfNew",
    ),
    (cluster(taints=[{"key": "k"}]), "spec.taints[0].effect", None, "this field is required"),
    (
        cluster(taints=[{"key": "k", "effect": "NoSelect", "timeAdded": "now"}]),
        "spec.taints[0].timeAdded",
        "now",
        'an instant such as "2026-11-21T08:00:00Z"',
    ),
    (
        cluster(taints=[{"key": "k", "effect": "NoSelect", "value": "x" * 1025}]),
        "spec.taints[0].value",
        "x" * 1025,
        "at most 1024 characters",
    ),
    (
        of("ManagedClusterSetBinding", spec={"clusterSet": ""}),
        "spec.clusterSet",
        "",
        "a name of at least 1 character",
    ),
    (
        of("AddOnPlacementScore", status={"scores": [{"name": "a", "value": 101}]}),
        "status.scores[0].value",
        101,
        "a whole number from -100 to 100",
    ),
    (
        of("Placement", spec={"numberOfClusters": -1}),
        "spec.numberOfClusters",
        -1,
        "a whole number of 0 or more",
    ),
    (
        of(
            "Placement",
            spec={
                "spreadPolicy": {
                    "spreadConstraints": [
                        SPREAD := {"topologyKey": "z", "topologyKeyType": "Label"}
                    ]
                    * 9
                }
            },
        ),
        "spec.spreadPolicy.spreadConstraints",
        [SPREAD] * 9,
        "at most 8 entries",
    ),
    (work(workload={"manifests": ["x"]}), "spec.workload.manifests[0]", "x", "a Kubernetes object"),
    (work(workload={"manifests": {}}), "spec.workload.manifests", {}, "a list"),
    (
        work(deleteOption={"propagationPolicy": "Never"}),
        "spec.deleteOption.propagationPolicy",
        "Never",
        "one of Foreground, Orphan, SelectivelyOrphan",
    ),
    (
        work(deleteOption={"ttlSecondsAfterFinished": -1}),
        "spec.deleteOption.ttlSecondsAfterFinished",
        -1,
        "a whole number of 0 or more",
    ),
    (
        work(executor={"subject": {"type": "ServiceAccount"}}),
        "spec.executor.subject.serviceAccount",
        None,
        "this field is required",
    ),
    (
        work(
            executor={
                "subject": {"type": "User", "serviceAccount": {"namespace": "a", "name": "b"}}
            }
        ),
        "spec.executor.subject.type",
        "User",
        "ServiceAccount",
    ),
    (
        configured(updateStrategy={"type": "Patch"}),
        "spec.manifestConfigs[0].updateStrategy.type",
        "Patch",
        "one of Update, CreateOnly, ServerSideApply, ReadOnly",
    ),
    (
        configured(updateStrategy={"serverSideApply": {"fieldManager": "me"}}),
        "spec.manifestConfigs[0].updateStrategy.serverSideApply.fieldManager",
        "me",
        "a name that begins with work-agent",
    ),
    (
        configured(conditionRules=[{"condition": "Progressing", "type": "CEL"}]),
        f"{RULES}[0].celExpressions",
        None,
        "at least one expression with type CEL",
    ),
    (
        configured(conditionRules=[{"condition": "Complete", "type": "WellKnownConditions"}] * 2),
        f"{RULES}[1].condition",
        "Complete",
        "one rule for each condition",
    ),
    (
        of("ManifestWorkReplicaSet", spec={"placementRefs": [{"name": "p"}]}),
        "spec.manifestWorkTemplate.workload.manifests",
        None,
        "at least one manifest",
    ),
    (
        workload(type="Fast"),
        f"{STRATEGY}.type",
        "Fast",
        "one of All, Progressive, ProgressivePerGroup",
    ),
    (
        workload(type="Progressive", progressive={"maxFailures": "150%"}),
        f"{STRATEGY}.progressive.maxFailures",
        "150%",
        AMOUNT,
    ),
    (
        workload(type="All", progressive={"maxConcurrency": -1}),
        f"{STRATEGY}.progressive.maxConcurrency",
        -1,
        AMOUNT,
    ),
    (
        workload(type="All", all={"progressDeadline": "0s"}),
        f"{STRATEGY}.all.progressDeadline",
        "0s",
        'a duration of 1 second or more such as "90s", "10m" or "1h30m", or "None"',
    ),
    (
        workload(type="All", all={"minSuccessTime": 5}),
        f"{STRATEGY}.all.minSuccessTime",
        5,
        'a duration of 0 or more such as "90s", "10m" or "1h30m"',
    ),
]


@pytest.mark.parametrize(
    ("obj", "path", "value", "accepted"), BAD, ids=lambda x: x if isinstance(x, str) else ""
)
def test_a_bad_field_is_named_with_its_value_and_what_is_accepted(
    obj: Obj, path: str, value: object, accepted: str
) -> None:
    assert validate(obj) == [Problem(path, value, accepted)]


@pytest.mark.parametrize("document", [None, 5, "text", [], [{}]])
def test_a_document_that_is_no_object_says_so(document: object) -> None:
    (problem,) = validate(document)
    assert problem.path == "(document)"


def test_all_bad_fields_are_named_in_the_order_of_their_paths() -> None:
    obj = of(
        "Placement",
        metadata={"name": "_", "labels": {"x": 1}},
        spec={"tolerations": [{"effect": "E"}] * 11, "numberOfClusters": "3", "sortBy": 1},
    )
    paths = [p.path for p in validate(obj)]
    assert paths[:4] == [
        "metadata.labels[x]",
        "metadata.name",
        "spec.numberOfClusters",
        "spec.sortBy",
    ]
    assert paths[4:] == [f"spec.tolerations[{i}].effect" for i in range(11)]


def test_no_field_is_named_twice() -> None:
    obj = of(
        "Placement",
        spec={
            "numberOfClusters": -1,
            "clusterSets": 5,
            "predicates": [
                {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"a": 1}}}}
            ],
            "decisionStrategy": {"groupStrategy": {"decisionGroups": [{"groupName": "x"}]}},
        },
    )
    paths = [p.path for p in validate(obj)]
    assert len(paths) == len(set(paths)) == 4


def test_a_problem_reads_as_a_sentence() -> None:
    assert str(Problem("spec.a", None, "a name")) == "spec.a is missing: a name"
    assert str(Problem("spec.a", "x", "a name")) == "spec.a: 'x' is not valid: a name"
    assert len(str(Problem("spec.a", "x" * 1000, "a name"))) < 120
    assert str(Problem("spec.a", 5, "a name")) == "spec.a: 5 is not valid: a name"
    three = [Problem(f"f{i}", None, "x") for i in range(3)]
    assert joined(three, 1) == "f0 is missing: x; and 2 more"


@pytest.mark.parametrize(
    "manifests",
    [
        {"data": "c2VjcmV0"},
        "c2VjcmV0",
        ["c2VjcmV0"],
        [["c2VjcmV0"]],
        [{"kind": "Secret"}, "c2VjcmV0"],
    ],
)
def test_no_data_of_a_manifest_is_shown(manifests: object) -> None:
    problems = validate(work(workload={"manifests": manifests}))
    problems += validate(of("ManifestWork", spec=[{"data": "c2VjcmV0"}]))
    problems += validate("c2VjcmV0")
    assert len(problems) >= 3
    assert "c2VjcmV0" not in " ".join(map(str, problems))


UNKNOWN = st.dictionaries(
    st.sampled_from(["future", "x-extra", "z1"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
        ),
        max_leaves=6,
    ),
    max_size=2,
)


def sprinkled(value: Any, unknown: Obj) -> Any:
    """``value`` with ``unknown`` fields in each of its objects."""
    if isinstance(value, dict):
        return {**{name: sprinkled(inner, unknown) for name, inner in value.items()}, **unknown}
    return [sprinkled(item, unknown) for item in value] if isinstance(value, list) else value


@settings(max_examples=60)
@given(st.sampled_from([obj for obj in GOOD if obj["kind"] in SHAPES]), UNKNOWN)
def test_unknown_fields_are_allowed_and_survive_byte_for_byte(good: Obj, unknown: Obj) -> None:
    obj = sprinkled(good, unknown)
    before = json.dumps(obj, sort_keys=True)

    assert validate(obj) == []
    model = SHAPES[obj["kind"]].model_validate(obj)
    assert json.dumps(model.to_wire(), sort_keys=True) == before
    assert json.dumps(obj, sort_keys=True) == before


def every_place(obj: Any, value: Any) -> list[Any]:
    """Copies of ``obj``, each with ``value`` in another place."""
    places: list[Any] = [value]
    if isinstance(obj, dict):
        for name, inner in obj.items():
            places += [{**obj, name: new} for new in every_place(inner, value)]
    elif isinstance(obj, list):
        for i, inner in enumerate(obj):
            places += [[*obj[:i], new, *obj[i + 1 :]] for new in every_place(inner, value)]
    return places


@pytest.mark.parametrize(
    "value", [None, True, -1, 10**30, 1.5, "", "\u00e9 x", [], [[]], {}, {"": 0}]
)
def test_no_value_in_any_place_makes_validation_raise_or_alter_the_object(value: object) -> None:
    for good in GOOD:
        for obj in every_place(good, value):
            before = copy.deepcopy(obj)
            assert all(p.path and p.accepted for p in validate(obj))
            assert obj == before
