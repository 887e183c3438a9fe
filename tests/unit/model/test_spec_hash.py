"""The hash of a configuration object is OCM's."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.model.spec_hash import go_json, spec_hash


def deployed(value: str) -> dict[str, object]:
    return {
        "agentInstallNamespace": "open-cluster-management-agent-addon",
        "customizedVariables": [{"name": value, "value": value}],
        "proxyConfig": {},
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("test", "ea4e6089e8b2f584c1cd8b86e16a15df3186b30744f433ede7436091c93a4cc7"),
        ("test1", "b746cc98936955dd2168640f0011a14f2a74be306c747bc8ba829328cc772690"),
        ("test2", "3e6348b0c0f0a341ce28d0a2f99bc41fc63fb17d947eb5a45284729fbeb63b32"),
        ("test3", "9b3c6d09731ed254589fa4fc2936e6fb00537de92da5e035183da313eb98d27e"),
    ],
)
def test_the_hash_is_the_one_in_ocms_own_tests(value: str, expected: str) -> None:
    assert spec_hash({"spec": deployed(value)}) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        ([1, "a", {}], '[1,"a",{}]'),
        ({"b": 1, "a": 2, "B": 3}, '{"B":3,"a":2,"b":1}'),
        ({"ﬀ": 1, "😀": 2}, '{"ﬀ":1,"😀":2}'),
        ("<a & b>", '"\\u003ca \\u0026 b\\u003e"'),
        ("\u2028\u2029", '"\\u2028\\u2029"'),
        ('"\\\b\f\n\r\t', '"\\"\\\\\\b\\f\\n\\r\\t"'),
        ("\x00\x1f\x7f", '"\\u0000\\u001f\x7f"'),
        ("a/é😀", '"a/é😀"'),
        ("\ud800x", '"\ufffdx"'),
        (2**63 - 1, "9223372036854775807"),
        (-(2**63), "-9223372036854775808"),
        (2**63, "9223372036854776000"),
        (10**22, "1e+22"),
        (1.0, "1"),
        (-0.0, "-0"),
        (0.1, "0.1"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.25e-10, "1.25e-10"),
        (5e-324, "5e-324"),
    ],
)
def test_values_are_written_as_go_writes_them(value: object, text: str) -> None:
    assert go_json(value) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"bytes", {"a": {1, 2}}])
def test_what_no_json_parser_makes_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        go_json(value)


def test_only_content_counts() -> None:
    content = {"spec": {"a": 1}, "data": {"b": "2"}}
    around = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n"}, "status": {"c": 3}}

    assert spec_hash({**content, **around}) == spec_hash(content)
    assert spec_hash({"spec": {"a": 1}}) != spec_hash({"data": {"a": 1}})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


@given(JSON)
def test_it_is_json_that_means_the_same(value: object) -> None:
    assert json.loads(go_json(value), parse_int=float) == json.loads(
        json.dumps(value), parse_int=float
    )
