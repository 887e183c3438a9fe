"""Writes over HTTP, many at once: the same outcomes as one after the other, and what faults make of them."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rollout.api.work import decode_work
from rollout.clock import SystemClock
from rollout.hub.admission import admit
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.hub.kube_session import Times
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import CONFIG_MAP, MANIFEST_WORK, PLACEMENT_DECISION, Obj, Ref
from rollout.model.names import PLACEMENT_LABEL, WORK_OWNER_LABEL
from rollout.model.writes import Create, Delete, Patch, PatchStatus, PatchWork, RemoveFinalizer
from rollout.planning.plan import Write
from rollout.runtime.io import InlineIo, Io, ReadBack, WriteOutcome, WriteResult
from rollout.runtime.kube_io import KubeIo
from tests.kube.contract import work
from tests.kube.facade import Facade, cut, delay, parts_of, refuse, say, serving
from tests.kube.setting import not_before

DECISION = Ref(PLACEMENT_DECISION, "ns/p-decision-1")
HELD = Ref(CONFIG_MAP, "ns/held")
PATIENT = Times(connect=60, read=60, write=60)
HASTY = Times(connect=60, read=60, write=0.4)
Seed = dict[str, Obj]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits too long on a slow machine, but where a test says so."""
    for name in ("OLDEST_SECONDS", "FRESH_SECONDS", "READ_BACK_SECONDS"):
        monkeypatch.setattr(f"rollout.runtime.kube_io.{name}", 120.0)


@pytest.fixture
def facade() -> Iterator[Facade]:
    with serving() as found:
        yield found


@pytest.fixture
def hub(facade: Facade, tmp_path: Path) -> Iterator[KubeHub]:
    hub = KubeHub(Access(str(facade.kubeconfig(tmp_path))), times=PATIENT)
    yield hub
    hub.close()


@pytest.fixture
def hasty(facade: Facade, tmp_path: Path) -> Iterator[KubeHub]:
    """A hub that waits for an answer to a write no longer than an instant."""
    hub = KubeHub(Access(str(facade.kubeconfig(tmp_path))), times=HASTY)
    yield hub
    hub.close()


class Desk:
    """Takes outcomes in, as the engine does."""

    def __init__(self) -> None:
        self.outcomes: list[tuple[Write, WriteOutcome]] = []
        self._all = threading.Event()
        self._wanted = 0

    def send(self, io: Io, *writes: Write) -> list[WriteOutcome]:
        self.begin(io, writes)
        return self.wait()

    def begin(self, io: Io, writes: Sequence[Write], turn: str = "") -> None:
        self.outcomes, self._wanted = [], len(writes)
        self._all.clear()
        io.send(writes, self._done, turn)

    def _done(self, write: Write, outcome: WriteOutcome) -> None:
        self.outcomes.append((write, outcome))
        if len(self.outcomes) == self._wanted:
            self._all.set()

    def wait(self) -> list[WriteOutcome]:
        assert self._all.wait(120), f"{len(self.outcomes)} of {self._wanted} came back"
        return [outcome for _, outcome in self.outcomes]


def ref(n: int) -> Ref:
    return Ref(MANIFEST_WORK, f"c{n}/web")


def seed(hub: MemoryHub) -> dict[str, Obj]:
    """Works of clusters 1 to 9, a decision that names cluster 8, and a ConfigMap that is held."""
    owned = {"labels": {WORK_OWNER_LABEL: "ns.web"}}
    found = {str(n): hub.create(ref(n), work(**owned)) for n in range(1, 10)}
    hub.create(DECISION, {"metadata": {"labels": {PLACEMENT_LABEL: "p"}}})
    hub.patch_status(DECISION, {"status": {"decisions": [{"clusterName": "c8", "reason": ""}]}})
    found["held"] = hub.create(HELD, {"metadata": {"finalizers": ["a.io/x", "b.io/y"]}})
    return found


def version(obj: Obj) -> int:
    return int(obj["metadata"]["resourceVersion"])


