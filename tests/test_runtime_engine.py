"""What the engine promises planners: when they are asked, and what becomes of their writes."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from rollout.clock import SystemClock, VirtualClock
from rollout.errors import Conflict, Denied, HubError, Throttled, Unavailable
from rollout.fleet.fleet import Fleet
from rollout.hub.faults import Delivery, Fault, FaultyHub
from rollout.hub.memory import MemoryHub
from rollout.model.events import Event
from rollout.model.kinds import (
    CONFIG_MAP,
    KINDS,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.planning.plan import NOTHING, Create, Patch, PatchStatus, Plan, Touch, Write
from rollout.runtime.engine import LEISURE, Engine, Pace
from rollout.runtime.io import Done, InlineIo, Outcome, Result, perform
from rollout.runtime.messages import Woken
from rollout.runtime.timers import VirtualTimers
from rollout.sim.local import LocalRun
from rollout.sim.scenario import Scenario
from tests import make
from tests.sim.story import Story

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SEC, MIN, MS = timedelta(seconds=1), timedelta(minutes=1), timedelta(milliseconds=1)
A, B = Ref(REPLICA_SET, "default/a"), Ref(REPLICA_SET, "default/b")


def note(name: str, value: str = "") -> Create:
    """A write that concerns no single cluster."""
    ref = Ref(CONFIG_MAP, f"default/{name}")
    return Create(ref, {"metadata": {"namespace": "default", "name": name}, "data": {"v": value}})


def touch(cluster: str) -> Create:
    """A write that concerns one cluster only."""
    work = make.work(cluster, owner="default.a", name="w")
    return Create(ref_of(MANIFEST_WORK, work), work, Touch(A, "p", cluster))


@dataclass
class Script:
    """A planner that does what the test says, and remembers when it was asked for whom."""

    answers: dict[str, Callable[[], Plan]] = field(default_factory=dict)
    asked: list[tuple[datetime, str]] = field(default_factory=list)
    kind: Kind = REPLICA_SET

    def plan(self, key: str, view: object, now: datetime) -> Plan:
        self.asked.append((now, key))
        return self.answers.get(key, lambda: NOTHING)()

    def once(self, ref: Ref, *waves: Sequence[Write], recheck_at: datetime | None = None) -> None:
        """Plan these waves the next time, and nothing after."""

        def answer() -> Plan:
            del self.answers[ref.key]
            return Plan(tuple(tuple(wave) for wave in waves), recheck_at)

        self.answers[ref.key] = answer

    @property
    def keys(self) -> list[str]:
        return [key.removeprefix("default/") for _, key in self.asked]


class HoldingIo:
    """Writes at once, but answers only when the test lets it."""

    def __init__(self, hub: MemoryHub) -> None:
        self.hub = hub
        self.sent: list[str] = []
        self.held: list[Callable[[], None]] = []
        self.answers: dict[str, Outcome] = {}

    def send(self, writes: Sequence[Write], done: Done) -> None:
        for write in writes:
            self.sent.append(write.ref.name)
            outcome = self.answers.get(write.ref.name) or perform(self.hub, write, {})
            self.held.append(lambda w=write, o=outcome: done(w, o))  # type: ignore[misc]

    def release(self, count: int = 1) -> None:
        for _ in range(count):
            self.held.pop(0)()


class Rig:
    """An engine with a scripted planner, on virtual time."""

    def __init__(
        self,
        hub: Any = None,
        *,
        holding: bool = False,
        strict: bool = True,
        gather: timedelta = 0 * SEC,
        hurry: timedelta | None = None,
        most_out: int = 99,
        from_landing: bool = False,
        quiet: timedelta | None = None,
    ) -> None:
        self.clock = VirtualClock(T0)
        self.store = MemoryHub(self.clock)
        self.hub: Any = hub(self.store) if hub else self.store
        self.script, self.io = Script(), HoldingIo(self.store)
        self.fleet = Fleet()
        self.engine = Engine(
            self.hub,
            self.clock,
            self._timers,
            {REPLICA_SET: self.script},
            self.fleet,
            io=self.io if holding else InlineIo(self.hub),
            pace=Pace(
                {REPLICA_SET: gather},
                (REPLICA_SET,) if from_landing else (),
                quiet={} if quiet is None else {REPLICA_SET: quiet},
                hurry=hurry,
                most_out={REPLICA_SET: most_out},
                strict=strict,
            ),
            seed=0,
        )

    def _timers(self, wake: Callable[[Any], None]) -> VirtualTimers:
        self.timers = VirtualTimers(self.clock, wake)
        return self.timers

    def start(self, *refs: Ref) -> "Rig":
        for ref in refs:
            self.store.create(ref, make.workload(ref.name))
        self.engine.start()
        return self.run()

    def run(self) -> "Rig":
        self.engine.run_until_idle()
        return self

    def poke(self, ref: Ref, value: str = "x") -> None:
        """News of an object."""
        self.store.patch(ref, {"metadata": {"annotations": {"poke": value}}})

    def to(self, after: timedelta) -> "Rig":
        """On to an instant, waking whoever is due on the way."""
        end = T0 + after
        self.run()
        while (at := self.timers.next_at()) is not None and at <= end:
            self.clock.advance(max(at - self.clock.now(), 0 * SEC))
            self.timers.run_due()
            self.run()
        self.clock.advance(end - self.clock.now())
        return self.run()

    def asked(self, since: int = 0) -> list[tuple[timedelta, str]]:
        return [(at - T0, key.removeprefix("default/")) for at, key in self.script.asked[since:]]

    def notes(self) -> list[str]:
        return sorted(obj["metadata"]["name"] for obj in self.store.list(CONFIG_MAP).items)


# -- whom and when -----------------------------------------------------------------------------


def test_nothing_is_planned_before_every_kind_has_been_read() -> None:
    seen: list[tuple[str, int]] = []

    class Watching(FaultyHub):
        def list(self, kind: Kind, *args: Any, **more: Any) -> Any:
            seen.append((kind.name, len(rig.script.asked)))
            return super().list(kind, *args, **more)

    class Nothing:
        def call(self, verb: str, target: object) -> None: ...
        def event(self, event: Event) -> None: ...

    rig = Rig(lambda hub: Watching(hub, Nothing()))
    rig.start(A)

    assert {REPLICA_SET.name, MANIFEST_WORK.name, CONFIG_MAP.name} <= {name for name, _ in seen}
    assert {asked for _, asked in seen} == {0}
    assert rig.script.keys == ["a"]


def test_everything_that_is_there_at_the_start_is_planned_once() -> None:
    assert Rig().start(B, A).script.keys == ["a", "b"]


def test_all_news_are_taken_in_before_the_next_key_is_planned() -> None:
    rig = Rig().start(A, B)
    for n in range(100):
        rig.poke((A, B)[n % 2], str(n))
    rig.run()

    assert rig.script.keys == ["a", "b", "a", "b"]


def test_a_key_is_busy_until_all_its_writes_have_come_back() -> None:
    rig = Rig(holding=True)
    rig.script.once(A, [note("one"), note("two")])
    rig.start(A)
    assert rig.script.keys == ["a"]

    rig.poke(A)
    assert rig.run().script.keys == ["a"]
    rig.io.release()
    assert rig.run().script.keys == ["a"]
    rig.io.release()
    assert rig.run().script.keys == ["a", "a"]


def test_other_keys_go_on_while_one_is_busy() -> None:
    rig = Rig(holding=True)
    rig.script.once(A, [note("one")])
    rig.start(A, B)
    rig.poke(A)
    rig.poke(B)

    assert rig.run().script.keys == ["a", "b", "b"]


def test_no_plan_is_made_while_too_many_are_carried_out() -> None:
    rig = Rig(holding=True, most_out=1)
    for ref in (A, B):
        rig.script.once(ref, [note(ref.name)])
    rig.start(A, B)
    rig.poke(B)
    rig.run()
    assert (rig.script.keys, rig.engine.waiting) == (["a"], 1)

    rig.io.release()
    assert (rig.run().script.keys, rig.engine.waiting) == (["a", "b"], 0)
    rig.io.release()
    assert rig.run().script.keys == ["a", "b"]


def test_news_within_the_interval_are_gathered_and_planned_at_its_end() -> None:
    rig = Rig(gather=1 * SEC).start(A)
    for at in (200 * MS, 500 * MS, 999 * MS):
        rig.to(at)
        rig.poke(A, str(at))
    assert rig.to(999 * MS).asked() == [(0 * SEC, "a")]
    assert rig.to(1 * SEC).asked() == [(0 * SEC, "a"), (1 * SEC, "a")]
    assert rig.to(MIN).asked() == [(0 * SEC, "a"), (1 * SEC, "a")]


@pytest.mark.parametrize(("from_landing", "again"), [(False, 3 * SEC), (True, 4 * SEC)])
def test_an_interval_begins_with_the_plan_or_when_its_writes_have_landed(
    *, from_landing: bool, again: timedelta
) -> None:
    for early in (False, True):  # the news comes while the write is still out
        rig = Rig(holding=True, gather=1 * SEC, from_landing=from_landing)
        rig.script.once(A, [note("n")])
        rig.start(A)
        if early:
            rig.poke(A)
            rig.to(2500 * MS).poke(A, "y")
        rig.to(3 * SEC).io.release()
        if not early:
            rig.run().poke(A)

        assert rig.to(MIN).asked() == [(0 * SEC, "a"), (again, "a")]


def test_a_status_that_was_held_back_is_written_when_it_is_due_not_an_interval_later() -> None:
    rig = Rig(gather=1 * SEC)
    soon = T0 + 300 * MS
    rig.script.answers["default/a"] = lambda: Plan(recheck_at=soon, status_due_at=soon)
    rig.start(A)
    rig.script.answers["default/a"] = lambda: Plan(recheck_at=T0 + 400 * MS)

    assert rig.to(2 * SEC).asked() == [(at * MS, "a") for at in (0, 300, 1300)]


def test_news_that_come_together_are_planned_once_when_it_is_quiet() -> None:
    rig = Rig(gather=1 * SEC, quiet=100 * MS).start(A).to(5 * SEC)
    for at in range(5000, 5300, 50):
        rig.to(at * MS).poke(A, str(at))
        rig.run()
    assert rig.to(5349 * MS).asked() == [(0 * SEC, "a")]
    assert rig.to(MIN).asked() == [(0 * SEC, "a"), (5350 * MS, "a")]


def test_where_it_is_never_quiet_news_wait_for_the_interval_and_no_longer() -> None:
    rig = Rig(gather=1 * SEC, quiet=100 * MS).start(A).to(5 * SEC)
    for at in range(5000, 7500, 50):
        rig.to(at * MS).poke(A, str(at))
        rig.run()

    assert rig.to(MIN).asked() == [(at * MS, "a") for at in (0, 6000, 7000, 8000)]


def test_a_key_in_a_hurry_is_planned_sooner_and_only_while_it_is() -> None:
    rig = Rig(gather=1 * SEC, hurry=100 * MS)
    rig.script.answers["default/a"] = lambda: Plan(pressing=True)
    rig.start(A)
    rig.poke(A)
    assert rig.to(999 * MS).asked(1) == [(100 * MS, "a")]

    rig.script.answers.clear()
    rig.poke(A, "y")
    assert rig.run().asked(2) == [(999 * MS, "a")]
    rig.poke(A, "z")
    assert rig.to(MIN).asked(3) == [(1999 * MS, "a")]


def test_who_plans_for_long_hurries_less() -> None:
    rig = Rig(gather=1 * SEC, hurry=100 * MS)

    def slowly() -> Plan:
        rig.clock.advance(50 * MS)
        return Plan(pressing=True)

    rig.script.answers["default/a"] = slowly
    rig.start(A)
    rig.poke(A)

    assert rig.to(500 * MS).asked() == [(0 * SEC, "a"), (LEISURE * 50 * MS, "a")]


def test_news_after_a_quiet_interval_are_planned_at_once() -> None:
    rig = Rig(gather=1 * SEC).start(A).to(5 * SEC)
    rig.poke(A)

    assert rig.run().asked() == [(0 * SEC, "a"), (5 * SEC, "a")]


def test_a_recheck_comes_at_its_instant_and_a_newer_plan_replaces_it() -> None:
    rig = Rig()
    rig.script.once(A, recheck_at=T0 + 5 * MIN)
    rig.start(A).to(MIN)
    rig.script.once(A, recheck_at=T0 + 3 * MIN)
    rig.poke(A)

    assert rig.to(10 * MIN).asked() == [(0 * SEC, "a"), (MIN, "a"), (3 * MIN, "a")]


def test_timers_only_wake() -> None:
    rig = Rig()
    rig.script.once(A, recheck_at=T0 + MIN)
    rig.start(A)
    rig.clock.advance(MIN)
    rig.timers.run_due()

    assert rig.script.keys == ["a"]
    assert rig.run().script.keys == ["a", "a"]


def test_turn_says_when_there_is_nothing_to_do() -> None:
    rig = Rig().start(A)
    rig.poke(A)

    assert (rig.engine.turn(), rig.engine.turn()) == (True, False)


# -- waves -------------------------------------------------------------------------------------


def test_a_wave_goes_out_when_all_of_the_one_before_has_landed() -> None:
    rig = Rig(holding=True)
    rig.script.once(A, [note("one"), note("two")], [note("three")])
    rig.start(A)
    assert rig.io.sent == ["one", "two"]
    rig.io.release()
    rig.run()
    assert rig.io.sent == ["one", "two"]
    rig.io.release()
    rig.run()
    assert rig.io.sent == ["one", "two", "three"]


FAILURES = [
    pytest.param(Outcome(Result.STALE), id="stale"),
    pytest.param(Outcome(Result.REFUSED, message="no"), id="refused"),
    pytest.param(Outcome(Result.WAIT, after=SEC), id="throttled"),
    pytest.param(Outcome(Result.UNKNOWN), id="unknown"),
]


@pytest.mark.parametrize("outcome", FAILURES)
def test_a_write_that_does_not_land_stops_the_waves_after_it(outcome: Outcome) -> None:
    rig = Rig(holding=True)
    rig.io.answers["one"] = outcome
    rig.script.once(A, [note("one"), note("two")], [note("three")])
    rig.start(A)
    rig.io.release(2)
    rig.run()

    assert rig.io.sent == ["one", "two"]


@pytest.mark.parametrize("outcome", FAILURES)
def test_a_write_about_one_cluster_that_does_not_land_stops_nothing(outcome: Outcome) -> None:
    rig = Rig(holding=True)
    rig.io.answers["w"] = outcome
    rig.script.once(A, [touch("c1")], [note("three")])
    rig.start(A)
    rig.io.release()
    rig.run()

    assert rig.io.sent == ["w", "three"]


# -- outcomes ----------------------------------------------------------------------------------


class Failing:
    """Faults for chosen calls; the rest goes well."""

    def __init__(self, **calls: list[Fault | None]) -> None:
        self.calls = calls
        self.events: dict[str, Delivery] = {}

    def call(self, verb: str, target: Ref | Kind) -> Fault | None:
        due = self.calls.get(verb) or []
        return due.pop(0) if due else None

    def event(self, event: Event) -> Delivery | None:
        return self.events.get(event.ref.kind.name)


class Refusing(Failing):
    """Whatever has this name cannot be created."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def call(self, verb: str, target: Ref | Kind) -> Fault | None:
        hit = verb == "create" and isinstance(target, Ref) and target.name == self.name
        return Fault.UNAVAILABLE if hit else None


