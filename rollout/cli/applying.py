"""How does a file become stored objects? In order of dependence, each object on its own.

A bad document does not stop the good ones, and a refused write does not stop the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rollout.cli.documents import Document
from rollout.cli.merging import changes, configuration, remembered
from rollout.cli.tables import full_name
from rollout.errors import ConfigError, Gone, HubError
from rollout.hub.base import EmbeddedHub
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    PLACEMENT,
    REPLICA_SET,
    Obj,
    Ref,
)

_FIRST = {
    kind.name: i
    for i, kind in enumerate((CLUSTER_SET, CLUSTER_SET_BINDING, MANAGED_CLUSTER, PLACEMENT))
}


_WORKLOADS = (REPLICA_SET.name, CLUSTER_MANAGEMENT_ADDON.name)


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of one document: a line to print, or (``failed``) one to complain with."""

    line: str
    failed: bool = False


def in_order(documents: Sequence[Document]) -> list[Document]:
    """Sets, bindings, clusters, placements, then the rest, workloads last; else as in the files."""
    return sorted(documents, key=_rank)


def _rank(document: Document) -> int:
    name = document.ref.kind.name if document.ref else ""
    return _FIRST.get(name, len(_FIRST) + (name in _WORKLOADS))


def apply_documents(hub: EmbeddedHub, documents: Sequence[Document]) -> list[Applied]:
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
