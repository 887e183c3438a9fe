"""Creates or updates objects from documents.

Objects are applied in order of dependence, each on its own: a bad document does not stop the good ones,
and a refused write does not stop the next. What changes is found by a three-way merge, as kubectl does for
custom resources: the last applied configuration, kept in an annotation, tells a field that the document no
longer has (it is removed) from one that somebody else has set (it stays). Lists are taken as a whole.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rollout.errors import ConfigError, Gone, HubError
from rollout.hub.base import EmbeddedHub
from rollout.hub.patching import same
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    PLACEMENT,
    WORKLOADS,
    Obj,
    Ref,
    full_name,
)
from rollout.model.names import LAST_APPLIED

if TYPE_CHECKING:
    from rollout.api.file_objects import FileObject

# -- objects in order ----------------------------------------------------------------------------


_FIRST = {
    kind.name: i
    for i, kind in enumerate((CLUSTER_SET, CLUSTER_SET_BINDING, MANAGED_CLUSTER, PLACEMENT))
}


_WORKLOADS = tuple(kind.name for kind in WORKLOADS)


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of one document: a line that says so, or (``failed``) what is wrong with it."""

    line: str
    failed: bool = False


def in_order(documents: Sequence["FileObject"]) -> list["FileObject"]:
    """Sets, bindings, clusters, placements, then the rest, workloads last; else as in the files."""
    return sorted(documents, key=_rank)


def _rank(document: "FileObject") -> int:
    name = document.ref.kind.name if document.ref else ""
    return _FIRST.get(name, len(_FIRST) + (name in _WORKLOADS))


def apply_documents(hub: EmbeddedHub, documents: Sequence["FileObject"]) -> list[Applied]:
    """Apply every good document in one transaction; what is wrong with the others comes last."""
    done: list[Applied] = []
    bad: list[Applied] = []
    with hub.batch():
        for document in in_order(documents):
            if document.ref is None or document.faults:
                bad += [Applied(fault, failed=True) for fault in document.complaints]
                continue
            try:
                outcome = apply_object(hub, document.ref, document.obj)
            except (HubError, ConfigError) as fault:
                bad.append(Applied(f"{document.source}: {fault}", failed=True))
            else:
                done.append(Applied(f"{_name(document.ref)} {outcome}"))
    return done + bad


def _name(ref: Ref) -> str:
    return full_name(ref.kind, ref.name)


def apply_object(hub: EmbeddedHub, ref: Ref, obj: Obj) -> str:
    """Make the stored object say what ``obj`` says: "created", "configured" or "unchanged".

    A status that it carries is written too (a file may hold what agents would report), but not a
    workload's: only the engine may say that a rollout is done.

    Raises: HubError where the hub refuses.
    """
    wanted = configuration(obj)
    try:
        stored = hub.get(ref)
    except Gone:
        stored = hub.create(ref, remembered(wanted))
        outcome, before = "created", stored
    else:
        before = stored
        patch = changes(wanted, stored)
        if patch:
            stored = hub.patch(ref, patch)
        outcome = ""
    status = obj.get("status")
    if isinstance(status, dict) and ref.kind.has_status and ref.kind.name not in _WORKLOADS:
        stored = hub.patch_status(ref, {"status": status})
    if outcome:
        return outcome
    same = stored["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    return "unchanged" if same else "configured"


# -- what has to change --------------------------------------------------------------------------


_SERVERS = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
)


def configuration(obj: Obj) -> Obj:
    """What a file asks for: without the status, and without what only a server can say.

    So an object that was printed can be applied again.
    """
    meta = {k: v for k, v in obj["metadata"].items() if k not in _SERVERS}
    annotations = meta.get("annotations")
    if isinstance(annotations, dict):
        meta["annotations"] = {k: v for k, v in annotations.items() if k != LAST_APPLIED}
    return {**{k: v for k, v in obj.items() if k != "status"}, "metadata": meta}


def remembered(wanted: Obj) -> Obj:
    """The configuration with itself in the annotation, as it is to be stored.

    Annotations that are no map are left as they are, for the hub to refuse.
    """
    meta = wanted["metadata"]
    given = meta.get("annotations")
    if given and not isinstance(given, dict):
        return wanted
    text = json.dumps(wanted, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    annotations = {**(given or {}), LAST_APPLIED: text}
    return {**wanted, "metadata": {**meta, "annotations": annotations}}


def changes(wanted: Obj, stored: Obj) -> Obj:
    """The merge patch from ``stored`` to what a file wants; empty where nothing is to be done.

    Where nothing was applied before, nothing is removed.
    """
    return _merge(_last_applied(stored), remembered(wanted), stored)


def _last_applied(stored: Obj) -> Obj:
    text = (stored["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except ValueError:  # somebody has edited it: then we know as little as if it were not there
        value = None
    return value if isinstance(value, dict) else {}


def _merge(before: Any, wanted: Obj, stored: Any) -> Obj:
    """A merge patch: null for what the file had and has no more, else what differs."""
    before = before if isinstance(before, dict) else {}
    stored = stored if isinstance(stored, dict) else {}
    patch: Obj = {key: None for key in before if key not in wanted and key in stored}
    for key, value in wanted.items():
        if isinstance(value, dict) and isinstance(stored.get(key), dict):
            inner = _merge(before.get(key), value, stored[key])
            if inner:
                patch[key] = inner
        elif value is None:
            if key in stored:
                patch[key] = None
        elif not same(value, stored.get(key)):
            patch[key] = value
    return patch