@pytest.mark.parametrize(
    ("fault", "within"),
    [
        pytest.param(Fault.CONFLICT, (400 * MS, 500 * MS), id="conflict"),
        pytest.param(Fault.UNAVAILABLE, (400 * MS, 500 * MS), id="unknown"),
        pytest.param(Fault.THROTTLED, (SEC, SEC), id="throttled: as long as the server asks"),
    ],
)
def test_a_write_that_failed_is_planned_again_after_a_while(
    fault: Fault, within: tuple[timedelta, timedelta]
) -> None:
    rig = Rig(lambda hub: FaultyHub(hub, Failing(create=[fault])))
    rig.script.once(A, [note("one")])
    rig.start(A)
    rig.script.once(A, [note("one")])
    (_, first), (again, _) = rig.to(MIN).asked()[0], rig.asked()[1]

    assert first == "a"
    assert within[0] <= again <= within[1]
    assert rig.notes() == ["one"]


def test_failures_back_off_and_a_success_forgets_them() -> None:
    rig = Rig(lambda hub: FaultyHub(hub, Failing(create=[Fault.UNAVAILABLE] * 6)))
    rig.script.answers[A.key] = lambda: NOTHING if rig.notes() else Plan(((note("one"),),))
    rig.start(A).to(60 * SEC)
    instants = [at for at, _ in rig.asked()]
    waits = [b - a for a, b in pairwise(instants)]

    assert len(waits) == 6
    for n, wait in enumerate(waits):
        assert 0.8 * 0.5 * 2**n <= wait.total_seconds() <= 0.5 * 2**n
    assert rig.notes() == ["one"]


