"""What the file adds to a hub: it lasts, and one runner has it."""

import fcntl
import os
import random
import sqlite3
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rollout.clock import VirtualClock
from rollout.errors import ConfigError, Invalid, Unavailable
from rollout.hub.database import MIGRATIONS
from rollout.hub.sqlite import SqliteHub
from rollout.hub.state_locks import is_run
from rollout.model.kinds import CONFIG_MAP, KINDS, MANIFEST_WORK, Kind, Ref
from tests.support.hubs import Open, child, put

A, B = Ref(CONFIG_MAP, "ns/a"), Ref(CONFIG_MAP, "ns/b")


# It lasts


def test_a_reopened_file_has_objects_state_history_and_goes_on_counting(start: Open) -> None:
    first = start(seed="mine")
    first.create(A, {"data": {"n": "0"}})
    put(first, A, 1)
    first.put_state("clock", b"t")
    first.close()

    second = start(seed="ignored")
    heard: list[int] = []
    second.watch(CONFIG_MAP, 0, lambda e: heard.append(e.version))
    created = second.create(B, {})

    third = start(seed="other", create=True)
    assert third.get(A)["data"] == {"n": "1"}
    assert (second.get_state("clock"), heard) == (b"t", [1, 2, 3])
    assert created["metadata"]["resourceVersion"] == "3"


def test_a_run_that_is_interrupted_and_reopened_gives_the_same_uids(tmp_path: Path) -> None:
    def run(name: str, reopen: bool) -> list[str]:
        clock = VirtualClock(datetime(2026, 1, 1, tzinfo=UTC))
        hub = SqliteHub(tmp_path / name, clock)
        uids = []
        for n in range(6):
            if reopen:
                hub.close()
                hub = SqliteHub(tmp_path / name, clock)
            uids.append(hub.create(Ref(CONFIG_MAP, f"ns/{n}"), {})["metadata"]["uid"])
        hub.close()
        return uids

    assert run("a.db", reopen=False) == run("b.db", reopen=True)


def test_an_object_that_is_no_json_is_refused_alone_and_leaves_nothing(start: Open) -> None:
    hub = start()
    with hub.batch():
        hub.create(A, {})
        with pytest.raises(Invalid):
            hub.create(B, {"data": object()})

    assert [o["metadata"]["name"] for o in start().list(CONFIG_MAP).items] == ["a"]
    assert put(hub, A, 1)["metadata"]["resourceVersion"] == "2"


def test_the_file_keeps_each_living_version_and_bounded_history(start: Open, path: Path) -> None:
    hub = start(history=20)
    for n in range(10):
        hub.create(Ref(MANIFEST_WORK, f"c{n}/w"), {"spec": {"n": n}})
    for n in range(200):
        put(hub, A, n) if n else hub.create(A, {})
    kept = [o["spec"]["n"] for o in start().list(MANIFEST_WORK).items]
    for n in range(1, 10):
        hub.patch(Ref(MANIFEST_WORK, f"c{n}/w"), {"spec": {"n": -n}})
    hub.delete(Ref(MANIFEST_WORK, "c0/w"))

    sql = sqlite3.connect(path)
    rows = sql.execute("SELECT count(*) FROM revision").fetchone()[0]
    sql.close()
    assert kept == list(range(10))
    assert [o["spec"]["n"] for o in start().list(MANIFEST_WORK).items] == [-n for n in range(1, 10)]
    assert rows <= 20 + 20 // 8


KILLED = """
import sys
from datetime import UTC, datetime
from rollout.clock import VirtualClock
from rollout.errors import AlreadyExists
from rollout.hub.sqlite import SqliteHub
from rollout.model.kinds import CONFIG_MAP, MANIFEST_WORK, Ref
hub = SqliteHub(sys.argv[1], VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)), runner=True, history=64)
one, two = Ref(CONFIG_MAP, "ns/a"), Ref(MANIFEST_WORK, "ns/a")
count = int(hub.get_state("count") or b"0")
if not count:
    with hub.batch():
        for ref, obj in ((one, {"data": {"n": "0"}}), (two, {"spec": {"n": 0}})):
            try:
                hub.create(ref, obj)
            except AlreadyExists:
                pass
while True:
    count += 1
    with hub.batch():
        hub.patch(one, {"data": {"n": str(count)}})
        hub.put_state("count", str(count).encode())
        hub.patch(two, {"spec": {"n": count, "fill": "x" * (count % 7) * 3000}})
    print(count, flush=True)
"""


