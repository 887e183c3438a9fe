import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rollout.hub.patching import merge, same
from rollout.model.kinds import Obj
from rollout.model.names import LAST_APPLIED
from rollout.operate.applying import changes, configuration, remembered


def obj(spec: Any, **meta: Any) -> Obj:
    return {"kind": "K", "metadata": {"name": "x", **meta}, "spec": spec}


def applied(stored: Obj, wanted: Obj) -> Obj:
    """The stored object after an apply, without what the apply itself keeps on it."""
    return configuration(merge(stored, changes(wanted, stored)))


def test_a_field_that_the_file_had_and_has_no_more_is_removed() -> None:
    stored = remembered(obj({"a": 1, "b": {"c": 2, "d": 3}}))

    after = applied(stored, obj({"b": {"c": 2}}))

    assert after["spec"] == {"b": {"c": 2}}


def test_a_field_that_somebody_else_set_is_left_alone() -> None:
    stored = remembered(obj({"a": 1}))
    stored = {**stored, "spec": {"a": 1, "set-by-hand": True}}

    after = applied(stored, obj({"a": 2}))

    assert after["spec"] == {"a": 2, "set-by-hand": True}


def test_nothing_is_removed_from_an_object_that_was_never_applied() -> None:
    after = applied(obj({"a": 1, "b": 2}), obj({"a": 1}))

    assert after["spec"] == {"a": 1, "b": 2}


def test_a_list_is_taken_as_a_whole() -> None:
    stored = remembered(obj({"list": [{"name": "a", "x": 1}, {"name": "b"}]}))

    after = applied(stored, obj({"list": [{"name": "a"}]}))

    assert after["spec"] == {"list": [{"name": "a"}]}


def test_what_a_server_says_and_the_status_are_no_configuration() -> None:
    printed = {**obj({"a": 1}, uid="u", resourceVersion="7", generation=3), "status": {"x": 1}}

    assert configuration(printed) == obj({"a": 1})


def test_a_configuration_does_not_contain_itself() -> None:
    once = remembered(configuration(obj({"a": 1}, annotations={"mine": "yes"})))

    again = remembered(configuration(once))

    assert again == once
    kept = json.loads(once["metadata"]["annotations"][LAST_APPLIED])
    assert kept["metadata"]["annotations"] == {"mine": "yes"}


def test_an_annotation_that_is_no_json_counts_as_never_applied() -> None:
    stored = obj({"a": 1, "b": 2}, annotations={LAST_APPLIED: "{"})

    assert applied(stored, obj({"a": 1}))["spec"] == {"a": 1, "b": 2}


def test_annotations_that_are_no_map_are_left_for_the_hub_to_refuse() -> None:
    bad = obj({}, annotations=["a"])

    assert remembered(configuration(bad)) == bad


keys = st.sampled_from("abc")
values = st.recursive(
    st.one_of(st.booleans(), st.integers(0, 1), st.floats(0, 1), st.sampled_from(["", "x"])),
    lambda inner: st.one_of(st.dictionaries(keys, inner), st.lists(inner, max_size=2)),
    max_leaves=6,
)
specs = st.dictionaries(keys, values)


@given(specs, specs, specs)
def test_after_any_apply_the_object_says_what_the_file_says(
    before: Obj, theirs: Obj, wanted: Obj
) -> None:
    stored = remembered(obj(before))
    stored = {**stored, "spec": merge(stored["spec"], theirs)}

    after = merge(stored, changes(obj(wanted), stored))

    assert _contains(after["spec"], wanted)
    assert changes(obj(wanted), after) == {}  # a second apply has nothing to do


@given(specs, specs)
def test_with_no_other_writer_the_object_is_exactly_what_the_file_says(
    before: Obj, wanted: Obj
) -> None:
    stored = remembered(obj(before))

    after = applied(stored, obj(wanted))

    assert same(_without_empty(after["spec"]), _without_empty(wanted))


def _contains(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict) and isinstance(value, dict):
        return all(key in value and _contains(value[key], item) for key, item in wanted.items())
    return same(value, wanted)


def _without_empty(value: Any) -> Any:
    """Objects without fields are left out: a merge patch cannot tell them from absent ones."""
    if not isinstance(value, dict):
        return value
    inner = {key: _without_empty(item) for key, item in value.items()}
    return {key: item for key, item in inner.items() if item != {}}
