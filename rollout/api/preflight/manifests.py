"""Checks that manifests would be admitted, and that their configurations match something.

Source: OCM ManifestWork spec 5.1 and 5.2 (size, names, duplicates); OCM work agent spec 3.2
(matching).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rollout.api.fields import listed, mapping, text
from rollout.api.preflight.findings import Finding, Item, World
from rollout.api.validation import template_of, template_path
from rollout.model.kinds import Obj
from rollout.model.work import SIZE_LIMIT, size_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What identifies a manifest. ``resource`` is guessed from its kind."""

    index: int
    group: str
    kind: str
    resource: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace + '/' if self.namespace else ''}{self.name}"


def read_manifests(template: Obj) -> list[Manifest]:
    """The manifests of a template that are objects with a kind."""
    found: list[Manifest] = []
    for index, raw in enumerate(listed(mapping(template.get("workload")).get("manifests"))):
        manifest = mapping(raw)
        kind, meta = text(manifest.get("kind")), mapping(manifest.get("metadata"))
        group = text(manifest.get("apiVersion")).rpartition("/")[0]
        if kind:
            name, namespace = text(meta.get("name")), text(meta.get("namespace"))
            found.append(
                Manifest(
                    index=index,
                    group=group,
                    kind=kind,
                    resource=plural_of(kind),
                    namespace=namespace,
                    name=name,
                )
            )
    return found


def plural_of(kind: str) -> str:
    """The resource of a kind, as Kubernetes guesses it; wrong for irregular plurals."""
    word = kind.lower()
    if word == "endpoints":
        return word
    if word.endswith("s"):
        return word + "es"
    return word[:-1] + "ies" if word.endswith("y") else word + "s"


def manifest_findings(world: World) -> Iterator[Finding]:
    """What admission refuses, and configurations that match nothing."""
    for item in world.items:
        path = template_path(item.kind)
        if path is not None:
            template = template_of(item.kind, item.document.obj)
            yield from _admission(item, template, f"{path}.workload.manifests")
            yield from _unmatched(item, template, f"{path}.manifestConfigs")


def _admission(item: Item, template: Obj, path: str) -> Iterator[Finding]:
    manifests = listed(mapping(template.get("workload")).get("manifests"))
    if not manifests and item.kind.name == "ManifestWork":
        yield item.error(path, "manifests should not be empty", "add at least one manifest")
    size = sum(map(size_of, manifests))
    if size > SIZE_LIMIT:
        yield item.error(
            path,
            f"the size of manifests is {size} bytes which exceeds the {SIZE_LIMIT} limit",
            "split the workload over several objects, or fetch large data on the cluster itself",
        )
    seen: dict[tuple[str, ...], int] = {}
    for index, raw in enumerate(manifests):
        here = f"{path}[{index}]"
        manifest, meta = mapping(raw), mapping(mapping(raw).get("metadata"))
        yield from _identity(item, manifest, meta, here)
        version, kind = text(manifest.get("apiVersion")), text(manifest.get("kind"))
        namespace, name = text(meta.get("namespace")), text(meta.get("name"))
        first = seen.setdefault((version, kind, namespace, name), index)
        if first != index and name:
            yield item.error(
                here,
                f"duplicate manifest for resource {namespace}/{name} "
                f"with resource type {version}.{kind}",
                f"remove this one or {path}[{first}]",
            )


def _identity(item: Item, manifest: Obj, meta: Obj, path: str) -> Iterator[Finding]:
    for field in ("apiVersion", "kind"):
        if not text(manifest.get(field)):
            yield item.error(f"{path}.{field}", "is missing", f"write the {field} of the object")
    if not text(meta.get("name")):
        yield item.error(
            f"{path}.metadata.name", "name must be set in manifest", "give the object a name"
        )
    if meta.get("generateName"):
        yield item.error(
            f"{path}.metadata.generateName",
            "generateName must not be set in manifest",
            "write a fixed name: the agent could not find the object again",
        )


def matches(identifier: Obj, manifest: Manifest) -> bool:
    """Whether a resourceIdentifier means the manifest; name and namespace may hold ``*``."""
    return (
        text(identifier.get("group")) == manifest.group
        and text(identifier.get("resource")) == manifest.resource
        and _named(identifier, manifest)
    )


def _named(identifier: Obj, manifest: Manifest) -> bool:
    return _wild(text(identifier.get("name")), manifest.name) and _wild(
        text(identifier.get("namespace")), manifest.namespace
    )


def _wild(pattern: str, name: str) -> bool:
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(".*".join(parts), name) is not None


def _unmatched(item: Item, template: Obj, path: str) -> Iterator[Finding]:
    manifests = read_manifests(template)
    for index, config in enumerate(map(mapping, listed(template.get("manifestConfigs")))):
        identifier = mapping(config.get("resourceIdentifier"))
        if not manifests or any(matches(identifier, m) for m in manifests):
            continue
        what = "its condition rules never apply" if config.get("conditionRules") else "it is unused"
        yield item.warning(
            f"{path}[{index}].resourceIdentifier",
            f"matches no manifest of this template: {what}",
            _advice(identifier, manifests),
        )


def _advice(identifier: Obj, manifests: list[Manifest]) -> str:
    for m in manifests:
        if _named(identifier, m) or text(identifier.get("name")) == m.name:
            space = f", namespace {m.namespace!r}" if m.namespace else ", no namespace"
            return (
                f"for {m} write group {m.group!r}, resource {m.resource!r}, name {m.name!r}{space}"
            )
    return f"the manifests are {', '.join(map(str, manifests[:5]))}"
