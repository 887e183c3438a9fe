"""Masks hide the data of Secrets wherever they lie, show that it changes, and touch nothing else."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.model.kinds import Obj
from rollout.model.secrets import Masks, has_masks, scrubbed, secret_texts

PLAIN = "hunter2-canary"
CODED = base64.b64encode(PLAIN.encode()).decode()
MASKS = Masks(b"a key of these tests alone")
COPY = "kubectl.kubernetes.io/last-applied-configuration"


def secret(name: str = "s", **data: Any) -> Obj:
    named = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": named, "data": data}


SECRET = secret(password=CODED)


SETTING: Obj = {"target": {"kind": "Secret"}, "path": "/data/p"}


def noted(key: str, text: str) -> Obj:
    return {"kind": "ManifestWork", "metadata": {"annotations": {key: text}}}


def fed_back(**meta: str) -> Obj:
    value = {"name": "x", "fieldValue": {"type": "String", "string": PLAIN}}
    return {"status": {"resourceStatus": {"manifests": [
        {"resourceMeta": meta, "statusFeedback": {"values": [value]}}]}}}  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(SECRET, id="a secret"),
        pytest.param({**secret(), "stringData": {"p": PLAIN}}, id="stringData"),
        pytest.param({**SECRET, "data": f"no map {PLAIN}"}, id="data of another shape"),
        pytest.param({**SECRET, "data": {"p": [PLAIN]}}, id="a value of another shape"),
        pytest.param({**SECRET, "apiVersion": "example.com/v2"}, id="of any version"),
        pytest.param({"kind": "List", "items": [SECRET]}, id="in a List"),
        pytest.param({"kind": "SecretList", "items": [{"data": {"p": CODED}}]}, id="typed list"),
        pytest.param({"kind": "List", "items": [{"kind": "List", "items": [SECRET]}]}, id="twice"),
        pytest.param({"spec": {"workload": {"manifests": [SECRET]}}}, id="in a work"),
        pytest.param({"kind": "ControllerRevision", "data": {"workload": {"manifests": [SECRET]}}},
                     id="in a revision"),
        pytest.param(noted(COPY, json.dumps(SECRET)), id="what kubectl remembers"),
        pytest.param(noted("rollout-engine.io/last-applied", json.dumps({"kind": "X", "a": [SECRET]})),
                     id="what we remember"),
        pytest.param(noted("example.com/any", json.dumps([SECRET])), id="in any annotation"),
        pytest.param(noted(COPY, f"{{broken {PLAIN}"), id="what cannot be read"),
        pytest.param(noted(COPY, json.dumps({"p": PLAIN})), id="what says no kind"),
        pytest.param({**SECRET, "metadata": {"annotations": {COPY: json.dumps(SECRET)}}}, id="both"),
        pytest.param(
            {"resourceMeta": {"kind": "Secret"}, "conditions": [{"message": PLAIN}]},
            id="quoted of an earlier one",
        ),
        pytest.param({"rules": [{"set": [SETTING | {"literal": PLAIN}]}]}, id="a literal for one"),
        pytest.param({"rules": [{"set": [SETTING | {"value": f"'{PLAIN}'"}]}]}, id="CEL for one"),
        pytest.param({"base": "x", "values": [{"manifest": 1, "place": ["data", "p"], "value": PLAIN}]},
                     id="what is kept of a cluster"),
        pytest.param({"values": [{"manifest": 1, "place": ["items", 0, "data"], "value": {"p": PLAIN}}]},
                     id="what is kept of one in a List"),
        pytest.param(fed_back(kind="Secret"), id="feedback"),
        pytest.param(fed_back(resource="secrets"), id="feedback by resource"),
        pytest.param({"spec": [SECRET], "status": {"conditions": [{"message": f"bad: {PLAIN}!"}]}},
                     id="quoted by an agent"),
        pytest.param({"spec": [SECRET], "status": {"conditions": [{"message": f"bad {CODED}"}]}},
                     id="quoted in base64"),
    ],
)  # fmt: skip
def test_what_a_secret_holds_is_not_seen(value: Obj) -> None:
    before = json.dumps(value)

    text = json.dumps(MASKS.over(value))

    assert PLAIN not in text
    assert CODED not in text
    assert "***" in text
    assert json.dumps(value) == before


def test_a_mask_is_the_same_for_the_same_value_and_another_for_another() -> None:
    one = MASKS.over(secret(a="x", b="x"))["data"]
    again = MASKS.over(secret(a="x", b="y"))["data"]

    assert one["a"] == again["a"]
    assert one["b"] != again["b"]


def test_masks_do_not_tell_that_two_fields_two_secrets_or_two_runs_share_a_value() -> None:
    other = Masks(b"the key of another process")
    seen = [
        MASKS.over(secret("one", a="x"))["data"]["a"],
        MASKS.over(secret("one", b="x"))["data"]["b"],
        MASKS.over(secret("two", a="x"))["data"]["a"],
        other.over(secret("one", a="x"))["data"]["a"],
    ]

    assert len(set(seen)) == 4


def test_what_holds_no_secret_is_given_back_as_it_is() -> None:
    value = {
        "kind": "ConfigMap",
        "data": {"a": "b"},
        "metadata": {"annotations": {COPY: '{"kind":"X"}'}},
    }

    assert MASKS.over(value) is value


def test_the_rest_of_a_secret_is_seen() -> None:
    shown = MASKS.over({**SECRET, "type": "Opaque", "immutable": True})

    assert (shown["type"], shown["immutable"], shown["metadata"]) == (
        "Opaque", True, SECRET["metadata"])  # fmt: skip
    assert list(shown["data"]) == ["password"]


def test_masked_values_are_known_and_stay_as_they_are() -> None:
    once = MASKS.over({"items": [SECRET]})

    assert has_masks(once)
    assert MASKS.over(once) == once
    assert not has_masks(
        {"items": [SECRET, {"kind": "ConfigMap", "data": {"a": "*** (00000000)"}}]}
    )


def test_a_text_is_rid_of_every_spelling_of_a_value() -> None:
    key = "-----BEGIN KEY-----\nabcdefghijklmnop\n"
    texts = secret_texts({**SECRET, "stringData": {"key": key}})

    assert scrubbed(f"a {PLAIN} b {CODED} c", texts) == "a *** b *** c"
    assert "abcdefghijklmnop" not in scrubbed(f"found {json.dumps(key)}", texts)
    assert "abcdefghijklmnop" not in scrubbed("at abcdefghijklmnop", texts)


def test_values_of_a_few_characters_are_not_looked_for_in_texts() -> None:
    assert scrubbed("a banana", secret_texts({**secret(), "stringData": {"x": "an"}})) == "a banana"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["kind", "items", "data", "stringData", "a", "metadata",
                                       "annotations", "statusFeedback", "message"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(JSON, st.sampled_from(["Secret", "SecretList", "List", "X"]))
def test_any_value_can_be_masked_and_twice_is_as_once(value: Any, kind: str) -> None:
    wrapped = {"kind": kind, "items": [value, SECRET], "data": value}

    once = MASKS.over(wrapped)

    assert PLAIN not in json.dumps(once)
    assert CODED not in json.dumps(once)
    assert MASKS.over(once) == once
