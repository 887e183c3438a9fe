"""The pages of a record as text, and which of them differ from what the hub has.

A page is rendered when it is to be written, and of its lines those that have changed since: a pass costs
what it changed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from rollout.model.kinds import Obj, Ref
from rollout.model.writes import Create, Delete, Patch
from rollout.rollouts.head import Head
from rollout.rollouts.line import Line
from rollout.rollouts.record import (
    CLUSTERS,
    HEAD,
    PAGE_SIZE,
    Record,
    head_text,
    line_text,
    page_object,
    page_ref,
    page_text,
    record_id,
)


@dataclass(frozen=True, slots=True)
class Shelf:
    """A record as the hub holds it. ``stored`` are data and version of its pages; ``left`` are uids of
    pages that bear its names and belong to an earlier object of the workload's name.
    """

    record: Record
    stored: Mapping[int, tuple[Obj, int]]
    left: Mapping[int, str] = field(default_factory=dict)


class _RecordPage:
    """One page: its lines by cluster, and what the hub was last seen to hold."""

    __slots__ = ("_decided", "_fresh", "_texts", "changed", "rendered", "sent", "stored", "version")

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}  # of each line, in the order of the page
        self._fresh: dict[str, Line] = {}  # those whose text is not up to date
        self._decided: dict[str, tuple[Line, str]] = {}  # those last decided, with their text
        self.changed = False
        self.rendered: Obj | None = None
        self.sent: Obj | None = None  # what was last to be written
        self.stored: Obj | None = None
        self.version: int | None = None  # None: it does not exist

    @property
    def is_full(self) -> bool:
        return len(self._texts) >= PAGE_SIZE

    def put(self, line: Line) -> None:
        self._texts.setdefault(line.cluster, "")
        self._fresh[line.cluster] = line

    def drop(self, cluster: str) -> None:
        del self._texts[cluster]
        self._fresh.pop(cluster, None)

    def texts(self) -> dict[str, str]:
        """The lines as text, by cluster, in the order of the page. Costs the lines that have changed."""
        for cluster, line in self._fresh.items():
            decided, text = self._decided.pop(cluster, (None, ""))
            is_known = decided is not None and decided.is_told_as(line)
            self._texts[cluster] = text if is_known else line_text(line)
        self._fresh.clear()
        return self._texts

    def texts_with(self, decided: Iterable[Line]) -> dict[str, str]:
        """The same with lines that are decided and not yet put. Nearly all are put next, as they are: their
        text is kept until then.
        """
        texts = self.texts().copy()
        self._decided = {line.cluster: (line, line_text(line)) for line in decided}
        texts.update((cluster, text) for cluster, (_, text) in self._decided.items())
        return texts

    @property
    def may_differ(self) -> bool:
        """Whether the hub may hold something else. Cheap: there are many pages, and few that change."""
        return self.changed or self.stored is None or self.stored is not self.rendered


class RecordBook:
    """The written side of one rollout's record."""

    def __init__(self, workload: Ref, placement: str, uid: str, namespace: str = "") -> None:
        self.workload, self.placement, self.uid = workload, placement, uid
        self.namespace = namespace or workload.namespace  # where its pages lie
        self.rid = record_id(workload, placement)
        self._pages: dict[int, _RecordPage] = {0: _RecordPage()}
        self._places: dict[str, int] = {}
        self.head = Head()  # as it was set last (`set_head`)
        self._left: dict[int, str] = {}
        self.edited: dict[str, str] = {}  # pages that somebody else changed -> what was done
        self._roomy = 1  # no page before this one has room; page 0 is the head's alone

    @property
    def place(self) -> tuple[str, str]:
        """Where the record lies: its namespace and its id."""
        return self.namespace, self.rid

    def load(self, shelf: Shelf) -> None:
        """Take over what a read found; nothing is to be written for it."""
        lines, places = shelf.record.lines, shelf.record.places
        self.head = shelf.record.head
        self._left = dict(shelf.left)
        for number, (data, version) in shelf.stored.items():
            page = self._pages.setdefault(number, _RecordPage())
            page.stored, page.version = data, version
            strange = HEAD if number else CLUSTERS  # never written there by us
            own = {k: v for k, v in data.items() if k != strange}
            page.rendered = page.sent = data if strange not in data else own
        for cluster, line in lines.items():
            self._places[cluster] = places[cluster]
            self._pages[places[cluster]].put(line)

    def set_head(self, head: Head) -> None:
        if head != self.head:
            self.head = head
            self._pages[0].changed = True

    def set(self, cluster: str, line: Line | None) -> None:
        """Note what is to be remembered of a cluster from now on; None forgets it."""
        place = self._places.get(cluster)
        if line is None:
            if place is not None:
                del self._places[cluster]
                self._pages[place].drop(cluster)
                self._pages[place].changed = True
                self._roomy = min(self._roomy, place)
            return
        if place is None:
            place = self._places[cluster] = self._room()
        self._pages[place].put(line)
        self._pages[place].changed = True

    def _room(self) -> int:
        number = self._roomy
        while self._pages.setdefault(number, _RecordPage()).is_full:
            number += 1
        self._roomy = number
        return number

    def seen(
        self,
        number: int,
        data: Obj | None,
        version: int | None,
        writer: Callable[[], str] = lambda: "",
    ) -> bool:
        """The hub holds this (None: the page is gone). Returns whether it is not what we wrote: then it
        has to be written again.

        Args:
            writer: says who wrote it, as far as the hub tells; asked where it was not we.
        """
        was_in_the_way = self._left.pop(number, None) is not None
        if data is None and version is None and number not in self._pages:
            return False  # a page of an earlier object has gone, and none is needed there
        page = self._pages.setdefault(number, _RecordPage())
        was_there = page.stored is not None
        page.stored, page.version = data, version
        if data is None:
            if was_there and not was_in_the_way:
                self.edited[self._name(number)] = "was deleted"
            return True
        if data == page.rendered:
            page.stored = page.rendered  # the same text, kept once
        ours = [each for each in (page.rendered, page.sent) if each is not None]
        if any(_says(data) == _says(each) for each in ours):
            if self.edited:
                self.edited.pop(self._name(number), None)
            return False
        self.edited[self._name(number)] = f"was changed by {writer() or 'somebody'}"
        return True

    def _name(self, number: int) -> str:
        return page_ref(self.namespace, self.rid, number).name

    def left_behind(self, number: int, uid: str, writer: str = "") -> None:
        """The hub holds a page there that this workload does not own: it says nothing, and is in the way."""
        self._left[number] = uid
        page = self._pages.get(number)
        if page is None:
            return
        if page.stored is not None:
            self.edited[self._name(number)] = (
                f"was taken away from its workload by {writer or 'somebody'}"
            )
        page.stored = page.version = None

    def leftovers(self) -> list[Delete]:
        """What clears the way for pages that are to be created; to land before `writes`.

        The garbage collector would do it too, in its own time, and until then nothing could be
        written down, hence nothing be touched.
        """
        return [
            Delete(page_ref(self.namespace, self.rid, number), uid)
            for number, uid in sorted(self._left.items())
            if number in self._pages
        ]

    def differing(self) -> frozenset[int]:
        """The pages of which the hub may hold another text than is due: `writes` compares these alone."""
        return frozenset(number for number, page in self._pages.items() if page.may_differ)

    def writes(self, head: Head | None = None, lines: Iterable[Line] = ()) -> list[Create | Patch]:
        """What brings the hub's pages up to date, by page number.

        Args:
            head, lines: what is decided now and not yet taken: it is written before anything follows
                from it. None: the head as it is.
        """
        others: dict[int, list[Line]] = {}
        for line in lines:
            place = self._places.get(line.cluster)
            number = self._room() if place is None else place
            others.setdefault(number, []).append(line)
        if head is not None and head != self.head:
            others.setdefault(0, [])
        pages = [(number, self._pages[number]) for number in sorted(self.differing().union(others))]
        found = [
            self._write(number, page, self._data(number, page, head, others.get(number)))
            for number, page in pages
        ]
        return [write for write in found if write is not None]

    def _data(
        self, number: int, page: _RecordPage, head: Head | None, decided: Iterable[Line] | None
    ) -> Obj:
        """The page as it is to be. Rendered once for as long as nothing on it changes."""
        if decided is not None:
            return _rendered(page.texts_with(decided), None if number else head or self.head)
        if page.changed or page.rendered is None:
            page.rendered = _rendered(page.texts(), None if number else self.head)
            page.changed = False
        return page.rendered

    def _write(self, number: int, page: _RecordPage, data: Obj) -> Create | Patch | None:
        if page.stored is not None and _says(data) == _says(page.stored):
            if data is page.rendered and data == page.stored:
                page.rendered = page.stored  # the same text, kept once, and not compared again
            return None  # keys that nobody here reads are left alone
        ref = page_ref(self.namespace, self.rid, number)
        if page.version is not None:
            strange = _says(page.stored or {}).keys() - data.keys()
            return Patch(ref, {"data": {**dict.fromkeys(sorted(strange)), **data}}, page.version)
        obj = page_object(
            self.rid,
            self.workload,
            self.uid,
            self.placement,
            page=number,
            data=data,
            namespace=self.namespace,
        )
        return Create(ref, obj)

    def sends(self, number: int, data: Obj) -> None:
        """A write of this page goes out."""
        self._pages.setdefault(number, _RecordPage()).sent = data


def _says(data: Obj) -> Obj:
    """What a reader finds in the data of a page; other keys say nothing."""
    return {key: data[key] for key in (HEAD, CLUSTERS) if key in data}


def _rendered(lines: Mapping[str, str], head: Head | None) -> Obj:
    """The data of one page; ``head`` where it is the first."""
    if head is not None and not lines:
        return {HEAD: head_text(head)}
    data = {CLUSTERS: page_text(lines.values())}
    if head is not None:
        data[HEAD] = head_text(head)
    return data