def labelled(value: str) -> Obj:
    return {"metadata": {"labels": {"v": value}}}


def condition(kind: str) -> Obj:
    return {
        "conditions": [
            {
                "type": kind,
                "status": "True",
                "reason": "R",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ]
    }


def release(
    owner: str, held: int, *, deleting_is_gone: bool = False, ref: Ref = HELD
) -> RemoveFinalizer:
    return RemoveFinalizer(
        ref=ref,
        kept=("b.io/y",),
        version=held,
        kind=MANIFEST_WORK,
        label=(WORK_OWNER_LABEL, owner),
        deleting_is_gone=deleting_is_gone,
    )


UID = "00000000-0000-0000-0000-000000000000"

CASES: dict[str, Callable[[dict[str, Obj]], Write]] = {
    "create": lambda seeded: Create(ref(10), work()),
    "create twice": lambda seeded: Create(ref(1), work()),
    "create what is bad": lambda seeded: Create(ref(10), {"spec": {"workload": 7}}),
    "patch": lambda seeded: Patch(ref(1), labelled("1"), version(seeded["1"])),
    "patch at any version": lambda seeded: Patch(ref(1), labelled("1")),
    "patch what has changed": lambda seeded: Patch(ref(1), labelled("1"), version(seeded["1"]) - 1),
    "patch what is gone": lambda seeded: Patch(ref(10), labelled("1")),
    "patch badly": lambda seeded: Patch(ref(1), {"spec": {"workload": 7}}),
    "status": lambda seeded: PatchStatus(ref(2), condition("Applied"), version(seeded["2"])),
    "status of what has changed": lambda seeded: PatchStatus(ref(2), condition("Applied"), 1),
    "status of what is gone": lambda seeded: PatchStatus(ref(10), condition("Applied")),
    "delete": lambda seeded: Delete(ref(3), seeded["3"]["metadata"]["uid"]),
    "delete another one": lambda seeded: Delete(ref(3), UID),
    "delete what is gone": lambda seeded: Delete(ref(10), UID),
    "delete what is selected": lambda s: Delete(
        ref(8), s["8"]["metadata"]["uid"], unless_selected_by=("ns/p",), cluster="c8"
    ),
    "delete what is not": lambda s: Delete(
        ref(9), s["9"]["metadata"]["uid"], unless_selected_by=("ns/p",), cluster="c9"
    ),
    "release too early": lambda seeded: release("ns.web", version(seeded["held"])),
    "release": lambda seeded: release("none", version(seeded["held"])),
    "release what has changed": lambda seeded: release("none", 1),
    "release what is gone": lambda s: release("none", 1, ref=Ref(CONFIG_MAP, "ns/none")),
}


def picture(hub: MemoryHub) -> list[Any]:
    """What a hub holds, without what differs from one to the other."""
    found: list[Any] = []
    for kind in (MANIFEST_WORK, PLACEMENT_DECISION, CONFIG_MAP):
        for obj in hub.list(kind).items:
            own = ("uid", "creationTimestamp")
            meta = {name: value for name, value in obj["metadata"].items() if name not in own}
            found.append({**obj, "metadata": meta})
    return found


@pytest.mark.parametrize("case", CASES)
def test_every_write_has_the_outcome_that_it_has_one_after_the_other(
    facade: Facade, hub: KubeHub, case: str
) -> None:
    reference = MemoryHub(SystemClock(), admit=admit)
    (plain,) = Desk().send(InlineIo(reference), CASES[case](seed(reference)))

    (found,) = Desk().send(KubeIo(hub), CASES[case](facade.do(seed)))

    assert found.result is plain.result
    if found.result is WriteResult.LANDED:
        assert (found.obj is None) == (plain.obj is None)
    assert facade.do(picture) == picture(reference)


# Faults


def test_a_write_that_lost_its_answer_is_read_back_as_it_was_done(
    facade: Facade, hub: KubeHub
) -> None:
    facade.script("create", facade.lose)

    (outcome,) = Desk().send(KubeIo(hub), Create(ref(1), work()))

    assert outcome.result is WriteResult.UNKNOWN
    assert outcome.read_back is ReadBack.DONE
    assert outcome.obj == hub.get(ref(1))


@pytest.mark.parametrize("act", [refuse(500), refuse(503), cut], ids=["500", "503", "reset"])
def test_a_write_that_was_not_done_is_read_back_as_nothing(
    facade: Facade, hub: KubeHub, act: Any
) -> None:
    facade.script("create", act)

    (outcome,) = Desk().send(KubeIo(hub), Create(ref(1), work()))

    assert (outcome.result, outcome.read_back, outcome.obj) == (
        WriteResult.UNKNOWN,
        ReadBack.DONE,
        None,
    )


def test_a_write_that_cannot_be_encoded_is_answered(facade: Facade, hub: KubeHub) -> None:
    stored = facade.do(seed)["1"]

    (outcome,) = Desk().send(KubeIo(hub), Patch(ref(1), labelled("\ud800")))

    assert (outcome.result, outcome.obj) == (WriteResult.UNKNOWN, stored)
    assert "surrogates not allowed" in outcome.message
    assert facade.count("patch") == 0


def test_a_delete_is_answered_where_the_decisions_before_it_cannot_be_understood(
    facade: Facade, hub: KubeHub
) -> None:
    uid = facade.do(seed)["9"]["metadata"]["uid"]
    odd = b'{"metadata":{"name":"p"},"status":{"decisions":[7],"odd":1}}'
    facade.script("list", say(b'{"metadata":{"resourceVersion":"9"},"items":[%s]}' % odd))
    delete = Delete(ref(9), uid, unless_selected_by=("ns/p",), cluster="c9")

    (outcome,) = Desk().send(KubeIo(hub), delete)

    assert outcome.result is WriteResult.UNKNOWN
    assert facade.count("delete") == 0


@pytest.mark.parametrize("verb", ["patch", "delete"])
def test_while_the_server_does_not_know_the_kind_nobody_knows_what_became_of_a_write(
    facade: Facade, hub: KubeHub, verb: str
) -> None:
    stored = facade.do(seed)["1"]
    for each in (verb, "get"):
        facade.script(each, say(b"404 page not found\n", 404))
    write = Patch(ref(1), {}) if verb == "patch" else Delete(ref(1), stored["metadata"]["uid"])

    (outcome,) = Desk().send(KubeIo(hub), write)

    assert (outcome.result, outcome.read_back) == (WriteResult.UNKNOWN, ReadBack.FAILED)


def test_a_write_with_no_answer_in_time_is_unknown(facade: Facade, hasty: KubeHub) -> None:
    held, release_it = facade.gate()
    facade.script("create", held)

    (outcome,) = Desk().send(KubeIo(hasty), Create(ref(1), work()))
    release_it()

    assert outcome.result is WriteResult.UNKNOWN
    assert "no answer in time" in outcome.message


def test_reading_back_is_tried_again_and_given_up_in_the_end(
    facade: Facade, hub: KubeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    facade.script("create", facade.lose)
    facade.script("get", refuse(503), cut)
    (first,) = Desk().send(KubeIo(hub), Create(ref(1), work()))

    monkeypatch.setattr("rollout.runtime.kube_io.READ_BACK_SECONDS", 0.3)
    facade.script("create", cut)
    facade.script("get", *(refuse(503) for _ in range(50)))
    (second,) = Desk().send(KubeIo(hub), Create(ref(2), work()))

    assert (first.read_back, first.obj is None) == (ReadBack.DONE, False)
    assert (second.read_back, second.obj) == (ReadBack.FAILED, None)


def test_a_conflict_brings_what_is_there_now(facade: Facade, hub: KubeHub) -> None:
    stored = facade.do(seed)["1"]
    newer = hub.patch(ref(1), labelled("2"))

    (outcome,) = Desk().send(KubeIo(hub), Patch(ref(1), labelled("3"), version(stored)))

    assert (outcome.result, outcome.obj) == (WriteResult.STALE, newer)


@pytest.mark.parametrize(
    ("heard", "reads"), [(0, 1), (1, 0)], ids=["nothing newer was heard", "it was heard of"]
)
def test_after_a_conflict_nothing_is_read_that_the_watch_has_told_already(
    facade: Facade, hub: KubeHub, heard: int, reads: int
) -> None:
    stored = facade.do(seed)["1"]
    newer = hub.patch(ref(1), labelled("2"))
    known = {ref(1): version(newer) if heard else version(stored)}
    io = KubeIo(hub, version_of=lambda each: known.get(each, 0))

    (outcome,) = Desk().send(io, Patch(ref(1), labelled("3"), version(stored)))

    assert outcome.result is WriteResult.STALE
    assert outcome.read_back is (ReadBack.HEARD if heard else ReadBack.DONE)
    assert facade.count("get") == reads


def test_a_write_past_the_agents_status_is_not_made_where_writing_is_forbidden_meanwhile(
    facade: Facade, hub: KubeHub
) -> None:
    known = decode_work(facade.do(seed)["1"])
    newer = hub.patch_status(ref(1), {"status": condition("Applied")})
    may = iter([True, False])
    io = KubeIo(hub, lambda: next(may))

    (outcome,) = Desk().send(io, PatchWork(ref(1), labelled("3"), known.version, known=known))

    assert outcome.result is WriteResult.WAIT
    assert hub.get(ref(1)) == newer


def test_a_fault_of_ours_after_a_conflict_leaves_no_write_without_an_answer(
    facade: Facade, hub: KubeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = decode_work(facade.do(seed)["1"])
    newer = hub.patch_status(ref(1), {"status": condition("Applied")})

    def fails(_: Obj) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr("rollout.runtime.io.decode_work", fails)
    write = PatchWork(ref(1), labelled("3"), known.version, known=known)
    (outcome,) = Desk().send(KubeIo(hub), write)

    assert (outcome.result, outcome.obj) == (WriteResult.UNKNOWN, newer)
    assert "too deep" in outcome.message


def test_where_the_server_cannot_say_what_was_in_the_way_a_conflict_stays_one(
    facade: Facade, hub: KubeHub
) -> None:
    known = decode_work(facade.do(seed)["1"])
    newer = hub.patch_status(ref(1), {"status": condition("Applied")})
    facade.script("get", refuse(503))

    (outcome,) = Desk().send(
        KubeIo(hub), PatchWork(ref(1), labelled("3"), known.version, known=known)
    )

    assert (outcome.result, outcome.obj) == (WriteResult.STALE, newer)
    assert hub.get(ref(1)) == newer


def test_a_lost_answer_is_read_back_whatever_was_heard(facade: Facade, hub: KubeHub) -> None:
    stored = facade.do(seed)["1"]
    facade.script("patch", facade.lose)
    io = KubeIo(hub, version_of=lambda _: version(stored) + 1000)

    (outcome,) = Desk().send(io, Patch(ref(1), labelled("3"), version(stored)))

    assert (outcome.result, outcome.read_back) == (WriteResult.UNKNOWN, ReadBack.DONE)


def test_what_has_its_name_already_is_read_whatever_was_heard(facade: Facade, hub: KubeHub) -> None:
    stored = facade.do(seed)["1"]
    io = KubeIo(hub, version_of=lambda _: version(stored) + 1000)

    (outcome,) = Desk().send(io, Create(ref(1), work()))

    assert (outcome.result, outcome.obj) == (WriteResult.STALE, stored)


def test_throttling_says_how_long_and_nothing_is_sent_meanwhile(
    facade: Facade, hub: KubeHub
) -> None:
    facade.script("create", refuse(429, Retry_After="2"))
    io, desk = KubeIo(hub), Desk()
    began = time.monotonic()  # noqa: TID251  a test on real time
    (first,) = desk.send(io, Create(ref(1), work()))
    desk.begin(io, [Create(ref(2), work())])

    assert first.result is WriteResult.WAIT
    assert first.after is not None
    assert first.after.total_seconds() == 2
    not_before(began, 1.5, lambda: facade.count("create") == 1)
    assert desk.wait()[0].result is WriteResult.LANDED


def test_a_storm_of_refusals_leaves_no_write_without_an_answer(
    facade: Facade, hub: KubeHub
) -> None:
    acts = [refuse(503), cut, refuse(500)]
    facade.script("create", refuse(429), *(acts[n % 3] for n in range(59)))

    outcomes = Desk().send(KubeIo(hub), *(Create(ref(n), work()) for n in range(100)))

    assert len(outcomes) == 100
    assert sum(o.result is WriteResult.LANDED for o in outcomes) == 40
    assert hub.writes.window.in_flight == 0
    assert hub.writes.waiting() == 0


# Many at once


def test_what_has_waited_too_long_is_not_sent_but_planned_again(
    facade: Facade, hub: KubeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rollout.runtime.kube_io.OLDEST_SECONDS", 0.15)
    facade.script("create", *(delay(0.1) for _ in range(200)))

    outcomes = Desk().send(KubeIo(hub), *(Create(ref(n), work()) for n in range(100)))

    unsent = [o.after for o in outcomes if o.after is not None]
    assert unsent
    assert {after.total_seconds() for after in unsent} == {0.0}
    assert facade.count("create") == len(hub.list(MANIFEST_WORK).items) == 100 - len(unsent)


def test_no_more_are_in_flight_than_the_window_holds(facade: Facade, hub: KubeHub) -> None:
    facade.script("create", *(delay(0.02) for _ in range(200)))
    outcomes = Desk().send(KubeIo(hub), *(Create(ref(n), work()) for n in range(200)))

    assert 16 <= hub.writes.most_in_flight <= 64
    landed = [outcome for outcome in outcomes if outcome.result is WriteResult.LANDED]
    assert len(hub.list(MANIFEST_WORK).items) == len(landed) > 64  # a machine may stand still: 15 s


def test_a_hub_that_is_closed_begins_nothing_that_was_queued(
    facade: Facade, hub: KubeHub, caplog: pytest.LogCaptureFixture
) -> None:
    held, _ = facade.gate()
    facade.script("create", *(held for _ in range(200)))
    Desk().begin(KubeIo(hub), [Create(ref(n), work()) for n in range(200)])
    while not facade.count("create"):
        threading.Event().wait(0.01)
    hub.close()

    assert facade.count("create") <= 16
    assert hub.writes.waiting() == 0
    assert caplog.records == []


def order(facade: Facade) -> list[str]:
    """The namespaces of creates, as the server was asked for them."""
    return [parts_of(asked.path)[1] for asked in facade.asked if asked.verb == "create"]


def test_a_small_lot_is_not_held_up_by_a_large_one(facade: Facade, hub: KubeHub) -> None:
    held, let_on = facade.gate()
    facade.script("create", *(held for _ in range(500)))
    io, large, small = KubeIo(hub), Desk(), Desk()
    large.begin(io, [Create(ref(n), work()) for n in range(400)])
    small.begin(io, [Create(Ref(MANIFEST_WORK, "small/web"), work())])
    let_on()
    small.wait()
    large.wait()

    assert order(facade).index("small") < 200


def test_a_busy_namespace_holds_up_no_other(facade: Facade, hub: KubeHub) -> None:
    """However many lots it has: of two namespaces each has every second write."""
    held, let_on = facade.gate()
    facade.script("create", *(held for _ in range(2_000)))
    io, busy, quiet = KubeIo(hub), [Desk() for _ in range(200)], Desk()
    for lot, desk in enumerate(busy):
        desk.begin(io, [Create(ref(1_000 * lot + n), work()) for n in range(5)], "busy")
    quiet.begin(io, [Create(Ref(MANIFEST_WORK, f"q{n}/web"), work()) for n in range(10)], "quiet")
    let_on()
    for desk in (quiet, *busy):
        desk.wait()

    last = max(at for at, name in enumerate(order(facade)) if name.startswith("q"))
    assert last < 300


def test_finalizers_that_wait_share_one_read_of_what_is_recent(
    facade: Facade, hub: KubeHub
) -> None:
    """It is no older than what was written here, and no read of the whole store."""
    written = hub.create(ref(1), work(labels={WORK_OWNER_LABEL: "ns.w7"}))
    held = {n: Ref(CONFIG_MAP, f"ns/held-{n}") for n in range(60)}
    made = {n: hub.create(r, {"metadata": {"finalizers": ["a.io/x"]}}) for n, r in held.items()}
    facade.script("list", *(delay(0.05) for _ in range(9)))
    desk = Desk()

    desk.send(KubeIo(hub), *(release(f"ns.w{n}", version(made[n]), ref=held[n]) for n in held))

    stale = [w.ref for w, outcome in desk.outcomes if outcome.result is not WriteResult.LANDED]
    assert stale == [held[7]]
    lists = [dict(asked.query) for asked in facade.asked if "labelSelector" in asked.query]
    assert 2 <= len(lists) <= 12  # for 60 of them; how many wait together is a matter of time
    for query in lists:
        assert int(query["resourceVersion"]) >= version(written)
        assert query["resourceVersionMatch"] == "NotOlderThan"
        assert "limit" not in query


def test_a_list_that_takes_long_holds_up_no_write_and_does_not_shrink_their_window(
    facade: Facade, hub: KubeHub
) -> None:
    seeded = facade.do(seed)
    io, guarded, plain = KubeIo(hub), Desk(), Desk()
    for n in range(20, 40):  # what is usual
        plain.send(io, Create(ref(n), work()))
    held, let_on = facade.gate()
    facade.script("list", held, held)
    guarded.begin(
        io,
        [
            Delete(
                ref(9), seeded["9"]["metadata"]["uid"], unless_selected_by=("ns/p",), cluster="c9"
            ),
            release("none", version(seeded["held"])),
        ],
    )
    plain.send(io, *(Create(ref(n), work()) for n in range(100, 200)))

    assert guarded.outcomes == []
    before = hub.writes.window.size
    threading.Event().wait(1)
    let_on()
    assert [outcome.result for outcome in guarded.wait()] == [
        WriteResult.LANDED,
        WriteResult.LANDED,
    ]
    assert hub.writes.window.size >= before


def test_a_delete_is_not_sent_long_after_decisions_were_read(
    facade: Facade, hub: KubeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rollout.runtime.kube_io.FRESH_SECONDS", 0.2)
    seeded = facade.do(seed)
    facade.script("list", delay(0.4))

    (outcome,) = Desk().send(
        KubeIo(hub),
        Delete(ref(9), seeded["9"]["metadata"]["uid"], unless_selected_by=("ns/p",), cluster="c9"),
    )

    assert outcome.result is WriteResult.WAIT
    assert facade.count("delete") == 0


@pytest.mark.parametrize(
    "case", ["create", "patch", "status", "delete", "delete what is not", "release"]
)
def test_a_process_that_may_not_write_sends_nothing(
    facade: Facade, hub: KubeHub, case: str
) -> None:
    seeded = facade.do(seed)

    (outcome,) = Desk().send(KubeIo(hub, allowed=lambda: False), CASES[case](seeded))

    assert outcome.result is WriteResult.WAIT
    assert {a.method for a in facade.asked} <= {"GET"}


def test_what_is_queued_when_writing_is_forbidden_is_not_sent(facade: Facade, hub: KubeHub) -> None:
    held, let_on = facade.gate()
    facade.script("create", *(held for _ in range(200)))
    allowed = threading.Event()
    allowed.set()
    desk = Desk()
    desk.begin(KubeIo(hub, allowed.is_set), [Create(ref(n), work()) for n in range(100)])
    while not facade.count("create"):
        threading.Event().wait(0.01)
    allowed.clear()
    let_on()
    outcomes = desk.wait()

    assert facade.count("create") < 60
    assert sum(o.result is WriteResult.WAIT for o in outcomes) > 40
