"""Are events few, whole and harmless? The chronicle by tables, the writer with its own thread."""

import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.clock import SystemClock, VirtualClock
from rollout.errors import Denied, Unavailable
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import (
    CLUSTER_SET,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    Obj,
    Ref,
)
from rollout.model.writes import Create, Patch
from rollout.planning.plan import Note, Write
from rollout.runtime.events import (
    AT_ONCE,
    BURST,
    EVENT,
    QUEUED,
    Chronicle,
    EventWriter,
    event_object,
)
from rollout.runtime.io import Done, InlineIo

T0 = datetime(2026, 1, 1, tzinfo=UTC)
PATIENCE = 240.0
"""Seconds: a machine may be busy with something else."""
SEC, MIN = timedelta(seconds=1), timedelta(minutes=1)
WEB = Ref(REPLICA_SET, "default/web")
STAGE = Note(WEB, "StagePassed", "stage canary passed")


def test_a_first_note_becomes_an_event() -> None:
    write = Chronicle("pod-1").add(STAGE, "uid-1", T0)
    assert isinstance(write, Create)
    obj = write.obj
    assert write.ref.kind is EVENT
    assert write.ref.key == f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
    assert obj["metadata"]["name"].startswith("web.")
    assert {k: v for k, v in obj.items() if k != "metadata"} == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "rollout-controller",
        "reportingInstance": "pod-1",
        "action": "StagePassed",
        "reason": "StagePassed",
        "regarding": {
            "apiVersion": "work.open-cluster-management.io/v1alpha1",
            "kind": "ManifestWorkReplicaSet",
            "namespace": "default",
            "name": "web",
            "uid": "uid-1",
        },
        "note": "stage canary passed",
        "type": "Normal",
    }


def test_a_placement_speaks_as_ocm_does() -> None:
    note = Note(
        Ref(PLACEMENT, "ns/p"), "DecisionUpdate", "Decision p-decision-1 is updated with placement p"
        " in namespace ns", warning=True, action="DecisionUpdated", related=Ref(PLACEMENT_DECISION, "ns/p-decision-1"),
    )  # fmt: skip
    obj = event_object(Ref(EVENT, "ns/p.1"), note, "", "pod", T0)
    assert obj["reportingController"] == "placement-controller"
    assert (obj["reason"], obj["action"], obj["type"]) == (
        "DecisionUpdate", "DecisionUpdated", "Warning",
    )  # fmt: skip
    assert obj["related"] == {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "PlacementDecision",
        "namespace": "ns",
        "name": "p-decision-1",
    }


@pytest.mark.parametrize(
    ("ref", "namespace", "regarding"),
    [
        (Ref(MANAGED_CLUSTER, "eu-1"), "eu-1", "eu-1"),
        (Ref(CLUSTER_SET, "prod"), "default", "default"),
        (WEB, "default", "default"),
    ],
    ids=["cluster", "set", "workload"],
)
def test_an_event_lies_where_the_server_wants_it(ref: Ref, namespace: str, regarding: str) -> None:
    write = Chronicle("pod").add(Note(ref, "R", "m"), "", T0)
    assert isinstance(write, Create)
    assert write.obj["metadata"]["namespace"] == namespace
    assert write.obj["regarding"].get("namespace") == regarding


def test_the_same_note_again_is_counted_and_the_count_written_now_and_then() -> None:
    chronicle = Chronicle("pod")
    first = chronicle.add(STAGE, "", T0)
    assert isinstance(first, Create)
    writes = [chronicle.add(STAGE, "", T0 + i * SEC) for i in range(1, 61)]
    patches = [write for write in writes if write is not None]
    assert [type(p) for p in patches] == [Patch, Patch]
    assert [p.changes["series"]["count"] for p in patches if isinstance(p, Patch)] == [31, 61]
    assert {p.ref for p in patches} == {first.ref}


def test_a_count_is_not_forgotten_when_nothing_more_happens() -> None:
    chronicle = Chronicle("pod")
    chronicle.add(STAGE, "", T0)
    chronicle.add(STAGE, "", T0 + SEC)
    assert chronicle.due(T0 + 29 * SEC) == []
    (patch,) = chronicle.due(T0 + 30 * SEC)
    assert patch.changes["series"] == {
        "count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z",
    }  # fmt: skip
    assert chronicle.due(T0 + MIN) == []


def test_after_a_long_silence_it_is_news_again() -> None:
    chronicle = Chronicle("pod")
    first = chronicle.add(STAGE, "", T0)
    again = chronicle.add(STAGE, "", T0 + 11 * MIN)
    assert isinstance(first, Create)
    assert isinstance(again, Create)
    assert first.ref != again.ref


def test_a_thousand_different_notes_about_one_object_are_few_events() -> None:
    chronicle = Chronicle("pod")
    writes = [
        chronicle.add(Note(WEB, "ClusterFailed", f"c{i} failed"), "", T0 + i * SEC / 10)
        for i in range(1000)
    ]
    created = [write for write in writes if isinstance(write, Create)]
    assert BURST <= len(created) <= BURST + 11
    patched = chronicle.due(T0 + 200 * SEC)
    counts = [w.changes["series"]["count"] for w in (*writes, *patched) if isinstance(w, Patch)]
    assert max(counts) > 50  # what was not told anew was counted
    assert chronicle.dropped == 0


