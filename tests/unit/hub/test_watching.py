"""One kind, listed and watched, and listed again where events may be missing."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from rollout.clock import VirtualClock
from rollout.errors import Expired, Unavailable
from rollout.hub.base import EventSink, Expire, Listing
from rollout.hub.memory import MemoryHub
from rollout.hub.watching import ListWatch
from rollout.model.events import Change, Event
from rollout.model.kinds import CONFIG_MAP, Kind, Obj, Ref

A, B, C = (Ref(CONFIG_MAP, f"ns/{name}") for name in "abc")


class Hub(MemoryHub):
    """Its history is too short for the next ``too_late`` watches; it lists nothing while it is down."""

    too_late = 0
    is_down = False

    def list(self, kind: Kind, *args: object, **more: object) -> Listing:
        if self.is_down:
            raise Unavailable("nobody answers")
        return super().list(kind, *args, **more)  # type: ignore[arg-type]  # passed on

    def watch(
        self, kind: Kind, since: int, sink: EventSink, expired: Expire | None = None
    ) -> Callable[[], None]:
        if self.too_late:
            self.too_late -= 1
            raise Expired("list again")
        return super().watch(kind, since, sink, expired)


@pytest.fixture
def hub() -> Hub:
    hub = Hub(VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)))
    for ref in (A, B):
        hub.create(ref, document())
    return hub


def document() -> Obj:
    return {"metadata": {}}


def watch_of(hub: Hub) -> tuple[ListWatch, list[Ref]]:
    heard: list[Ref] = []
    return ListWatch(hub, CONFIG_MAP, lambda event: heard.append(event.ref), lambda: None), heard


def said(events: list[Event]) -> list[tuple[Ref, Change]]:
    return [(event.ref, event.change) for event in events]


def test_what_is_listed_is_there_and_what_was_known_and_is_not_listed_was_deleted(
    hub: Hub,
) -> None:
    watch, _ = watch_of(hub)

    events = list(watch.again(known=[B, C]))

    assert said(events) == [(A, Change.ADDED), (B, Change.ADDED), (C, Change.DELETED)]
    assert events[2].version == hub.list(CONFIG_MAP).version


def test_after_the_list_each_event_is_told_once_however_often_it_was_listed(hub: Hub) -> None:
    watch, heard = watch_of(hub)
    for _ in range(3):
        watch.again()
    hub.create(C, document())

    assert heard == [C]


def test_where_others_write_more_than_the_history_holds_it_is_listed_again(hub: Hub) -> None:
    watch, heard = watch_of(hub)
    hub.too_late = 2

    assert len(list(watch.again())) == 2
    hub.create(C, document())
    assert heard == [C]


def test_a_list_that_fails_leaves_the_watch_that_there_is(hub: Hub) -> None:
    watch, heard = watch_of(hub)
    watch.again()
    hub.is_down = True
    with pytest.raises(Unavailable):
        watch.again()
    hub.create(C, document())

    assert heard == [C]


def test_a_watch_that_was_ended_hears_nothing(hub: Hub) -> None:
    watch, heard = watch_of(hub)
    watch.again()
    watch.end()
    hub.create(C, document())

    assert heard == []
