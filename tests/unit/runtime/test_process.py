"""Does a process lead, read, decide, stop and lose its lead in the right order?

`test_r2` is the safety contract's: a leader that froze, even between two of its writes, changes
nothing once another one leads. Its mutants are at the end.
"""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from rollout.errors import Fenced, Unavailable
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import LEASE, MANIFEST_WORK, PLACEMENT, REPLICA_SET, Kind, Obj, Ref
from rollout.model.writes import Patch, PatchStatus
from rollout.runtime.io import FencedIo, perform
from rollout.runtime.leader import LeaderCandidate, LeaderState, LeaseAction, LeaseTerms
from rollout.runtime.messages import Broken, Woken
from tests.support import make
from tests.support.addons import addon, installed_at
from tests.support.processes import SEC, T0, Process, World

CLUSTERS = 16


def documents(**fields: Any) -> list[Obj]:
    strategy = make.progressive(maxConcurrency="25%", minSuccessTime="20s", **fields)
    return [*make.fleet(CLUSTERS), make.workload(strategy=strategy)]


def alone(seconds: float = 0) -> tuple[World, Process]:
    """The process p0 has had the fleet to itself for so long."""
    world = World(documents())
    process = world.start("p0")
    world.on(seconds)
    return world, process


def with_deadline(deadline: str, ready_after: str) -> tuple[World, Process]:
    """A workload that goes back by itself once a cluster has missed its deadline."""
    strategy = make.progressive(maxConcurrency=4, maxFailures=0, progressDeadline=deadline)
    workload = make.workload(strategy=strategy, annotations={names.ROLLBACK: "Automatic"})
    world = World([*make.fleet(4), workload], defaults={"readyAfter": ready_after})
    return world, world.start("p0")


def progressing(world: World) -> str:
    status = world.get(REPLICA_SET, "default/web").get("status") or {}
    found = {c["type"]: c for c in status.get("conditions") or ()}
    return str(found["Progressing"]["reason"]) if "Progressing" in found else ""


def test_a_single_process_leads_reads_and_rolls_out() -> None:
    world, _ = alone()
    world.on(600, lambda: progressing(world) == "Complete")
    assert len(world.works()) == CLUSTERS
    assert progressing(world) == "Complete"


@pytest.mark.parametrize(("profile", "observed"), [("ocm", False), ("strict", True)])
def test_the_profile_of_the_process_reaches_placements(profile: str, observed: bool) -> None:
    """OCM's conditions of a Placement do not say which generation they are about."""
    world = World(make.fleet(2))
    world.start("p0", profile=profile)
    world.on(10)
    told = world.get(PLACEMENT, "default/p")["status"]["conditions"]
    assert ["observedGeneration" in each for each in told] == [observed, observed]


def test_whoever_waits_neither_reads_the_fleet_nor_writes() -> None:
    world = World([*documents(), addon(placements=[installed_at()])])
    world.start("p0")
    world.on(1)
    second = world.start("p1")
    world.on(30)
    assert world.by("p1") == []
    assert second.controller.engine.fleet.rolled_out() == []
    assert second.controller.readiness().ready
    assert "p0 leads" in second.controller.readiness().why


def test_a_process_is_ready_once_it_has_read_everything() -> None:
    world, process = alone()
    controller = process.controller
    assert not controller.readiness().ready
    process.line.cut = True
    world.on(30)
    assert not controller.readiness().ready
    assert controller.readiness().why.startswith("it cannot stand by: ")
    assert "the line is cut" in controller.readiness().why
    process.line.cut = False
    world.on(5)
    assert controller.readiness().ready
    assert controller.leads


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(Unavailable("the line is cut"), "the line is cut", id="it does not come"),
        pytest.param(RecursionError("nested too deeply"), "RecursionError", id="a fault of ours"),
    ],
)
def test_nothing_is_decided_before_everything_is_read_and_what_failed_is_read_again(
    error: Exception, told: str
) -> None:
    """The lease can be had, a list cannot: events that come in meanwhile lead to nothing."""
    world, process = alone()
    good = world.hub.list
    broken = [True]

    def listing(kind: Any, *args: Any, **kwargs: Any) -> Any:
        if broken[0] and kind is REPLICA_SET:
            raise error
        return good(kind, *args, **kwargs)

    world.hub.list = listing  # type: ignore[method-assign]  # one list fails, all else works
    world.on(20)
    assert world.by("p0") == []
    assert f"reading everything failed: {told}" in process.controller.readiness().why
    broken[0] = False
    world.on(20)
    assert world.by("p0", MANIFEST_WORK)


