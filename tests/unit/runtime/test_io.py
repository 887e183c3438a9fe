"""What comes of each kind of write, whichever driver carries it: inline, or over HTTP beside others."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import structs

from rollout.api.work import decode_work
from rollout.clock import VirtualClock
from rollout.errors import Unavailable
from rollout.hub.base import Hub, Listing
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.hub.kube_session import Times
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.kinds import (
    CONFIG_MAP,
    KINDS,
    MANIFEST_WORK,
    PLACEMENT_DECISION,
    REPLICA_SET,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.writes import Create, Delete, Patch, PatchStatus, PatchWork, RemoveFinalizer
from rollout.planning.plan import Write
from rollout.runtime.io import InlineIo, Io, ReadBack, WriteOutcome, WriteResult
from rollout.runtime.kube_io import KubeIo
from tests.kube.facade import refuse, serving
from tests.support import make

WORK = Ref(MANIFEST_WORK, "c1/webx7k2p")
WEB = Ref(REPLICA_SET, "default/web")


class Watched(MemoryHub):
    """Counts lists of decisions, and fails them while it is told to."""

    def __init__(self) -> None:
        super().__init__(VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)))
        self.lists, self.is_down = 0, False

    def list(self, kind: Kind, *args: object, **more: object) -> Listing:
        if kind is PLACEMENT_DECISION:
            self.lists += 1
            if self.is_down:
                raise Unavailable("list decisions: nobody answers")
        return super().list(kind, *args, **more)  # type: ignore[arg-type]  # passed on


@dataclass
class Driver:
    """A hub, and what carries writes to it."""

    hub: Hub
    io: Io
    lists: Callable[[], int]
    fail_lists: Callable[[], None]

    def send(self, writes: Sequence[Write]) -> dict[Ref, WriteOutcome]:
        found: dict[Ref, WriteOutcome] = {}
        every = threading.Event()

        def done(write: Write, outcome: WriteOutcome) -> None:
            found[write.ref] = outcome
            if len(found) == len(writes):
                every.set()

        self.io.send(writes, done)
        assert every.wait(240), f"{len(found)} of {len(writes)} came back"
        return found


@pytest.fixture(params=["inline", "over HTTP"])
def driver(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    for name in ("OLDEST_SECONDS", "FRESH_SECONDS"):  # nothing waits too long on a slow machine
        monkeypatch.setattr(f"rollout.runtime.kube_io.{name}", 120.0)
    if request.param == "inline":
        memory = Watched()

        def break_down() -> None:
            memory.is_down = True

        yield Driver(memory, InlineIo(memory), lambda: memory.lists, break_down)
        return
    with serving() as facade:
        times = Times(connect=60, read=60, write=60)
        kube = KubeHub(Access(str(facade.kubeconfig(tmp_path))), times=times)
        fail = refuse(503)
        yield Driver(
            kube, KubeIo(kube), lambda: facade.count("list"), lambda: facade.script("list", fail)
        )
        kube.close()


@pytest.fixture
def hub(driver: Driver) -> Hub:
    return driver.hub


def add(hub: Hub, document: Obj) -> Obj:
    ref = ref_of(KINDS[document["kind"]], document)
    stored = hub.create(ref, document)
    if document.get("status"):
        stored = hub.patch_status(ref, {"status": document["status"]})
    return stored


def do(driver: Driver, write: Write) -> WriteResult:
    return driver.send([write])[write.ref].result


def test_a_create_returns_what_is_stored_and_a_second_one_is_stale(
    driver: Driver, hub: Hub
) -> None:
    write = Create(WORK, make.work("c1"))

    outcome = driver.send([write])[WORK]

    assert (outcome.result, outcome.obj) == (WriteResult.LANDED, hub.get(WORK))
    assert do(driver, write) is WriteResult.STALE


def test_a_patch_has_a_precondition_where_it_says_so(driver: Driver, hub: Hub) -> None:
    version = int(add(hub, make.work("c1"))["metadata"]["resourceVersion"])
    changes = {"metadata": {"labels": {"a": "b"}}}

    assert do(driver, Patch(WORK, changes, version)) is WriteResult.LANDED
    assert (
        do(driver, Patch(WORK, {"metadata": {"labels": {"a": "c"}}}, version)) is WriteResult.STALE
    )
    assert do(driver, Patch(WORK, {"metadata": {"labels": {"a": "d"}}})) is WriteResult.LANDED
    assert do(driver, Patch(Ref(MANIFEST_WORK, "c1/none"), changes)) is WriteResult.STALE


def known_work(hub: Hub) -> PatchWork:
    """A patch of a work, resting on the work as it is now."""
    known = decode_work(add(hub, make.work("c1", annotations={names.REVISION: "r1"})))
    changes: Obj = {"metadata": {"labels": {"a": "b"}}, "spec": {"deleteOption": None}}
    return PatchWork(WORK, changes, known.version, known=known)


def agent_says(hub: Hub) -> None:
    hub.patch_status(WORK, {"status": {"conditions": [make.condition("Applied")]}})


def test_a_work_is_patched_although_its_agent_has_written_since(driver: Driver, hub: Hub) -> None:
    write = known_work(hub)
    agent_says(hub)

    outcome = driver.send([write])[WORK]

    assert (outcome.result, outcome.obj) == (WriteResult.LANDED, hub.get(WORK))
    assert hub.get(WORK)["metadata"]["labels"]["a"] == "b"
    assert hub.get(WORK)["status"]["conditions"][0]["type"] == "Applied"


OTHERS: dict[str, Callable[[Hub], object]] = {
    "its spec": lambda hub: hub.patch(WORK, {"spec": {"deleteOption": {}}}),
    "a label": lambda hub: hub.patch(WORK, {"metadata": {"labels": {"c": "d"}}}),
    "our revision": lambda hub: hub.patch(WORK, annotated(names.REVISION, "r2")),
    "our instant": lambda hub: hub.patch(WORK, annotated(names.STARTED_AT, "2026-01-01T00:00:00Z")),
    "its owner": lambda hub: hub.patch(WORK, annotated(names.OWNER, "default/other")),
}


def annotated(key: str, value: str) -> Obj:
    return {"metadata": {"annotations": {key: value}}}


@pytest.mark.parametrize("what", OTHERS)
def test_a_work_that_others_wrote_is_not_patched_but_read_back(
    driver: Driver, hub: Hub, what: str
) -> None:
    write = known_work(hub)
    OTHERS[what](hub)
    agent_says(hub)
    there = hub.get(WORK)

    outcome = driver.send([write])[WORK]

    assert (outcome.result, outcome.read_back) == (WriteResult.STALE, ReadBack.DONE)
    assert outcome.obj == hub.get(WORK) == there


def test_a_work_with_another_content_is_not_patched_though_it_counts_the_same(
    driver: Driver, hub: Hub
) -> None:
    """A hub that was restored gives a generation twice."""
    write = known_work(hub)
    agent_says(hub)
    other = PatchWork(
        WORK, write.changes, write.version, known=structs.replace(write.known, content="another")
    )

    assert do(driver, other) is WriteResult.STALE


def test_a_work_that_is_another_one_by_now_or_gone_is_not_patched(driver: Driver, hub: Hub) -> None:
    write = known_work(hub)
    hub.delete(WORK)

    assert do(driver, write) is WriteResult.STALE

    there = add(hub, make.work("c1", annotations={names.REVISION: "r1"}))

    assert do(driver, write) is WriteResult.STALE
    assert hub.get(WORK) == there


def test_a_status_patch_writes_nothing_but_the_status(driver: Driver, hub: Hub) -> None:
    add(hub, make.workload())
    before = hub.get(WEB)["spec"]

    assert do(driver, PatchStatus(WEB, {"summary": {"total": 3}})) is WriteResult.LANDED
    assert hub.get(WEB)["status"] == {"summary": {"total": 3}}
    assert hub.get(WEB)["spec"] == before


def test_a_delete_of_what_is_gone_has_landed_and_of_another_uid_is_stale(
    driver: Driver, hub: Hub
) -> None:
    uid = add(hub, make.work("c1"))["metadata"]["uid"]

    assert do(driver, Delete(WORK, "another")) is WriteResult.STALE
    assert do(driver, Delete(WORK, uid)) is WriteResult.LANDED
    assert do(driver, Delete(WORK, uid)) is WriteResult.LANDED


@pytest.mark.parametrize(
    ("placements", "result"),
    [
        (("default/p",), WriteResult.STALE),
        (("default/q", "default/p"), WriteResult.STALE),
        (("default/q",), WriteResult.LANDED),
        (("other/p",), WriteResult.LANDED),
        ((), WriteResult.LANDED),
    ],
)
def test_a_delete_is_dropped_where_decisions_read_live_name_the_cluster(
    driver: Driver, hub: Hub, placements: tuple[str, ...], result: WriteResult
) -> None:
    """Semantics row 16."""
    uid = add(hub, make.work("c1"))["metadata"]["uid"]
    add(hub, make.decision(["c0"], page=1))
    add(hub, make.decision(["c1"], page=2))
    add(hub, make.decision(["c2"], "q"))

    assert do(driver, Delete(WORK, uid, unless_selected_by=placements, cluster="c1")) is result
    assert bool(hub.list(MANIFEST_WORK).items) == (result is WriteResult.STALE)


def guarded(hub: Hub, count: int) -> list[Delete]:
    works = [add(hub, make.work(f"c{n}")) for n in range(count)]
    return [
        Delete(
            ref_of(MANIFEST_WORK, w),
            w["metadata"]["uid"],
            unless_selected_by=("default/p",),
            cluster=f"c{n}",
        )
        for n, w in enumerate(works)
    ]


def test_decisions_are_read_once_for_all_deletes_of_a_wave(driver: Driver, hub: Hub) -> None:
    add(hub, make.decision(["c3"]))
    deletes = guarded(hub, 5)

    found = driver.send(deletes)

    assert [found[delete.ref].result for delete in deletes] == [
        WriteResult.STALE if n == 3 else WriteResult.LANDED for n in range(5)
    ]
    assert driver.lists() == 1


def test_where_decisions_cannot_be_read_nothing_is_deleted(driver: Driver, hub: Hub) -> None:
    deletes = guarded(hub, 3)
    driver.fail_lists()

    found = driver.send(deletes)

    assert {outcome.result for outcome in found.values()} == {WriteResult.UNKNOWN}
    assert len(hub.list(MANIFEST_WORK).items) == 3


def release(hub: Hub, deleting_is_gone: bool) -> RemoveFinalizer:
    held = hub.get(WEB)["metadata"]
    return RemoveFinalizer(
        ref=WEB,
        kept=tuple(f for f in held["finalizers"] if f != names.REPLICASET_FINALIZER),
        version=int(held["resourceVersion"]),
        kind=MANIFEST_WORK,
        label=(names.WORK_OWNER_LABEL, "default.web"),
        deleting_is_gone=deleting_is_gone,
    )


@pytest.mark.parametrize(
    ("work", "deleting_is_gone", "result"),
    [
        pytest.param("there", True, WriteResult.STALE, id="a work nobody deleted: never"),
        pytest.param("there", False, WriteResult.STALE, id="a work nobody deleted, Foreground"),
        pytest.param(
            "deleting", True, WriteResult.LANDED, id="Background: being deleted is enough"
        ),
        pytest.param("deleting", False, WriteResult.STALE, id="Foreground: it must be gone"),
        pytest.param("gone", False, WriteResult.LANDED, id="nothing is left"),
        pytest.param("another's", False, WriteResult.LANDED, id="works of others do not count"),
    ],
)
def test_a_finalizer_goes_when_the_server_shows_nothing_left(
    driver: Driver, hub: Hub, work: str, deleting_is_gone: bool, result: WriteResult
) -> None:
    workload = make.workload()
    workload["metadata"]["finalizers"] = ["example.com/theirs", names.REPLICASET_FINALIZER]
    add(hub, workload)
    hub.delete(WEB)
    if work != "gone":
        owner = "default.api" if work == "another's" else "default.web"
        document = make.work("c1", owner)
        document["metadata"]["finalizers"] = ["example.com/agent"]
        add(hub, document)
    if work == "deleting":
        hub.delete(WORK)

    assert do(driver, release(hub, deleting_is_gone)) is result
    left = [names.REPLICASET_FINALIZER] if result is WriteResult.STALE else []
    assert hub.get(WEB)["metadata"]["finalizers"] == ["example.com/theirs", *left]


def test_the_last_finalizer_lets_the_object_go(driver: Driver, hub: Hub) -> None:
    workload = make.workload()
    workload["metadata"]["finalizers"] = [names.REPLICASET_FINALIZER]
    add(hub, workload)
    hub.delete(WEB)

    assert do(driver, release(hub, deleting_is_gone=False)) is WriteResult.LANDED
    assert hub.list(REPLICA_SET).items == ()


def test_a_wave_is_one_batch_and_each_write_is_answered() -> None:
    hub = MemoryHub(VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)))
    told: list[int] = []
    hub.watch(CONFIG_MAP, 0, lambda event: told.append(event.version))
    writes = [
        Create(
            Ref(CONFIG_MAP, f"default/{name}"), {"metadata": {"namespace": "default", "name": name}}
        )
        for name in ("a", "b", "a", "c")
    ]
    answered: list[tuple[str, WriteResult, int]] = []

    def done(write: Write, outcome: WriteOutcome) -> None:
        answered.append((write.ref.name, outcome.result, len(told)))

    InlineIo(hub).send(writes, done)

    assert answered == [
        ("a", WriteResult.LANDED, 3),
        ("b", WriteResult.LANDED, 3),
        ("a", WriteResult.STALE, 3),
        ("c", WriteResult.LANDED, 3),
    ]
