"""Which pages of a record are written, and when they are written again."""

import json
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from rollout.model.kinds import REPLICA_SET, Ref
from rollout.model.writes import Create, Delete, Patch
from rollout.rollouts.book import RecordBook
from rollout.rollouts.head import Head
from rollout.rollouts.line import Line
from rollout.rollouts.record import CLUSTERS, HEAD, PAGE_SIZE, page_of, read_record
from rollout.strategies.base import Health, Standing
from tests.support.fleets import T0
from tests.support.record_pages import Pages

WORKLOAD = Ref(REPLICA_SET, "apps/web")
THREE_PAGES = 2 * PAGE_SIZE + 1


def name(n: int) -> str:
    return f"c{n:05}"


def line(n: int, health: Health = Health.SILENT) -> Line:
    known = Standing(name(n), "r", touched=T0 + timedelta(seconds=n), health=health, since=T0)
    return Line(cluster=name(n), standing=known)


def new_book() -> RecordBook:
    return RecordBook(WORKLOAD, "global", "uid-1")


def reopened(hub: Pages) -> RecordBook:
    book = new_book()
    hub.open(book)
    return book


def filled(count: int) -> tuple[RecordBook, Pages]:
    book, hub = new_book(), Pages()
    for n in range(count):
        book.set(name(n), line(n))
    hub.flush(book)
    return book, hub


def test_a_new_record_is_created_with_a_head_and_no_clusters() -> None:
    [write] = new_book().writes()

    assert isinstance(write, Create)
    assert set(write.obj["data"]) == {HEAD}
    assert json.loads(write.obj["data"][HEAD])["revision"] == ""


def test_clusters_fill_one_page_after_the_other() -> None:
    _, hub = filled(THREE_PAGES)

    sizes = [len(json.loads(hub.held[n]["data"][CLUSTERS])) for n in (1, 2, 3)]
    assert sizes == [PAGE_SIZE, PAGE_SIZE, 1]
    assert [HEAD in hub.held[n]["data"] for n in range(4)] == [True, False, False, False]


def test_what_has_landed_is_not_written_again() -> None:
    book, hub = filled(THREE_PAGES)

    assert book.writes() == []
    assert hub.flush(book) == []


def test_a_decision_that_lands_before_it_is_taken_is_compared_once_more_and_then_no_longer() -> (
    None
):
    book, hub = filled(THREE_PAGES)
    decided = line(1, Health.SUCCEEDED)

    for write in book.writes(lines=[decided]):
        hub.tell(book, hub.take(write))
    book.set(decided.cluster, decided)

    assert book.differing() == {1}
    assert book.writes() == []
    assert book.differing() == set()


def test_a_line_that_is_put_otherwise_than_it_was_decided_is_written_as_it_was_put() -> None:
    book, hub = filled(3)
    book.writes(lines=[line(1, Health.SUCCEEDED), line(2, Health.SUCCEEDED)])

    book.set(name(1), line(1, Health.FAILED))
    book.set(name(2), line(2, Health.SUCCEEDED))
    hub.flush(book)

    written = read_record(hub.held.values()).lines
    assert written[name(1)] == line(1, Health.FAILED)
    assert written[name(2)] == line(2, Health.SUCCEEDED)


def test_only_the_page_of_a_changed_cluster_is_written() -> None:
    book, hub = filled(THREE_PAGES)

    book.set(name(PAGE_SIZE), line(PAGE_SIZE, Health.SUCCEEDED))

    assert hub.flush(book) == [2]


def test_a_line_that_says_the_same_is_no_change() -> None:
    book, _ = filled(3)

    book.set(name(1), line(1))
    book.set_head(Head())
    book.set("never-known", None)

    assert book.writes() == []


def test_a_changed_head_writes_the_first_page_alone() -> None:
    book, hub = filled(THREE_PAGES)

    book.set_head(Head("r2"))

    assert hub.flush(book) == [0]
    assert book.head == Head("r2")


def test_a_change_taken_back_before_it_was_written_is_no_write() -> None:
    book, _ = filled(3)

    book.set(name(1), line(1, Health.FAILED))
    book.set(name(1), line(1))

    assert book.writes() == []


def test_a_write_that_failed_is_written_again() -> None:
    book, hub = filled(3)
    book.set(name(1), line(1, Health.SUCCEEDED))

    lost = book.writes()
    again = book.writes()

    assert lost == again
    assert hub.flush(book) == [1]