def test_a_new_leader_starts_where_the_old_one_stopped_and_counts_the_gap_as_an_outage() -> None:
    world, first = alone(10)
    first.frozen = True
    second = world.start("p1")
    world.on(40)
    assert second.leads
    (outage, *_) = second.controller.engine.fleet.outages.spans
    assert T0 + 7 * SEC <= outage[0] <= T0 + 10 * SEC  # what it last looked at, and wrote
    assert outage[1] >= T0 + 23 * SEC  # when it took over
    world.on(600, lambda: progressing(world) == "Complete")
    assert progressing(world) == "Complete"
    assert len(world.works()) == CLUSTERS


@pytest.mark.parametrize(
    ("soak", "seconds"),
    [
        pytest.param("0s", 3, id="no soak: at once"),
        pytest.param("8s", 12, id="a soak of 8 s, from when it heard of the success"),
    ],
)
def test_a_new_leader_goes_on_at_once_with_success_that_nobody_had_heard_of(
    soak: str, seconds: float
) -> None:
    """S13: it is there when the new leader begins, which sees all of the soak itself."""
    strategy = make.progressive(maxConcurrency=4, minSuccessTime=soak)
    workload = make.workload(strategy=strategy, rules=())
    world = World([*make.fleet(CLUSTERS), workload], defaults={"readyAfter": "5s"})
    first = world.start("p0")
    world.on(10, lambda: len(world.works()) == 4)
    first.frozen = True
    second = world.start("p1")
    world.on(60, lambda: second.controller.leads)
    assert len(world.works()) == 4

    world.on(seconds, lambda: len(world.works()) == 8)
    assert len(world.works()) == 8


def test_a_cut_line_ends_the_leader_at_its_deadline_and_the_other_one_finishes() -> None:
    world = World(documents())
    first = world.start("p0")
    world.start("p1")
    world.on(8)
    first.line.cut = True
    world.on(11)
    assert first.ended
    assert first.controller.candidate.standing is LeaderState.LOST
    world.on(900, lambda: progressing(world) == "Complete")
    assert progressing(world) == "Complete"


def test_watches_that_were_gone_for_long_are_an_outage_and_a_blink_is_none() -> None:
    world, process = alone()
    fleet = process.controller.engine.fleet
    world.on(5)
    process.in_touch = False
    world.on(3)
    process.in_touch = True
    world.on(3)
    assert fleet.outages.spans == ()
    assert fleet.outages.blind_since is None
    process.in_touch = False
    world.on(20)
    assert fleet.outages.spans == ()  # it is told once it is over
    blind = fleet.outages.blind_since
    assert blind is not None
    assert abs(world.clock.now() - blind - 20 * SEC) < SEC
    process.in_touch = True
    world.on(1)
    assert fleet.outages.blind_since is None
    ((begin, end),) = fleet.outages.spans
    assert timedelta(seconds=34) <= end - begin <= timedelta(seconds=37)  # 20 s, and a lease


def test_while_the_lease_is_not_heard_of_no_deadline_passes() -> None:
    """The watches look connected: nothing comes over them, and nobody says that they are cut."""
    world, process = with_deadline("60s", "55s")
    process.line.is_silent = True
    world.on(54.5)
    process.line.cut = True
    world.on(6.5)
    fleet = process.controller.engine.fleet
    assert fleet.outages.blind_since is not None
    process.line.mend()
    world.on(30)

    assert process.leads
    assert fleet.outages.blind_since is None
    assert progressing(world) == "RollingOut"


