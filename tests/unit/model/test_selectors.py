import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.model.selectors import EVERYTHING, is_label_key, is_label_value, parse_selector

LABELS = {"region": "west", "tier": "prod", "empty": ""}


def expression(key: str, operator: str, *values: str) -> dict[str, object]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("raw", "matches"),
    [
        (None, True),
        ({}, True),
        ({"matchLabels": None, "matchExpressions": None}, True),
        ({"matchLabels": {"region": "west"}}, True),
        ({"matchLabels": {"region": "west", "tier": "test"}}, False),
        ({"matchLabels": {"empty": ""}}, True),
        ({"matchLabels": {"absent": ""}}, False),
        ({"matchExpressions": [expression("region", "In", "east", "west")]}, True),
        ({"matchExpressions": [expression("absent", "In", "x")]}, False),
        ({"matchExpressions": [expression("region", "NotIn", "west")]}, False),
        ({"matchExpressions": [expression("absent", "NotIn", "west")]}, True),
        ({"matchExpressions": [{"key": "empty", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "absent", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "absent", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "region", "operator": "DoesNotExist"}]}, False),
    ],
)
def test_a_selector_matches_as_kubernetes_says(raw: object, matches: bool) -> None:
    selector, problems = parse_selector(raw, "s")
    assert problems == ()
    assert selector.matches(LABELS) is matches


@pytest.mark.parametrize(
    ("raw", "path", "value", "accepted"),
    [
        (5, "s", 5, "an object"),
        ({"matchLabels": []}, "s.matchLabels", [], "a map"),
        ({"matchLabels": {"a": 1}}, "s.matchLabels[a]", 1, "in quotes"),
        ({"matchLabels": {1: "a"}}, "s.matchLabels[1]", 1, "a label key"),
        ({"matchLabels": {"a b": "x"}}, "s.matchLabels[a b]", "a b", "a label key"),
        ({"matchLabels": {"a": "x y"}}, "s.matchLabels[a]", "x y", "a label value"),
        ({"matchExpressions": 7}, "s.matchExpressions", 7, "a list"),
        ({"matchExpressions": ["x"]}, "s.matchExpressions[0]", "x", "an object"),
        ({"matchExpressions": [expression("", "Exists")]}, "s.matchExpressions[0].key", "", "key"),
        (
            {"matchExpressions": [{"operator": "Exists"}]},
            "s.matchExpressions[0].key",
            None,
            "a label key",
        ),
        (
            {"matchExpressions": [expression("a", "Gt", "1")]},
            "s.matchExpressions[0].operator",
            "Gt",
            "one of In, NotIn, Exists, DoesNotExist",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "values": [1]}]},
            "s.matchExpressions[0].values[0]",
            1,
            "in quotes",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "values": "x"}]},
            "s.matchExpressions[0].values",
            "x",
            "a list",
        ),
        (
            {"matchExpressions": [expression("a", "NotIn")]},
            "s.matchExpressions[0].values",
            [],
            "at least one value with NotIn",
        ),
        (
            {"matchExpressions": [expression("a", "Exists", "x")]},
            "s.matchExpressions[0].values",
            ["x"],
            "no values with Exists",
        ),
        (
            {"matchExpressions": [expression("a", "In", "ok", "-bad")]},
            "s.matchExpressions[0].values[1]",
            "-bad",
            "a label value",
        ),
    ],
)
def test_a_bad_selector_says_which_field_and_why(
    raw: object, path: str, value: object, accepted: str
) -> None:
    _, problems = parse_selector(raw, "s")
    assert [(p.path, p.value) for p in problems] == [(path, value)]
    assert accepted in problems[0].accepted


def test_every_bad_entry_is_reported_and_the_good_ones_are_kept() -> None:
    raw = {
        "matchLabels": {"region": "west", "b b": "x", 3: "y"},
        "matchExpressions": [expression("x", "Gt"), expression("tier", "In", "prod"), 7],
    }
    selector, problems = parse_selector(raw, "s")
    assert len(problems) == 4
    assert {r.key for r in selector.requirements} == {"region", "tier"}


def test_claims_compare_as_plain_strings() -> None:
    raw = {"matchExpressions": [expression("any name!", "In", "v1.2+build at home", "x" * 100)]}
    selector, problems = parse_selector(raw, "s", plain=True)
    assert problems == ()
    assert selector.matches({"any name!": "x" * 100})
    assert parse_selector(raw, "s")[1] != ()


def test_the_same_claim_may_have_no_empty_name() -> None:
    _, (problem,) = parse_selector(
        {"matchExpressions": [expression("", "Exists")]}, "s", plain=True
    )
    assert (problem.path, problem.accepted) == ("s.matchExpressions[0].key", "the name of a claim")


@pytest.mark.parametrize(
    ("key", "valid"),
    [
        ("a", True),
        ("A.b_c-9", True),
        ("example.com/a", True),
        ("x" * 63, True),
        ("x" * 64, False),
        ("", False),
        ("/a", False),
        ("a/", False),
        ("a/b/c", False),
        ("Example.com/a", False),
        ("-a", False),
        ("a-", False),
        ("é", False),
        ("a\n", False),
        ("a." * 126 + "a/x", True),
        ("a." * 127 + "a/x", False),
    ],
)
def test_a_label_key_is_accepted_as_kubernetes_accepts_it(key: str, valid: bool) -> None:
    assert is_label_key(key) is valid


@pytest.mark.parametrize(
    ("value", "valid"),
    [("", True), ("a", True), ("x" * 63, True), ("x" * 64, False), ("a b", False), ("a.", False)],
)
def test_a_label_value_is_accepted_as_kubernetes_accepts_it(value: str, valid: bool) -> None:
    assert is_label_value(value) is valid


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "matchLabels": ANY_JSON,
            "matchExpressions": st.lists(
                st.fixed_dictionaries(
                    {}, optional=dict.fromkeys(("key", "operator", "values"), ANY_JSON)
                )
            )
            | ANY_JSON,
        },
    )
    | ANY_JSON,
    st.booleans(),
)
def test_parsing_a_selector_never_raises(raw: object, plain: bool) -> None:
    selector, _ = parse_selector(raw, "s", plain=plain)
    assert selector.matches(LABELS) in (True, False)
    assert EVERYTHING.matches({})