@pytest.mark.parametrize(
    ("other", "pauses"),
    [
        pytest.param(lambda n: note(f"n{n}"), [0.5, 0.5, 0.5, 0.5], id="another write lands"),
        pytest.param(lambda n: PatchStatus(A, {"n": 1}), [1, 2, 4, 8], id="only its status does"),
    ],
)
def test_pauses_get_longer_only_while_nothing_gets_on(
    other: Callable[[int], Write], pauses: list[float]
) -> None:
    rig = Rig(lambda hub: FaultyHub(hub, Refusing("one")))
    rig.script.answers[A.key] = lambda: Plan(((other(len(rig.asked())), note("one")),))
    rig.start(A).to(30 * SEC)
    waits = [after - before for (before, _), (after, _) in pairwise(rig.asked())]

    for wait, pause in zip(waits[1:], pauses, strict=False):  # the first one ended with news
        assert 0.8 * pause <= wait.total_seconds() <= pause


def test_a_write_of_unknown_outcome_is_read_back_before_anything_is_planned() -> None:
    rig = Rig(lambda hub: FaultyHub(hub, Failing(create=[Fault.LOST])))
    rig.script.once(A, [touch("c1")])
    rig.start(A)

    assert rig.fleet.exists(touch("c1").ref)


def test_a_conflict_brings_in_what_the_other_wrote_though_no_watch_told_it() -> None:
    faults = Failing()
    rig = Rig(lambda hub: FaultyHub(hub, faults))
    rig.start(A)
    faults.events[REPLICA_SET.name] = Delivery.HOLD
    version = rig.fleet.version(A)
    rig.poke(A)
    rig.script.once(A, [Patch(A, {"metadata": {"labels": {"x": "y"}}}, version)])
    rig.engine.inbox.put(Woken(A))
    rig.run()

    assert rig.fleet.version(A) == int(rig.store.get(A)["metadata"]["resourceVersion"]) > version


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (Conflict("c"), Result.STALE),
        (Denied("d"), Result.REFUSED),
        (Throttled("t", 7 * SEC), Result.WAIT),
        (Unavailable("u"), Result.UNKNOWN),
        (HubError("?"), Result.UNKNOWN),
    ],
)
def test_every_error_of_a_hub_is_one_outcome(error: HubError, result: Result) -> None:
    class Broken:
        def create(self, ref: Ref, obj: Obj) -> Obj:
            raise error

    outcome = perform(Broken(), note("one"), {})  # type: ignore[arg-type]  # only create is called

    assert (outcome.result, outcome.message) == (result, str(error))
    assert outcome.after == (7 * SEC if result is Result.WAIT else None)


