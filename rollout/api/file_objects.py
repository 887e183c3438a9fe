"""Finds the stored objects in documents, and what is wrong with each.

A document that cannot be used is an object with faults; it does not hide the others.
"""

from dataclasses import dataclass

from rollout.api.load import Loaded
from rollout.api.validation import kind_of, unknown_fields, unreadable, validate
from rollout.model.kinds import DEFAULT_NAMESPACE, Obj, Ref, key_of
from rollout.model.secrets import has_masks

SCENARIO = "AgentScenario"
"""Says how simulated agents behave. Lies beside objects in examples; no hub stores it."""


@dataclass(frozen=True, slots=True)
class FileObject:
    """One object of a file and its reference, or what is wrong with it (``faults``, sentences).

    ``source`` says where it stands: ``web.yaml:14``.
    """

    source: str
    obj: Obj
    ref: Ref | None = None
    faults: tuple[str, ...] = ()

    @property
    def complaints(self) -> list[str]:
        """Each fault, with where it stands and whose it is."""
        whose = f"{self.source}: {self.ref}: " if self.ref else f"{self.source}: "
        return [whose + fault for fault in self.faults]


def file_objects(loaded: Loaded, namespace: str = "") -> list[FileObject]:
    """Every document, validated, in the order given; scenarios are left out.

    Args:
        namespace: of objects that name none; where it is empty, ``default``. Objects that name
            another than a given one are at fault.
    """
    found = [FileObject(error.source, {}, None, (error.message,)) for error in loaded.errors]
    found += [
        _file_object(document.obj, document.source, namespace)
        for document in loaded.documents
        if document.obj.get("kind") != SCENARIO
    ]
    return found


def _file_object(given: Obj, source: str, namespace: str) -> FileObject:
    faults: list[str] = []
    obj = _placed(given, namespace, faults)
    faults += [str(problem) for problem in (*validate(obj), *unreadable(obj))]
    faults += [str(unknown) for unknown in unknown_fields(obj)]
    if has_masks(obj):
        faults.append(
            "a Secret in it has masked values, as `rollout get` prints them: print it with"
            " --show-secrets to apply it again"
        )
    return FileObject(source, obj, _ref(obj, faults), tuple(faults))


def _placed(given: Obj, namespace: str, faults: list[str]) -> Obj:
    """The object with the namespace that it is meant to be in."""
    kind, _ = kind_of(given)
    meta = given.get("metadata")
    if kind is None or not isinstance(meta, dict):
        return given
    named = meta.get("namespace")
    if not kind.namespaced:
        if named:
            faults.append(f"metadata.namespace: {named!r} is not valid: none, for a {kind.name}")
        return given
    if named and namespace and named != namespace:
        faults.append(
            f"metadata.namespace: {named!r} is not valid: {namespace!r}, as -n says; "
            f"leave -n out, or give -n {named}"
        )
    return {**given, "metadata": {**meta, "namespace": named or namespace or DEFAULT_NAMESPACE}}


def _ref(obj: Obj, faults: list[str]) -> Ref | None:
    """What the object is called; None where that cannot be told."""
    kind, _ = kind_of(obj)
    meta = obj.get("metadata")
    if kind is None:
        return None
    if not isinstance(meta, dict):
        faults[:] = faults or ["metadata: an object is required"]
        return None
    name, namespace = meta.get("name"), meta.get("namespace") or ""
    if not isinstance(name, str) or not name:
        faults[:] = faults or ["metadata.name: a name is required to apply or delete an object"]
        return None
    if not isinstance(namespace, str):
        faults[:] = faults or ["metadata.namespace: a DNS label is required"]
        return None
    return Ref(kind, key_of(namespace if kind.namespaced else "", name))
