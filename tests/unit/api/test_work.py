"""What a ManifestWork says, whatever is in it."""

import copy
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from rollout.api.work import UNREADABLE, decode_work
from rollout.model.conditions import Condition
from rollout.model.content import content_hash
from rollout.model.kinds import Obj
from rollout.model.work import Work

T0 = datetime(2026, 11, 21, 8, tzinfo=UTC)
OWNER_LABEL = "work.open-cluster-management.io/manifestworkreplicaset"
SPEC: Obj = {"workload": {"manifests": [{"kind": "ConfigMap", "metadata": {"name": "a"}}]}}


def work(**metadata: Any) -> Obj:
    return {
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": {
            "name": "web-1",
            "namespace": "c1",
            "uid": "u1",
            "generation": 2,
            "resourceVersion": "17",
            "creationTimestamp": "2026-11-21T08:00:00Z",
            "labels": {
                OWNER_LABEL: "apps.web",
                "work.open-cluster-management.io/placementname": "fleet",
            },
            "annotations": {
                "rollout-engine.io/revision": "r1",
                "rollout-engine.io/started-at": "2026-11-21T08:00:00.000001Z",
            },
            **metadata,
        },
        "spec": SPEC,
        "status": {
            "conditions": [
                {
                    "type": "Applied",
                    "status": "True",
                    "reason": "R",
                    "message": "m",
                    "observedGeneration": 2,
                    "lastTransitionTime": "2026-11-21T08:00:00Z",
                }
            ]
        },
    }


def test_a_work_is_read_whole() -> None:
    obj = work()
    found = decode_work(obj)
    assert found == Work(
        cluster="c1",
        name="web-1",
        owner="apps/web",
        placement="fleet",
        content=content_hash(SPEC),
        revision="r1",
        started_at=T0.replace(microsecond=1),
        generation=2,
        version=17,
        uid="u1",
        created="2026-11-21T08:00:00Z",
        deleting=False,
        conditions={
            "Applied": Condition("Applied", "True", "R", "m", observed_generation=2, since=T0)
        },
        labels=obj["metadata"]["labels"],
        spec=SPEC,
    )
    assert found.spec is SPEC


def test_a_work_says_the_same_in_another_version_and_something_else_where_a_word_of_it_differs() -> (
    None
):
    known = decode_work(work(resourceVersion="17"))
    assert known.says_as(decode_work(work(resourceVersion="18")))
    assert not known.says_as(decode_work(work(generation=3)))
    assert not known.says_as(decode_work(work(deletionTimestamp="2026-11-21T08:00:00Z")))
    assert not known.says_as(decode_work({**work(), "status": {}}))


def test_works_that_say_the_same_hold_it_once() -> None:
    first, second = (decode_work(json.loads(json.dumps(work()))) for _ in range(2))
    assert first.labels is second.labels
    assert first.name is second.name
    assert first.revision is second.revision


@pytest.mark.parametrize(
    ("label", "annotation", "owner"),
    [
        ("apps.web", None, "apps/web"),
        ("apps.web.v2", None, "apps/web.v2"),
        ("1b2c3d4e", None, ""),
        ("1b2c3d4e", "apps/a-very-long-name", "apps/a-very-long-name"),
        ("apps.web", "apps/other", "apps/other"),
        ("apps.web", "garbage", "apps/web"),
        ("apps.web", "a/b/c", "apps/web"),
        ("apps.web", "", "apps/web"),
        (".web", None, ""),
        ("apps.", None, ""),
        (None, None, ""),
        (None, "apps/web", "apps/web"),
    ],
)
def test_the_owner_is_the_annotation_else_the_label_up_to_its_first_dot(
    label: str | None, annotation: str | None, owner: str
) -> None:
    obj = work(
        labels={OWNER_LABEL: label} if label is not None else None,
        annotations={"rollout-engine.io/owner": annotation} if annotation is not None else None,
    )
    assert decode_work(obj).owner == owner


def changed(obj: Obj) -> Obj:
    return {**obj, "spec": {"workload": {"manifests": [{"kind": "Secret"}]}}}


@pytest.mark.parametrize(
    ("metadata", "reused"),
    [
        ({}, True),
        ({"generation": 3}, False),
        ({"uid": "u2"}, False),
        ({"uid": ""}, False),
        ({"generation": 0}, False),
        ({"generation": None}, False),
    ],
)
def test_the_content_is_reused_only_for_the_same_uid_and_generation(
    metadata: Obj, reused: bool
) -> None:
    marked = structs.replace(decode_work(work(**metadata)), content="known")
    same = {"uid": "u1", "generation": 2, **metadata} == {"uid": "u1", "generation": 2}
    previous = marked if same else structs.replace(marked, uid="u1", generation=2)

    found = decode_work(changed(work(**metadata)), previous)

    assert (found.content == "known") is reused
    if not reused:
        assert found.content == content_hash(changed(work())["spec"])


def test_without_uid_and_generation_nothing_is_reused() -> None:
    bare: Obj = {"metadata": {"name": "w"}, "spec": SPEC}
    previous = structs.replace(decode_work(bare), content="stale")
    assert decode_work(bare, previous).content == content_hash(SPEC)


@pytest.mark.parametrize(
    "odd",
    [
        {"metadata": {"labels": {"a": 5}, "generation": "x", "uid": None}},
        {"metadata": None},
        {"metadata": {}, "spec": [], "status": {"conditions": {}}},
        {"metadata": {}, "status": {"conditions": [5, {"type": 7}, {"status": "x"}]}},
        {"metadata": {}, "spec": None},
        {},
    ],
)
def test_what_has_an_odd_shape_says_nothing(odd: Obj) -> None:
    found = decode_work(odd)
    assert (found.owner, found.uid, found.generation, found.conditions) == ("", "", 0, {})
    assert (found.spec, found.content) == ({}, content_hash({}))


def test_a_spec_nested_beyond_reason_is_unreadable_not_fatal() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert decode_work({"spec": deep}).content == UNREADABLE


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "name": st.text(max_size=4),
        "generation": st.integers(0, 3) | JSON,
        "uid": st.sampled_from(["u1", "u2"]),
        "labels": st.dictionaries(st.text(max_size=4), st.text(max_size=4)) | JSON,
        "annotations": st.none() | JSON,
        "resourceVersion": st.sampled_from(["1", "x"]) | JSON,
    },
)
CONDITIONS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["Applied", "Available"]),
            "status": st.sampled_from(["True", "False"]) | JSON,
            "observedGeneration": st.integers(0, 3) | JSON,
            "lastTransitionTime": st.just("2026-11-21T08:00:00Z") | JSON,
        },
    )
    | JSON,
    max_size=3,
)
WORKS = st.fixed_dictionaries(
    {"metadata": METADATA},
    optional={"spec": JSON, "status": st.fixed_dictionaries({"conditions": CONDITIONS}) | JSON},
)


@given(WORKS)
def test_whatever_it_holds_it_is_read_and_not_altered(obj: Obj) -> None:
    before = copy.deepcopy(obj)
    found = decode_work(obj)
    assert obj == before
    assert decode_work(obj) == found
    assert decode_work(copy.deepcopy(obj)) == found
