"""How are problems of a whole object told? At once, in order, once each, without secrets."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollout.api.models import MODELS
from rollout.api.validation import validate
from rollout.model.kinds import Obj
from rollout.model.problems import Problem, joined
from tests.support.documents import GOOD, every_place, of, work


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
    bad = [f"spec.tolerations[{i}].{field}" for i in range(11) for field in ("effect", "operator")]
    assert paths[4:] == bad


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
@given(st.sampled_from([obj for obj in GOOD if obj["kind"] in MODELS]), UNKNOWN)
def test_unknown_fields_are_allowed_and_left_as_they_are(good: Obj, unknown: Obj) -> None:
    obj = sprinkled(good, unknown)
    before = json.dumps(obj, sort_keys=True)

    assert validate(obj) == []
    assert json.dumps(obj, sort_keys=True) == before


@pytest.mark.parametrize(
    "value", [None, True, -1, 10**30, 1.5, "", "\u00e9 x", [], [[]], {}, {"": 0}]
)
def test_no_value_in_any_place_makes_validation_raise_or_alter_the_object(value: object) -> None:
    for good in GOOD:
        for obj in every_place(good, value):
            before = copy.deepcopy(obj)
            assert all(p.path and p.accepted for p in validate(obj))
            assert obj == before
