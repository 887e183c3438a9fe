"""When does the engine ask planners, and about whom? On virtual time, and on real threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from rollout.clock import SystemClock
from rollout.fleet.fleet import Fleet
from rollout.hub.memory import MemoryHub
from rollout.model.events import Event
from rollout.model.kinds import (
    KINDS,
    MANIFEST_WORK,
    PLACEMENT,
    REPLICA_SET,
    ROLLOUT_RECORD,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.planning.plan import NOTHING, UNFINISHED, Plan
from rollout.runtime.engine import Engine
from rollout.runtime.messages import Ask, Woken
from rollout.runtime.pace import LEISURE, Pace
from rollout.sim.local import LocalRun
from rollout.sim.scenario import Scenario
from tests.support import make
from tests.support.engines import MIN, MS, SEC, T0, A, B, Rig, Script, note
from tests.support.faults import FaultyHub

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

    assert {REPLICA_SET.name, MANIFEST_WORK.name, ROLLOUT_RECORD.name} <= {name for name, _ in seen}
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


def test_an_edit_is_planned_at_once_and_further_ones_are_gathered_for_the_interval() -> None:
    rig = Rig(gather=1 * SEC).start(A)
    rig.to(400 * MS).poke(A)
    rig.edit(A, "one")
    assert rig.run().asked() == [(0 * SEC, "a"), (400 * MS, "a")]

    for at in (500 * MS, 1399 * MS):
        rig.to(at).edit(A, str(at))
    assert rig.to(1400 * MS).asked(2) == [(1400 * MS, "a")]
    rig.edit(A, "four")
    assert rig.to(MIN).asked(3) == [(1400 * MS, "a")]


def test_who_edits_all_the_time_causes_two_plans_in_each_interval_and_no_more() -> None:
    rig = Rig(gather=1 * SEC).start(A)
    for at in range(1, 10_000, 40):
        rig.to(at * MS).edit(A, str(at))

    assert 18 < len(rig.to(10 * SEC).asked()) <= 2 * 10 + 1


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": {"manifestWorkTemplate": {"executor": {"subject": {"type": "ServiceAccount"}}}}},
        {"metadata": {"annotations": {"rollout-engine.io/pause": "true"}}},
        {"metadata": {"labels": {"team": "web"}}},
    ],
    ids=["spec", "annotation", "label"],
)
def test_what_counts_as_an_edit(changes: Obj) -> None:
    rig = Rig(gather=1 * SEC).start(A).to(400 * MS)
    rig.store.patch(A, changes)

    assert rig.run().asked() == [(0 * SEC, "a"), (400 * MS, "a")]


def test_the_deletion_of_an_object_that_has_a_finalizer_is_planned_at_once() -> None:
    rig = Rig(gather=1 * SEC).start(A)
    rig.store.patch(A, {"metadata": {"finalizers": ["example.com/keep"]}})
    rig.to(1400 * MS).store.delete(A)

    assert rig.run().asked() == [(0 * SEC, "a"), (1 * SEC, "a"), (1400 * MS, "a")]


def test_an_edit_of_one_object_hastens_no_other() -> None:
    rig = Rig(gather=1 * SEC).start(A, B)
    rig.to(400 * MS).poke(B)
    rig.edit(A, "one")

    assert rig.run().asked(2) == [(400 * MS, "a")]
    assert rig.to(MIN).asked(3) == [(1 * SEC, "b")]


def test_an_edit_waits_where_the_interval_is_measured_from_the_last_write() -> None:
    rig = Rig(gather=1 * SEC, from_landing=True)
    rig.script.once(A, [note("n")])
    rig.start(A)
    rig.to(400 * MS).edit(A, "one")

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
    for at in (5000, 5050, 5250, 5549):
        rig.to(at * MS).poke(A, str(at))
        rig.run()
    assert rig.to(5848 * MS).asked() == [(0 * SEC, "a")]
    assert rig.to(MIN).asked() == [(0 * SEC, "a"), (5849 * MS, "a")]


def test_news_that_come_alone_are_planned_after_a_short_time() -> None:
    rig = Rig(gather=1 * SEC, quiet=100 * MS).start(A).to(5 * SEC)
    rig.poke(A)
    assert rig.run().to(5099 * MS).asked() == [(0 * SEC, "a")]
    assert rig.to(MIN).asked() == [(0 * SEC, "a"), (5100 * MS, "a")]


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


def test_an_engine_is_idle_where_its_next_turn_would_find_nothing_to_do() -> None:
    rig = Rig().start(A)
    rig.poke(A)
    turns = [(rig.engine.is_idle, rig.engine.turn())]  # before it, and whether it did something
    while turns[-1][1]:
        turns.append((rig.engine.is_idle, rig.engine.turn()))

    assert turns[0] == (False, True)
    assert (True, True) not in turns
    assert turns[-1] == (False, False)  # other kinds may have been wanted after the plan
    assert rig.engine.is_idle


def test_an_engine_that_was_asked_something_is_not_idle() -> None:
    rig = Rig().start()
    rig.run()
    rig.engine.inbox.put(Ask(lambda: rig.engine.inbox.put(Ask(lambda: None))))

    assert not rig.engine.is_idle
    assert rig.engine.turn()
    assert not rig.engine.is_idle
    assert rig.engine.turn()
    assert rig.engine.is_idle


# -- real time ---------------------------------------------------------------------------------


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
    yield LocalRun(hub, clock, 1, scenario, gather=50 * MS), hub


def test_a_rollout_runs_on_real_threads_and_the_wall_clock() -> None:
    strategy = make.progressive(maxConcurrency=2, minSuccessTime="300ms", progressDeadline="10m")
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
    assert timedelta(milliseconds=3 * 450) <= took < 10 * MIN


def test_placements_are_planned_before_workloads_that_read_them() -> None:
    rig = Rig()
    places = Script(kind=PLACEMENT)
    together: list[str] = []
    rig.script.plan = lambda key, view, now: together.append(key) or NOTHING  # type: ignore[method-assign, func-returns-value]
    places.plan = lambda key, view, now: together.append(key) or NOTHING  # type: ignore[method-assign, func-returns-value]
    engine = Engine(
        rig.store, rig.clock, rig._timers, {PLACEMENT: places, REPLICA_SET: rig.script}, Fleet(),
        pace=Pace(least_interval={}, strict=True),
    )  # fmt: skip
    for key in "zyxwv":
        rig.store.create(Ref(REPLICA_SET, f"default/{key}"), make.workload(key))
    engine.start()
    engine.run_until_idle()
    together.clear()
    rig.store.create(Ref(PLACEMENT, "default/p"), make.placement())
    engine.run_until_idle()

    assert together == ["default/p", *(f"default/{key}" for key in "vwxyz")]


def test_a_plan_that_is_not_finished_goes_on_when_the_others_had_their_turn() -> None:
    rig = Rig()
    left = [UNFINISHED, UNFINISHED, NOTHING]
    rig.script.answers[A.key] = lambda: left.pop(0)
    rig.engine.inbox.put(Woken(A))
    rig.engine.inbox.put(Woken(B))
    rig.engine.run_until_idle()

    assert rig.script.keys == ["a", "b", "a", "a"]
    assert not rig.engine.waiting


def test_news_are_taken_in_between_two_turns_of_a_plan_that_is_not_finished() -> None:
    rig = Rig()
    left = [UNFINISHED, UNFINISHED, NOTHING]
    rig.script.answers[A.key] = lambda: left.pop(0)
    rig.engine.inbox.put(Woken(A))
    rig.engine.turn()
    rig.engine.inbox.put(Woken(B))
    rig.engine.run_until_idle()

    assert rig.script.keys == ["a", "a", "b", "a"]


def pass_by(rig: Rig) -> None:
    rig.clock.advance(6 * SEC)


def test_a_turn_in_which_much_time_goes_by_ends_before_it_plans() -> None:
    """Somebody can note then that nobody looked in that time."""
    rig = Rig()
    rig.engine.inbox.put(Ask(partial(pass_by, rig)))
    rig.engine.inbox.put(Woken(A))

    assert rig.engine.turn()
    assert rig.script.keys == []
    assert rig.engine.turn()
    assert rig.asked() == [(6 * SEC, "a")]


def test_planning_goes_on_though_every_turn_takes_long() -> None:
    rig = Rig()
    for _ in range(6):
        rig.engine.inbox.put(Woken(A))
        rig.engine.inbox.put(Ask(partial(pass_by, rig)))
        rig.engine.turn()

    assert rig.script.keys == ["a", "a", "a"]


def test_of_what_is_asked_for_one_thing_is_done_in_a_turn() -> None:
    rig = Rig()
    done: list[int] = []
    for n in range(3):
        rig.engine.inbox.put(Ask(partial(done.append, n)))
    rig.engine.inbox.put(Woken(A))

    assert rig.engine.turn()
    assert (done, rig.script.keys) == ([0], ["a"])
    rig.engine.run_until_idle()
    assert done == [0, 1, 2]
