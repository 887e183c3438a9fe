"""Finds the stored objects in documents, and what is wrong with each.

A document that cannot be used is an object with faults; it does not hide the others.
"""

from dataclasses import dataclass

from rollout.api.load import Document, Loaded, LoadError
from rollout.api.validation import kind_of, unknown_fields, unreadable, validate
from rollout.model.kinds import DEFAULT_NAMESPACE, Obj, Ref, key_of
from rollout.model.secrets import has_masks

SCENARIO = "AgentScenario"
"""Says how simulated agents behave. Lies beside objects in examples; no hub stores it."""


@dataclass(frozen=True, slots=True)
class FileObject:
    """One object of a file and its reference, or what is wrong with it (``faults``).

    ``source`` says where it stands: ``web.yaml:14``; a fault, where the field stands that is wrong.
    """

    source: str
    obj: Obj
    ref: Ref | None = None
    faults: tuple[LoadError, ...] = ()

    @property
    def complaints(self) -> list[str]:
        """Each fault, with where it stands and whose it is."""
        whose = f"{self.ref}: " if self.ref else ""
        return [f"{fault.source}: {whose}{fault.message}" for fault in self.faults]


def file_objects(loaded: Loaded, namespace: str = "") -> list[FileObject]:
    """Every document, validated, in the order given; scenarios are left out.

    Args:
        namespace: of objects that name none; where it is empty, ``default``. Objects that name
            another than a given one are at fault.
    """
    found = [FileObject(error.source, {}, None, (error,)) for error in loaded.errors]
    found += [
        _file_object(document, namespace)
        for document in loaded.documents
        if document.obj.get("kind") != SCENARIO
    ]
    return found


_Faults = list[tuple[str, str]]
"""The path of a field, and a sentence that says what is wrong with it."""


def _file_object(document: Document, namespace: str) -> FileObject:
    faults: _Faults = []
    obj = _placed(document.obj, namespace, faults)
    faults += [(problem.path, str(problem)) for problem in (*validate(obj), *unreadable(obj))]
    faults += [(unknown.path, str(unknown)) for unknown in unknown_fields(obj)]
    if has_masks(obj):
        masked = (
            "a Secret in it has masked values, as `rollout get` prints them: print it with"
            " --show-secrets to apply it again"
        )
        faults.append(("", masked))
    ref = _ref(obj, faults)
    told = (LoadError(document.source_of(path), words) for path, words in faults)
    return FileObject(document.source, obj, ref, tuple(told))


def _placed(given: Obj, namespace: str, faults: _Faults) -> Obj:
    """The object with the namespace that it is meant to be in."""
    kind, _ = kind_of(given)
    meta = given.get("metadata")
    if kind is None or not isinstance(meta, dict):
        return given
    named = meta.get("namespace")
    if not kind.namespaced:
        if named:
            refused = f"metadata.namespace: {named!r} is not valid: none, for a {kind.name}"
            faults.append(("metadata.namespace", refused))
        return given
    if named and namespace and named != namespace:
        refused = (
            f"metadata.namespace: {named!r} is not valid: {namespace!r}, as -n says; "
            f"leave -n out, or give -n {named}"
        )
        faults.append(("metadata.namespace", refused))
    return {**given, "metadata": {**meta, "namespace": named or namespace or DEFAULT_NAMESPACE}}


def _ref(obj: Obj, faults: _Faults) -> Ref | None:
    """What the object is called; None where that cannot be told."""
    kind, _ = kind_of(obj)
    meta = obj.get("metadata")
    if kind is None:
        return None
    if not isinstance(meta, dict):
        faults[:] = faults or [("metadata", "metadata: an object is required")]
        return None
    name, namespace = meta.get("name"), meta.get("namespace") or ""
    if not isinstance(name, str) or not name:
        words = "metadata.name: a name is required to apply or delete an object"
        faults[:] = faults or [("metadata.name", words)]
        return None
    if not isinstance(namespace, str):
        words = "metadata.namespace: a DNS label is required"
        faults[:] = faults or [("metadata.namespace", words)]
        return None
    return Ref(kind, key_of(namespace if kind.namespaced else "", name))
