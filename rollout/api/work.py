"""What does a ManifestWork say? From a dict, or straight from the bytes an API server sends.

Both ways give equal values. From bytes the payload is never turned into objects: its text is looked
up among those already hashed, and a fleet carries few different ones. Source: OCM ManifestWork
spec 1.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping

import msgspec

from rollout.api.fields import mapping, number_of, strings, text, version_of, whole
from rollout.model.conditions import Condition, condition_of, read_conditions
from rollout.model.content import content_hash
from rollout.model.instants import parse_instant
from rollout.model.kinds import Obj
from rollout.model.names import OWNER, REVISION, STARTED_AT, WORK_OWNER_LABEL, WORK_PLACEMENT_LABEL
from rollout.model.work import Work

_KEPT = 4_096  # payloads whose hash is remembered

UNREADABLE = "unreadable"
"""The content of a spec that cannot be hashed: it equals no template's."""


def decode_work(obj: Obj, previous: Work | None = None) -> Work:
    """A ManifestWork from its JSON object.

    Args:
        obj: as a hub stores it; shared, never altered.
        previous: an earlier value of the same object. Its content is reused where uid and
            generation are equal, since a generation changes with the spec.
    """
    meta = mapping(obj.get("metadata"))
    uid, generation = text(meta.get("uid")), whole(meta.get("generation"))
    if previous is not None and generation and uid == previous.uid != "":
        content = previous.content if generation == previous.generation else _hash_of(obj)
    else:
        content = _hash_of(obj)
    return _work(
        meta,
        content,
        generation,
        uid,
        read_conditions(mapping(obj.get("status")).get("conditions")),
        mapping(obj.get("spec")),
    )


def _work(
    meta: Obj,
    content: str,
    generation: int,
    uid: str,
    conditions: Mapping[str, Condition],
    spec: Obj,
) -> Work:
    labels, annotations = strings(meta.get("labels")), strings(meta.get("annotations"))
    started = annotations.get(STARTED_AT)
    return Work(
        text(meta.get("namespace")),
        text(meta.get("name")),
        owner_of(labels, annotations),
        labels.get(WORK_PLACEMENT_LABEL, ""),
        content,
        annotations.get(REVISION, ""),
        parse_instant(started) if started else None,
        generation,
        version_of(meta),
        uid,
        text(meta.get("creationTimestamp")),
        meta.get("deletionTimestamp") is not None,
        conditions,
        labels,
        annotations,
        spec,
    )


def owner_of(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """The ``namespace/name`` of the workload that a work belongs to, "" where it names none.

    Our annotation wins: the label may hold a hash. A namespace has no dots, so the label is split
    at its first.
    """
    named = annotations.get(OWNER)
    if named:
        namespace, slash, name = named.partition("/")
        if namespace and slash and name and "/" not in name:
            return named
    namespace, dot, name = labels.get(WORK_OWNER_LABEL, "").partition(".")
    return f"{namespace}/{name}" if namespace and dot and name else ""


class _Hashes:
    """Content by payload, for payloads seen lately. Bounded: forgotten all at once when full."""

    __slots__ = ("_by_bytes", "_by_identity")

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[Obj, str]] = {}  # id(spec) -> (the spec, content)
        self._by_bytes: dict[bytes, str] = {}  # digest of the text -> content

    def of_object(self, spec: Obj) -> str:
        """Objects are never altered, so the same object has the same content."""
        known = self._by_identity.get(id(spec))
        if known is not None:
            return known[1]
        content = hashed(spec)
        if len(self._by_identity) >= 64:  # each entry keeps its spec alive
            self._by_identity.clear()
        self._by_identity[id(spec)] = (spec, content)
        return content

    def of_bytes(self, spec: bytes | memoryview) -> str:
        digest = hashlib.sha256(spec).digest()
        content = self._by_bytes.get(digest)
        if content is None:
            if len(self._by_bytes) >= _KEPT:
                self._by_bytes.clear()
            content = self._by_bytes[digest] = _hashed_text(bytes(spec))
        return content


_HASHES = _Hashes()


def hashed(spec: Obj) -> str:
    """`content_hash`, or `UNREADABLE` for what is no JSON or is nested beyond reason."""
    try:
        return content_hash(spec)
    except (TypeError, ValueError, RecursionError):
        return UNREADABLE


def _hashed_text(spec: bytes) -> str:
    try:
        return hashed(mapping(json.loads(spec)))
    except RecursionError:
        return UNREADABLE


def _hash_of(obj: Obj) -> str:
    return _HASHES.of_object(mapping(obj.get("spec")))


class _Meta(msgspec.Struct, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resourceVersion: str = ""  # noqa: N815 - as on the wire
    creationTimestamp: str | None = None  # noqa: N815
    deletionTimestamp: str | None = None  # noqa: N815
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Condition(msgspec.Struct, gc=False):
    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    observedGeneration: int | None = None  # noqa: N815
    lastTransitionTime: str | None = None  # noqa: N815


class _Status(msgspec.Struct, gc=False):
    conditions: list[_Condition] | None = None


class _Item(msgspec.Struct, gc=False):
    metadata: _Meta
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: _Status | None = None


class _List(msgspec.Struct, gc=False):
    items: list[_Item] | None = None


class _LooseList(msgspec.Struct, gc=False):
    items: list[msgspec.Raw] | None = None


_LIST = msgspec.json.Decoder(_List)
_LOOSE_LIST = msgspec.json.Decoder(_LooseList)
_ITEM = msgspec.json.Decoder(_Item)


def decode_works(payload: bytes) -> list[Work]:
    """The works of a ManifestWork list as an API server sends it, in its order.

    Their ``spec`` is empty: the payload is not kept. An item of unexpected shape is read leniently
    and spoils no other. Raises: msgspec.DecodeError where ``payload`` is no JSON list of objects.
    """
    try:
        items = _LIST.decode(payload).items or ()
    except msgspec.ValidationError:
        return [decode_work_text(raw) for raw in _LOOSE_LIST.decode(payload).items or ()]
    return [_from_item(item) for item in items]


def decode_work_text(payload: bytes | msgspec.Raw) -> Work:
    """One work as `decode_works` reads it, for the object of a watch event."""
    try:
        return _from_item(_ITEM.decode(payload))
    except msgspec.ValidationError:
        return dataclasses.replace(decode_work(mapping(msgspec.json.decode(payload))), spec={})


def _from_item(item: _Item) -> Work:
    meta = item.metadata
    labels, annotations = meta.labels or {}, meta.annotations or {}
    started = annotations.get(STARTED_AT)
    conditions: dict[str, Condition] = {}
    for c in (item.status.conditions if item.status else None) or ():
        if c.type not in conditions:  # the first of a type counts
            since = c.lastTransitionTime or ""
            conditions[c.type] = condition_of(
                c.type, c.status, c.reason, c.message, c.observedGeneration, since
            )
    return Work(
        meta.namespace,
        meta.name,
        owner_of(labels, annotations),
        labels.get(WORK_PLACEMENT_LABEL, ""),
        _HASHES.of_bytes(memoryview(item.spec)),
        annotations.get(REVISION, ""),
        parse_instant(started) if started else None,
        meta.generation,
        number_of(meta.resourceVersion),
        meta.uid,
        meta.creationTimestamp or "",
        meta.deletionTimestamp is not None,
        conditions,
        labels,
        annotations,
    )
