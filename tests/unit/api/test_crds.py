"""The CRDs that the models give: structural, with the API's defaults, names and columns."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from rollout.api.crds import crd, schema_of
from rollout.api.models import MODELS
from rollout.model.kinds import KINDS, PLACEMENT, REPLICA_SET, Kind, Obj

MODELLED = [KINDS[name] for name in MODELS]
ALLOWED = {
    "type",
    "format",
    "description",
    "default",
    "enum",
    "pattern",
    "nullable",
    "required",
    "properties",
    "items",
    "additionalProperties",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
}


def nodes(schema: Obj, path: str = "") -> Iterator[tuple[str, Obj]]:
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}" if path else name)
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from nodes(schema["additionalProperties"], f"{path}[*]")


def node(kind: Kind, path: str) -> Obj:
    return dict(nodes(schema_of(kind)))[path]


@pytest.mark.parametrize("kind", MODELLED, ids=repr)
def test_every_schema_is_structural(kind: Kind) -> None:
    for path, found in nodes(schema_of(kind)):
        extensions = {name for name in found if name.startswith("x-kubernetes-")}
        assert set(found) - extensions <= ALLOWED, path
        untyped = ("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields")
        assert "type" in found or any(found.get(name) is True for name in untyped), path
        assert not ("properties" in found and "additionalProperties" in found), path
        assert ("items" in found) == (found.get("type") == "array"), path
        assert set(found.get("required", ())) <= set(found.get("properties", ())), path
    json.dumps(crd(kind))


@pytest.mark.parametrize("kind", MODELLED, ids=repr)
def test_the_keys_of_a_list_are_required_or_have_a_default(kind: Kind) -> None:
    for path, found in nodes(schema_of(kind)):
        for key in found.get("x-kubernetes-list-map-keys", ()):
            item = found["items"]
            assert key in item.get("required", ()) or "default" in item["properties"][key], path


@pytest.mark.parametrize("kind", MODELLED, ids=repr)
def test_every_pattern_is_one_and_admits_its_default(kind: Kind) -> None:
    for path, found in nodes(schema_of(kind)):
        if "pattern" in found:
            pattern = re.compile(found["pattern"])
            if isinstance(found.get("default"), str):
                assert pattern.search(found["default"]), path
        if "enum" in found and "default" in found:
            assert found["default"] in found["enum"], path


@pytest.mark.parametrize("kind", MODELLED, ids=repr)
def test_names_scope_and_subresource_are_those_of_the_kind(kind: Kind) -> None:
    found = crd(kind)
    spec, version = found["spec"], found["spec"]["versions"][0]
    assert found["metadata"]["name"] == f"{spec['names']['plural']}.{spec['group']}"
    assert spec["scope"] == ("Namespaced" if kind.namespaced else "Cluster")
    assert tuple(spec["names"].get("shortNames", ())) == kind.short
    assert (version["name"], version["storage"]) == (kind.version, True)
    assert version.get("subresources") == ({"status": {}} if kind.has_status else None)


SPEC = "spec.placementRefs[].rolloutStrategy"


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        (PLACEMENT, "spec.sortBy", {"default": "ClusterName", "enum": ["ClusterName", "Score"]}),
        (PLACEMENT, "spec.numberOfClusters", {"type": "integer", "format": "int32", "minimum": 0}),
        (PLACEMENT, "spec.spreadPolicy.spreadConstraints", {"maxItems": 8}),
        (
            PLACEMENT,
            "spec.prioritizerPolicy.configurations[].weight",
            {"default": 1, "minimum": -10, "maximum": 10},
        ),
        (
            PLACEMENT,
            "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup",
            {"default": "100%", "x-kubernetes-int-or-string": True},
        ),
        (PLACEMENT, "status.conditions", {"x-kubernetes-list-map-keys": ["type"]}),
        (PLACEMENT, "metadata", {"type": "object"}),
        (REPLICA_SET, SPEC, {"default": {"type": "All", "all": {"progressDeadline": "None"}}}),
        (REPLICA_SET, f"{SPEC}.progressive.progressDeadline", {"default": "None"}),
        (REPLICA_SET, f"{SPEC}.progressive.maxFailures", {"default": 0, "minimum": 0}),
        (REPLICA_SET, "spec.placementRefs", {"minItems": 1}),
        (
            REPLICA_SET,
            "spec.manifestWorkTemplate.workload.manifests[]",
            {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        ),
    ],
)
def test_a_field_has_the_defaults_and_limits_of_the_api(
    kind: Kind, path: str, expected: dict[str, Any]
) -> None:
    found = node(kind, path)
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("kind", "required"),
    [("Placement", ["spec"]), ("ManagedCluster", None), ("PlacementDecision", None)],
)
def test_only_what_the_api_requires_is_required(kind: str, required: list[str] | None) -> None:
    assert schema_of(KINDS[kind]).get("required") == required


def test_a_field_without_a_default_has_none() -> None:
    assert "default" not in node(REPLICA_SET, f"{SPEC}.progressive.maxConcurrency")
    assert "default" not in node(PLACEMENT, "spec.numberOfClusters")


def test_columns_are_those_that_kubectl_shows() -> None:
    columns = crd(REPLICA_SET)["spec"]["versions"][0]["additionalPrinterColumns"]
    shown = [column["name"] for column in columns]
    assert shown[:4] == ["Placement", "Found", "ManifestWorks", "Applied"], "as in OCM's table"
    assert {"Updated", "Available", "Degraded", "Ready"} <= set(shown[4:])
