"""Encodes and decodes what goes to and from an API server: URLs, pages, events of a watch.

Bytes become `Obj` here. A fleet carries few different payloads: the spec of a ManifestWork that was
seen lately is the same object again, so it is parsed, hashed and kept once. So are an entry of a
PlacementDecision (a list of all of them, held until it is taken in, has most entries many times), and
what a ManagedCluster says of its conditions, version, size and claims.
``managedFields``, which can be half of an object, is left out but for records, revisions and runs of analyses. ResourceVersions are numbers (they are, and from Kubernetes 1.35
on officially so); a server where they are not is refused.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec.structs import asdict

from rollout.errors import Unavailable
from rollout.hub.kube_deep import fields_of, items_of, stand_in
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    KINDS,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT_DECISION,
    ROLLOUT_ANALYSIS_RUN,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Kind,
    Obj,
    Ref,
    ref_of,
)

_KEPT_BYTES = 16 << 20
_KEPT_PARTS = 1 << 18  # bytes of JSON: entries of about 5,000 clusters
_ABSENT = b""
_SLICE = 50  # objects: a few milliseconds
_NO_JSON = (msgspec.DecodeError, UnicodeDecodeError)


@lru_cache(maxsize=16_384)
def _quoted(part: str) -> str:
    return quote(part, safe="")


def path_of(
    kind: Kind, namespace: str | None = None, name: str = "", sub: str = "", version: str = ""
) -> str:
    """The path of a collection, of an object or of its subresource.

    ``version`` is for kinds that have none of their own.
    """
    version = kind.version or version
    parts = ["apis", kind.group, version] if kind.group else ["api", version]
    if namespace and kind.namespaced:
        parts += ["namespaces", namespace]
    parts += [kind.plural, name, sub]
    return "/" + "/".join([_quoted(part) for part in parts if part])


def object_path(ref: Ref, sub: str = "", version: str = "") -> str:
    return path_of(ref.kind, ref.namespace, ref.name, sub, version=version)


def collection_path(ref: Ref, version: str = "") -> str:
    return path_of(ref.kind, ref.namespace, version=version)


def query_of(**values: str | int | bool | None) -> str:
    """``?a=b&c=true`` of the values that are set."""
    said = {
        name: ("true" if value is True else value)
        for name, value in values.items()
        if value is not None and value is not False and value != ""
    }
    return "?" + urlencode(said) if said else ""


def label_selector(labels: Mapping[str, str] | None, always: str = "") -> str:
    """A selector for objects that carry all the labels, and those that ``always`` asks for."""
    said = [f"{key}={value}" for key, value in sorted((labels or {}).items())]
    return ",".join([always, *said] if always else said)


class _Meta(msgspec.Struct, gc=False, omit_defaults=True):
    """ObjectMeta, which is the same for every kind, without managedFields."""

    name: str = ""
    generateName: str | None = None  # noqa: N815 - all as on the wire
    namespace: str | None = None
    uid: str | None = None
    resourceVersion: str | None = None  # noqa: N815
    generation: int | None = None
    creationTimestamp: str | None = None  # noqa: N815
    deletionTimestamp: str | None = None  # noqa: N815
    deletionGracePeriodSeconds: int | None = None  # noqa: N815
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    ownerReferences: list[dict[str, Any]] | None = None  # noqa: N815
    finalizers: list[str] | None = None


class _Custom(msgspec.Struct, gc=False):
    """An object of a kind whose top-level fields are just these: our kinds of OCM's API groups."""

    metadata: _Meta
    spec: msgspec.Raw = msgspec.Raw(_ABSENT)
    status: dict[str, Any] | None = None


class _ClusterJson(msgspec.Struct, gc=False):
    """A ManagedCluster, its status in parts."""

    metadata: _Meta
    spec: msgspec.Raw = msgspec.Raw(_ABSENT)
    status: dict[str, msgspec.Raw] | None = None


