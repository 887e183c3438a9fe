"""Whatever got into an API server, in whichever field, becomes a value; nothing raises."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollout.api.decoding import _STATEFUL, _STATELESS, Decoded, decode
from rollout.model.kinds import KINDS, Kind, Obj
from tests.support.good_specs import SPECS, whole

DECODABLE = [KINDS[name] for name in sorted({*_STATELESS, *_STATEFUL})]

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=4)
    | st.sampled_from(["10m", "25%", "In", "Progressive", "2026-11-21T08:00:00Z"])
)
FULL: dict[str, Obj] = {
    "ManagedCluster": {
        "metadata": {"name": "c", "labels": {"a": "b"}, "resourceVersion": "1"},
        "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSelect", "timeAdded": "t"}]},
        "status": {
            "clusterClaims": [{"name": "n", "value": "v"}],
            "allocatable": {"cpu": "1"},
            "conditions": [{"type": "ManagedClusterConditionAvailable", "status": "True"}],
        },
    },
    "ManifestWork": {
        "metadata": {
            "name": "w",
            "labels": {"work.open-cluster-management.io/manifestworkreplicaset": "a.b"},
            "annotations": {"rollout-engine.io/started-at": "x"},
            "generation": 1,
        },
        "spec": {
            "workload": {"manifests": [{"metadata": {"creationTimestamp": None}}]},
            "manifestConfigs": [
                {"updateStrategy": {"serverSideApply": {"ignoreFields": [{"jsonPaths": ["x"]}]}}}
            ],
        },
        "status": {"conditions": [{"type": "Applied", "status": "True", "observedGeneration": 1}]},
    },
    "ManifestWorkReplicaSet": {
        "metadata": {"name": "w", "finalizers": ["f"]},
        "spec": SPECS["ManifestWorkReplicaSet"],
    },
    "Placement": {
        "metadata": {"name": "p"},
        "spec": SPECS["Placement"],
        "status": {
            "conditions": [],
            "decisionGroups": [{"decisionGroupIndex": 0, "decisions": ["d"], "clusterCount": 1}],
        },
    },
}


def names_in(value: Any) -> Iterator[str]:
    """The names of all fields, however deep."""
    inner = value
    if isinstance(value, dict):
        yield from value
        inner = value.values()
    if isinstance(value, dict | list):
        for each in inner:
            yield from names_in(each)


KEYS = st.sampled_from(sorted({*names_in(FULL), "namespace", "uid", "clusterSelector", "scores"}))

JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)
OBJECTS = st.fixed_dictionaries({}, optional={"metadata": JSON, "spec": JSON, "status": JSON})


@settings(max_examples=150)
@given(OBJECTS, st.sampled_from(DECODABLE))
def test_decoding_any_json_gives_a_value_and_leaves_the_json_alone(obj: Obj, kind: Kind) -> None:
    before = copy.deepcopy(obj)
    first = decode(kind, obj)
    assert decode(kind, obj, first) == first
    assert obj == before
    hash_free: Decoded = decode(kind, copy.deepcopy(obj))
    assert hash_free == first


def at_every_place(obj: Any, value: Any) -> list[Any]:
    """Copies of ``obj``, each with ``value`` in another place."""
    places: list[Any] = [value]
    if isinstance(obj, dict):
        for name, inner in obj.items():
            places += [{**obj, name: changed} for changed in at_every_place(inner, value)]
    elif isinstance(obj, list):
        for i, inner in enumerate(obj):
            places += [
                [*obj[:i], changed, *obj[i + 1 :]] for changed in at_every_place(inner, value)
            ]
    return places


@pytest.mark.parametrize("kind", FULL)
@pytest.mark.parametrize(
    "value", [None, True, -1, 10**30, 1.5, "", "x\ud800", [], [[]], {}, {"": 0}]
)
def test_no_value_in_any_place_makes_decoding_raise(kind: str, value: object) -> None:
    for obj in at_every_place(FULL[kind], value):
        if isinstance(obj, dict):
            decode(KINDS[kind], obj)


@pytest.mark.parametrize("kind", FULL)
def test_no_depth_that_a_hub_can_read_makes_decoding_raise(kind: str) -> None:
    trouble = {"type": "Applied", "status": "False"}
    status = {
        "conditions": [trouble],
        "resourceStatus": {"manifests": [{"conditions": [trouble]}]},
    }
    for levels in range(50, 1000, 19):
        deep: Obj = {}
        for _ in range(levels):
            deep = {"data": deep}
        for spec in (deep, {**FULL[kind].get("spec", {}), "workload": {"manifests": [deep]}}):
            decode(KINDS[kind], {**FULL[kind], "spec": spec, "status": status})


@pytest.mark.parametrize("kind", FULL)
def test_a_well_formed_object_has_no_problems(kind: str) -> None:
    found = decode(KINDS[kind], FULL[kind])
    assert not getattr(found, "problems", ())


def test_a_template_without_manifests_has_a_problem() -> None:
    spec = {**SPECS["ManifestWorkReplicaSet"], "manifestWorkTemplate": {}}
    found = decode(KINDS["ManifestWorkReplicaSet"], whole("ManifestWorkReplicaSet", spec))
    problems = [p.path for p in getattr(found, "problems", ())]
    assert problems == ["spec.manifestWorkTemplate.workload.manifests"]
