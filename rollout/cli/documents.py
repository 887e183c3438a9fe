"""Which stored objects do these files speak of, and what is wrong with each?

A document that cannot be used is a document with faults; it does not hide the others.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rollout.api.load import load
from rollout.api.validation import kind_of, unknown_fields, unreadable, validate
from rollout.cli.naming import DEFAULT_NAMESPACE
from rollout.cli.options import Stop
from rollout.model.kinds import Obj, Ref, key_of
from rollout.model.secrets import has_masks

SCENARIO = "AgentScenario"
"""Says how simulated agents behave. Lies beside objects in examples; no hub stores it."""


@dataclass(frozen=True, slots=True)
class Document:
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


def read_documents(paths: Iterable[str], namespace: str = "") -> list[Document]:
    """Every document of the files, validated, in the order given; scenarios are left out.

    Args:
        paths: files, directories (not what lies in directories below them), ``-`` for stdin.
        namespace: of objects that name none; where it is empty, ``default``. Objects that name
            another than a given one are at fault.
    """
    loaded = load(paths)
    found = [Document(error.source, {}, None, (error.message,)) for error in loaded.errors]
    found += [
        _document(document.obj, document.source, namespace)
        for document in loaded.documents
        if document.obj.get("kind") != SCENARIO
    ]
    return found


def good_documents(paths: Sequence[str], namespace: str, undone: str = "planned") -> list[Document]:
    """The documents of the files. Raises: Stop where one is bad, or there is none.

    ``undone`` is the word for what is not done then.
    """
    documents = read_documents(paths, namespace)
    bad = [fault for document in documents for fault in document.complaints]
    if bad:
        raise Stop(1, *bad, f"nothing was {undone}: correct the files first")
    if not documents:
        raise Stop(1, "no objects were found in the files")
    return documents


def _document(given: Obj, source: str, namespace: str) -> Document:
    faults: list[str] = []
    obj = _placed(given, namespace, faults)
    faults += [str(problem) for problem in (*validate(obj), *unreadable(obj))]
    faults += [str(unknown) for unknown in unknown_fields(obj)]
    if has_masks(obj):
        faults.append(
            "a Secret in it has masked values, as `rollout get` prints them: print it with"
            " --show-secrets to apply it again"
        )
    return Document(source, obj, _ref(obj, faults), tuple(faults))


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