class _DecisionStatusJson(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """The whole status of a PlacementDecision, as far as anybody knows."""

    decisions: list[msgspec.Raw]


class _DecisionJson(msgspec.Struct, gc=False):
    """A PlacementDecision that names clusters."""

    metadata: _Meta
    status: _DecisionStatusJson


class _ListMeta(msgspec.Struct, gc=False):
    resourceVersion: str = ""  # noqa: N815
    continue_: str = msgspec.field(default="", name="continue")


class _Listed(msgspec.Struct, gc=False):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None


class _WatchLine(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


_CUSTOM = msgspec.json.Decoder(_Custom)
_PAGE = msgspec.json.Decoder(_DecisionJson)
_CLUSTER = msgspec.json.Decoder(_ClusterJson)
_PARTS = msgspec.json.Decoder(list[msgspec.Raw])
_LISTED = msgspec.json.Decoder(_Listed)
_LINE = msgspec.json.Decoder(_WatchLine)
_ANY = msgspec.json.Decoder()
_ENCODER = msgspec.json.Encoder()


class Payloads:
    """Specs by their bytes, the least recently seen forgotten first."""

    def __init__(self, most_bytes: int = _KEPT_BYTES) -> None:
        self._kept: dict[bytes, Any] = {}
        self._size, self._most = 0, most_bytes

    def of(self, raw: bytes) -> Any:
        """What the bytes say: the same object as the last time."""
        found = self._kept.pop(raw, _ABSENT)  # null is a payload, too
        if found is _ABSENT:
            found = _ANY.decode(raw)
            self._size += len(raw)
        self._kept[raw] = found
        while self._size > self._most:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._size -= len(oldest)
        return found


class ObjectDecoder:
    """Turns an API server's bytes into objects. Used by one thread."""

    def __init__(self) -> None:
        self._payloads = Payloads()
        self._parts = Payloads(_KEPT_PARTS)

    def object(self, kind: Kind, raw: bytes | msgspec.Raw) -> Obj:
        """One object. Raises: Unavailable where it is none."""
        try:
            if kind is MANAGED_CLUSTER:
                return self._cluster(kind, _CLUSTER.decode(raw))
            if kind is PLACEMENT_DECISION and (page := self._page(kind, raw)) is not None:
                return page
            if kind.group.endswith("open-cluster-management.io") and kind.name in KINDS:
                return self._custom(kind, _CUSTOM.decode(raw))
        except msgspec.ValidationError:
            pass  # an unexpected shape: read as it is
        except _NO_JSON as error:
            raise _no_json(kind, error) from error
        except RecursionError:
            return _plain(kind, raw, read=_too_deep)
        return _plain(kind, raw)

    def _page(self, kind: Kind, raw: bytes | msgspec.Raw) -> Obj | None:
        """A PlacementDecision that names clusters; None for any other."""
        try:
            found = _PAGE.decode(raw)
        except msgspec.ValidationError:
            return None
        entries = [self._parts.of(bytes(entry)) for entry in found.status.decisions]
        return {**_headed(kind, found.metadata), "status": {"decisions": entries}}

    def _cluster(self, kind: Kind, found: _ClusterJson) -> Obj:
        obj = _headed(kind, found.metadata)
        spec = bytes(found.spec)
        if spec != _ABSENT:
            obj["spec"] = self._parts.of(spec)
        if found.status is not None:
            obj["status"] = {name: self._part(bytes(raw)) for name, raw in found.status.items()}
        return obj

    def _part(self, raw: bytes) -> Any:
        """A field of which many objects say the same; of a list, each entry."""
        if raw[:1] != b"[":
            return self._parts.of(raw)
        return [self._parts.of(bytes(entry)) for entry in _PARTS.decode(raw)]

    def _custom(self, kind: Kind, found: _Custom) -> Obj:
        obj = _headed(kind, found.metadata)
        raw = bytes(found.spec)
        if raw != _ABSENT:
            obj["spec"] = self._payloads.of(raw) if kind is MANIFEST_WORK else _ANY.decode(raw)
        if found.status is not None:
            obj["status"] = found.status
        return obj

    def page(self, kind: Kind, raw: bytes) -> "ListPage":
        """One page of a list. Raises: Unavailable where it is none."""
        try:
            listed = _listed(raw)
        except _NO_JSON as error:
            raise Unavailable(f"list {kind.plural}: the server sent no list: {error}") from error
        return ListPage(self, kind, listed)

    def line(self, kind: Kind, raw: bytes) -> "Event | int | bytes":
        """One line of a watch: an event, the version of a bookmark, or the Status of an ERROR.

        Raises: Unavailable where it is none of these.
        """
        try:
            line = _line(raw)
        except _NO_JSON as error:
            raise Unavailable(f"watch {kind.plural}: a line is not an event: {error}") from error
        if line.type == "ERROR":
            return bytes(line.object)
        obj = self.object(kind, line.object)
        version = version_number(obj["metadata"].get("resourceVersion"))
        if line.type == "BOOKMARK":
            return version
        try:
            change = Change(line.type)
            return Event(ref_of(kind, obj), change, obj, version)
        except (ValueError, KeyError) as error:
            raise Unavailable(f"watch {kind.plural}: no such event: {error}") from error


def _listed(raw: bytes) -> _Listed:
    """One page; of what is nested too deeply for the decoder, too, each object is found."""
    try:
        return _LISTED.decode(raw)
    except RecursionError:
        said = fields_of(raw)
        meta = msgspec.json.decode(_text(said, "metadata"), type=_ListMeta)
        items = [msgspec.Raw(item) for item in items_of(_text(said, "items"))]
        return _Listed(metadata=meta, items=items)


def _line(raw: bytes) -> _WatchLine:
    """One line of a watch, as `_listed`."""
    try:
        return _LINE.decode(raw)
    except RecursionError:
        said = fields_of(raw)
        return _WatchLine(type=str(said.get("type")), object=msgspec.Raw(_text(said, "object")))


def _text(said: Mapping[str, Any], name: str) -> bytes:
    """Raises: msgspec.DecodeError where the field is neither a list nor an object."""
    found = said.get(name)
    if not isinstance(found, bytes):
        raise msgspec.DecodeError(f"there is no {name}")
    return found


class ListPage:
    """One page of a list: the list's version, the token of the next page or "", and its objects, which
    are decoded when they are asked for. What decodes them raises Unavailable for one that is none.
    """

    def __init__(self, reader: ObjectDecoder, kind: Kind, listed: _Listed) -> None:
        self._reader, self._kind, self._items = reader, kind, listed.items or []
        self.version = version_number(listed.metadata.resourceVersion)
        self.token = listed.metadata.continue_

    def slices(self) -> Iterator[list[Obj]]:
        """Some objects at a time, so that who decodes them can do something else in between."""
        for at in range(0, len(self._items), _SLICE):
            yield [self._reader.object(self._kind, item) for item in self._items[at : at + _SLICE]]

    def objects(self) -> list[Obj]:
        """All of them."""
        return [obj for some in self.slices() for obj in some]


def _headed(kind: Kind, meta: _Meta) -> Obj:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {name: said for name, said in asdict(meta).items() if said is not None},
    }


def _no_json(kind: Kind, error: Exception) -> Unavailable:
    return Unavailable(f"read a {kind.name}: the server sent no JSON: {error}")


def _too_deep(raw: bytes | msgspec.Raw) -> Obj:
    return stand_in(bytes(raw))


_WRITERS_TOLD = (ROLLOUT_RECORD, ROLLOUT_REVISION, ROLLOUT_ANALYSIS_RUN)
"""Kinds of which people are told who wrote them, where that was not us."""


def _plain(
    kind: Kind,
    raw: bytes | msgspec.Raw,
    read: Callable[[bytes | msgspec.Raw], Any] = _ANY.decode,
) -> Obj:
    try:
        obj = read(raw)
    except RecursionError:
        return _plain(kind, raw, read=_too_deep)
    except _NO_JSON as error:
        raise _no_json(kind, error) from error
    if not isinstance(obj, dict) or not isinstance(obj.get("metadata"), dict):
        raise Unavailable(f"read a {kind.name}: the server sent no object")
    if kind not in _WRITERS_TOLD:
        obj["metadata"].pop("managedFields", None)
    if kind.version:
        obj.update(apiVersion=kind.api_version, kind=kind.name)  # items of a list do not say it
    return obj


def version_number(said: object) -> int:
    """A resourceVersion as a number. Raises: Unavailable where it is none."""
    if not isinstance(said, str) or not (said.isascii() and said.isdigit()):
        raise Unavailable(f"read a resourceVersion: {said!r} is not a number")
    return int(said)


def encode(obj: object) -> bytes:
    return _ENCODER.encode(obj)


def named(ref: Ref, obj: Obj) -> Obj:
    """``obj`` with the identity that ``ref`` says, as a create needs it."""
    meta = {**(obj.get("metadata") or {})}
    if ref.name:
        meta.setdefault("name", ref.name)
    if ref.kind.namespaced:
        meta.setdefault("namespace", ref.namespace)
    return {"apiVersion": ref.kind.api_version, "kind": ref.kind.name, **obj, "metadata": meta}


def precondition(changes: Obj, version: int | None) -> Obj:
    """A merge patch that lands only on ``version``."""
    if version is None:
        return changes
    meta = {**(changes.get("metadata") or {}), "resourceVersion": str(version)}
    return {**changes, "metadata": meta}


def lines_of(tail: bytes, chunk: bytes) -> tuple[list[bytes], bytes]:
    """The whole lines so far, and what is left of the last one."""
    lines = (tail + chunk).split(b"\n") if tail else chunk.split(b"\n")
    left = lines.pop()
    return [line for line in lines if line.strip()], left


def by_key(kind: Kind, items: Iterable[Obj]) -> tuple[Obj, ...]:
    """In the order of keys, each once: a list in pages may tell of an object twice."""
    found = {ref_of(kind, obj).key: obj for obj in items}
    return tuple(obj for _, obj in sorted(found.items()))
