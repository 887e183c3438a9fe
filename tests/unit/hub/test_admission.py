"""What the embedded hubs look into before they store an object that is there already."""

from typing import Any

import pytest

from rollout.errors import Invalid
from rollout.hub.admission import admit
from rollout.model.kinds import ROLLOUT_RECORD, Obj, Ref

PAGE = Ref(ROLLOUT_RECORD, "default/rollout-record-0123456789abcdef-1")


def page(**texts: Any) -> Obj:
    return {
        "apiVersion": "rollout-engine.io/v1alpha1",
        "kind": "RolloutRecord",
        "metadata": {"name": PAGE.name, "namespace": "default"},
        "data": {"clusters.json": "{}", **texts},
    }


def test_the_next_page_of_a_record_is_stored_as_it_is() -> None:
    old = page()
    new = {**old, "data": {"clusters.json": '{"c1": {}}'}}

    assert admit(PAGE, new, old) is new


@pytest.mark.parametrize("text", [1, None, ["{}"], {"c1": {}}])
def test_a_page_of_a_record_that_holds_anything_but_texts_is_refused(text: object) -> None:
    old = page()

    with pytest.raises(Invalid, match="a string"):
        admit(PAGE, {**old, "data": {"clusters.json": text}}, old)


@pytest.mark.parametrize("data", [["{}"], "{}", 1, {1: "{}"}])
def test_a_page_of_a_record_whose_data_are_not_texts_by_name_is_refused(data: object) -> None:
    old = page()

    with pytest.raises(Invalid, match="data"):
        admit(PAGE, {**old, "data": data}, old)


def test_metadata_that_change_with_a_page_are_looked_into() -> None:
    old = page()
    metadata = {**old["metadata"], "labels": {"not a key": "x"}}

    with pytest.raises(Invalid, match="not a key"):
        admit(PAGE, {**old, "metadata": metadata, "data": {"clusters.json": "{ }"}}, old)


def test_a_page_that_becomes_an_object_of_another_kind_is_refused() -> None:
    old = page()

    with pytest.raises(Invalid, match="kind"):
        admit(PAGE, {**old, "kind": "Rollout", "data": {"clusters.json": "{ }"}}, old)
