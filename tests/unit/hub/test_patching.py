import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.errors import Invalid
from rollout.hub.patching import json_patch, merge, same, shared
from rollout.model.kinds import Obj

SCALARS = st.none() | st.booleans() | st.integers(0, 2) | st.just(1.0) | st.sampled_from("ab")
KEYS = st.sampled_from("abc")
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=3)


# The examples of RFC 7386, appendix A, whose target and patch are objects.
@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": 1}, {"a": {}}, {"a": {}}),
        ({"a": 1}, {"a": True}, {"a": True}),
    ],
)
def test_a_merge_patch_does_what_its_standard_says(target: Obj, patch: Obj, result: Obj) -> None:
    assert same(merge(target, patch), result)


def plain_merge(target: Any, patch: Any) -> Any:
    """The algorithm as RFC 7386 states it, on copies."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = plain_merge(result.get(key), value)
    return result


@given(OBJECTS, OBJECTS)
def test_a_merge_equals_the_standards_algorithm_and_mutates_nothing(
    target: Obj, patch: Obj
) -> None:
    before = json.dumps([target, patch])

    result = merge(target, patch)

    assert same(result, plain_merge(target, patch))
    assert json.dumps([target, patch]) == before
    assert (result is target) is same(result, target)


@given(OBJECTS, OBJECTS)
def test_sharing_changes_no_value_and_finds_equality(old: Obj, new: Obj) -> None:
    result = shared(old, new)

    assert same(result, new)
    assert (result is old) is same(old, new)


def test_only_the_path_that_changes_is_copied() -> None:
    payload = {"manifests": [{"kind": "ConfigMap"}]}
    old = {"metadata": {"labels": {}}, "spec": {"workload": payload, "n": 1}}

    for new in (
        merge(old, {"spec": {"n": 2}}),
        json_patch(old, [{"op": "replace", "path": "/spec/n", "value": 2}]),
        shared(old, {"metadata": {"labels": {}}, "spec": {"workload": dict(payload), "n": 2}}),
    ):
        assert new["spec"]["n"] == 2
        assert new["spec"]["workload"] is payload
        assert new["metadata"] is old["metadata"]


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, True, False),
        (0, False, False),
        (1, 1.0, False),
        ([1], [True], False),
        ({"a": [0]}, {"a": [False]}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": None}, {}, False),
        ([1, 2], [2, 1], False),
        ([], {}, False),
    ],
)
def test_equality_is_that_of_json(one: Any, other: Any, equal: bool) -> None:
    assert same(one, other) is equal


# Most of these are the examples of RFC 6902, appendix A.
@pytest.mark.parametrize(
    ("document", "operations", "result"),
    [
        pytest.param({"foo": "bar"}, [("add", "/baz", "qux")], {"foo": "bar", "baz": "qux"}),
        pytest.param({"f": ["a", "c"]}, [("add", "/f/1", "b")], {"f": ["a", "b", "c"]}),
        pytest.param({"f": ["a"]}, [("add", "/f/-", ["b"])], {"f": ["a", ["b"]]}),
        pytest.param({"f": ["a"]}, [("add", "/f/1", "b")], {"f": ["a", "b"]}),
        pytest.param({"a": 1}, [("add", "/a", 2)], {"a": 2}),
        pytest.param({"a": 1, "b": 2}, [("remove", "/a")], {"b": 2}),
        pytest.param({"f": [1, 2, 3]}, [("remove", "/f/1")], {"f": [1, 3]}),
        pytest.param({"a": 1}, [("replace", "/a", None)], {"a": None}),
        pytest.param({"f": [1, 2]}, [("replace", "/f/0", {})], {"f": [{}, 2]}),
        pytest.param(
            {"foo": {"a": 1, "w": 2}, "q": {}},
            [("move", "/q/t", "/foo/w")],
            {"foo": {"a": 1}, "q": {"t": 2}},
        ),
        pytest.param({"f": [1, 2, 3, 4]}, [("move", "/f/3", "/f/1")], {"f": [1, 3, 4, 2]}),
        pytest.param({"a": {"b": 1}}, [("copy", "/c", "/a")], {"a": {"b": 1}, "c": {"b": 1}}),
        pytest.param(
            {"a/b": 1, "m~n": 2}, [("remove", "/a~1b"), ("replace", "/m~0n", 3)], {"m~n": 3}
        ),
        pytest.param({"": 1}, [("replace", "/", 2)], {"": 2}),
        pytest.param({"a": 1}, [("test", "/a", 1), ("replace", "", {"b": 2})], {"b": 2}),
        pytest.param({"a": [1, {"b": 2}]}, [("add", "/a/1/c", 3)], {"a": [1, {"b": 2, "c": 3}]}),
    ],
)
def test_a_json_patch_does_what_its_standard_says(
    document: Obj, operations: list[tuple[Any, ...]], result: Obj
) -> None:
    before = json.dumps(document)

    assert same(json_patch(document, [operation(*o) for o in operations]), result)
    assert json.dumps(document) == before


def operation(op: str, path: str, *rest: Any) -> Obj:
    field = "from" if op in ("move", "copy") else "value"
    return {"op": op, "path": path, **dict.fromkeys([field] if rest else [], *rest)}


@pytest.mark.parametrize(
    "bad",
    [
        {"op": "add", "path": "/a/b/c", "value": 1},
        {"op": "add", "path": "/l/3", "value": 1},
        {"op": "add", "path": "/l/01", "value": 1},
        {"op": "add", "path": "/l/x", "value": 1},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/a"},
        {"op": "remove", "path": "/nothing"},
        {"op": "remove", "path": ""},
        {"op": "remove", "path": "/l/-"},
        {"op": "replace", "path": "/nothing", "value": 1},
        {"op": "test", "path": "/n", "value": True},
        {"op": "move", "path": "/a/b", "from": "/a"},
        {"op": "copy", "path": "/x", "from": "/nothing"},
        {"op": "spam", "path": "/a", "value": 1},
        {"op": "replace", "path": "", "value": []},
        {"path": "/a", "value": 1},
        "no operation",
    ],
    ids=repr,
)
def test_a_json_patch_that_cannot_be_applied_is_invalid(bad: Any) -> None:
    document = {"a": {}, "l": [1, 2], "n": 1}
    with pytest.raises(Invalid):
        json_patch(document, [{"op": "add", "path": "/ok", "value": 1}, bad])

    assert document == {"a": {}, "l": [1, 2], "n": 1}
