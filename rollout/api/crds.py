"""Makes CustomResourceDefinitions from the models.

Structural schemas (apiextensions v1): no references, no unions, defaults only where the models have
them. Unknown fields are pruned by the server, as with OCM's own CRDs.

``python -m rollout.api.crds [FOLDER]`` writes them, a file each.
"""

import sys
from pathlib import Path
from typing import Any

import yaml
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from rollout.api.columns import declared_columns
from rollout.api.descriptions import description, field_docstrings
from rollout.api.models import MODELS
from rollout.model.kinds import APPROVAL, KINDS, Kind, Obj

_INT32 = 2**31 - 1
_INTEGER_BOUNDS = ("minimum", "maximum")


def crd(kind: Kind) -> Obj:
    """The CustomResourceDefinition of one of the kinds that have a model. Raises: KeyError."""
    names: Obj = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.name.lower(),
    }
    if kind.short:
        names["shortNames"] = list(kind.short)
    version: Obj = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema_of(kind)},
    }
    if kind.has_status:
        version["subresources"] = {"status": {}}
    columns = [
        {"name": c.name, "type": c.type.value, "jsonPath": c.path} for c in declared_columns(kind)
    ]
    if columns:
        version["additionalPrinterColumns"] = columns
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": names,
            "versions": [version],
        },
    }


def schema_of(kind: Kind) -> Obj:
    """The structural schema of a kind. Raises: KeyError for a kind without a model."""
    raw = MODELS[kind.name].model_json_schema(by_alias=True, schema_generator=_Generator)
    schema: Obj = _inlined(raw, raw.get("$defs", {}))
    properties = schema["properties"]
    properties.update(
        apiVersion={"type": "string"}, kind={"type": "string"}, metadata={"type": "object"}
    )
    schema["required"] = [name for name in schema.get("required", []) if name != "metadata"]
    if not schema["required"]:
        del schema["required"]
    _describe(schema, ())
    return schema


def _describe(schema: Obj, path: tuple[str, ...]) -> None:
    """Give each field below that has no description the one that stands for it.

    What every kind has is Kubernetes' to describe.
    """
    for name, field in (schema.get("properties") or {}).items():
        here = (*path, name)
        if len(here) == 1 and name in ("apiVersion", "kind", "metadata"):
            continue
        found = field.get("description") or description(here)
        if found:
            field["description"] = found
        _describe(field, here)
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            _describe(inner, path)


class _Generator(GenerateJsonSchema):
    """JSON schema as a CRD can hold it: absent instead of null, enums instead of constants."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        found = super().model_schema(schema)
        texts = field_docstrings(schema["cls"])
        for name, field in schema["cls"].model_fields.items():
            if name in texts:
                found["properties"][field.alias or name]["description"] = texts[name]
        return found

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        found = super().default_schema(schema)
        if found.get("default", 0) is None:
            del found["default"]
        return found

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        found = super().int_schema(schema)
        small = found.get("maximum", 2**63) <= _INT32
        for bound in _INTEGER_BOUNDS:  # those of the type itself are in its format
            if abs(found.get(bound, 0)) >= _INT32:
                del found[bound]
        return {**found, "format": "int32" if small else "int64"}

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        found = super().literal_schema(schema)
        if "const" in found:
            found["enum"] = [found.pop("const")]
        return found


def _inlined(node: Any, definitions: Obj) -> Any:
    """``node`` without references and without what a structural schema may not have."""
    if isinstance(node, list):
        return [_inlined(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    node = dict(node)
    if "$ref" in node:
        name = node.pop("$ref").rpartition("/")[2]
        node = {**definitions[name], **node}
    found: Obj = {}
    for name, value in node.items():
        if name in ("$defs", "title") or (name == "additionalProperties" and value is True):
            continue
        if name == "properties":
            found[name] = {field: _inlined(inner, definitions) for field, inner in value.items()}
        elif name in ("items", "additionalProperties"):
            found[name] = _inlined(value, definitions)
        else:
            found[name] = value
    return found


def crd_files() -> dict[str, str]:
    """The CustomResourceDefinitions of all kinds that have a model: path in the folder to YAML.

    Those that are ours lie apart: a hub that has OCM's needs them too.
    """
    found: dict[str, str] = {}
    for kind in (KINDS[name] for name in MODELS):
        text = yaml.dump(crd(kind), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
        folder = "own/" if kind.group == APPROVAL.group else ""
        found[f"{folder}{kind.group}_{kind.plural}.yaml"] = (
            f"# {kind.name}: made from the models by `make crds`. Do not edit.\n{text}"
        )
    return found


class _Dumper(yaml.SafeDumper):
    """Writes shared parts out each time."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def write_crds(folder: Path) -> list[Path]:
    """Write every file into ``folder``, and remove those of kinds that are no more."""
    (folder / "own").mkdir(parents=True, exist_ok=True)
    files = crd_files()
    for path in folder.rglob("*.io_*.yaml"):
        if path.relative_to(folder).as_posix() not in files:
            path.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]


if __name__ == "__main__":
    for written in write_crds(Path(*sys.argv[1:2] or ("manifests/crds",))):
        sys.stdout.write(f"{written}\n")