def test_a_creation_that_failed_is_tried_again() -> None:
    book = new_book()

    assert book.writes() == book.writes()


def test_a_page_that_somebody_changed_or_deleted_is_put_right() -> None:
    book, hub = filled(THREE_PAGES)
    wanted = hub.held[1]["data"]

    hub.held[1] = {**hub.held[1], "data": {CLUSTERS: "{}"}}
    hub.tell(book, 1)
    assert hub.flush(book) == [1]
    assert hub.held[1]["data"] == wanted

    del hub.held[1]
    hub.tell(book, 1)
    [write] = book.writes()
    assert isinstance(write, Create)
    assert write.obj["data"] == wanted


def test_a_page_that_turns_out_to_be_of_an_earlier_owner_is_replaced_and_not_written_to() -> None:
    book, hub = filled(1)
    hub.tell(book, 1)

    book.left_behind(1, "uid-0")
    [clear], [write] = book.leftovers(), book.writes()

    assert isinstance(clear, Delete)
    assert isinstance(write, Create)
    assert (clear.ref, clear.uid) == (write.ref, "uid-0")
    hub.tell(book, 1)
    assert (book.leftovers(), book.writes()) == ([], [])


def test_a_page_of_an_earlier_owner_that_is_collected_is_not_made_anew() -> None:
    book, hub = filled(1)
    hub.tell(book, 1)

    book.left_behind(7, "uid-0")
    assert book.leftovers() == []  # nothing of ours is to stand there
    book.seen(7, None, None)

    assert book.writes() == []


def test_a_key_that_somebody_added_to_a_page_is_left_alone() -> None:
    """Row 24. Otherwise the page would be written in every pass, and never be right."""
    book, hub = filled(3)

    hub.held[1] = {**hub.held[1], "data": {**hub.held[1]["data"], "note": "mine"}}
    hub.tell(book, 1)

    assert book.writes() == []
    book.set(name(1), line(1, Health.SUCCEEDED))
    assert hub.flush(book) == [1]
    assert hub.held[1]["data"]["note"] == "mine"
    assert book.writes() == []
    assert reopened(hub).writes() == []


def test_a_write_carries_the_version_that_it_replaces() -> None:
    book, hub = filled(3)
    book.set(name(0), None)

    [write] = book.writes()

    assert isinstance(write, Patch)
    assert write.version == hub.versions[1]


def test_room_that_a_cluster_leaves_is_taken_by_the_next() -> None:
    """R8: pages stay as few as the clusters need, whatever comes and goes."""
    book, hub = filled(THREE_PAGES)

    for n in range(100):
        book.set(name(n), None)
        book.set(name(90_000 + n), line(90_000 + n))
    assert set(hub.flush(book)) == {1}

    book.set(name(PAGE_SIZE), None)
    book.set(name(5), line(5))
    assert hub.flush(book) == [2]
    assert len(hub.held) == 4


def test_a_book_read_back_has_nothing_to_write_and_goes_on_where_it_was() -> None:
    _, hub = filled(THREE_PAGES)

    book = reopened(hub)

    assert book.writes() == []
    book.set(name(0), line(0, Health.FAILED))
    book.set("new", line(1))
    assert hub.flush(book) == [1, 3]


def test_a_book_read_back_without_its_first_page_writes_that_page_anew() -> None:
    _, hub = filled(THREE_PAGES)
    del hub.held[0]

    book = reopened(hub)

    [write] = book.writes()
    assert isinstance(write, Create)
    assert page_of(write.ref) == (book.rid, 0)
    assert hub.flush(book) == [0]


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 12), st.sampled_from([None, *Health]), st.booleans(), st.booleans()
        ),
        max_size=40,
    )
)
def test_after_any_history_the_hub_holds_what_the_book_says(
    history: list[tuple[int, Health | None, bool, bool]],
) -> None:
    """Clusters come, change and go; writes are taken or lost, their events come or not."""
    book, hub = new_book(), Pages()
    wanted: dict[str, Line] = {}
    for n, health, lands, heard in history:
        if health is None:
            wanted.pop(name(n), None)
            book.set(name(n), None)
        else:
            wanted[name(n)] = line(n, health)
            book.set(name(n), line(n, health))
        for write in book.writes() if lands else ():
            number = hub.take(write)
            if heard:
                hub.tell(book, number)
        for number in hub.held:
            hub.tell(book, number)
    hub.flush(book)

    assert book.writes() == []
    assert read_record(hub.held.values()).lines == wanted
