"""What an API server with the CRDs would have filled in."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.api.defaults import with_defaults
from rollout.api.models import MODELS
from rollout.model.kinds import KINDS, Obj


def of(kind: str, **parts: Any) -> Obj:
    return {"apiVersion": KINDS[kind].api_version, "kind": kind, **parts}


CONFIG = {"minSuccessTime": "0", "progressDeadline": "None", "maxFailures": 0}
EXCLUSIVE = {"selectorType": "ExclusiveClusterSetLabel"}

CASES: list[tuple[str, Any, Any]] = [
    ("Placement", {}, {"sortBy": "ClusterName", "scoreRateLimit": "1m"}),
    ("Placement", None, None),
    (
        "Placement",
        {"prioritizerPolicy": {"configurations": [{"scoreCoordinate": {"builtIn": "Steady"}}]}},
        {
            "sortBy": "ClusterName",
            "scoreRateLimit": "1m",
            "prioritizerPolicy": {
                "mode": "Additive",
                "configurations": [
                    {"weight": 1, "scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}}
                ],
            },
        },
    ),
    (
        "Placement",
        {"spreadPolicy": {"spreadConstraints": [{"topologyKey": "a", "topologyKeyType": "Claim"}]}},
        {
            "sortBy": "ClusterName",
            "scoreRateLimit": "1m",
            "spreadPolicy": {
                "spreadConstraints": [
                    {
                        "topologyKey": "a",
                        "topologyKeyType": "Claim",
                        "maxSkew": 1,
                        "whenUnsatisfiable": "ScheduleAnyway",
                    }
                ]
            },
        },
    ),
    (
        "Placement",
        {"decisionStrategy": {"groupStrategy": {}}, "tolerations": [{"key": "k"}]},
        {
            "sortBy": "ClusterName",
            "scoreRateLimit": "1m",
            "decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "100%"}},
            "tolerations": [{"key": "k", "operator": "Equal"}],
        },
    ),
    ("ManagedCluster", {}, {"leaseDurationSeconds": 60}),
    ("ManagedClusterSet", None, {"clusterSelector": EXCLUSIVE}),
    ("ManagedClusterSet", {}, {"clusterSelector": EXCLUSIVE}),
    ("ManagedClusterSet", {"clusterSelector": {}}, {"clusterSelector": EXCLUSIVE}),
    ("ManagedClusterSetBinding", {"clusterSet": "s"}, {"clusterSet": "s"}),
    (
        "ManifestWork",
        {"deleteOption": {}, "manifestConfigs": [{"updateStrategy": {"serverSideApply": {}}}]},
        {
            "deleteOption": {"propagationPolicy": "Foreground"},
            "manifestConfigs": [
                {
                    "feedbackScrapeType": "Poll",
                    "updateStrategy": {
                        "type": "Update",
                        "serverSideApply": {"force": False, "fieldManager": "work-agent"},
                    },
                }
            ],
        },
    ),
    (
        "ManifestWorkReplicaSet",
        {"placementRefs": [{"name": "p"}]},
        {
            "cascadeDeletionPolicy": "Background",
            "placementRefs": [{"name": "p", "rolloutStrategy": {"type": "All", "all": CONFIG}}],
        },
    ),
    (
        "ManifestWorkReplicaSet",
        {"placementRefs": [{"name": "p", "rolloutStrategy": {"progressive": {"maxFailures": 5}}}]},
        {
            "cascadeDeletionPolicy": "Background",
            "placementRefs": [
                {
                    "name": "p",
                    "rolloutStrategy": {"type": "All", "progressive": {**CONFIG, "maxFailures": 5}},
                }
            ],
        },
    ),
]


@pytest.mark.parametrize(("kind", "spec", "filled"), CASES)
def test_defaults_are_filled_in_only_inside_what_is_there(
    kind: str, spec: Any, filled: Any
) -> None:
    obj = of(kind) if spec is None else of(kind, spec=spec)
    before = copy.deepcopy(obj)
    assert with_defaults(obj).get("spec") == filled
    assert obj == before


def test_a_null_field_gets_its_default() -> None:
    obj = of("Placement", spec={"sortBy": None, "scoreRateLimit": "5m"})
    assert with_defaults(obj)["spec"] == {"sortBy": "ClusterName", "scoreRateLimit": "5m"}


def test_unknown_fields_and_manifests_are_shared_as_they_are() -> None:
    manifest = {"kind": "X", "spec": {"deleteOption": {}}, "metadata": {"creationTimestamp": None}}
    extra: Obj = {"deleteOption": {}}
    template = {"workload": {"manifests": [manifest]}, "deleteOption": {}, "extra": extra}
    obj = of("ManifestWorkReplicaSet", spec={"manifestWorkTemplate": template, "extra": extra})
    filled = with_defaults(obj)["spec"]
    assert filled["manifestWorkTemplate"]["workload"]["manifests"][0] is manifest
    assert filled["manifestWorkTemplate"]["extra"] is extra
    assert filled["extra"] is extra
    assert manifest["spec"] == {"deleteOption": {}}


def test_two_objects_never_share_a_default() -> None:
    obj = of("ManifestWorkReplicaSet", spec={"placementRefs": [{"name": "a"}, {"name": "b"}]})
    first, second = with_defaults(obj)["spec"]["placementRefs"]
    assert first["rolloutStrategy"] == second["rolloutStrategy"]
    assert first["rolloutStrategy"] is not second["rolloutStrategy"]


@pytest.mark.parametrize(
    "obj",
    [
        {},
        {"kind": "Deployment", "spec": {}},
        {"kind": "Placement", "apiVersion": "v1", "spec": {}},
        of("Placement", spec=5),
        of("ConfigMap", data={}),
    ],
)
def test_what_is_not_known_is_given_back_as_it_is(obj: Obj) -> None:
    assert with_defaults(obj) is obj


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "spec",
                    "status",
                    "placementRefs",
                    "rolloutStrategy",
                    "all",
                    "progressive",
                    "deleteOption",
                    "sortBy",
                    "manifestWorkTemplate",
                    "manifestConfigs",
                    "updateStrategy",
                    "serverSideApply",
                    "tolerations",
                    "clusterSelector",
                    "decisionStrategy",
                    "groupStrategy",
                    "summary",
                    "unknown",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


def contains(filled: Any, original: Any) -> bool:
    """Whether everything of ``original`` that is not null is in ``filled``, unchanged."""
    if isinstance(original, dict):
        return isinstance(filled, dict) and all(
            contains(filled.get(k), v) for k, v in original.items() if v is not None
        )
    if isinstance(original, list):
        return (
            isinstance(filled, list)
            and len(filled) == len(original)
            and all(map(contains, filled, original))
        )
    return bool(filled == original) or original is None


@given(st.sampled_from(sorted(MODELS)), JSON, JSON)
def test_defaults_only_add_and_adding_twice_adds_nothing(kind: str, spec: Any, status: Any) -> None:
    obj = of(kind, spec=spec, status=status)
    before = copy.deepcopy(obj)
    filled = with_defaults(obj)
    assert contains(filled, obj)
    assert with_defaults(filled) == filled
    assert obj == before
