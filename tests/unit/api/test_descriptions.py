"""What `kubectl explain` says of every field of every kind."""

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from rollout.api.crds import schema_of
from rollout.api.descriptions import DESCRIPTIONS, description, field_docstrings
from rollout.api.models import MODELS
from rollout.api.replicaset import FailureStrategyShape
from rollout.model.kinds import KINDS, REPLICA_SET, Obj


def undescribed(schema: Obj, at: str = "") -> Iterator[str]:
    """The fields below of which nobody says what they are, without those that every kind has."""
    for name, field in (schema.get("properties") or {}).items():
        if f"{at}.{name}" in (".apiVersion", ".kind", ".metadata"):
            continue
        if not field.get("description"):
            yield f"{at}.{name}"
        yield from undescribed(field, f"{at}.{name}")
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from undescribed(inner, at)


@pytest.mark.parametrize("name", MODELS)
def test_every_field_of_every_kind_says_what_it_is(name: str) -> None:
    assert [*undescribed(schema_of(KINDS[name]))] == []


def test_a_field_without_a_description_is_found() -> None:
    assert description(("spec", "nobodyWroteThis")) == ""


def test_what_a_parent_decides_wins_over_the_bare_name() -> None:
    assert description(("web", "url")) != description(("url",))


def test_descriptions_are_sentences() -> None:
    assert [
        text for text in DESCRIPTIONS.values() if not text.endswith((".", ": 5m, 1h30m."))
    ] == []


def test_the_limit_of_a_rollout_is_explained() -> None:
    spec = schema_of(REPLICA_SET)["properties"]["spec"]["properties"]
    strategy = spec["placementRefs"]["items"]["properties"]["rolloutStrategy"]["properties"]

    said = strategy["progressive"]["properties"]["maxConcurrency"]["description"]

    assert said.startswith("How many clusters outside the mandatory groups are in flight at once")


class Written:
    """A model, whose module has no source."""

    __module__ = "rollout.of_a_test"
    count: int
    """How many."""


def test_where_a_package_is_installed_without_sources_fields_have_no_docstrings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = ModuleType(Written.__module__)
    module.__file__ = "of_a_test.pyc"
    monkeypatch.setitem(sys.modules, module.__name__, module)

    assert field_docstrings(Written) == {}


def test_a_field_is_described_by_the_docstring_of_the_class_that_has_it() -> None:
    class Derived(FailureStrategyShape):
        """A class of a test, which says nothing of its fields."""

    assert field_docstrings(Derived)["failure_strategy"].startswith("Proposed by OCM: AbortAll")
