"""Whom every embedded hub tells of a write, when and in which order; and what a batch is."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rollout.clock import VirtualClock
from rollout.errors import Conflict, Expired, Gone
from rollout.hub.base import EmbeddedHub
from rollout.hub.memory import MemoryHub
from rollout.hub.sqlite import SqliteHub
from rollout.model.events import Event
from rollout.model.kinds import CONFIG_MAP, MANIFEST_WORK, PLACEMENT, Obj, Ref

Make = Callable[[int], EmbeddedHub]
A, B = Ref(CONFIG_MAP, "ns/a"), Ref(CONFIG_MAP, "ns/b")


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes the hub under test, with so many events of history."""
    made: list[EmbeddedHub] = []

    def build(history: int) -> EmbeddedHub:
        clock = VirtualClock(datetime(2026, 1, 1, tzinfo=UTC))
        if request.param == "sqlite":
            made.append(SqliteHub(tmp_path / "hub.db", clock, history=history))
        else:
            made.append(MemoryHub(clock, history=history))
        return made[-1]

    yield build
    for hub in made:
        hub.close()


@pytest.fixture
def hub(make: Make) -> EmbeddedHub:
    return make(1000)


def short(event: Event) -> tuple[str, str, int]:
    return event.change.value, event.ref.name, event.version


def put(hub: EmbeddedHub, ref: Ref, value: int) -> Obj:
    return hub.patch(ref, {"data": {"n": str(value)}})


def fail_after(hub: EmbeddedHub, writes: Callable[[], None]) -> None:
    """A batch of the writes that ends in an exception."""

    def run() -> None:
        with hub.batch():
            writes()
            raise KeyError("the batch fails")

    with pytest.raises(KeyError):
        run()


def test_a_watch_tells_the_past_and_then_each_write_once(hub: EmbeddedHub) -> None:
    heard: list[Event] = []
    hub.create(A, {})
    put(hub, A, 1)
    hub.create(Ref(PLACEMENT, "ns/p"), {})

    hub.watch(CONFIG_MAP, 1, heard.append)
    past = [short(e) for e in heard]
    hub.create(B, {})
    put(hub, B, 1)
    put(hub, B, 1)
    hub.delete(A)

    assert past == [("MODIFIED", "a", 2)]
    assert [short(e) for e in heard[1:]] == [
        ("ADDED", "b", 4),
        ("MODIFIED", "b", 5),
        ("DELETED", "a", 6),
    ]


def test_an_event_carries_the_object_as_stored_at_its_version(hub: EmbeddedHub) -> None:
    heard: list[Event] = []
    hub.watch(CONFIG_MAP, 0, heard.append)

    stored = [hub.create(A, {"data": {"n": "0"}}), put(hub, A, 1)]
    hub.delete(A)

    assert [e.obj for e in heard[:2]] == stored
    assert heard[2].obj["data"] == {"n": "1"}
    assert [e.obj["metadata"]["resourceVersion"] for e in heard] == ["1", "2", "3"]
    assert [e.version for e in heard] == [1, 2, 3]


def test_a_watch_that_was_ended_hears_nothing_more(hub: EmbeddedHub) -> None:
    heard: list[Event] = []
    end = hub.watch(CONFIG_MAP, 0, heard.append)
    hub.create(A, {})

    end()
    end()
    put(hub, A, 1)

    assert len(heard) == 1


def test_the_removal_of_the_last_finalizer_is_told_as_the_deletion(hub: EmbeddedHub) -> None:
    heard: list[Event] = []
    hub.create(A, {"metadata": {"finalizers": ["x.io/y"]}})
    hub.watch(CONFIG_MAP, 1, heard.append)

    hub.delete(A)
    hub.delete(A)
    hub.patch(A, {"metadata": {"finalizers": []}})

    assert [short(e) for e in heard] == [("MODIFIED", "a", 2), ("DELETED", "a", 3)]
    assert "deletionTimestamp" in heard[1].obj["metadata"]


def test_collected_dependents_are_told_after_their_owner(hub: EmbeddedHub) -> None:
    heard: list[Event] = []
    owner = hub.create(A, {})
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "a",
        "uid": owner["metadata"]["uid"],
    }
    hub.create(B, {"metadata": {"ownerReferences": [reference]}})
    hub.watch(CONFIG_MAP, 2, heard.append)

    hub.delete(A)

    assert [short(e) for e in heard] == [("DELETED", "a", 3), ("DELETED", "b", 4)]


def test_a_watcher_that_writes_does_not_reorder_what_others_hear(hub: EmbeddedHub) -> None:
    first: list[int] = []
    last: list[int] = []

    def answer(event: Event) -> None:
        first.append(event.version)
        if event.version < 5:
            put(hub, A, event.version)
            assert hub.get(A)["data"] == {"n": str(event.version)}

    hub.watch(CONFIG_MAP, 0, answer)
    hub.watch(CONFIG_MAP, 0, lambda e: last.append(e.version))
    hub.create(A, {})

    assert first == last == [1, 2, 3, 4, 5]


def test_a_watcher_that_writes_while_it_is_told_the_past_hears_of_it(hub: EmbeddedHub) -> None:
    heard: list[int] = []
    hub.create(A, {})

    def answer(event: Event) -> None:
        heard.append(event.version)
        if event.version < 3:
            put(hub, A, event.version)

    hub.watch(CONFIG_MAP, 0, answer)

    assert heard == [1, 2, 3]


