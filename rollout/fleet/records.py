"""What has been written down of rollouts: record pages and kept revisions, as the hub holds them?"""

from collections.abc import Container, Mapping
from typing import NamedTuple

from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    REPLICA_SET,
    ROLLOUT_RECORD,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.ownership import belongs_to
from rollout.planning.revisions import Revision, read_revision
from rollout.rollouts.book import RecordBook, Shelf
from rollout.rollouts.record import page_of, read_record, record_id

Place = tuple[str, str]
"""Namespace and id of a record."""


class Page(NamedTuple):
    """Where a page belongs: the key of its workload, its placement, the record's id, its number."""

    workload: str
    placement: str
    record: str
    number: int


class Records:
    """Pages by record, revisions by workload. Fed by the fleet, event by event.

    Args:
        home: the namespace for records of workloads that are in none.
    """

    def __init__(self, home: str) -> None:
        self._home = home
        self._pages: dict[Place, dict[int, Obj]] = {}
        self._placements: dict[str, dict[Place, str]] = {}  # workload -> where -> placement
        self._revisions: dict[str, dict[Ref, Revision]] = {}  # workload -> its revisions
        self._owners: dict[Ref, str] = {}  # revision -> workload
        self._occupied: dict[Ref, str] = {}  # a name of a revision -> uid of what is none there

    def take_page(self, event: Event) -> Page | None:
        """Take in a RolloutRecord; None where its name, its place and what it says of itself do not
        agree: then nothing is kept of it.
        """
        named = page_of(event.ref)
        notes = event.obj["metadata"].get("annotations") or {}
        if event.change is Change.DELETED and named is not None:
            notes = self._known(event.ref.namespace, *named) or notes
        owner, placement = notes.get(names.OWNER, ""), notes.get(names.RECORD_PLACEMENT, "")
        if named is None or not owner:
            return None
        rid, number = named
        where = (event.ref.namespace, rid)
        if where != self.place_of(_workload(owner), placement):
            return None
        if event.change is Change.DELETED:
            self._drop(owner, where, number)
        else:
            self._pages.setdefault(where, {})[number] = event.obj
            self._placements.setdefault(owner, {})[where] = placement
        return Page(owner, placement, rid, number)

    def _known(self, namespace: str, rid: str, number: int) -> Mapping[str, str]:
        """What a page said of itself; an event of its end may not."""
        page = self._pages.get((namespace, rid), {}).get(number)
        return (page["metadata"].get("annotations") or {}) if page is not None else {}

    def _drop(self, owner: str, where: Place, number: int) -> None:
        """Forget a page, and the record and the workload with the last one."""
        pages = self._pages.get(where, {})
        pages.pop(number, None)
        if pages:
            return
        self._pages.pop(where, None)
        places = self._placements.get(owner, {})
        places.pop(where, None)
        if not places:
            self._placements.pop(owner, None)

    def take_revision(self, event: Event) -> str:
        """Take in a RolloutRevision. Returns: the workload that has lost a template by it, "" where
        none has.
        """
        ref = event.ref
        before = self._owners.pop(ref, "")
        if before:
            self._revisions[before].pop(ref)
            if not self._revisions[before]:
                del self._revisions[before]
        self._occupied.pop(ref, None)
        if event.change is Change.DELETED:
            return before
        revision = read_revision(event.obj)
        if revision is None:
            self._occupied[ref] = uid_of(event.obj)
            return before
        self._owners[ref] = revision.owner
        self._revisions.setdefault(revision.owner, {})[ref] = revision
        return ""

    def owner_of(self, revision: Ref) -> str:
        """The workload of a RolloutRevision; "" where it is not known."""
        return self._owners.get(revision, "")

    def revisions(self, workload: str, uid: str) -> Mapping[str, Revision]:
        """The templates of this very workload, by content."""
        known = self._revisions.get(workload, {}).values()
        return {revision.content: revision for revision in known if revision.owner_uid == uid}

    def occupant(self, revision: Ref, uid: str) -> str:
        """The uid of an object that has this name and is no template of the workload with this ``uid``;
        "" where there is none.
        """
        known = self._revisions.get(self._owners.get(revision, ""), {}).get(revision)
        if known is not None and known.owner_uid != uid:
            return known.uid
        return self._occupied.get(revision, "")

    def read(self, workload: Ref, placement: str, uid: str) -> Shelf:
        """A record as the hub holds it. Pages that the workload with this ``uid`` does not own, such as
        those of an earlier object of its name, say nothing.
        """
        held = self._pages.get(self.place_of(workload, placement), {})
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
            (ref_of(ROLLOUT_RECORD, page), uid_of(page))
            for where, placement in sorted(self._placements.get(workload, {}).items())
            if placement not in kept
            for _, page in sorted(self._pages.get(where, {}).items())
        ]

    def place_of(self, workload: Ref, placement: str) -> Place:
        """A record lies beside its workload; that of an add-on, which is in no namespace, at home."""
        return workload.namespace or self._home, record_id(workload, placement)


def _workload(owner: str) -> Ref:
    """A ManifestWorkReplicaSet by its namespace and name, an add-on by its name."""
    return Ref(REPLICA_SET if "/" in owner else CLUSTER_MANAGEMENT_ADDON, owner)


def uid_of(obj: Obj) -> str:
    return str(obj["metadata"].get("uid", ""))


def writer_of(obj: Obj) -> str:
    """Who wrote an object last, as its managedFields tell; "" where it has none."""
    entries = [e for e in obj["metadata"].get("managedFields") or () if isinstance(e, dict)]
    last = max(entries, key=lambda entry: str(entry.get("time") or ""), default={})
    return str(last.get("manager") or "")


def is_other(book: RecordBook, number: int, event: Event) -> bool:
    """Take in an event of a page; whether the page is not as it was written here."""
    if event.change is Change.DELETED:
        return book.seen(number, None, None)
    if not belongs_to(event.obj, book.uid):
        book.left_behind(number, uid_of(event.obj))
        return True
    data = event.obj.get("data") or {}
    return book.seen(number, data, event.version, writer_of(event.obj))