def test_a_kill_at_any_moment_loses_nothing_acknowledged_and_leaves_no_half_write(
    path: Path, start: Open
) -> None:
    acknowledged, dice, lives = 0, random.Random(1), []
    for life in range(12):
        process = child(KILLED, path)
        assert process.stdout is not None
        early = life % 3 == 0  # while it opens, or makes, the file
        lines = [] if early else [process.stdout.readline() for _ in range(2)]
        delay = dice.uniform(0.05, 0.2) if early else dice.uniform(0, 0.06)
        killer = threading.Timer(delay, process.kill)
        killer.start()
        lines += process.stdout.readlines()
        process.wait()
        process.stdout.close()
        killer.join()
        whole = [int(line) for line in lines if line.endswith("\n")]
        lives.append(len(whole))

        hub = start()
        count = int(hub.get_state("count") or b"0")
        acknowledged = whole[-1] if whole else acknowledged
        assert acknowledged <= count <= acknowledged + 1
        acknowledged = count
        if count:
            assert int(hub.get(A)["data"]["n"]) == count
            assert hub.get(Ref(MANIFEST_WORK, "ns/a"))["spec"]["n"] == count
        hub.close()

    assert sum(lives) > 10, "the writers hardly wrote"


# Who may open it


def test_one_runner_holds_the_file_and_others_read_and_write_beside_it(start: Open) -> None:
    runner = start(runner=True)
    with pytest.raises(ConfigError, match=rf"another runner has it \(pid {os.getpid()}\)"):
        start(runner=True)
    other = start()
    other.create(A, {})

    assert runner.get(A) == other.get(A)
    runner.close()
    start(runner=True)


def test_whether_the_file_is_run_is_told_without_hindering_who_begins_to(
    path: Path, start: Open
) -> None:
    start()
    before = is_run(path)
    runner = start(runner=True)
    during = is_run(path)
    runner.close()
    with Path(f"{path}.runner").open("rb") as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        threading.Timer(0.004, asking.close).start()
        start(runner=True)

    assert (before, during, is_run(path)) == (False, True, True)


def test_the_lock_ends_with_the_process_however_it_ends(path: Path, start: Open) -> None:
    process = child(KILLED, path)
    assert process.stdout is not None
    process.stdout.readline()
    with pytest.raises(ConfigError, match=f"pid {process.pid}"):
        start(runner=True)
    process.kill()
    process.wait()
    process.stdout.close()

    start(runner=True)


def test_a_file_of_a_newer_schema_is_refused_and_an_older_one_is_brought_up(start: Open) -> None:
    newer = (*MIGRATIONS, "CREATE TABLE more (x); INSERT INTO more VALUES (1)")
    old = start(runner=True)
    old.create(A, {})
    with pytest.raises(ConfigError, match="another runner"):
        start(migrations=newer)
    old.close()

    assert start(migrations=newer).get(A)["metadata"]["name"] == "a"
    with pytest.raises(ConfigError, match="has schema 2, this program knows 1"):
        start()


def test_a_migration_that_fails_leaves_the_file_as_it_was(start: Open) -> None:
    start().create(A, {})
    with pytest.raises(Unavailable):
        start(migrations=(*MIGRATIONS, "CREATE TABLE more (x); CREATE TABLE more (x)"))

    assert start().get(A)


@pytest.mark.parametrize("content", [b"kind: Placement\n" * 99, b"\x00" * 5000])
def test_a_file_that_is_no_state_file_is_refused_and_left_alone(
    path: Path, start: Open, content: bytes
) -> None:
    path.write_bytes(content)

    with pytest.raises(ConfigError):
        start()
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_database_of_something_else_is_refused(path: Path, start: Open) -> None:
    sql = sqlite3.connect(path)
    sql.execute("CREATE TABLE theirs (x)")
    sql.close()

    with pytest.raises(ConfigError, match="something else"):
        start()
    assert list(path.parent.iterdir()) == [path]


def test_a_directory_is_refused_as_one(path: Path, start: Open) -> None:
    path.mkdir()

    for create in (True, False):
        with pytest.raises(ConfigError, match="is a directory: name a file in it"):
            start(create=create)
    assert list(path.parent.iterdir()) == [path]


READER = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from rollout.clock import VirtualClock
from rollout.errors import RolloutError
from rollout.hub.sqlite import SqliteHub
from rollout.model.kinds import CONFIG_MAP, Ref
path = Path(sys.argv[1])
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    hub = SqliteHub(path, VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)), create=False)
    print(hub.get(Ref(CONFIG_MAP, "ns/a"))["data"], len(hub.list(CONFIG_MAP).items))
    hub.create(Ref(CONFIG_MAP, "ns/new"), {})