def hears_nothing(world: World, process: Process, patch: pytest.MonkeyPatch) -> None:
    """Its watches are gone, and its lease is not."""
    process.line.is_deaf, process.in_touch = True, False
    world.on(180)
    process.frozen = True


def stands_still(world: World, process: Process, patch: pytest.MonkeyPatch) -> None:
    """Its lease has a thread of its own."""
    patch.setattr(process.controller, "step", lambda: False)
    world.on(180)
    process.frozen = True


def ends_before_all_is_read(world: World, process: Process, patch: pytest.MonkeyPatch) -> None:
    """One after the other takes the lease, and gets no further."""

    def fail(*_: Any) -> Any:
        raise Unavailable("503")

    process.frozen = True
    with patch.context() as while_it_lasts:
        while_it_lasts.setattr(world.hub, "list", fail)
        for number in range(6):
            vain = world.start(f"vain-{number}")
            world.on(30)
            assert vain.leads
            assert not vain.controller.leads
            vain.frozen = True


@pytest.mark.parametrize(
    "trouble", [hears_nothing, stands_still, ends_before_all_is_read], ids=lambda f: f.__name__
)
def test_a_lease_that_is_renewed_by_one_who_looks_at_nothing_ends_no_deadline(
    trouble: Callable[[World, Process, pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """S13: the successor goes by until when somebody heard, not by the last renewal."""
    world, process = with_deadline("60s", "30s")
    world.on(10)
    trouble(world, process, monkeypatch)
    second = world.start("p1")
    world.on(40)

    assert second.controller.leads
    assert progressing(world) == "Complete"
    ((begin, _), *_) = second.controller.engine.fleet.outages.spans
    assert T0 + 7 * SEC <= begin <= T0 + 10 * SEC


def stand_still(world: World, process: Process, seconds: int) -> None:
    """The engine's thread stands still; the timers have threads of their own."""
    for _ in range(seconds):
        world.clock.advance(SEC)
        process.run_timers()


def test_a_thread_that_stands_still_within_a_turn_lets_no_deadline_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, process = with_deadline("40s", "65s")
    world.on(10)
    fleet = process.controller.engine.fleet
    quick = fleet.apply

    def slow(event: Event, now: datetime) -> set[Ref]:
        monkeypatch.undo()
        stand_still(world, process, 50)
        return quick(event, now)

    monkeypatch.setattr(fleet, "apply", slow)
    note = {"metadata": {"annotations": {"note": "planned in that same turn"}}}
    world.hub.patch(Ref(REPLICA_SET, "default/web"), note)
    world.on(15)

    assert process.leads
    assert progressing(world) == "RollingOut"


def test_no_soak_ends_by_what_a_list_that_takes_long_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    soak = make.progressive(maxConcurrency=1, minSuccessTime="30s")
    world = World([*make.fleet(4), make.workload(strategy=soak)], defaults={"readyAfter": "5s"})
    process = world.start("p0")
    world.on(10)
    quick = world.hub.list

    def slow(kind: Kind, *args: Any, **more: Any) -> Any:
        if kind is MANIFEST_WORK:
            monkeypatch.undo()
            stand_still(world, process, 50)
        return quick(kind, *args, **more)

    monkeypatch.setattr(world.hub, "list", slow)
    process.controller.engine.inbox.put(Broken(MANIFEST_WORK))
    world.on(5)

    assert list(world.works()) == ["c00"]


def test_it_looks_up_after_a_list_that_takes_long_and_plans_only_when_it_has_read_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World([*make.fleet(4), make.workload()])
    process = world.start("p0")
    world.on(10)
    engine, quick, lists = process.controller.engine, world.hub.list, []

    def slow(kind: Kind, *args: Any, **more: Any) -> Any:
        lists.append(kind)
        world.clock.advance(6 * SEC if kind is MANIFEST_WORK else 0 * SEC)
        return quick(kind, *args, **more)

    monkeypatch.setattr(world.hub, "list", slow)
    for kind in (MANIFEST_WORK, PLACEMENT):
        engine.inbox.put(Broken(kind))
    engine.inbox.put(Woken(Ref(REPLICA_SET, "default/web")))
    before = engine.passes

    assert engine.turn()
    assert (lists, engine.passes) == ([MANIFEST_WORK], before)
    assert engine.turn()
    assert lists == [MANIFEST_WORK, PLACEMENT]
    assert engine.passes == before + 1


def with_a_write_out() -> tuple[World, Process]:
    """A process froze amid its writes, and runs again; what it wrote has not come back."""
    world, process = alone(4)
    process.pipe.stop_before = process.pipe.sent + 1
    world.hub.patch(Ref(REPLICA_SET, "default/web"), {"spec": {"manifestWorkTemplate": v(2)}})
    world.on(4)
    assert process.pipe.waiting
    process.frozen = False
    return world, process


def test_told_to_stop_it_lets_its_writes_come_back_and_then_the_lease_go() -> None:
    world, process = with_a_write_out()
    order: list[str] = []
    process.controller._nap = lambda _: order.append("waits") or process.thaw()  # type: ignore[func-returns-value]
    process.controller.stop()
    process.controller.run(10 * SEC)
    assert order == ["waits"]
    assert world.get(LEASE, "default/rollout-controller")["spec"]["holderIdentity"] == ""
    assert not process.controller.readiness().ready


def test_writes_that_do_not_come_back_keep_the_lease() -> None:
    world, process = with_a_write_out()
    process.controller._nap = lambda _: world.clock.advance(SEC)
    process.controller.stop()
    process.controller.run(5 * SEC)
    assert world.get(LEASE, "default/rollout-controller")["spec"]["holderIdentity"] == "p0"


def test_a_lost_lead_ends_the_run_with_an_error() -> None:
    world, process = alone(4)
    world.hub.patch(
        Ref(LEASE, "default/rollout-controller"), {"spec": {"holderIdentity": "somebody"}}
    )
    world.on(4)
    with pytest.raises(Fenced, match="somebody"):
        process.controller.run(SEC)


def test_a_question_is_answered_on_the_engines_thread_and_its_errors_are_the_askers() -> None:
    _, process = alone()
    answers: list[object] = []

    def ask() -> None:
        answers.append(process.controller.ask(threading.get_ident, 240))
        try:
            process.controller.ask(lambda: 1 / 0, 240)
        except ZeroDivisionError as error:
            answers.append(error)

    asker = threading.Thread(target=ask)
    asker.start()
    while asker.is_alive():
        process.controller.step()
    asker.join()
    assert answers[0] == threading.get_ident()
    assert isinstance(answers[1], ZeroDivisionError)
    with pytest.raises(TimeoutError):
        process.controller.ask(lambda: 1, 0.01)


def test_a_loop_that_does_not_come_round_is_not_alive() -> None:
    world, process = alone(2)
    assert process.controller.is_alive()
    world.clock.advance(timedelta(minutes=4))
    assert not process.controller.is_alive()


# -- R2 ------------------------------------------------------------------------------------------


def v(version: int) -> Obj:
    return make.template(str(version))


def takeover(stop_before: int) -> tuple[World, Process, int]:
    """A leader freezes in front of its n-th write, in the middle of a change. Another one takes over
    while a person changes the template again. Then the first one wakes up.

    Returns: also how many changes there were when it woke up.
    """
    world = World(documents())
    first = world.start("p0")
    world.start("p1")
    world.on(40)
    first.pipe.stop_before = first.pipe.sent + stop_before
    ref = Ref(REPLICA_SET, "default/web")
    world.hub.patch(ref, {"spec": {"manifestWorkTemplate": v(2)}})
    world.on(120, lambda: first.frozen)
    assert first.frozen
    world.hub.patch(ref, {"spec": {"manifestWorkTemplate": v(3)}})
    world.on(45)
    assert world.processes[1].leads
    assert any(e.ref.kind is MANIFEST_WORK for e in world.by("p1"))
    before = len(world.changes)
    first.thaw()
    world.on(60)
    return world, first, before


STOPS = range(12)


def differing(world: World, before: int) -> list[str]:
    """What the first process changed after it woke up."""
    return [str(e.ref) for who, e in world.changes[before:] if who == "p0"]


@pytest.mark.parametrize("stop_before", STOPS)
def test_r2_a_leader_that_froze_writes_nothing_once_another_one_leads(stop_before: int) -> None:
    world, first, before = takeover(stop_before)
    assert differing(world, before) == []
    assert first.ended
    world.on(900, lambda: progressing(world) == "Complete")
    assert progressing(world) == "Complete"
    assert {w["spec"]["workload"]["manifests"][0]["data"]["version"] for w in world.works().values()} == {"3"}  # fmt: skip


def unchecked(self: Any) -> None:
    """In place of `Pipe.flow`: the freeze strikes after the last check, so that it cannot help."""
    while self.waiting and not self.is_stopped:
        write, done = self.waiting.pop(0)
        self.sent += 1
        done(write, perform(self._hub, write, {}))


def test_r2_what_is_on_its_way_fails_its_precondition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.processes.Pipe.flow", unchecked)
    lots = 0
    for stop_before in STOPS:
        world, first, before = takeover(stop_before)
        lots += first.pipe.sent
        assert differing(world, before) == []
        assert first.ended
    assert lots > len(STOPS)


def _no_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LeaderCandidate, "check", lambda self: None)
    monkeypatch.setattr(LeaderCandidate, "may_write", lambda self: self._held is not None)
    monkeypatch.setattr(LeaderCandidate, "standing", property(_always_leading))


def _always_leading(self: LeaderCandidate) -> LeaderState:
    return LeaderState.WAITING if self._held is None else LeaderState.LEADING


def _no_preconditions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.processes.Pipe.flow", unchecked)
    real = FencedIo.send

    def send(self: FencedIo, writes: Any, done: Any, turn: str = "") -> None:
        bare = [
            replace(w, version=None) if isinstance(w, Patch | PatchStatus) else w for w in writes
        ]
        self._version_of = lambda _: 0
        real(self, bare, done, turn)

    monkeypatch.setattr(FencedIo, "send", send)


@pytest.mark.parametrize("mutate", [_no_check, _no_preconditions])
def test_r2_the_story_catches_a_process_that_goes_on(
    mutate: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    caught = 0
    for stop_before in STOPS:
        world, _, before = takeover(stop_before)
        caught += bool(differing(world, before))
    assert caught


def test_r2_a_successor_that_does_not_wait_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def hasty(me: str, seen: Any, held: Any, terms: LeaseTerms, now: datetime) -> LeaseAction:
        if held is not None:
            return LeaseAction.RENEW
        return LeaseAction.CREATE if seen is None else LeaseAction.TAKE

    monkeypatch.setattr("rollout.runtime.leader.decide", hasty)
    world = World(documents())
    world.start("p0")
    world.start("p1")
    two = [False]

    def both() -> bool:
        two[0] = two[0] or sum(p.leads for p in world.processes) > 1
        return two[0]

    world.on(10, both)
    assert two[0]


def test_every_write_of_a_patch_has_a_precondition() -> None:
    world, process = alone()
    bare: list[str] = []
    real = process.pipe.send

    def send(writes: Any, done: Any, turn: str = "") -> None:
        patches = [w for w in writes if isinstance(w, Patch | PatchStatus)]
        bare.extend(str(w.ref) for w in patches if w.version is None)
        real(writes, done, turn)

    process.pipe.send = send  # type: ignore[method-assign]  # it looks at what passes
    world.on(600, lambda: progressing(world) == "Complete")
    assert bare == []
    assert len([e for e in world.by("p0") if e.change is Change.MODIFIED]) > 10
