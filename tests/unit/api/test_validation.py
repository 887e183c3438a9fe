"""Every bad field of what people write is named, with its value and what is accepted."""

import pytest

from rollout.api.models import MODELS
from rollout.api.validation import validate
from rollout.model.kinds import Obj
from rollout.model.problems import Problem
from tests.support.documents import GOOD, cluster, configured, of, work, workload


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
        f"one of {', '.join(MODELS)}",
    ),
    ({}, "kind", None, f"one of {', '.join(MODELS)}"),
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
        "text of at least 1 character",
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
