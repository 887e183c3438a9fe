"""Keeps record pages and kept revisions as the hub holds them."""

from collections.abc import Collection, Container, Iterable, Mapping
from typing import NamedTuple, TypeVar

from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    ROLLOUT_RECORD,
    WORKLOADS,
    Kind,
    Obj,
    Ref,
    ref_of,
    workloads_called,
)
from rollout.model.ownership import belongs_to, writer_of
from rollout.planning.revisions import Occupant, Revision, read_revision, revision_ref, spec_kept
from rollout.rollouts.book import RecordBook, Shelf
from rollout.rollouts.record import page_of, read_record, record_id

K = TypeVar("K")
L = TypeVar("L")
V = TypeVar("V")
RecordPlace = tuple[str, str]
"""Namespace and id of a record."""


class Page(NamedTuple):
    """What has the name of a page: where its record lies, its number, and what it says of itself.

    ``workload`` is None where that does not agree with its name and its place: then it is no page, and in
    the way of the one that has this name.
    """

    where: RecordPlace
    number: int
    workload: Ref | None = None
    placement: str = ""


class _ContentCheck(NamedTuple):
    """Whether a rendered content, put into this very base, is what its name says."""

    content: Revision
    base: Revision
    is_sound: bool


class Records:
    """Pages by record, revisions by workload. Fed by the fleet, event by event.

    Args:
        home: the namespace for records of workloads that are in none.
        kinds: of workloads that have records.
    """

    def __init__(self, home: str, kinds: Iterable[Kind] = WORKLOADS) -> None:
        self._home, self._kinds = home, tuple(kinds)
        self._pages: dict[RecordPlace, dict[int, Obj]] = {}
        self._strange: dict[
            RecordPlace, dict[int, str]
        ] = {}  # what has the name of a page and is none -> uid
        self._placements: dict[Ref, dict[RecordPlace, str]] = {}  # workload -> where -> placement
        self._revisions: dict[Ref, dict[Ref, Revision]] = {}  # workload -> its revisions
        self._owners: dict[Ref, Ref] = {}  # revision -> workload
        self._occupied: dict[Ref, Occupant] = {}  # a name of a revision -> what is none there
        self._checked: dict[Ref, _ContentCheck] = {}  # of rendered contents
        self._edited: dict[Ref, Revision] = {}  # what somebody changed, as it was before
        self._sound: dict[tuple[Ref, str], dict[str, Revision]] = {}  # what `revisions` found last

    def take_page(self, event: Event) -> Page | None:
        """Take in a RolloutRecord; None where it does not have the name of a page."""
        named = page_of(event.ref)
        if named is None:
            return None
        rid, number = named
        where = (event.ref.namespace, rid)
        notes = event.obj["metadata"].get("annotations") or {}
        if event.change is Change.DELETED:
            notes = self._known(where, number) or notes
        placement = notes.get(names.RECORD_PLACEMENT, "")
        owner = self._owner_at(where, notes.get(names.OWNER, ""), placement)
        is_as_known = event.change is not Change.DELETED and notes == self._known(where, number)
        if not is_as_known or owner is None:  # else it says the same of whose page it is
            self._drop(where, number)
        if event.change is not Change.DELETED and owner is not None:
            self._pages.setdefault(where, {})[number] = event.obj
            self._placements.setdefault(owner, {})[where] = placement
        elif event.change is not Change.DELETED:
            self._strange.setdefault(where, {})[number] = uid_of(event.obj)
        return Page(where, number, owner, placement)

    def _owner_at(self, where: RecordPlace, key: str, placement: str) -> Ref | None:
        """The workload with this key that has its record there; None where none of any kind has."""
        named = workloads_called(key, self._kinds) if key else ()
        return next((each for each in named if self.place_of(each, placement) == where), None)

    def _known(self, where: RecordPlace, number: int) -> Mapping[str, str]:
        """What a page said of itself; an event of its end may not."""
        page = self._pages.get(where, {}).get(number)
        return (page["metadata"].get("annotations") or {}) if page is not None else {}

    def _drop(self, where: RecordPlace, number: int) -> None:
        """Forget a page, and the record and the workload with the last one."""
        _forget(self._strange, where, number)
        page = self._pages.get(where, {}).get(number)
        if page is not None and _forget(self._pages, where, number):
            notes = page["metadata"]["annotations"]
            owner = self._owner_at(where, notes[names.OWNER], notes.get(names.RECORD_PLACEMENT, ""))
            if owner is not None:
                _forget(self._placements, owner, where)

    def take_revision(self, event: Event) -> Ref | None:
        """Take in a RolloutRevision. Returns: the workload of which what was kept is gone by it, or may be
        another one now, if any.

        A revision that somebody changed (its number too) is remembered as it was until it is restored.
        """
        ref = event.ref
        self._sound.clear()
        before, known = self._owners.pop(ref, None), self._edited.get(ref)
        if before is not None:
            known = self._revisions[before][ref]
            _forget(self._revisions, before, ref)
        self._occupied.pop(ref, None)
        self._checked.pop(ref, None)
        if event.change is Change.DELETED:
            return before
        revision = read_revision(event.obj, self._kinds)
        if known is not None and _is_edited(known, revision):
            self._edited[ref], revision = known, None
        if revision is None:
            self._occupied[ref] = Occupant(uid_of(event.obj), writer_of(event.obj))
            return before
        self._edited.pop(ref, None)
        self._owners[ref] = revision.owner
        self._revisions.setdefault(revision.owner, {})[ref] = revision
        return before

    def forget_edited(self, workload: Ref) -> None:
        """The workload is gone: nothing of it is put back."""
        self._edited = {r: each for r, each in self._edited.items() if each.owner != workload}
        self._sound.clear()

    def owner_of(self, revision: Ref) -> Ref | None:
        """The workload of a RolloutRevision; None where it is not known."""
        return self._owners.get(revision)

    def revisions(self, workload: Ref, uid: str) -> Mapping[str, Revision]:
        """The templates of this very workload, by content. Those that somebody has altered are as they were
        before, or left out where nobody here knows that.
        """
        if workload not in self._revisions and not self._edited:
            return {}
        found = self._sound.get((workload, uid))
        if found is None:
            found = self._sound[workload, uid] = self._sound_ones(workload, uid)
        return found

    def _sound_ones(self, workload: Ref, uid: str) -> dict[str, Revision]:
        known = self._revisions.get(workload, {})
        if self._edited:
            edited = {ref: each for ref, each in self._edited.items() if each.owner == workload}
            known = {**known, **edited}
        mine = {each.content: each for each in known.values() if each.owner_uid == uid}
        return {
            each.content: each
            for ref, each in known.items()
            if each.owner_uid == uid
            and (not each.base or self._is_sound(ref, each, mine.get(each.base)))
        }

    def edited(self, workload: Ref, uid: str) -> list[Revision]:
        """Those of `revisions` that somebody changed, as they were before: to be put back."""
        if not self._edited:
            return []  # as nearly always
        kept = self.revisions(workload, uid)
        return [each for _, each in sorted(kept.items()) if each in self._edited.values()]

    def _is_sound(self, ref: Ref, kept: Revision, base: Revision | None) -> bool:
        """Whether it is what its name says. Of a rendered content that shows with its base; it is worked out
        once for each object and base, since plans ask often.
        """
        if base is None:
            return True
        known = self._checked.get(ref)
        if known is None or known.content is not kept or known.base is not base:
            spec = spec_kept(kept.content, {kept.content: kept, base.content: base})
            known = self._checked[ref] = _ContentCheck(kept, base, spec is not None)
        return known.is_sound

    def occupant(self, revision: Ref, uid: str) -> Occupant | None:
        """The object that has this name and is no template of the workload with this ``uid``, if any."""
        owner = self._owners.get(revision)
        known = self._revisions[owner].get(revision) if owner is not None else None
        if owner is None or known is None:
            return self._occupied.get(revision)
        if known.owner_uid != uid:
            return Occupant(known.uid)
        base = self._revisions[owner].get(revision_ref(owner, known.base)) if known.base else None
        if base is not None and base.owner_uid != uid:
            base = None
        return None if self._is_sound(revision, known, base) else Occupant(known.uid)

    def read(self, workload: Ref, placement: str, uid: str) -> Shelf:
        """A record as the hub holds it. Pages that the workload with this ``uid`` does not own, such as
        those of an earlier object of its name, say nothing.
        """
        where = self.place_of(workload, placement)
        held = self._pages.get(where, {})
        pages = {n: page for n, page in held.items() if belongs_to(page, uid)}
        stored = {
            number: (page.get("data") or {}, int(page["metadata"]["resourceVersion"]))
            for number, page in pages.items()
        }
        left = {n: uid_of(page) for n, page in held.items() if n not in pages}
        left.update(self._strange.get(where, {}))
        return Shelf(read_record(pages.values()), stored, left)

    def placements(self, workload: Ref) -> Collection[str]:
        """The placements of which there are pages."""
        return self._placements.get(workload, {}).values()

    def abandoned(self, workload: Ref, kept: Container[str]) -> list[tuple[Ref, str]]:
        """Pages (ref, uid) of placements that the workload no longer has."""
        return [
            (ref_of(ROLLOUT_RECORD, page), uid_of(page))
            for where, placement in sorted(self._placements.get(workload, {}).items())
            if placement not in kept
            for _, page in sorted(self._pages.get(where, {}).items())
        ]

    def place_of(self, workload: Ref, placement: str) -> RecordPlace:
        """A record lies beside its workload; that of an add-on, which is in no namespace, at home."""
        return workload.namespace or self._home, record_id(workload, placement)


def _forget(known: dict[K, dict[L, V]], key: K, item: L) -> bool:
    """Take out an item, and what held it with the last one. Whether it was the last."""
    items = known.get(key, {})
    items.pop(item, None)
    return not items and known.pop(key, None) is not None


def _is_edited(before: Revision, now: Revision | None) -> bool:
    """Whether somebody changed it: nobody here writes to one that exists. Another object that can be read
    is judged by itself.
    """
    return now is None or (now.uid == before.uid and now != before)


def uid_of(obj: Obj) -> str:
    return str(obj["metadata"].get("uid", ""))


def is_other(book: RecordBook, page: Page, event: Event) -> bool:
    """Take in an event of a page; whether it is not as it was written here."""
    if event.change is Change.DELETED:
        return book.seen(page.number, None, None)
    if page.workload is None or not belongs_to(event.obj, book.uid):
        book.left_behind(page.number, uid_of(event.obj), writer_of(event.obj))
        return True
    data = event.obj.get("data") or {}
    return book.seen(page.number, data, event.version, lambda: writer_of(event.obj))