except RolloutError as fault:
    print(type(fault).__name__, fault)
"""


def test_a_file_is_read_in_a_folder_where_nothing_may_be_written(start: Open, path: Path) -> None:
    hub = start()
    hub.create(A, {"data": {"n": "1"}})
    held = child(READER, _given_away(path))
    told_while_it_is_open, _ = held.communicate(timeout=60)
    hub.close()

    told, _ = child(READER, path).communicate(timeout=60)

    path.parent.chmod(0o755)
    assert told_while_it_is_open.startswith("ConfigError cannot read the state file ")
    assert "you may not write in its folder, and it is in use" in told_while_it_is_open
    assert told.splitlines()[0] == "{'n': '1'} 1"
    assert told.splitlines()[1].startswith("Unavailable cannot write the state file ")


def _given_away(path: Path) -> Path:
    """Anybody may read the file and its log, and nobody may write beside it."""
    for folder in path.parents[:-2] if os.geteuid() == 0 else ():
        folder.chmod(folder.stat().st_mode | 0o555)
    path.chmod(0o444)
    Path(f"{path}-wal").chmod(0o444)
    path.parent.chmod(0o555)
    return path


def test_equal_specs_of_works_are_held_once(start: Open) -> None:
    hub = start()
    for n in range(2):
        hub.create(Ref(MANIFEST_WORK, f"c{n}/w"), {"spec": {"workload": {"manifests": []}}})

    one, other = start().list(MANIFEST_WORK).items

    assert one["spec"] is other["spec"]


def test_what_is_not_asked_for_is_not_read(start: Open, path: Path) -> None:
    """One object is found without its kind, and a kind without the others: here these cannot be read."""
    hub = start()
    for ref in (A, B, Ref(MANIFEST_WORK, "c1/w")):
        hub.create(ref, {})
    sql = sqlite3.connect(path)
    sql.execute("UPDATE revision SET body = 'no JSON' WHERE key = 'c1/w'")
    sql.commit()
    assert len(start().list(CONFIG_MAP).items) == 2
    sql.execute("UPDATE revision SET body = 'no JSON' WHERE key = 'ns/b'")
    sql.commit()
    sql.close()

    fresh = start()

    assert fresh.get(A)["metadata"]["name"] == "a"
    for damaged in (fresh.list, start().list):
        with pytest.raises(
            ConfigError, match="the state file is damaged: ConfigMap ns/b is not an object"
        ):
            damaged(CONFIG_MAP)


def test_what_others_write_is_seen_in_kinds_that_were_read_and_in_others(start: Open) -> None:
    ours, theirs = start(), start()
    assert ours.list(CONFIG_MAP).items == ()

    theirs.create(A, {})
    theirs.create(Ref(MANIFEST_WORK, "c1/w"), {})
    theirs.delete(A)
    theirs.create(B, {})

    assert ours.get(Ref(MANIFEST_WORK, "c1/w"))["metadata"]["name"] == "w"
    found = ours.list(CONFIG_MAP)
    assert ([o["metadata"]["name"] for o in found.items], found.version) == (["b"], 4)
    assert len(ours.list(MANIFEST_WORK).items) == 1


def test_a_file_that_must_exist_is_not_made(path: Path, start: Open) -> None:
    with pytest.raises(ConfigError, match="there is no state file"):
        start(create=False)
    assert list(path.parent.iterdir()) == []
    with pytest.raises(ConfigError, match="no such directory"):
        SqliteHub(path.parent / "no" / "x.db", VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)))


def test_a_kind_that_this_program_does_not_know_is_named(start: Open) -> None:
    strange = Kind("Widget", "widgets", "x.io", "v1", namespaced=True)
    start(kinds={**KINDS, "Widget": strange}).create(Ref(strange, "ns/w"), {})

    with pytest.raises(ConfigError, match="Widget"):
        start()


def test_a_new_state_file_is_for_its_owner_alone_and_one_that_is_there_keeps_its_mode(
    path: Path, start: Open
) -> None:
    before = os.umask(0)
    try:
        start().create(Ref(CONFIG_MAP, "default/x"), {"metadata": {}})
    finally:
        os.umask(before)
    made = {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()}
    assert {mode for name, mode in made.items() if not name.endswith(".turn")} == {0o600}

    path.chmod(0o640)
    start()
    assert path.stat().st_mode & 0o777 == 0o640
