"""What has been written down of rollouts: record pages and kept revisions, as the hub holds them?"""

from collections.abc import Container, Mapping

from rollout.fleet.book import Shelf
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    CONFIG_MAP,
    REPLICA_SET,
    Obj,
    Ref,
    ref_of,
)
from rollout.planning.record import belongs_to, page_of, read_record, record_id
from rollout.planning.revisions import Revision, read_revision

Place = tuple[str, str]
"""Namespace and id of a record."""


class Records:
    """Pages by record, revisions by workload. Fed by the fleet, event by event."""

    def __init__(self) -> None:
        self._pages: dict[Place, dict[int, Obj]] = {}
        self._placements: dict[str, dict[Place, str]] = {}  # workload -> where -> placement
        self._revisions: dict[str, dict[str, Revision]] = {}  # workload -> content -> revision
        self._known: dict[Ref, Revision] = {}

    def take_page(self, event: Event) -> tuple[str, str, str, int] | None:
        """Take in a ConfigMap; returns workload, placement, record id and page, None if not ours.

        What it says of itself counts only where it lies: anybody may call a ConfigMap of their own
        namespace so.
        """
        page = page_of(event.ref)
        if page is None:
            return None
        rid, number = page
        where = (event.ref.namespace, rid)
        held = self._pages.setdefault(where, {})
        if event.change is Change.DELETED:
            obj = held.pop(number, event.obj)
        else:
            obj = held[number] = event.obj
        notes = obj["metadata"].get("annotations") or {}
        owner, placement = notes.get(names.OWNER, ""), notes.get(names.RECORD_PLACEMENT, "")
        if where != place_of(_workload(owner), placement):
            return None
        self._placements.setdefault(owner, {})[where] = placement
        return owner, placement, rid, number

    def take_revision(self, event: Event) -> str:
        """Take in a ControllerRevision; those of others are passed over.

        Returns: the workload that has lost a template by it, "" where none has.
        """
        before = self._known.pop(event.ref, None)
        if before is not None:
            self._revisions[before.owner].pop(before.content, None)
        revision = None if event.change is Change.DELETED else read_revision(event.obj)
        if revision is not None:
            self._known[event.ref] = revision
            self._revisions.setdefault(revision.owner, {})[revision.content] = revision
        return before.owner if before is not None and revision is None else ""

    def owner_of(self, revision: Ref) -> str:
        """The workload of a ControllerRevision of ours; "" of any other."""
        known = self._known.get(revision)
        return known.owner if known is not None else ""

    def revisions(self, workload: str) -> Mapping[str, Revision]:
        return self._revisions.get(workload, {})

    def read(self, workload: Ref, placement: str, uid: str) -> Shelf:
        """A record as the hub holds it.

        Pages of an earlier object of that name, still to be collected, say nothing of this one
        (``uid`` "": of whichever).
        """
        held = self._pages.get(place_of(workload, placement), {})
        pages = {n: page for n, page in held.items() if belongs_to(page, uid)}
        stored = {
            number: (page.get("data") or {}, int(page["metadata"]["resourceVersion"]))
            for number, page in pages.items()
        }
        left = {n: uid_of(page) for n, page in held.items() if n not in pages}
        return Shelf(read_record(pages.values()), stored, left)

    def abandoned(self, workload: str, kept: Container[str]) -> list[tuple[Ref, str]]:
        """Pages (ref, uid) of placements that the workload no longer has."""
        return [
            (ref_of(CONFIG_MAP, page), uid_of(page))
            for where, placement in sorted(self._placements.get(workload, {}).items())
            if placement not in kept
            for _, page in sorted(self._pages.get(where, {}).items())
        ]


def _workload(owner: str) -> Ref:
    """A ManifestWorkReplicaSet by its namespace and name, an add-on by its name."""
    return Ref(REPLICA_SET if "/" in owner else CLUSTER_MANAGEMENT_ADDON, owner)


def place_of(workload: Ref, placement: str) -> Place:
    """A record lies beside its workload; that of an add-on, which is in no namespace, beside its
    placement (``namespace/name``).
    """
    return workload.namespace or placement.partition("/")[0], record_id(workload, placement)


def uid_of(page: Obj) -> str:
    return str(page["metadata"].get("uid", ""))