def test_one_noisy_object_silences_no_other() -> None:
    chronicle = Chronicle("pod")
    for i in range(500):
        chronicle.add(Note(WEB, "R", str(i)), "", T0)
    assert isinstance(chronicle.add(Note(Ref(REPLICA_SET, "default/b"), "R", "x"), "", T0), Create)


@given(st.text(min_size=0, max_size=3000))
def test_a_note_fits_whatever_it_says(text: str) -> None:
    write = Chronicle("p" * 300).add(Note(WEB, "R", text), "", T0)
    assert isinstance(write, Create)
    assert len(write.obj["note"].encode()) <= 1000
    assert len(write.obj["reportingInstance"]) <= 128


def test_what_is_remembered_is_bounded() -> None:
    chronicle = Chronicle("pod")
    for i in range(6000):
        chronicle.add(Note(Ref(REPLICA_SET, f"default/w{i}"), "R", "m"), "", T0)
    assert len(chronicle._series) <= 4096
    assert len(chronicle._allowances) <= 4096


# -- the writer ----------------------------------------------------------------------------------


class Slow:
    """A hub that answers when it is let go, or refuses."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.let_go, self.fault = threading.Event(), fault
        self.created: list[Obj] = []
        self.patched: list[Obj] = []

    def create(self, ref: Ref, obj: Obj) -> Obj:
        self.let_go.wait(PATIENCE)
        if self.fault is not None:
            raise self.fault
        self.created.append(obj)
        return obj

    def patch(self, ref: Ref, changes: Obj, version: int | None = None) -> Obj:
        self.patched.append(changes)
        return changes


class Waves:
    """Notes how many writes go out at a time."""

    def __init__(self, io: InlineIo) -> None:
        self.io, self.sizes = io, list[int]()

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        self.sizes.append(len(writes))
        self.io.send(writes, done)


def writer(hub: Any, dropped: list[str]) -> EventWriter:
    return EventWriter(
        InlineIo(hub), SystemClock(), "pod", lambda ref: f"uid of {ref.name}", dropped.append
    )


def test_the_teller_never_waits_and_what_is_too_much_is_dropped() -> None:
    hub, dropped = Slow(), list[str]()
    events = writer(hub, dropped)
    events.start()
    for i in range(QUEUED + 100):
        events.tell(Note(Ref(REPLICA_SET, f"default/w{i}"), "R", "m"), T0)
    assert len(dropped) >= 90, "all but those that the teller has taken by then"
    assert set(dropped) == {"queue"}
    hub.let_go.set()
    events.stop(PATIENCE)


def test_counts_go_out_no_more_at_a_time_than_first_notes() -> None:
    hub = MemoryHub(VirtualClock(T0))
    io, clock = Waves(InlineIo(hub)), VirtualClock(T0)
    events = EventWriter(io, clock, "pod")
    for i in range(20):
        for _ in range(2):  # the second one is only counted
            events.tell(Note(Ref(REPLICA_SET, f"default/w{i}"), "R", "m"), T0)
    events.start()
    events.stop(PATIENCE)

    assert sum(io.sizes) == 40
    assert max(io.sizes) <= AT_ONCE


def test_what_was_told_is_written_before_the_end() -> None:
    hub, dropped = Slow(), list[str]()
    hub.let_go.set()
    events = writer(hub, dropped)
    events.start()
    for _ in range(3):
        events.tell(STAGE, SystemClock().now())
    events.stop(PATIENCE)
    assert [obj["regarding"]["uid"] for obj in hub.created] == ["uid of web"]
    assert [changes["series"]["count"] for changes in hub.patched] == [3]
    assert dropped == []


@pytest.mark.parametrize("fault", [Denied("no"), Unavailable("no"), ValueError("a defect")])
def test_a_refused_event_is_counted_and_forgotten(fault: Exception) -> None:
    hub, dropped = Slow(fault), list[str]()
    hub.let_go.set()
    events = writer(hub, dropped)
    events.start()
    events.tell(STAGE, T0)
    events.tell(Note(WEB, "Other", "m"), T0)
    events.stop(PATIENCE)
    assert dropped == ["refused", "refused"]


def test_what_was_not_written_is_told_again_the_next_time() -> None:
    hub, dropped = Slow(Unavailable("away")), list[str]()
    hub.let_go.set()
    events = writer(hub, dropped)
    events.start()
    events.tell(STAGE, SystemClock().now())
    while not dropped:
        hub.let_go.wait(0.01)
    hub.fault = None
    events.tell(STAGE, SystemClock().now())
    events.stop(PATIENCE)
    assert len(hub.created) == 1


def test_a_hub_stores_what_is_written() -> None:
    clock = VirtualClock(T0)
    hub = MemoryHub(clock)
    write = Chronicle("pod").add(STAGE, "uid", T0)
    assert isinstance(write, Create)
    hub.create(write.ref, write.obj)
    assert hub.get(write.ref)["note"] == "stage canary passed"