def test_what_a_write_returns_is_known_before_the_watch_tells_it() -> None:
    faults = Failing()
    rig = Rig(lambda hub: FaultyHub(hub, faults))
    rig.start(A)
    faults.events[REPLICA_SET.name] = Delivery.HOLD
    status = {"summary": {"total": 7}}
    rig.script.once(A, [PatchStatus(A, status)])
    rig.engine.inbox.put(Woken(A))
    rig.run()

    assert rig.fleet.version(A) == int(rig.store.get(A)["metadata"]["resourceVersion"])


# -- exceptions --------------------------------------------------------------------------------


def raising() -> Plan:
    raise ValueError("a bug in a planner")


def test_strict_engines_raise_what_planners_raise() -> None:
    rig = Rig()
    rig.script.answers[A.key] = raising

    with pytest.raises(ValueError, match="a bug in a planner"):
        rig.start(A)


def test_others_count_it_log_it_try_again_later_and_go_on(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig(strict=False)
    rig.script.answers[A.key] = raising
    with caplog.at_level(logging.ERROR):
        rig.start(A, B)
    assert rig.script.keys == ["a", "b"]
    assert rig.engine.failures == 1
    assert "planning ManifestWorkReplicaSet default/a failed" in caplog.text
    assert "a bug in a planner" in caplog.text

    rig.to(2 * SEC)
    assert rig.engine.failures == 3
    del rig.script.answers[A.key]
    rig.to(10 * SEC)
    assert rig.engine.failures == 3
    assert rig.script.keys[-1] == "a"


# -- watches -----------------------------------------------------------------------------------


def test_what_was_deleted_while_a_watch_was_broken_is_found() -> None:
    faults = Failing()
    rig = Rig(lambda hub: FaultyHub(hub, faults))
    rig.start(A, B)
    faults.events[REPLICA_SET.name] = Delivery.CUT
    rig.poke(B)
    rig.store.delete(A)
    rig.run()
    assert rig.fleet.exists(A)

    faults.events.clear()
    rig.hub.release()
    rig.run()
    assert not rig.fleet.exists(A)
    assert rig.fleet.exists(B)
    rig.poke(B, "watched again")
    asked = len(rig.script.asked)
    assert rig.run().script.keys[asked:] == ["b"]


def test_a_list_that_fails_is_tried_again_and_the_engine_lives() -> None:
    faults = Failing()
    rig = Rig(lambda hub: FaultyHub(hub, faults))
    rig.start(A, B)
    faults.events[REPLICA_SET.name] = Delivery.CUT
    rig.poke(B)
    rig.store.delete(A)
    faults.events.clear()
    faults.calls["list"] = [Fault.UNAVAILABLE] * 3
    rig.hub.release()
    rig.run()
    assert rig.fleet.exists(A)

    rig.to(10 * SEC)
    assert not rig.fleet.exists(A)


def test_deadlines_do_not_run_while_a_watch_is_out_of_sync_nor_for_a_lease_after() -> None:
    """Semantics row 20."""
    faults = Failing()
    strategy = make.progressive(maxConcurrency=1, progressDeadline="60s", maxFailures=1)
    story = Story(
        [*make.fleet(2), make.workload(strategy=strategy)],
        {"defaults": {"outcome": "silent"}},
        wrap=lambda hub: FaultyHub(hub, faults),
    ).to(30 * SEC)
    faults.events[PLACEMENT_DECISION.name] = Delivery.CUT
    story.decide(make.decision([], "nobody"))
    faults.events.clear()
    faults.calls["list"] = [Fault.UNAVAILABLE] * 4
    story._between.release()  # type: ignore[attr-defined]  # a FaultyHub
    story.to(60 * SEC)
    ((begin, end),) = story.engine.fleet.outages()
    assert begin - T0 == 30 * SEC
    assert 30 * SEC + 6 * SEC <= end - T0 - 15 * SEC <= 30 * SEC + 8 * SEC
    due = 60 * SEC + (end - begin)

    assert sorted(story.to(due - MS).touched()) == ["c00"]
    assert sorted(story.to(due).touched()) == ["c00", "c01"]


# -- real time ---------------------------------------------------------------------------------


@dataclass
class Speed:
    speed: float | None


@contextmanager
def real_run(documents: list[Obj], agents: Obj) -> Iterator[tuple[LocalRun, MemoryHub]]:
    clock = SystemClock()
    hub = MemoryHub(clock)
    for document in documents:
        ref = ref_of(KINDS[document["kind"]], document)
        hub.create(ref, document)
        if document.get("status"):
            hub.patch_status(ref, {"status": document["status"]})
    scenario = Scenario.model_validate({"spec": agents})
    yield LocalRun(hub, clock, Speed(1), scenario, gather=50 * MS), hub


def test_a_rollout_runs_on_real_threads_and_the_wall_clock() -> None:
    strategy = make.progressive(maxConcurrency=2, minSuccessTime="300ms", progressDeadline="10s")
    documents = [*make.fleet(6), make.workload(strategy=strategy, rules=())]
    agents = {"defaults": {"applyAfter": "50ms", "readyAfter": "100ms"}}
    with real_run(documents, agents) as (run, hub):
        began = hub._objects._clock.now()
        run.run()
        took = SystemClock().now() - began

    works = hub.list(MANIFEST_WORK).items
    assert len(works) == 6
    conditions = {
        c["type"]: c["reason"]
        for c in hub.get(Ref(REPLICA_SET, "default/web"))["status"]["conditions"]
    }
    assert conditions["Ready"] == "RolledOut"
    assert timedelta(milliseconds=3 * 450) <= took < 20 * SEC


def test_placements_are_planned_before_workloads_that_read_them() -> None:
    rig = Rig()
    places = Script(kind=PLACEMENT)
    together: list[str] = []
    rig.script.plan = lambda key, view, now: together.append(key) or NOTHING  # type: ignore[method-assign, func-returns-value]
    places.plan = lambda key, view, now: together.append(key) or NOTHING  # type: ignore[method-assign, func-returns-value]
    engine = Engine(
        rig.store, rig.clock, rig._timers, {PLACEMENT: places, REPLICA_SET: rig.script}, Fleet(),
        pace=Pace({}, strict=True),
    )  # fmt: skip
    for key in "zyxwv":
        rig.store.create(Ref(REPLICA_SET, f"default/{key}"), make.workload(key))
    engine.start()
    engine.run_until_idle()
    together.clear()
    rig.store.create(Ref(PLACEMENT, "default/p"), make.placement())
    engine.run_until_idle()

    assert together == ["default/p", *(f"default/{key}" for key in "vwxyz")]
