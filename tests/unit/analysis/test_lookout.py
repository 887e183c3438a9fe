"""A lookout has what the hub has, learns of changes from watches, and lists again only where it must."""

import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rollout.analysis.lookout import Lookout
from rollout.clock import VirtualClock
from rollout.errors import Gone
from rollout.hub.base import EventSink, Expire
from rollout.hub.memory import MemoryHub
from rollout.hub.sqlite import SqliteHub
from rollout.hub.watching import version_of
from rollout.model.events import Change, Event
from rollout.model.kinds import MANAGED_CLUSTER, PLACEMENT, Kind, Obj, Ref
from tests.support.shapes import cluster, placement

NOW = datetime(2026, 1, 1, tzinfo=UTC)
C1 = Ref(MANAGED_CLUSTER, "c1")


class Counted(MemoryHub):
    """A hub that counts how often it is listed."""

    lists = 0

    def list(self, kind: Kind, *words: Any, **more: Any) -> Any:
        self.lists += 1
        return super().list(kind, *words, **more)


class Late(MemoryHub):
    """A hub whose watches tell what they still have, and that they have expired, while a list is made."""

    def __init__(self) -> None:
        super().__init__(VirtualClock(NOW))
        self.left: list[Event] = []

    def watch(
        self, kind: Kind, since: int, sink: EventSink, expired: Expire | None = None
    ) -> Callable[[], None]:
        self.sink, self.expire = sink, expired
        return lambda: None

    def list(self, *words: Any, **more: Any) -> Any:
        while self.left:
            self.sink(self.left.pop())
        return super().list(*words, **more)


def lookout(hub: Any, *acts: Callable[[], object]) -> Lookout:
    """Between two looks these acts happen, one after another."""
    left = list(acts)
    return Lookout(hub, lambda news: left.pop(0)() if left else None)


def labels(found: Lookout) -> list[Obj]:
    return [obj["metadata"].get("labels") or {} for obj in found.list(MANAGED_CLUSTER).items]


def test_what_changes_is_learnt_from_the_watch_alone() -> None:
    hub = Counted(VirtualClock(NOW))
    hub.create(C1, cluster("c1"))
    found = lookout(hub)

    assert labels(found) == [{}]
    hub.patch(C1, {"metadata": {"labels": {"a": "b"}}})
    assert found.changed()
    assert labels(found) == [{"a": "b"}]
    hub.delete(C1)
    assert found.changed()
    assert labels(found) == []
    assert not found.changed()
    assert hub.lists == 1


def test_what_an_old_watch_tells_after_a_new_list_brings_nothing_back() -> None:
    hub = Late()
    found = lookout(hub)
    assert labels(found) == []
    made = hub.create(C1, cluster("c1"))
    hub.delete(C1)
    hub.left = [Event(C1, Change.ADDED, made, version_of(made))]
    assert hub.expire is not None
    hub.expire()

    assert found.changed()
    assert not found.changed()
    assert labels(found) == []

    after = hub.create(C1, cluster("c1"))
    hub.sink(Event(C1, Change.ADDED, after, version_of(after)))
    assert found.changed()
    assert labels(found) == [{}]


def test_a_kind_that_nobody_asked_for_is_not_watched() -> None:
    hub = MemoryHub(VirtualClock(NOW))
    found = lookout(hub)
    found.list(MANAGED_CLUSTER)

    hub.create(Ref(PLACEMENT, "default/fleet"), placement())

    assert not found.changed()


def test_waiting_ends_with_a_change_or_with_the_time() -> None:
    hub = MemoryHub(VirtualClock(NOW))

    def come() -> object:
        return hub.create(C1, cluster("c1"))

    found = lookout(hub, lambda: None, come)
    found.list(MANAGED_CLUSTER)

    assert found.wait(1.0)
    assert not found.wait(1.0)


def test_objects_are_told_by_namespace_and_label() -> None:
    hub = MemoryHub(VirtualClock(NOW))
    other = placement()
    other["metadata"] |= {"namespace": "other", "labels": {"a": "b"}}
    hub.create(Ref(PLACEMENT, "default/fleet"), placement())
    hub.create(Ref(PLACEMENT, "other/fleet"), other)
    found = lookout(hub)

    assert len(found.list(PLACEMENT).items) == 2
    assert len(found.list(PLACEMENT, "default").items) == 1
    assert len(found.list(PLACEMENT, None, {"a": "b"}).items) == 1


def test_nothing_is_told_after_the_end() -> None:
    hub = MemoryHub(VirtualClock(NOW))
    found = lookout(hub)
    found.list(MANAGED_CLUSTER)
    found.close()

    hub.create(C1, cluster("c1"))

    assert not found.changed()


@pytest.mark.parametrize("seed", range(20))
def test_whatever_others_write_it_has_what_the_file_has(seed: int, tmp_path: Path) -> None:
    rng, clock = random.Random(seed), VirtualClock(NOW)
    ours = SqliteHub(tmp_path / "s.db", clock, history=3)
    theirs = SqliteHub(tmp_path / "s.db", clock, history=3)
    found = Lookout(ours)
    found.list(MANAGED_CLUSTER)
    for _ in range(40):
        ref = Ref(MANAGED_CLUSTER, f"c{rng.randint(1, 3)}")
        try:
            match rng.randint(0, 2):
                case 0:
                    theirs.delete(ref)
                case _:
                    theirs.patch(ref, {"metadata": {"labels": {"a": str(rng.random())}}})
        except Gone:
            theirs.create(ref, cluster(ref.name))
        if rng.random() < 0.4:
            found.changed()
            assert found.list(MANAGED_CLUSTER).items == theirs.list(MANAGED_CLUSTER).items
    found.close()
    ours.close()
    theirs.close()
