"""What holds for every embedded hub after any history of writes, by several writers."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from rollout.clock import VirtualClock
from rollout.errors import Conflict, Gone, Invalid
from rollout.hub.base import EmbeddedHub
from rollout.hub.memory import MemoryHub
from rollout.hub.sqlite import SqliteHub
from rollout.model.events import Change, Event
from rollout.model.kinds import CONFIG_MAP, MANIFEST_WORK, PLACEMENT, Kind, Obj, Ref

KINDS_USED = (MANIFEST_WORK, PLACEMENT, CONFIG_MAP)
REFS = [Ref(kind, key) for kind in KINDS_USED for key in ("ns1/a", "ns1/b")]
VALUES = st.sampled_from([0, 1, True, False, "x", [1], [True], {"y": 1}, {"y": {"z": 0}}])
SPECS = st.dictionaries(st.sampled_from(["p", "q"]), VALUES, max_size=2)
PATCHES = st.dictionaries(st.sampled_from(["p", "q"]), VALUES | st.none(), max_size=2)
FINALIZERS = st.lists(st.sampled_from(["f.io/1", "f.io/2"]), max_size=2, unique=True)
T0 = datetime(2026, 1, 1, tzinfo=UTC)
WORK = Ref(MANIFEST_WORK, "c1/web")


def work() -> Obj:
    return {"spec": {"workload": {"manifests": [{"kind": "ConfigMap"}]}}}


def version_of(obj: Obj) -> int:
    return int(obj["metadata"]["resourceVersion"])


class Mirror:
    """What a client knows that lists once, then only listens; it checks what it hears."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.objects: dict[str, Obj] = {}
        self.version = 0

    def hear(self, event: Event) -> None:
        old = self.objects.get(event.ref.key)
        assert event.version > self.version, "versions only grow"
        assert event.ref.kind == self.kind
        assert (old is None) is (event.change is Change.ADDED), "added first, then changed"
        assert event.obj["metadata"]["resourceVersion"] == str(event.version)
        if old is not None:
            self.compare(old, event.obj)
        if event.change is Change.DELETED:
            del self.objects[event.ref.key]
        else:
            self.objects[event.ref.key] = event.obj
        self.version = event.version

    def compare(self, old: Obj, new: Obj) -> None:
        """One version of an object and the next: what only the server does, it does right."""
        was, now = old["metadata"], new["metadata"]
        assert was["uid"] == now["uid"]
        marked = "deletionTimestamp" in now and "deletionTimestamp" not in was
        if self.kind.has_status:
            spec_differs = repr(old.get("spec")) != repr(new.get("spec"))
            assert now["generation"] - was["generation"] == spec_differs + marked
            status_differs = repr(old.get("status")) != repr(new.get("status"))
            assert not (spec_differs and status_differs), "one write changed spec and status"
        if "deletionTimestamp" in was:
            assert now["deletionTimestamp"] == was["deletionTimestamp"]
            assert set(now.get("finalizers") or ()) <= set(was.get("finalizers") or ())


