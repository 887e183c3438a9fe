"""What does a ManifestWork say? Source: OCM ManifestWork spec 1.

A fleet carries few different payloads, each of which a hub gives out as one object (`hub/kube_objects.py`):
what was hashed lately is not hashed again.
"""

from collections.abc import Mapping

from rollout.api.fields import mapping, strings, text, version_of, whole
from rollout.api.manifest_faults import faults_of
from rollout.model.conditions import read_conditions
from rollout.model.content import content_hash
from rollout.model.instants import parse_instant
from rollout.model.kinds import Obj
from rollout.model.names import OWNER, REVISION, STARTED_AT, WORK_OWNER_LABEL, WORK_PLACEMENT_LABEL
from rollout.model.work import Work

_KEPT = 64  # payloads whose hash is remembered; each entry keeps its payload alive

UNREADABLE = "unreadable"
"""The content of a spec that cannot be hashed: it equals no template's."""


def decode_work(obj: Obj, previous: Work | None = None) -> Work:
    """A ManifestWork from its JSON object.

    Args:
        obj: as a hub stores it; shared, never altered.
        previous: an earlier value of the same object. Its content is reused where uid and
            generation are equal, since a generation changes with the spec.
    """
    meta, spec = mapping(obj.get("metadata")), mapping(obj.get("spec"))
    uid, generation = text(meta.get("uid")), whole(meta.get("generation"))
    same = previous is not None and generation and uid == previous.uid != ""
    if previous is not None and same and generation == previous.generation:
        content = previous.content
    else:
        content = _HASHES.of(spec)
    labels, annotations = strings(meta.get("labels")), strings(meta.get("annotations"))
    started = annotations.get(STARTED_AT)
    status = mapping(obj.get("status"))
    conditions = read_conditions(status.get("conditions"))
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
        faults_of(conditions, status, spec, generation),
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
    """Content of the payloads seen lately. Bounded: forgotten all at once when full."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, tuple[Obj, str]] = {}  # id(spec) -> (the spec, content)

    def of(self, spec: Obj) -> str:
        """Objects are never altered, so the same object has the same content."""
        known = self._known.get(id(spec))
        if known is not None:
            return known[1]
        content = hashed(spec)
        if len(self._known) >= _KEPT:
            self._known.clear()
        self._known[id(spec)] = (spec, content)
        return content


_HASHES = _Hashes()


def hashed(spec: Obj) -> str:
    """`content_hash`, or `UNREADABLE` for what is no JSON or is nested beyond reason."""
    try:
        return content_hash(spec)
    except (TypeError, ValueError, RecursionError):
        return UNREADABLE
