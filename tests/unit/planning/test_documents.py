"""What the writes of works consist of."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.api.replicaset import decode_replicaset
from rollout.hub.patching import merge, same
from rollout.model import names
from rollout.model.replicaset import ReplicaSet
from rollout.model.selectors import is_label_value
from rollout.model.work import owner_label, work_labels, work_name
from rollout.planning.documents import difference
from tests.support import make


def replicaset(name: str = "web", namespace: str = "default", **labels: str) -> ReplicaSet:
    return decode_replicaset(make.workload(name, namespace, labels=labels))


@pytest.mark.parametrize("name", ["web", "a.b", "n" * 110, "n" * 111, "n" * 253])
def test_a_works_name_is_readable_valid_and_short(name: str) -> None:
    found = work_name(replicaset(name).key)

    assert found.startswith(name[:110])
    assert len(found) == min(len(name), 110) + 11 <= 121
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", found)


def test_a_works_name_is_valid_where_the_cut_falls_behind_a_dot() -> None:
    """A part of a DNS name ends in a letter or a digit."""
    found = work_name(replicaset("n" * 109 + "." + "m" * 9).key)

    assert re.fullmatch(r"n{109}-[0-9a-f]{10}", found)
    assert work_name(replicaset("n" * 109 + "-" + "m" * 9).key).startswith("n" * 109 + "--")


def test_a_works_name_depends_on_namespace_and_name_alone() -> None:
    assert work_name(replicaset("web", team="a").key) == work_name(replicaset("web", team="b").key)
    assert work_name(replicaset("web", "one").key) != work_name(replicaset("web", "two").key)
    assert work_name(replicaset("b", "a-a").key) != work_name(replicaset("a-b", "a").key)


def test_names_that_were_released_never_change() -> None:
    """Another name would be a second work in every cluster."""
    assert work_name(replicaset("web").key) == "web-82b3ade9d0"
    assert owner_label("default", "n" * 60) == "h-b0f8e84b71d7ba6b65ae33e89cb0969b9ebc3e77"


@pytest.mark.parametrize(
    ("namespace", "name", "is_plain"),
    [
        ("default", "web", True),
        ("default", "a.b", True),
        ("d", "n" * 61, True),
        ("d", "n" * 62, False),
        ("n" * 63, "n" * 253, False),
    ],
)
def test_the_owner_label_is_ocms_where_it_fits_and_a_hash_where_not(
    namespace: str, name: str, is_plain: bool
) -> None:
    label = owner_label(namespace, name)

    assert is_label_value(label)
    assert (label == f"{namespace}.{name}") == is_plain


def test_the_two_labels_that_say_whose_it_is_win_over_the_workloads_own() -> None:
    found = work_labels(
        decode_replicaset(make.workload(labels={names.WORK_OWNER_LABEL: "another.one", "a": "b"})),
        "p",
    )

    assert found == {
        "a": "b",
        names.WORK_OWNER_LABEL: "default.web",
        names.WORK_PLACEMENT_LABEL: "p",
    }


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ({}, {}, {}),
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {}, {"a": None}),
        ({}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": None}}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
        ({"a": {"b": 1}}, {"a": [1]}, {"a": [1]}),
        ({"a": 0}, {"a": False}, {"a": False}),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1.0}]}, {"a": [{"b": 1.0}]}),
    ],
)
def test_a_difference_has_what_changed_and_nothing_else(old: Any, new: Any, patch: Any) -> None:
    assert difference(old, new) == patch


VALUES = st.recursive(
    st.booleans()
    | st.integers(0, 3)
    | st.text("ab", max_size=2)
    | st.lists(st.booleans() | st.integers(0, 1)),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
SPECS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


@given(old=SPECS, new=SPECS)
def test_a_difference_makes_the_new_of_the_old_and_is_empty_only_where_they_are_equal(
    old: Any, new: Any
) -> None:
    before = repr(old), repr(new)
    patch = difference(old, new)

    assert same(merge(old, patch), new)
    assert (patch == {}) == same(old, new)
    assert (repr(old), repr(new)) == before
