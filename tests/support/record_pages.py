"""The hub as far as a record can tell: its pages, each with a version."""

from rollout.model.kinds import Obj
from rollout.model.writes import Create, Patch
from rollout.planning.plan import Write
from rollout.rollouts.book import RecordBook, Shelf
from rollout.rollouts.record import Record, page_of, read_record


class Pages:
    """Pages by their number."""

    def __init__(self) -> None:
        self.held: dict[int, Obj] = {}
        self.versions: dict[int, int] = {}
        self._last = 0

    def take(self, write: Write) -> int:
        """Accept the write; raises where a precondition fails. Returns the page."""
        found = page_of(write.ref)
        assert found is not None
        number = found[1]
        if isinstance(write, Create):
            assert number not in self.held
            self.held[number] = write.obj
        else:
            assert isinstance(write, Patch)
            assert write.version == self.versions[number]
            data = {**self.held[number]["data"], **write.changes["data"]}
            self.held[number] = {**self.held[number], "data": data}
        self._last += 1
        self.versions[number] = self._last
        return number

    def tell(self, book: RecordBook, number: int) -> None:
        """The watch event for a page."""
        obj = self.held.get(number)
        book.seen(number, obj["data"] if obj else None, self.versions[number] if obj else None)

    def flush(self, book: RecordBook) -> list[int]:
        """Take all writes and tell the book; the pages written."""
        written = [self.take(write) for write in book.writes()]
        for number in written:
            self.tell(book, number)
        return written

    def open(self, book: RecordBook) -> Record:
        """Let a new book take over what is held, as another process would."""
        record = read_record(self.held.values())
        stored = {n: (obj["data"], self.versions[n]) for n, obj in self.held.items()}
        book.load(Shelf(record, stored))
        return record
