"""What comes of each kind of write, against a hub that is looked at live."""

from datetime import UTC, datetime

import pytest

from rollout.clock import VirtualClock
from rollout.hub.base import Listing
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
from rollout.planning.plan import Create, Delete, Patch, PatchStatus, RemoveFinalizer, Write
from rollout.runtime.io import InlineIo, Outcome, Result, perform
from tests import make

WORK = Ref(MANIFEST_WORK, "c1/webx7k2p")
WEB = Ref(REPLICA_SET, "default/web")


@pytest.fixture
def hub() -> MemoryHub:
    return MemoryHub(VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)))


def add(hub: MemoryHub, document: Obj) -> Obj:
    ref = ref_of(KINDS[document["kind"]], document)
    stored = hub.create(ref, document)
    if document.get("status"):
        stored = hub.patch_status(ref, {"status": document["status"]})
    return stored


def do(hub: MemoryHub, write: Write) -> Result:
    return perform(hub, write, {}).result


def test_a_create_returns_what_is_stored_and_a_second_one_is_stale(hub: MemoryHub) -> None:
    write = Create(WORK, make.work("c1"))

    outcome = perform(hub, write, {})

    assert (outcome.result, outcome.obj) == (Result.LANDED, hub.get(WORK))
    assert do(hub, write) is Result.STALE


def test_a_patch_has_a_precondition_where_it_says_so(hub: MemoryHub) -> None:
    version = int(add(hub, make.work("c1"))["metadata"]["resourceVersion"])
    changes = {"metadata": {"labels": {"a": "b"}}}

    assert do(hub, Patch(WORK, changes, version)) is Result.LANDED
    assert do(hub, Patch(WORK, {"metadata": {"labels": {"a": "c"}}}, version)) is Result.STALE
    assert do(hub, Patch(WORK, {"metadata": {"labels": {"a": "d"}}})) is Result.LANDED
    assert do(hub, Patch(Ref(MANIFEST_WORK, "c1/none"), changes)) is Result.STALE


def test_a_status_patch_writes_nothing_but_the_status(hub: MemoryHub) -> None:
    add(hub, make.workload())
    before = hub.get(WEB)["spec"]

    assert do(hub, PatchStatus(WEB, {"summary": {"total": 3}})) is Result.LANDED
    assert hub.get(WEB)["status"] == {"summary": {"total": 3}}
    assert hub.get(WEB)["spec"] is before


def test_a_delete_of_what_is_gone_has_landed_and_of_another_uid_is_stale(hub: MemoryHub) -> None:
    uid = add(hub, make.work("c1"))["metadata"]["uid"]

    assert do(hub, Delete(WORK, "another")) is Result.STALE
    assert do(hub, Delete(WORK, uid)) is Result.LANDED
    assert do(hub, Delete(WORK, uid)) is Result.LANDED


@pytest.mark.parametrize(
    ("placements", "result"),
    [
        (("default/p",), Result.STALE),
        (("default/q", "default/p"), Result.STALE),
        (("default/q",), Result.LANDED),
        (("other/p",), Result.LANDED),
        ((), Result.LANDED),
    ],
)
def test_a_delete_is_dropped_where_decisions_read_live_name_the_cluster(
    hub: MemoryHub, placements: tuple[str, ...], result: Result
) -> None:
    """Semantics row 16."""
    uid = add(hub, make.work("c1"))["metadata"]["uid"]
    add(hub, make.decision(["c0"], page=1))
    add(hub, make.decision(["c1"], page=2))
    add(hub, make.decision(["c2"], "q"))

    assert do(hub, Delete(WORK, uid, placements, "c1")) is result
    assert bool(hub.list(MANIFEST_WORK).items) == (result is Result.STALE)


def test_decisions_are_read_once_for_all_deletes_of_a_wave() -> None:
    class Counting(MemoryHub):
        lists = 0

        def list(self, kind: Kind, *args: object, **more: object) -> Listing:
            self.lists += kind is PLACEMENT_DECISION
            return super().list(kind, *args, **more)  # type: ignore[arg-type]  # passed on

    hub = Counting(VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)))
    add(hub, make.decision(["c3"]))
    works = [add(hub, make.work(f"c{n}")) for n in range(5)]
    deletes = [
        Delete(ref_of(MANIFEST_WORK, w), w["metadata"]["uid"], ("default/p",), f"c{n}")
        for n, w in enumerate(works)
    ]
    found: list[tuple[str, Result]] = []
    InlineIo(hub).send(deletes, lambda w, o: found.append((w.ref.namespace, o.result)))

    assert found == [(f"c{n}", Result.STALE if n == 3 else Result.LANDED) for n in range(5)]
    assert hub.lists == 1


def release(hub: MemoryHub, deleting_is_gone: bool) -> RemoveFinalizer:
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
        pytest.param("there", True, Result.STALE, id="a work nobody deleted: never"),
        pytest.param("there", False, Result.STALE, id="a work nobody deleted, Foreground"),
        pytest.param("deleting", True, Result.LANDED, id="Background: being deleted is enough"),
        pytest.param("deleting", False, Result.STALE, id="Foreground: it must be gone"),
        pytest.param("gone", False, Result.LANDED, id="nothing is left"),
        pytest.param("another's", False, Result.LANDED, id="works of others do not count"),
    ],
)
def test_a_finalizer_goes_when_the_server_shows_nothing_left(
    hub: MemoryHub, work: str, deleting_is_gone: bool, result: Result
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

    assert do(hub, release(hub, deleting_is_gone)) is result
    left = [names.REPLICASET_FINALIZER] if result is Result.STALE else []
    assert hub.get(WEB)["metadata"]["finalizers"] == ["example.com/theirs", *left]


def test_the_last_finalizer_lets_the_object_go(hub: MemoryHub) -> None:
    workload = make.workload()
    workload["metadata"]["finalizers"] = [names.REPLICASET_FINALIZER]
    add(hub, workload)
    hub.delete(WEB)

    assert do(hub, release(hub, deleting_is_gone=False)) is Result.LANDED
    assert hub.list(REPLICA_SET).items == ()


def test_a_wave_is_one_batch_and_each_write_is_answered(hub: MemoryHub) -> None:
    told: list[int] = []
    hub.watch(CONFIG_MAP, 0, lambda event: told.append(event.version))
    writes = [
        Create(
            Ref(CONFIG_MAP, f"default/{name}"), {"metadata": {"namespace": "default", "name": name}}
        )
        for name in ("a", "b", "a", "c")
    ]
    answered: list[tuple[str, Result, int]] = []

    def done(write: Write, outcome: Outcome) -> None:
        answered.append((write.ref.name, outcome.result, len(told)))

    InlineIo(hub).send(writes, done)

    assert answered == [
        ("a", Result.LANDED, 3),
        ("b", Result.LANDED, 3),
        ("a", Result.STALE, 3),
        ("c", Result.LANDED, 3),
    ]
