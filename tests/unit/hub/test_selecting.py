import pytest

from rollout.errors import Invalid
from rollout.hub.selecting import parse_fields, parse_labels

SHELF = {
    "eu1": {"region": "eu", "tier": "prod"},
    "eu2": {"region": "eu", "tier": "dev"},
    "us1": {"region": "us", "x.io/canary": ""},
    "bare": {},
}


@pytest.mark.parametrize(
    ("text", "picked"),
    [
        ("", "eu1 eu2 us1 bare"),
        ("region=eu", "eu1 eu2"),
        ("region==eu,tier = prod", "eu1"),
        ("region!=eu", "us1 bare"),
        ("region", "eu1 eu2 us1"),
        ("!region", "bare"),
        ("! region", "bare"),
        ("region in (eu, us)", "eu1 eu2 us1"),
        ("region notin (eu),region", "us1"),
        ("tier in (prod,dev),region=eu,tier!=dev", "eu1"),
        ("x.io/canary=", "us1"),
        ("x.io/canary", "us1"),
    ],
)
def test_a_label_selector_picks_as_kubectl_does(text: str, picked: str) -> None:
    selector = parse_labels(text)

    assert " ".join(name for name, labels in SHELF.items() if selector.matches(labels)) == picked


@pytest.mark.parametrize(
    "text",
    ["a b", "=x", "a=b=c", "a in x", "a in (x", "a>1", "-=x", "a=-", "a,,b", "!a=b", "a in (x y)"],
)
def test_a_bad_label_selector_is_invalid(text: str) -> None:
    with pytest.raises(Invalid):
        parse_labels(text)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("metadata.name=web", True),
        ("metadata.name==web,metadata.namespace=c1", True),
        ("metadata.name!=web", False),
        ("metadata.namespace!=c2", True),
        ("metadata.namespace=", False),
    ],
)
def test_a_field_selector_compares_name_and_namespace(text: str, matches: bool) -> None:
    assert parse_fields(text)({"metadata": {"name": "web", "namespace": "c1"}}) is matches


@pytest.mark.parametrize("text", ["spec.replicas=1", "metadata.name", "metadata.name in (a)"])
def test_another_field_or_operator_is_invalid(text: str) -> None:
    with pytest.raises(Invalid):
        parse_fields(text)