def test_a_watch_begun_or_ended_inside_a_callback_misses_and_repeats_nothing(
    hub: EmbeddedHub,
) -> None:
    inner: list[int] = []
    ends: list[Callable[[], None]] = []

    def outer(event: Event) -> None:
        if event.version == 1:
            put(hub, A, 1)
            ends.append(hub.watch(CONFIG_MAP, 0, lambda e: inner.append(e.version)))
        if event.version == 3:
            ends[0]()

    hub.watch(CONFIG_MAP, 0, outer)
    hub.create(A, {})
    put(hub, A, 2)
    put(hub, A, 3)

    assert inner == [1, 2]


def test_a_callback_that_raises_does_not_undo_the_write_nor_silence_others(
    hub: EmbeddedHub,
) -> None:
    heard: list[int] = []

    def broken(event: Event) -> None:
        if event.version == 1:
            raise RuntimeError("a fault of the watcher")

    hub.watch(CONFIG_MAP, 0, broken)
    hub.watch(CONFIG_MAP, 0, lambda e: heard.append(e.version))

    with pytest.raises(RuntimeError):
        hub.create(A, {})
    put(hub, A, 1)

    assert heard == [1, 2]


def test_history_is_bounded_and_too_old_a_watch_has_expired(make: Make) -> None:
    hub = make(16)
    heard: list[int] = []
    hub.create(A, {})
    for n in range(60):
        put(hub, A, n)

    for since in (0, 30):
        with pytest.raises(Expired):
            hub.watch(CONFIG_MAP, since, lambda e: heard.append(e.version))
    hub.watch(CONFIG_MAP, 61 - 16, lambda e: heard.append(e.version))

    assert heard == list(range(61 - 16 + 1, 62))


def test_a_version_that_is_not_there_yet_has_expired(hub: EmbeddedHub) -> None:
    hub.create(A, {})

    with pytest.raises(Expired):
        hub.watch(CONFIG_MAP, 2, lambda e: None)


# Batches


def test_a_batch_is_read_inside_and_told_outside_when_it_ends(hub: EmbeddedHub) -> None:
    heard: list[int] = []
    hub.watch(CONFIG_MAP, 0, lambda e: heard.append(e.version))

    with hub.batch():
        hub.create(A, {})
        put(hub, A, 1)
        with hub.batch():
            put(hub, A, 2)
        during = list(heard), hub.get(A)["data"], hub.list(CONFIG_MAP).version

    assert during == ([], {"n": "2"}, 3)
    assert heard == [1, 2, 3]


def test_a_watch_begun_inside_a_batch_hears_what_follows_its_version(hub: EmbeddedHub) -> None:
    heard: list[int] = []
    with hub.batch():
        hub.create(A, {})
        hub.watch(CONFIG_MAP, hub.list(CONFIG_MAP).version, lambda e: heard.append(e.version))
        put(hub, A, 1)
    put(hub, A, 2)

    assert heard == [2, 3]


def test_an_exception_undoes_the_whole_batch_and_a_caught_one_only_its_write(
    hub: EmbeddedHub,
) -> None:
    heard: list[int] = []
    hub.create(A, {"data": {"n": "0"}})
    hub.put_state("clock", b"before")
    hub.watch(CONFIG_MAP, 1, lambda e: heard.append(e.version))

    def writes() -> None:
        put(hub, A, 1)
        hub.create(B, {})
        hub.delete(A)
        hub.put_state("clock", b"after")

    fail_after(hub, writes)
    undone = hub.get(A)["data"], [o["metadata"]["name"] for o in hub.list(CONFIG_MAP).items]

    with hub.batch():
        put(hub, A, 2)
        with pytest.raises(Conflict):
            hub.patch(A, {"data": {"n": "3"}}, version=1)

    assert undone == ({"n": "0"}, ["a"])
    assert (hub.get_state("clock"), hub.get(A)["data"]) == (b"before", {"n": "2"})
    assert heard == [2]
    with pytest.raises(Gone):
        hub.get(B)


def test_an_undone_batch_leaves_owners_and_namespaces_as_they_were(hub: EmbeddedHub) -> None:
    owner = hub.create(A, {})["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": owner}
    hub.create(B, {"metadata": {"ownerReferences": [reference]}})

    def writes() -> None:
        hub.patch(B, {"metadata": {"ownerReferences": None}})
        hub.delete(A)
        hub.create(Ref(MANIFEST_WORK, "other/x"), {})

    fail_after(hub, writes)
    hub.delete(A)

    assert hub.list(CONFIG_MAP, "ns").items == ()
    assert hub.list(MANIFEST_WORK, "other").items == ()


def test_state_is_kept_by_key_and_is_no_object(hub: EmbeddedHub) -> None:
    hub.put_state("random", b"\x00\xff")
    hub.put_state("random", b"\x01")

    assert (hub.get_state("random"), hub.get_state("clock")) == (b"\x01", None)
    assert hub.list(CONFIG_MAP).version == 0
    assert hub.poll() == 0


def test_state_that_is_put_as_nothing_is_kept_no_more(hub: EmbeddedHub) -> None:
    hub.put_state("agents/c1/web", b"3")
    for _ in range(2):
        hub.put_state("agents/c1/web", None)

        assert hub.get_state("agents/c1/web") is None
        assert hub.get_states("agents/") == {}
