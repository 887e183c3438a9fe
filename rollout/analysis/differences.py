"""Compares the manifests of one cluster, or the configurations it is told to apply."""

import difflib
from collections.abc import Iterable, Mapping

import yaml

from rollout.api.fields import listed, mapping, text
from rollout.model.kinds import Obj, Ref, key_of, kind_by_resource
from rollout.model.secrets import Masks
from rollout.model.spec_hash import spec_hash


def manifest_diff(
    old: Obj | None, new: Obj | None, names: tuple[str, str], masks: Masks | None
) -> str:
    """The unified diff from one ManifestWork spec to another; "" where they read the same.

    None is the spec of a cluster that has no work.

    Args:
        masks: hide the data of Secrets, so that a value that changes has another mask; None: show it.
    """
    before, after = old or {}, new or {}
    if masks is not None:
        before, after = masks.over(before), masks.over(after)
    lines = difflib.unified_diff(
        _yaml(before).splitlines(), _yaml(after).splitlines(), *names, lineterm=""
    )
    return "\n".join(lines)


def _yaml(value: Obj) -> str:
    if not value:
        return ""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(
        value, Dumper=dumper, default_flow_style=False, allow_unicode=True, width=2**31 - 1
    )
    return text


_OUTSIDE = ("apiVersion", "kind", "metadata", "status")


def with_contents(body: Obj | None, objects: Mapping[Ref, Obj]) -> Obj | None:
    """A body with what the objects that it refers to say, by name.

    An object that has changed since counts as unknown: what it said then, nobody has kept.
    """
    if body is None:
        return None
    found = dict(_contents(listed(body.get("configReferences")), objects))
    return {**body, "configurations": found} if found else body


def _contents(
    references: Iterable[object], objects: Mapping[Ref, Obj]
) -> Iterable[tuple[str, Obj]]:
    for reference in map(mapping, references):
        desired = mapping(reference.get("desiredConfig"))
        namespace, name = text(desired.get("namespace")), text(desired.get("name"))
        resource = text(reference.get("group")), text(reference.get("resource"))
        ref = Ref(kind_by_resource(*resource, namespaced=bool(namespace)), key_of(namespace, name))
        obj = objects.get(ref)
        if obj is not None and spec_hash(obj) == desired.get("specHash"):
            rest = {key: value for key, value in obj.items() if key not in _OUTSIDE}
            yield f"{resource[1]} {ref.key}", rest["spec"] if set(rest) == {"spec"} else rest
