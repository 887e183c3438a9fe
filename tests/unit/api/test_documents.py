"""YAML and JSON texts: what they say, and what is wrong with them, by line."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rollout.api.documents import DEEPEST, MOST_ALIASED, Fault, read_json, read_yaml


def value(text: str) -> Any:
    (parsed,) = read_yaml(text)
    assert parsed.faults == []
    return parsed.value


def faults(text: str) -> list[tuple[int, str]]:
    return [(f.line, f.message) for parsed in read_yaml(text) for f in parsed.faults]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-11-21", "2026-11-21"),
        ("2026-11-21T08:00:00Z", "2026-11-21T08:00:00Z"),
        ("12:30:45", "12:30:45"),
        ("22:22", "22:22"),
        ("on", True),
        ("No", False),
        ("y", "y"),
        ("TRUE", True),
        ("tRUE", "tRUE"),
        ("~", None),
        ("null", None),
        ("", None),
        ('""', ""),
        ('"5"', "5"),
        ("'on'", "on"),
        ("5", 5),
        ("-5", -5),
        ("+5", 5),
        ("1_000", 1000),
        ("0", 0),
        ("010", 8),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b11", 3),
        ("08", 8),
        ("1.5", 1.5),
        ("1.0", 1),
        ("1e3", 1000),
        (".5", 0.5),
        ("1e-3", 0.001),
        ("1.2.3", "1.2.3"),
        ("25%", "25%"),
        ("10m", "10m"),
        ("-", [None]),
        ("!!str 5", "5"),
        ("!!int 5", 5),
        ("!!float 5", 5),
        ("!!bool on", True),
        ("!!null ''", None),
        ("99999999999999999999", 99999999999999999999),
    ],
)
def test_a_value_is_what_kubernetes_tools_read(written: str, meant: object) -> None:
    found = value(f"a: {written}\n" if written != "-" else "a:\n-\n")["a"]
    assert (found, type(found)) == (meant, type(meant))


def test_keys_are_text() -> None:
    assert value("{1: a, true: b, off: c, 2026-11-21: d, 0x10: e}") == {
        "1": "a",
        "true": "b",
        "false": "c",
        "2026-11-21": "d",
        "16": "e",
    }


def test_anchors_and_merges() -> None:
    text = """
    base: &base {a: 1, b: 2}
    more: &more {b: 3, c: 4}
    one: {<<: *base, b: 9}
    two: {b: 8, <<: [*base, *more]}
    text: {"<<": *base}
    again: *base
    name: &name here
    *name : there
    """
    found = value(text)
    assert found["one"] == {"a": 1, "b": 9}
    assert found["two"] == {"a": 1, "b": 8, "c": 4}
    assert found["text"] == {"<<": {"a": 1, "b": 2}}
    assert found["again"] == found["base"] == {"a": 1, "b": 2}
    assert found["here"] == "there"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "the key 'a' is there twice"),
        ("x:\n  a: 1\n  a: 1\n", 3, "the key 'a' is there twice"),
        ("1: x\n'1': y\n", 2, "the key '1' is there twice"),
        ("b: &b a\na: 1\n*b : 2\n", 3, "the key 'a' is there twice"),
        ("a: .inf\n", 1, ".inf is not a JSON number: put it in quotes if text is meant"),
        ("a: -.Inf\n", 1, "-.Inf is not a JSON number: put it in quotes if text is meant"),
        ("a: .nan\n", 1, ".nan is not a JSON number: put it in quotes if text is meant"),
        ("a: 1e999\n", 1, "1e999 is too large for a JSON number"),
        pytest.param(
            f"a:\n- {'9' * 5000}\n",
            2,
            "a number of 5000 digits is too large for a JSON number",
            id="more digits than Python reads",
        ),
        ("a: !!binary aGk=\n", 1, "a tag (!) is not supported: put it in quotes if text is meant"),
        ("a: !mine {}\n", 1, "a tag (!) is not supported: put it in quotes if text is meant"),
        ("a: !!set {}\n", 1, "a tag (!) is not supported: put it in quotes if text is meant"),
        ("a: !!int x\n", 1, "the value is not a valid int"),
        ("a: !!int on\n", 1, "the value is not a valid int"),
        (
            "a: *b\n",
            1,
            "an alias (*) is used before it is defined: put it in quotes if text is meant",
        ),
        ("\na: &b [*b]\n", 2, "an alias (*) contains itself"),
        ("a: {<<: 5}\n", 1, "<< takes an object or a list of objects"),
        ("a: {[1]: 5}\n", 1, "a key must be text"),
        ("[" * (DEEPEST + 1), 1, f"nested deeper than {DEEPEST} levels"),
    ],
)
def test_a_fault_says_its_line(text: str, line: int, message: str) -> None:
    assert faults(text) == [(line, message)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [1\nb: 2\n", 2),
        ("a: 'x\n", 2),
        ("a:\n\t- x\n", 2),
        ("a: b: c\n", 1),
        pytest.param("a: \x01\n", 1, id="a control character"),
    ],
)
def test_what_is_no_yaml_says_its_line(text: str, line: int) -> None:
    ((found, message),) = faults(text)
    assert found == line
    assert message.startswith("not YAML: ")


@pytest.mark.parametrize(
    ("text", "is_template"),
    [
        ("image: {{ .Values.image }}:1", True),
        ("{{- if .Values.web }}\na: b\n{{- end }}", True),
        ("a:\n  - {{ .name }}", True),
        ('query: "{{args.app}}"\na: 1\na: 2', False),
        ('query: "{{args.app}}": 3', False),
    ],
)
def test_a_fault_of_a_template_says_what_to_do_with_it(text: str, is_template: bool) -> None:
    """Braces in quotes, as analyses write their arguments, do not hide what is wrong elsewhere."""
    ((found,),) = [parsed.faults for parsed in read_yaml(text)]
    assert ("helm template" in found.message) is is_template


def test_every_duplicate_key_is_named() -> None:
    assert [line for line, _ in faults("a: 1\na: 2\nb: {c: 1,\n c: 2}\n")] == [2, 4]


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, levels)]
    return "\n".join(lines)


def test_aliases_may_not_fill_the_memory() -> None:
    assert faults(bomb(5)) == []
    ((line, message),) = faults(bomb(30))
    assert (line, message) == (6, f"aliases expand to more than {MOST_ALIASED:,} values")


def test_a_broken_document_hides_no_other() -> None:
    text = "a: 1\n---\nb: [\n---\n# nothing\n---\nc: 1\nc: 2\n--- {d: 4}\n...\n---\ne: |\n  --- x\n"
    found = list(read_yaml(text))
    assert [(p.line, p.value) for p in found if not p.faults] == [
        (1, {"a": 1}),
        (9, {"d": 4}),
        (12, {"e": "--- x\n"}),
    ]
    assert [f.line for p in found for f in p.faults] == [4, 8]


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only\n", "---\n", "---\n---\n# x\n---\n", "%YAML 1.1\n---\n"]
)
def test_an_empty_text_has_no_documents(text: str) -> None:
    assert list(read_yaml(text)) == []


def test_directives_and_dos_line_ends_are_read() -> None:
    assert value("%YAML 1.1\n---\na: 1\n") == {"a": 1}
    assert [p.value for p in read_yaml("a: 1\r\n---\r\nb: 2\r\n")] == [{"a": 1}, {"b": 2}]


def test_a_document_begins_where_its_text_begins() -> None:
    assert [p.line for p in read_yaml("# c\n\na: 1\n---\n# d\n\nb: 2\n")] == [3, 7]


SAMPLES = ["on", "2026-11-21", "12:30", "0x10", "null", "~", "<<", "=", "5", "1.0", "010", ".5"]
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def json_with(words: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**64)
        | st.floats(allow_nan=False, allow_infinity=False)
        | words
        | st.sampled_from(SAMPLES),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text("ab<1 .:", max_size=3), inner, max_size=3)
        ),
        max_leaves=12,
    )


JSON = json_with(WORDS)


def plain_in_yaml(text: str) -> bool:
    """Whether a YAML 1.1 writer need not quote it where YAML 1.2 must: ``1e3``, ``0o17``."""
    return text[:1] not in tuple("0123456789+-.")


@given(JSON)
def test_json_is_read_back_as_it_was(original: Any) -> None:
    (parsed,) = read_json(json.dumps(original))
    assert (parsed.value, parsed.faults) == (original, [])


@given(
    st.dictionaries(WORDS.filter(plain_in_yaml), json_with(WORDS.filter(plain_in_yaml)), max_size=4)
)
def test_what_a_yaml_writer_writes_is_read_back(original: Any) -> None:
    text = yaml.safe_dump(original, allow_unicode=False)
    assert value(text) == original


@given(st.text(st.sampled_from("ab:-[]{}&*!|>'\"#%@`, \n\t?<012.~"), max_size=40))
def test_no_text_makes_it_raise(text: str) -> None:
    for parsed in [*read_yaml(text), *read_json(text)]:
        assert all(isinstance(f, Fault) and f.line >= 1 for f in parsed.faults)
        json.dumps(parsed.value, allow_nan=False)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"a": 1,\n"a": 2}', 2, "the key 'a' is there twice"),
        ('{"a": {"b": 1,\n\n"b": 2}}', 3, "the key 'b' is there twice"),
        ('{"a": NaN}', 1, "NaN is not a JSON number"),
        ('{"a": 1e999}', 1, "1e999 is too large for a JSON number"),
        pytest.param(
            f'{{"a": {"9" * 5000}}}',
            1,
            "a number of 5000 digits is too large for a JSON number",
            id="more digits than Python reads",
        ),
        ('{"a":\n1,}', 2, "not JSON: "),
        ("[" * 100_000, 1, f"nested deeper than {DEEPEST} levels"),
    ],
)
def test_a_fault_in_json_says_its_line(text: str, line: int, message: str) -> None:
    (parsed,) = read_json(text)
    ((found, told),) = [(f.line, f.message) for f in parsed.faults]
    shown = told[: len(message)] if message == "not JSON: " else told
    assert (found, shown) == (line, message)


def test_json_documents_may_follow_one_another() -> None:
    assert [p.value for p in read_json('{"a": 1.0}\n{"b": "\\ud83d\\ude00"} 5')] == [
        {"a": 1},
        {"b": "\U0001f600"},
        5,
    ]


LONG = "9" * 5_000


@pytest.mark.parametrize("text", [LONG, f"-{LONG}", f"0x{LONG}", f"a: [{LONG}]", f"{LONG}: a"])
def test_a_number_of_thousands_of_digits_is_a_fault(text: str) -> None:
    ((line, message),) = faults(text)

    assert line == 1
    assert message.endswith(" digits is too large for a JSON number")
