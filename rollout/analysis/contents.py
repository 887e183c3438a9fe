"""What is in the configurations that a cluster is told to apply? Their objects, as far as they are those."""

from collections.abc import Iterable, Mapping

from rollout.api.fields import listed, mapping, text
from rollout.model.kinds import Obj, Ref, key_of, kind_by_resource
from rollout.model.spec_hash import spec_hash

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
