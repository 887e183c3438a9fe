"""What several processes that share one file can rely on."""

import fcntl
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rollout.clock import VirtualClock
from rollout.errors import Conflict, Expired, Gone, Unavailable
from rollout.hub.sqlite import SqliteHub
from rollout.model.kinds import CONFIG_MAP, Ref
from tests.kube.setting import eventually
from tests.support.hubs import Open, child, put

A, B = Ref(CONFIG_MAP, "ns/a"), Ref(CONFIG_MAP, "ns/b")


def test_writes_of_others_are_checked_against_although_nobody_polled(start: Open) -> None:
    one, two = start(), start()
    version = int(one.create(A, {})["metadata"]["resourceVersion"])
    put(two, A, 2, version)

    with pytest.raises(Conflict):
        put(one, A, 1, version)
    assert one.get(A)["data"] == {"n": "2"}
    two.delete(A)
    with pytest.raises(Gone):
        put(one, A, 1)


def test_a_poll_tells_watchers_what_others_wrote_in_order_with_what_they_deleted(
    start: Open,
) -> None:
    heard: list[tuple[str, int]] = []
    one, two = start(), start()
    one.watch(CONFIG_MAP, 0, lambda e: heard.append((e.change.value, e.version)))
    two.create(A, {})
    put(two, A, 1)
    two.delete(A)
    before = list(heard)

    assert (one.poll(), one.poll()) == (3, 0)
    assert before == []
    assert heard == [("ADDED", 1), ("MODIFIED", 2), ("DELETED", 3)]


def test_what_others_wrote_is_told_before_what_was_written_after_it(start: Open) -> None:
    heard: list[int] = []
    one, two = start(), start()
    one.watch(CONFIG_MAP, 0, lambda e: heard.append(e.version))
    two.create(A, {})
    one.create(B, {})
    put(two, A, 1)
    one.get(A)
    one.watch(CONFIG_MAP, 3, lambda e: heard.append(100 + e.version))
    put(one, A, 2)

    assert heard == [1, 2, 3, 4, 104]


def test_owners_are_collected_whoever_wrote_the_dependent(start: Open) -> None:
    one, two = start(), start()
    uid = one.create(A, {})["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": uid}
    two.create(B, {"metadata": {"ownerReferences": [owner]}})

    one.delete(A)

    assert two.list(CONFIG_MAP).items == ()


def test_one_that_slept_too_long_is_told_to_list_again(start: Open) -> None:
    told: list[object] = []
    sleeper, busy = start(history=8), start(history=8)
    busy.create(A, {})

    def expired() -> None:
        listing = sleeper.list(CONFIG_MAP)
        told.append(listing.items[0]["data"])
        sleeper.watch(CONFIG_MAP, listing.version, lambda e: told.append(e.version))

    sleeper.watch(CONFIG_MAP, 1, lambda e: told.append(e.version), expired)
    sleeper.poll()
    for n in range(50):
        put(busy, A, n)

    assert sleeper.poll() == 1
    put(busy, A, 99)
    sleeper.poll()
    assert told == [{"n": "49"}, 52]
    with pytest.raises(Expired):
        sleeper.watch(CONFIG_MAP, 1, lambda e: None)


def test_an_open_batch_of_another_is_waited_for_and_then_unavailable(start: Open) -> None:
    holder, waiter = start(), start(patience=0.05)
    with holder.batch():
        holder.create(A, {})
        with pytest.raises(Unavailable):
            waiter.create(B, {})
        newcomer = start(patience=0.05)
        unseen = waiter.list(CONFIG_MAP).items, newcomer.list(CONFIG_MAP).items

    assert unseen == ((), ())
    assert waiter.create(B, {})["metadata"]["resourceVersion"] == "2"


def test_a_full_disk_undoes_the_write_and_the_hub_goes_on(start: Open) -> None:
    hub = start()
    heard: list[int] = []
    hub.create(A, {"data": {"n": "0"}})
    hub.watch(CONFIG_MAP, 1, lambda e: heard.append(e.version))
    hub._database._sql.execute("PRAGMA max_page_count = 20")

    with pytest.raises(Unavailable, match="full"):
        hub.patch(A, {"data": {"n": "x" * 200_000}})

    assert (hub.get(A)["data"], start().get(A)["data"], heard) == ({"n": "0"}, {"n": "0"}, [])
    assert put(hub, A, 2)["metadata"]["resourceVersion"] == "2"


def test_a_commit_that_succeeded_but_seemed_to_fail_is_found_in_the_file(
    start: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = start()
    heard: list[int] = []
    hub.watch(CONFIG_MAP, 0, lambda e: heard.append(e.version))
    commit = hub._database.commit

    def interrupted() -> None:
        commit()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(hub._database, "commit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            hub.create(A, {})

    assert hub.get(A)["metadata"]["resourceVersion"] == "1"
    hub.create(B, {})
    assert heard == [1, 2]


ADDER = """
import sys
from datetime import UTC, datetime
from rollout.clock import VirtualClock
from rollout.errors import Conflict
from rollout.hub.sqlite import SqliteHub
from rollout.model.kinds import CONFIG_MAP, Ref
hub = SqliteHub(sys.argv[1], VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)))
done = conflicts = 0
while done < int(sys.argv[2]):
    read = hub.get(Ref(CONFIG_MAP, "ns/a"))
    try:
        hub.patch(
            Ref(CONFIG_MAP, "ns/a"),
            {"data": {"n": str(int(read["data"]["n"]) + 1)}},
            int(read["metadata"]["resourceVersion"]),
        )
        done += 1
    except Conflict:
        conflicts += 1
print(conflicts)
"""


def test_several_processes_that_add_to_one_number_lose_no_update(path: Path, start: Open) -> None:
    hub = start(runner=True)
    hub.create(A, {"data": {"n": "0"}})
    heard: list[int] = []
    hub.watch(CONFIG_MAP, 1, lambda e: heard.append(int(e.obj["data"]["n"])))
    processes = [child(ADDER, path, 60) for _ in range(3)]
    while any(p.poll() is None for p in processes):
        hub.poll()
    for process in processes:
        assert process.stdout is not None
        process.stdout.close()
    hub.poll()

    assert [p.returncode for p in processes] == [0, 0, 0]
    assert heard == list(range(1, 181))


def test_a_runner_that_never_rests_lets_others_write(path: Path, start: Open) -> None:
    hub = start(runner=True)
    hub.create(A, {"data": {"n": "0"}})
    hub.create(B, {})
    process = child(ADDER, path, 20)
    batches = 0
    while process.poll() is None:
        batches += 1
        with hub.batch():
            for n in range(64):
                put(hub, B, batches * 64 + n)
    assert process.stdout is not None
    process.stdout.close()

    assert (process.returncode, hub.get(A)["data"]["n"]) == (0, "20")


def has_its_turn(path: Path) -> bool:
    """Whether somebody waits who writes next."""
    with Path(f"{path}.turn").open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_who_waits_to_write_goes_before_a_runner_that_wants_to_write_again(
    path: Path, start: Open
) -> None:
    runner = start(runner=True)
    runner.create(A, {})
    waiting = threading.Event()

    def other() -> None:
        hub = SqliteHub(path, VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)))
        waiting.set()
        put(hub, A, 7)
        hub.close()

    thread = threading.Thread(target=other)
    with runner.batch():
        thread.start()
        waiting.wait()
        eventually("it has taken the turn", lambda: has_its_turn(path))
    with runner.batch():
        found = runner.get(A).get("data")
    thread.join()

    assert found == {"n": "7"}
