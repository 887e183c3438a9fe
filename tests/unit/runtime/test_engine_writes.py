"""What becomes of writes that planners ask for? Waves, outcomes, backoff, exceptions, broken watches."""

import logging
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from rollout.errors import Conflict, Denied, HubError, Throttled, Unavailable
from rollout.model.events import Event
from rollout.model.kinds import (
    MANIFEST_WORK,
    PLACEMENT_DECISION,
    REPLICA_SET,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.writes import Create, Patch, PatchStatus, Touch
from rollout.planning.plan import NOTHING, Plan, Write
from rollout.runtime.io import ReadBack, WriteOutcome, WriteResult, perform
from rollout.runtime.messages import Woken
from tests.support import make
from tests.support.engines import MIN, MS, SEC, T0, A, B, Rig, note
from tests.support.faults import Delivery, Fault, FaultyHub
from tests.support.story import Story


def touch(cluster: str) -> Create:
    """A write that concerns one cluster only."""
    work = make.work(cluster, owner="default.a", name="w")
    return Create(ref_of(MANIFEST_WORK, work), work, Touch(A, "p", cluster))


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
    pytest.param(WriteOutcome(result=WriteResult.STALE), id="stale"),
    pytest.param(WriteOutcome(result=WriteResult.REFUSED, message="no"), id="refused"),
    pytest.param(WriteOutcome(result=WriteResult.WAIT, after=SEC), id="throttled"),
    pytest.param(WriteOutcome(result=WriteResult.UNKNOWN), id="unknown"),
]


@pytest.mark.parametrize("outcome", FAILURES)
@pytest.mark.parametrize(
    ("writes", "sent"),
    [
        pytest.param([note("one"), note("two")], ["one", "two"], id="it stops the waves after it"),
        pytest.param([touch("c1")], ["w", "three"], id="of one cluster: it stops nothing"),
    ],
)
def test_a_write_that_does_not_land_stops_the_waves_after_it_unless_it_is_about_one_cluster(
    writes: list[Write], sent: list[str], outcome: WriteOutcome
) -> None:
    rig = Rig(holding=True)
    rig.io.answers[sent[0]] = outcome
    rig.script.once(A, writes, [note("three")])
    rig.start(A)
    rig.io.release(len(writes))
    rig.run()

    assert rig.io.sent == sent


@pytest.mark.parametrize(("first", "asked"), [(True, ["b", "a", "a"]), (False, ["b", "a"])])
def test_a_touch_that_changes_nothing_on_the_server_is_followed_by_another_plan(
    first: bool, asked: list[str]
) -> None:
    rig = Rig()
    work = make.work("c1", owner="default.b", name="w")
    stored = rig.store.create(ref_of(MANIFEST_WORK, work), work)
    version = int(stored["metadata"]["resourceVersion"])
    told = Touch(A, "p", "c1", first=first)
    rig.script.once(A, [Patch(ref_of(MANIFEST_WORK, work), {"spec": {}}, version, told)])
    rig.start(A)  # the owner is planned, too, and has nothing to do

    assert rig.store.get(ref_of(MANIFEST_WORK, work)) == stored
    assert rig.script.keys == asked


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


def faulty(*refs: Ref) -> tuple[Rig, Failing]:
    """An engine that runs with these, and the faults that it is to meet."""
    faults = Failing()
    return Rig(lambda hub: FaultyHub(hub, faults)).start(*refs), faults


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
        pytest.param(lambda n: PatchStatus(A, {"n": 1}), [0.5, 1, 2, 4], id="only its status does"),
    ],
)
def test_pauses_get_longer_only_while_nothing_gets_on(
    other: Callable[[int], Write], pauses: list[float]
) -> None:
    rig = Rig(lambda hub: FaultyHub(hub, Refusing("one")))
    rig.script.answers[A.key] = lambda: Plan(((other(len(rig.asked())), note("one")),))
    rig.start(A).to(30 * SEC)
    waits = [after - before for (before, _), (after, _) in pairwise(rig.asked())]

    for wait, pause in zip(
        waits[1:], pauses, strict=False
    ):  # the first one ended with news, and counts as one with the second
        assert 0.8 * pause <= wait.total_seconds() <= pause


def test_a_write_of_unknown_outcome_is_read_back_before_anything_is_planned() -> None:
    rig = Rig(lambda hub: FaultyHub(hub, Failing(create=[Fault.LOST])))
    rig.script.once(A, [touch("c1")])
    rig.start(A)

    assert rig.fleet.versions.exists(touch("c1").ref)


