"""What the controller refuses, what `validate` names and what the CRD refuses are one thing.

A few hundred specs of each kind are drawn, with one to three fields of a good one replaced by a value
that somebody may have written there.
"""

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from rollout.api.crds import schema_of
from rollout.api.decoding import _STATEFUL, _STATELESS, decode
from rollout.api.models import MODELS
from rollout.api.validation import validate
from rollout.model.addon import AddOn
from rollout.model.kinds import KINDS, PLACEMENT, REPLICA_SET, Obj
from rollout.model.placement import Placement
from rollout.model.replicaset import ReplicaSet
from tests.support.good_specs import SPECS, whole

DRAWN = 300
VALUES: list[Any] = [
    None, True, -1, 0, 5, 10**30, 1.5, "", "x", "x y", "5", "10m", "25%", "0%", "None", "*",
    "Exists", "Progressive", "All", "a" * 70, "A_b", "Reject", "AddOn", "-1", "\ud800",
    [], [[]], [{}], ["a"], [5], {}, {"": 0}, {"a": 1}, {"a": "b"},
]  # fmt: skip
Place = tuple[int | str, ...]


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Every place in a JSON value, but for the value itself."""
    if not isinstance(value, dict | list):
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*at, key)
        yield from places(inner, (*at, key))


def changed(value: Any, at: Place, new: Any) -> Any:
    """A copy of a JSON value that has ``new`` at a place."""
    if not at:
        return new
    copied = value.copy()
    copied[at[0]] = changed(copied[at[0]], at[1:], new)
    return copied


def drawn(kind: str) -> Iterator[Obj]:
    """Objects of the kind, each with up to three fields of its spec changed."""
    draw = random.Random(kind)  # no secret: the same specs in every run
    for _ in range(DRAWN):
        spec = SPECS[kind]
        for _ in range(draw.choice((1, 1, 2, 3))):
            spec = changed(spec, draw.choice([*places(spec)] or [()]), draw.choice(VALUES))
        yield whole(kind, spec)


def refused(obj: Obj) -> set[str]:
    """The paths of what the controller cannot honour."""
    if obj["kind"] not in {*_STATELESS, *_STATEFUL}:
        return set()
    value = decode(KINDS[obj["kind"]], obj)
    found = {each.path for each in getattr(value, "problems", ())}
    parts: tuple[Any, ...] = ()
    if isinstance(value, ReplicaSet):
        parts = value.refs
    elif isinstance(value, AddOn):
        parts = value.placements or ()
    return found | {each.path for part in parts for each in part.problems}


@pytest.mark.parametrize("kind", SPECS)
def test_a_good_spec_has_no_problem_for_anybody(kind: str) -> None:
    obj = whole(kind, SPECS[kind])

    assert validate(obj) == []
    assert refused(obj) == set()
    assert list(breaches(schema_of(KINDS[kind])["properties"]["spec"], obj["spec"], "spec")) == []


@pytest.mark.parametrize("kind", SPECS)
def test_what_the_controller_refuses_validate_names(kind: str) -> None:
    for obj in drawn(kind):
        named = {each.path for each in validate(obj)}
        assert refused(obj) <= named, obj["spec"]


@pytest.mark.parametrize("kind", SPECS)
def test_what_the_api_server_refuses_validate_names_at_the_same_place(kind: str) -> None:
    schema = schema_of(KINDS[kind])["properties"]["spec"]
    for obj in drawn(kind):
        named = [each.path for each in validate(obj)]
        for path in breaches(schema, obj["spec"], "spec"):
            assert any(each == path or each.startswith(f"{path}[") for each in named), (path, obj)


TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
}


def breaches(schema: Obj, value: Any, at: str) -> Iterator[str]:
    """The paths of what a server with this structural schema refuses. Null counts as absent."""
    if "type" not in schema and schema.get("x-kubernetes-preserve-unknown-fields"):
        return  # any JSON
    either = schema.get("x-kubernetes-int-or-string")
    wanted = (int, str) if either else TYPES[schema["type"]]
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        yield at
        return
    if isinstance(value, dict):
        yield from _of_object(schema, value, at)
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield at
        for i, item in enumerate(value):
            yield from breaches(schema["items"], item, f"{at}[{i}]")
    elif isinstance(value, int | str) and not _fits(schema, value):
        yield at


def _of_object(schema: Obj, value: Obj, at: str) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if value.get(name) is None and "default" not in known[name]:
            yield f"{at}.{name}"
    for name, inner in value.items():
        if inner is not None and name in known:
            yield from breaches(known[name], inner, f"{at}.{name}")
        elif inner is not None and isinstance(schema.get("additionalProperties"), dict):
            yield from breaches(schema["additionalProperties"], inner, f"{at}[{name}]")


def _fits(schema: Obj, value: int | str) -> bool:
    if isinstance(value, int):
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return (
        schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        and value in schema.get("enum", [value])
        and ("pattern" not in schema or re.search(schema["pattern"], value) is not None)
    )


def test_a_bad_field_elsewhere_leaves_the_references_of_a_workload_readable() -> None:
    names = [ref["name"] for ref in SPECS[REPLICA_SET.name]["placementRefs"]]
    for obj in drawn(REPLICA_SET.name):
        spec = obj["spec"]
        if not isinstance(spec, dict):
            continue
        spec = {**spec, "placementRefs": SPECS[REPLICA_SET.name]["placementRefs"]}
        value = decode(REPLICA_SET, {**obj, "spec": spec})
        assert isinstance(value, ReplicaSet)
        assert [ref.name for ref in value.refs] == names
        assert all(ref.rollout is not None for ref in value.refs)


def test_a_bad_field_elsewhere_leaves_the_sets_of_a_placement_readable() -> None:
    sets = SPECS[PLACEMENT.name]["clusterSets"]
    for obj in drawn(PLACEMENT.name):
        if not isinstance(obj["spec"], dict):
            continue
        value = decode(PLACEMENT, {**obj, "spec": {**obj["spec"], "clusterSets": sets}})
        assert isinstance(value, Placement)
        assert value.cluster_sets == tuple(sets)


def test_every_kind_that_people_write_is_drawn() -> None:
    by_machines = {
        "ManagedCluster", "PlacementDecision", "AddOnPlacementScore", "ManifestWork",
        "ManagedClusterAddOn", "RolloutRecord", "RolloutRevision", "RolloutAnalysisRun",
        "RolloutNotification",
    }  # fmt: skip
    assert set(SPECS) | by_machines == set(MODELS)
