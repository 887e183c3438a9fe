"""Which events are news?"""

import pytest

from rollout.fleet.versions import Versions
from rollout.model.events import Change, Event
from rollout.model.kinds import MANIFEST_WORK, Ref

WORK = Ref(MANIFEST_WORK, "c1/web")


def event(change: Change, version: int) -> Event:
    return Event(WORK, change, {"metadata": {"name": "web", "namespace": "c1"}}, version)


@pytest.mark.parametrize(
    ("seen", "change", "version", "is_news"),
    [
        ([], Change.ADDED, 5, True),
        ([(Change.ADDED, 5)], Change.MODIFIED, 6, True),
        ([(Change.ADDED, 5)], Change.MODIFIED, 5, False),
        ([(Change.ADDED, 5)], Change.MODIFIED, 4, False),
        ([(Change.ADDED, 5)], Change.DELETED, 6, True),
        ([(Change.ADDED, 5)], Change.DELETED, 5, False),
        ([(Change.ADDED, 5), (Change.DELETED, 6)], Change.MODIFIED, 5, False),
        ([(Change.ADDED, 5), (Change.DELETED, 6)], Change.DELETED, 6, False),
        ([(Change.ADDED, 5), (Change.DELETED, 6)], Change.ADDED, 7, True),
        # The answer to the write that took the last finalizer off has the version of the deletion.
        ([(Change.ADDED, 5), (Change.DELETED, 6)], Change.MODIFIED, 6, False),
    ],
)
def test_an_event_is_news_where_it_is_newer(
    seen: list[tuple[Change, int]], change: Change, version: int, is_news: bool
) -> None:
    versions = Versions()
    for each in seen:
        versions.take(event(*each))

    assert versions.take(event(change, version)) is is_news


@pytest.mark.parametrize(("read", "is_news"), [(6, True), (5, False)])
def test_what_a_read_shows_to_be_there_had_left_the_selector_of_a_watch(
    read: int, is_news: bool
) -> None:
    versions = Versions()
    for each in ((Change.ADDED, 5), (Change.DELETED, 6)):
        versions.take(event(*each))
    versions.found(WORK, read)

    assert versions.take(event(Change.MODIFIED, read)) is is_news
    assert versions.exists(WORK) is is_news
    assert versions.known(MANIFEST_WORK) == ({WORK} if is_news else set())