def test_a_conflict_brings_in_what_the_other_wrote_though_no_watch_told_it() -> None:
    rig, faults = faulty(A)
    faults.events[REPLICA_SET.name] = Delivery.HOLD
    version = rig.fleet.versions.of(A)
    rig.poke(A)
    rig.script.once(A, [Patch(A, {"metadata": {"labels": {"x": "y"}}}, version)])
    rig.engine.inbox.put(Woken(A))
    rig.run()

    assert (
        rig.fleet.versions.of(A) == int(rig.store.get(A)["metadata"]["resourceVersion"]) > version
    )


def test_after_a_conflict_of_which_the_watch_has_told_it_plans_again_and_reads_nothing() -> None:
    calls: list[str] = []

    class Noting:
        def call(self, verb: str, target: object) -> None:
            calls.append(verb)

        def event(self, event: Event) -> None: ...

    rig = Rig(lambda hub: FaultyHub(hub, Noting()), holding=True)
    rig.start(A)
    rig.io.answers["a"] = WriteOutcome(result=WriteResult.STALE, read_back=ReadBack.HEARD)
    rig.script.once(A, [Patch(A, {}, rig.fleet.versions.of(A))])
    rig.poke(A)
    rig.run()
    rig.poke(A, "y")
    rig.run().io.release()
    calls.clear()

    assert rig.run().script.keys == ["a", "a", "a"]
    assert calls == []


@pytest.mark.parametrize("is_news", [True, False])
def test_that_nothing_was_there_is_believed_only_where_nothing_was_heard_since(
    is_news: bool,
) -> None:
    """An answer that is on its way for long may be older than the object that was made anew."""
    rig = Rig(holding=True)
    rig.start(A)
    rig.io.answers["a"] = WriteOutcome(result=WriteResult.STALE, read_back=ReadBack.DONE)
    rig.script.once(A, [Patch(A, {}, rig.fleet.versions.of(A))])
    rig.engine.inbox.put(Woken(A))
    rig.run()
    if is_news:
        rig.store.delete(A)
        rig.store.create(A, make.workload(A.name))
    rig.io.release()
    rig.run()

    assert rig.fleet.versions.exists(A) is is_news


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (Conflict("c"), WriteResult.STALE),
        (Denied("d"), WriteResult.REFUSED),
        (Throttled("t", 7 * SEC), WriteResult.WAIT),
        (Unavailable("u"), WriteResult.UNKNOWN),
        (HubError("?"), WriteResult.UNKNOWN),
    ],
)
def test_every_error_of_a_hub_is_one_outcome(error: HubError, result: WriteResult) -> None:
    class Broken:
        def create(self, ref: Ref, obj: Obj) -> Obj:
            raise error

    outcome = perform(Broken(), note("one"), {})  # type: ignore[arg-type]  # only create is called

    assert (outcome.result, outcome.message) == (result, str(error))
    assert outcome.after == (7 * SEC if result is WriteResult.WAIT else None)


def test_what_a_write_returns_is_known_before_the_watch_tells_it() -> None:
    rig, faults = faulty(A)
    faults.events[REPLICA_SET.name] = Delivery.HOLD
    status = {"summary": {"total": 7}}
    rig.script.once(A, [PatchStatus(A, status)])
    rig.engine.inbox.put(Woken(A))
    rig.run()

    assert rig.fleet.versions.of(A) == int(rig.store.get(A)["metadata"]["resourceVersion"])


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
    rig, faults = faulty(A, B)
    faults.events[REPLICA_SET.name] = Delivery.CUT
    rig.poke(B)
    rig.store.delete(A)
    rig.run()
    assert rig.fleet.versions.exists(A)

    faults.events.clear()
    rig.hub.release()
    rig.run()
    assert not rig.fleet.versions.exists(A)
    assert rig.fleet.versions.exists(B)
    rig.poke(B, "watched again")
    asked = len(rig.script.asked)
    assert rig.run().script.keys[asked:] == ["b"]


def test_a_list_that_fails_is_tried_again_and_the_engine_lives() -> None:
    rig, faults = faulty(A, B)
    faults.events[REPLICA_SET.name] = Delivery.CUT
    rig.poke(B)
    rig.store.delete(A)
    faults.events.clear()
    faults.calls["list"] = [Fault.UNAVAILABLE] * 3
    rig.hub.release()
    rig.run()
    assert rig.fleet.versions.exists(A)

    rig.to(10 * SEC)
    assert not rig.fleet.versions.exists(A)


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
    ((begin, end),) = story.engine.fleet.outages.spans
    assert begin - T0 == 30 * SEC
    assert 30 * SEC + 6 * SEC <= end - T0 - 15 * SEC <= 30 * SEC + 8 * SEC
    due = 60 * SEC + (end - begin)

    assert sorted(story.to(due - MS).touched()) == ["c00"]
    assert sorted(story.to(due).touched()) == ["c00", "c01"]