class Histories(RuleBasedStateMachine):
    """Writers of all sorts against one hub, with mirrors that begin at any version."""

    hub: EmbeddedHub

    def open(self) -> EmbeddedHub:
        return MemoryHub(VirtualClock(T0))

    @initialize()
    def begin(self) -> None:
        self.hub = self.open()
        self.snapshots: list[tuple[Kind, int, dict[str, Obj]]] = [(k, 0, {}) for k in KINDS_USED]
        self.counted: dict[str, int] = {}
        self.live = [Mirror(kind) for kind in KINDS_USED]
        for mirror in self.live:
            self.hub.watch(mirror.kind, 0, mirror.hear)
        for ref in REFS:
            self.hub.create(ref, {"spec": {"p": 0}})

    def teardown(self) -> None:
        if hasattr(self, "hub"):
            self.hub.close()

    def attempt(self, verb: str, *args: Any, **more: Any) -> None:
        """A write may be refused, but then nothing has changed."""
        before = self.hub.list(MANIFEST_WORK).version
        try:
            getattr(self.hub, verb)(*args, **more)
        except (Conflict, Gone, Invalid):
            assert self.hub.list(MANIFEST_WORK).version == before

    @rule(ref=st.sampled_from(REFS), spec=SPECS, finalizers=FINALIZERS, owner=st.sampled_from(REFS))
    def create(self, ref: Ref, spec: Obj, finalizers: list[str], owner: Ref) -> None:
        meta: Obj = {"finalizers": finalizers}
        if owner.name == "a" and ref.name == "b":
            found = self.hub.list(owner.kind, owner.namespace).items
            meta["ownerReferences"] = [
                {
                    "apiVersion": owner.kind.api_version,
                    "kind": owner.kind.name,
                    "name": o["metadata"]["name"],
                    "uid": o["metadata"]["uid"],
                }
                for o in found[:1]
            ]
        self.attempt("create", ref, {"metadata": meta, "spec": spec, "status": {"evil": 1}})

    @rule(ref=st.sampled_from(REFS), spec=PATCHES, status=PATCHES)
    def patch(self, ref: Ref, spec: Obj, status: Obj) -> None:
        self.attempt("patch", ref, {"spec": spec, "status": status})

    @rule(ref=st.sampled_from(REFS), spec=PATCHES, status=PATCHES)
    def patch_status(self, ref: Ref, spec: Obj, status: Obj) -> None:
        self.attempt("patch_status", ref, {"spec": spec, "status": status})

    @rule(ref=st.sampled_from(REFS), spec=SPECS, finalizers=FINALIZERS)
    def replace(self, ref: Ref, spec: Obj, finalizers: list[str]) -> None:
        kept = {uid: {"count": str(n)} for uid, n in self.counted.items()}
        try:
            uid = self.hub.get(ref)["metadata"]["uid"]
        except Gone:
            uid = ""
        meta = {"finalizers": finalizers, "annotations": kept.get(uid, {})}
        obj = {"metadata": meta, "spec": spec, "status": {"evil": 2}}
        self.attempt("replace", ref, obj)

    @rule(ref=st.sampled_from(REFS), finalizers=FINALIZERS)
    def finalize(self, ref: Ref, finalizers: list[str]) -> None:
        self.attempt("patch", ref, {"metadata": {"finalizers": finalizers}})

    @rule(ref=st.sampled_from(REFS), value=VALUES)
    def json_patch(self, ref: Ref, value: Any) -> None:
        self.attempt("patch", ref, [{"op": "add", "path": "/spec/p", "value": value}])

    @rule(ref=st.sampled_from(REFS))
    def delete(self, ref: Ref) -> None:
        self.attempt("delete", ref)

    @rule(ref=st.sampled_from(REFS), stale=st.booleans())
    def add_one(self, ref: Ref, stale: bool) -> None:
        """Read, add one, write at the version read; sometimes another writer comes between."""
        try:
            read = self.hub.get(ref)
        except Gone:
            return
        uid, version = read["metadata"]["uid"], int(read["metadata"]["resourceVersion"])
        count = int(read["metadata"].get("annotations", {}).get("count", "0"))
        assert count == self.counted.get(uid, 0), "an update was lost"
        change = {"metadata": {"annotations": {"count": str(count + 1)}}}
        if stale:
            self.hub.patch(ref, change)
            with pytest.raises(Conflict):
                self.hub.patch(ref, change, version)
        else:
            self.hub.patch(ref, change, version)
        self.counted[uid] = count + 1
        if ref.kind.has_status:
            assert self.hub.get(ref).get("spec") == read.get("spec")

    @rule(
        refs=st.lists(st.sampled_from(REFS), max_size=4),
        fail=st.sampled_from([int, lambda: 1 // 0]),
    )
    def batch(self, refs: list[Ref], fail: Callable[[], int]) -> None:
        before = {kind: self.hub.list(kind) for kind in KINDS_USED}
        try:
            with self.hub.batch():
                for ref in refs:
                    self.attempt("create", ref, {"spec": {"p": 0}})
                    self.attempt("delete", ref)
                    self.attempt("create", ref, {"spec": {"p": 1}})
                fail()
        except ZeroDivisionError:
            assert {kind: self.hub.list(kind) for kind in KINDS_USED} == before

    @rule(kind=st.sampled_from(KINDS_USED))
    def remember(self, kind: Kind) -> None:
        listing = self.hub.list(kind)
        self.snapshots.append((kind, listing.version, _by_key(listing.items)))

    @invariant()
    def a_watch_from_any_version_replays_to_what_is_listed(self) -> None:
        if not hasattr(self, "hub"):
            return
        for mirror in self.live:
            assert mirror.objects == _by_key(self.hub.list(mirror.kind).items)
        kind, version, objects = self.snapshots[-1]
        late = Mirror(kind)
        late.version, late.objects = version, dict(objects)
        self.hub.watch(kind, version, late.hear)()
        assert late.objects == _by_key(self.hub.list(kind).items)


class SqliteHistories(Histories):
    """The same with the file; a second process's hub listens, writes, and must agree."""

    def open(self) -> EmbeddedHub:
        self.directory = TemporaryDirectory()
        path = Path(self.directory.name) / "hub.db"
        self.other = SqliteHub(path, VirtualClock(T0))
        self.heard = Mirror(MANIFEST_WORK)
        self.other.watch(MANIFEST_WORK, 0, self.heard.hear)
        return SqliteHub(path, VirtualClock(T0))

    @rule(ref=st.sampled_from(REFS), spec=PATCHES)
    def write_elsewhere(self, ref: Ref, spec: Obj) -> None:
        try:
            self.other.patch(ref, {"spec": spec})
        except Gone:
            self.other.create(ref, {"spec": spec})
        self.hub.poll()

    @rule()
    def reopen(self) -> None:
        path = Path(self.directory.name) / "hub.db"
        before = {kind: self.hub.list(kind) for kind in KINDS_USED}
        fresh = SqliteHub(path, VirtualClock(T0))
        try:
            assert {kind: fresh.list(kind) for kind in KINDS_USED} == before
        finally:
            fresh.close()

    @invariant()
    def another_process_sees_the_same(self) -> None:
        if hasattr(self, "hub"):
            self.other.poll()
            assert self.heard.objects == _by_key(self.hub.list(MANIFEST_WORK).items)

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "directory"):
            self.other.close()
            self.directory.cleanup()


def _by_key(items: tuple[Obj, ...]) -> dict[str, Obj]:
    return {f"{o['metadata']['namespace']}/{o['metadata']['name']}": o for o in items}


TestMemoryHistories = Histories.TestCase
TestMemoryHistories.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestSqliteHistories = SqliteHistories.TestCase
TestSqliteHistories.settings = settings(
    max_examples=15,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.fixture(params=["memory", "sqlite"])
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EmbeddedHub]:
    clock = VirtualClock(T0)
    made: EmbeddedHub
    made = MemoryHub(clock) if request.param == "memory" else SqliteHub(tmp_path / "x.db", clock)
    yield made
    made.close()


# Optimistic concurrency


@pytest.mark.parametrize("verb", ["patch", "patch_status", "replace", "delete"])
def test_a_write_at_an_older_version_is_a_conflict(hub: EmbeddedHub, verb: str) -> None:
    old = version_of(hub.create(WORK, work()))
    now = version_of(hub.patch(WORK, {"spec": {"n": 1}}))
    write = getattr(hub, verb)
    body: tuple[Obj, ...] = () if verb == "delete" else ({"spec": {"n": 2}, "status": {"n": 2}},)

    with pytest.raises(Conflict):
        write(WORK, *body, version=old)
    assert version_of(hub.get(WORK)) == now

    write(WORK, *body, version=now)
    assert hub.list(MANIFEST_WORK).version == now + 1


@pytest.mark.parametrize("meta", [{"resourceVersion": "77"}, {"uid": "another"}])
@pytest.mark.parametrize("verb", ["patch", "patch_status", "replace"])
def test_version_and_uid_inside_a_document_are_preconditions(
    hub: EmbeddedHub, verb: str, meta: Obj
) -> None:
    before = hub.create(WORK, work())

    with pytest.raises(Conflict):
        getattr(hub, verb)(WORK, {"metadata": meta, "spec": {"n": 1}, "status": {"n": 1}})

    own = {k: before["metadata"][k] for k in meta}
    getattr(hub, verb)(WORK, {"metadata": own, "spec": {"n": 1}, "status": {"n": 1}})
    assert version_of(hub.get(WORK)) == 2


@pytest.mark.parametrize("verb", ["get", "patch", "patch_status", "replace", "delete"])
def test_what_is_not_there_is_gone(hub: EmbeddedHub, verb: str) -> None:
    args: tuple[Obj, ...] = () if verb in ("get", "delete") else ({"spec": {}},)

    with pytest.raises(Gone):
        getattr(hub, verb)(WORK, *args)
