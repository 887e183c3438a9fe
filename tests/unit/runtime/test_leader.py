"""Does exactly one process lead, and does the next one wait long enough? Tables, then two in one hub."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.clock import Clock, VirtualClock
from rollout.errors import Fenced
from rollout.hub.memory import MemoryHub
from rollout.model.events import Event
from rollout.model.kinds import LEASE, Kind, Ref
from rollout.runtime.leader import (
    DELETED,
    LeaderCandidate,
    LeaderState,
    LeaseAction,
    LeaseTerms,
    Predecessor,
    SeenLease,
    decide,
    sighted,
)
from rollout.runtime.timers import VirtualTimers
from tests.support.faults import Fault, FaultyHub

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SEC = timedelta(seconds=1)
TERMS = LeaseTerms()
REF = Ref(LEASE, "default/rollout-controller")


def seen(holder: str = "b", age: float = 0, duration: float = 15) -> SeenLease:
    return SeenLease(
        holder=holder,
        renewal="r",
        duration=duration * SEC,
        transitions=0,
        version=1,
        since=T0 - age * SEC,
    )


GONE = SeenLease(holder=DELETED, renewal="", duration=15 * SEC, transitions=0, version=0, since=T0)


@pytest.mark.parametrize(
    ("sighting", "held", "move"),
    [
        pytest.param(None, None, LeaseAction.CREATE, id="no lease"),
        pytest.param(seen(""), None, LeaseAction.TAKE, id="released"),
        pytest.param(GONE, None, LeaseAction.FOLLOW, id="deleted just now"),
        pytest.param(
            replace(GONE, since=T0 - 15 * SEC), None, LeaseAction.CREATE, id="deleted long ago"
        ),
        pytest.param(seen(age=14.9), None, LeaseAction.FOLLOW, id="held, seen to change lately"),
        pytest.param(
            seen(age=15), None, LeaseAction.TAKE, id="not seen to change for its duration"
        ),
        pytest.param(
            seen(age=15, duration=40), None, LeaseAction.FOLLOW, id="its duration is longer"
        ),
        pytest.param(
            seen(age=14, duration=1), None, LeaseAction.FOLLOW, id="its duration is shorter"
        ),
        pytest.param(seen("a", age=1), None, LeaseAction.FOLLOW, id="my name, but not my lease"),
        pytest.param(seen("a"), 9.9, LeaseAction.RENEW, id="mine"),
        pytest.param(seen("a"), 10, LeaseAction.RESIGN, id="mine, not renewed until the deadline"),
        pytest.param(seen("b"), 1, LeaseAction.RESIGN, id="taken from me"),
        pytest.param(seen(""), 1, LeaseAction.RESIGN, id="emptied by someone"),
        pytest.param(None, 1, LeaseAction.RESIGN, id="deleted by someone"),
    ],
)
def test_the_next_move_follows_from_what_was_seen(
    sighting: SeenLease | None, held: float | None, move: LeaseAction
) -> None:
    since = None if held is None else T0 - held * SEC
    assert decide("a", sighting, since, TERMS, T0) is move


def test_whoever_does_not_hold_the_lease_never_renews_and_whoever_does_never_takes() -> None:
    cases = product(("", "a", "b", None), (0, 15, 60), (None, 0, 9, 10, 99))
    for holder, age, held in cases:
        sighting = None if holder is None else seen(holder, age)
        move = decide("a", sighting, None if held is None else T0 - held * SEC, TERMS, T0)
        assert (move is LeaseAction.RENEW) <= (held is not None and holder == "a")
        assert (move in (LeaseAction.TAKE, LeaseAction.CREATE)) <= (held is None)


def lease(holder: str, renewal: str, version: int, **more: object) -> dict[str, object]:
    spec = {"holderIdentity": holder, "renewTime": renewal, "leaseDurationSeconds": 15, **more}
    return {"metadata": {"name": "l", "resourceVersion": str(version)}, "spec": spec}


def test_only_a_renewal_is_news_not_an_edit_of_something_else() -> None:
    first = sighted(lease("b", "r1", 1), None, T0)
    edited = sighted(lease("b", "r1", 2), first, T0 + 5 * SEC)
    renewed = sighted(lease("b", "r2", 3), edited, T0 + 7 * SEC)

    assert (edited.since, edited.version) == (T0, 2)
    assert (renewed.since, renewed.version) == (T0 + 7 * SEC, 3)


@pytest.mark.parametrize("spec", [None, {}, {"leaseDurationSeconds": "x", "leaseTransitions": []}])
def test_a_lease_that_says_nothing_is_free(spec: object) -> None:
    found = sighted({"metadata": {"resourceVersion": "1"}, "spec": spec}, None, T0)
    assert decide("a", found, None, TERMS, T0) is LeaseAction.TAKE


# -- processes -----------------------------------------------------------------------------------


class Skewed:
    """A clock that is off by a constant."""

    def __init__(self, clock: Clock, by: timedelta) -> None:
        self._clock, self.by = clock, by

    def now(self) -> datetime:
        return self._clock.now() + self.by


class Deaf:
    """Faults that strike while they are switched on."""

    def __init__(self) -> None:
        self.fault: Fault | None = None
        self.hears: tuple[str, ...] = ()  # verbs that work nevertheless

    def call(self, verb: str, target: Ref | Kind) -> Fault | None:
        return None if verb in self.hears else self.fault

    def event(self, event: Event) -> None:
        return None


class Process:
    """A candidate on the common hub, with a clock and a line of its own. Frozen: its timers rest."""

    def __init__(self, hub: MemoryHub, clock: VirtualClock, me: str, skew: timedelta) -> None:
        self.line = Deaf()
        self.frozen = False
        self._steady = Skewed(clock, skew)
        self.told = Skewed(self._steady, 0 * SEC)
        self.candidate = LeaderCandidate(
            FaultyHub(hub, self.line),
            self.told,
            self._timers,
            REF,
            me=me,
            terms=TERMS,
            steady=self._steady,
        )
        self.candidate.start()

    def _timers(self, wake: object) -> VirtualTimers:
        self.timers = VirtualTimers(self._steady, wake)  # type: ignore[arg-type]  # it is a Wake
        return self.timers

    def turn(self) -> None:
        if not self.frozen:
            self.timers.run_due()

    @property
    def leads(self) -> bool:
        return self.candidate.may_write()


class World:
    def __init__(self, *skews: timedelta) -> None:
        self.clock = VirtualClock(T0)
        self.hub = MemoryHub(self.clock)
        self.processes = [
            Process(self.hub, self.clock, f"p{i}", skew) for i, skew in enumerate(skews)
        ]

    def on(self, seconds: float) -> "World":
        for _ in range(round(seconds * 4)):
            for process in self.processes:
                process.turn()
            self.clock.advance(SEC / 4)
            assert sum(p.leads for p in self.processes) <= 1, "two leaders"
        return self

    @property
    def leaders(self) -> list[str]:
        return [p.candidate.me for p in self.processes if p.leads]


def test_the_first_one_leads_and_goes_on_leading() -> None:
    world = World(0 * SEC, 0 * SEC).on(120)
    spec = world.hub.get(REF)["spec"]
    assert world.leaders == ["p0"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("p0", 0)
    assert spec["renewTime"] >= "2026-01-01T00:01:56"


@pytest.mark.parametrize("skew", [timedelta(0), timedelta(hours=1), timedelta(hours=-1)], ids=str)
def test_a_successor_waits_a_whole_lease_on_its_own_clock(skew: timedelta) -> None:
    world = World(0 * SEC, skew).on(20)
    world.processes[0].frozen = True
    last = world.hub.get(REF)["spec"]["renewTime"]

    world.on(14)
    assert world.leaders == []
    world.on(4)

    assert world.leaders == ["p1"]
    assert world.hub.get(REF)["spec"]["leaseTransitions"] == 1
    predecessor = world.processes[1].candidate.predecessor
    assert (predecessor.name, predecessor.renewed) == (
        "p0", datetime.fromisoformat(last),
    )  # fmt: skip


@pytest.mark.parametrize("step", [timedelta(seconds=20), timedelta(hours=-1)], ids=str)
@pytest.mark.parametrize("process", [0, 1])
def test_a_step_of_the_time_that_the_server_tells_moves_no_lease(
    process: int, step: timedelta
) -> None:
    world = World(0 * SEC, 0 * SEC).on(20)
    for _ in range(12):
        world.on(0.75)
        world.processes[process].told.by += step
        assert world.on(1).leaders == ["p0"]
    world.processes[0].frozen = True

    world.on(14)
    assert world.leaders == []
    assert world.on(4).leaders == ["p1"]


def test_a_leader_that_wakes_up_after_its_lease_has_lost_it_and_never_leads_again() -> None:
    world = World(0 * SEC, 0 * SEC).on(20)
    first = world.processes[0]
    first.frozen = True
    world.on(30)
    assert world.leaders == ["p1"]

    first.frozen = False
    assert first.candidate.standing is LeaderState.LOST  # before any timer of its own has run
    with pytest.raises(Fenced, match="is lost"):
        first.candidate.check()
    world.on(60)

    assert world.leaders == ["p1"]
    assert first.candidate.standing is LeaderState.LOST


def test_a_leader_that_cannot_reach_the_hub_stops_before_another_may_begin() -> None:
    world = World(0 * SEC, 0 * SEC).on(20)
    world.processes[0].line.fault = Fault.UNAVAILABLE
    lost_after, taken_after = None, None
    for quarter in range(4 * 40):
        world.on(0.25)
        if lost_after is None and world.processes[0].candidate.standing is LeaderState.LOST:
            lost_after = quarter / 4
        if taken_after is None and world.leaders == ["p1"]:
            taken_after = quarter / 4
    assert lost_after is not None
    assert taken_after is not None
    assert lost_after <= 10
    assert taken_after >= lost_after + 4  # a write sent last has timed out by then


def test_an_outage_shorter_than_the_deadline_costs_nothing() -> None:
    world = World(0 * SEC, 0 * SEC).on(20)
    for fault in (Fault.UNAVAILABLE, Fault.LOST, Fault.THROTTLED, Fault.CONFLICT):
        world.processes[0].line.fault = fault
        world.on(5)
        world.processes[0].line.fault = None
        world.on(10)
    assert world.leaders == ["p0"]
    assert world.hub.get(REF)["spec"]["leaseTransitions"] == 0


def test_an_edit_by_a_person_does_not_end_a_leadership() -> None:
    world = World(0 * SEC).on(20)
    world.hub.patch(REF, {"metadata": {"labels": {"a": "b"}}})
    assert world.on(20).leaders == ["p0"]


@pytest.mark.parametrize("holder", ["", "someone"])
def test_a_lease_that_is_taken_away_ends_the_leadership(holder: str) -> None:
    world = World(0 * SEC).on(20)
    world.hub.patch(REF, {"spec": {"holderIdentity": holder}})
    world.on(4)
    assert world.processes[0].candidate.standing is LeaderState.LOST


def test_a_lease_that_is_deleted_ends_the_leadership_and_the_next_one_creates_it() -> None:
    world = World(0 * SEC, 0 * SEC).on(20)
    world.hub.delete(REF)
    world.on(6)
    assert world.processes[0].candidate.standing is LeaderState.LOST
    assert world.leaders == []
    assert world.on(20).leaders == ["p1"]


def test_a_released_lease_is_taken_at_the_next_look() -> None:
    world = World(0 * SEC, 0 * SEC).on(20)
    world.processes[0].candidate.release()
    assert world.hub.get(REF)["spec"]["holderIdentity"] == ""
    world.on(2.5)
    assert world.leaders == ["p1"]
    assert world.processes[1].candidate.predecessor.renewed == T0 + 20 * SEC
    assert not world.processes[0].candidate.may_write()


def test_whoever_waits_releases_nothing() -> None:
    world = World(0 * SEC, 0 * SEC).on(20)
    world.processes[1].candidate.release()
    assert world.on(20).leaders == ["p0"]


def test_a_first_leader_has_no_predecessor() -> None:
    assert World(0 * SEC).on(1).processes[0].candidate.predecessor == Predecessor()


def test_an_error_that_nobody_expected_ends_a_leadership_instead_of_the_thread() -> None:
    clock = VirtualClock(T0)
    hub = MemoryHub(clock)
    made: list[VirtualTimers] = []

    def timers(wake: object) -> VirtualTimers:
        made.append(VirtualTimers(clock, wake))  # type: ignore[arg-type]  # it is a Wake
        return made[-1]

    candidate = LeaderCandidate(hub, clock, timers, REF, me="a")
    candidate.start()
    made[0].run_due()
    assert candidate.may_write()
    hub.patch(REF, {"spec": {"renewTime": None}, "metadata": {"labels": {"x": "y"}}})
    hub.patch = lambda *_: 1 / 0  # type: ignore[method-assign, assignment]  # a broken client
    clock.advance(3 * SEC)
    made[0].run_due()
    assert candidate.standing is LeaderState.LOST


steps = st.lists(
    st.tuples(
        st.sampled_from(["freeze", "thaw", "deaf", "lost", "heal", "release", "wait"]),
        st.integers(0, 2),
        st.sampled_from([0.5, 3, 9, 16]),
    ),
    max_size=12,
)


@given(steps, st.tuples(*[st.sampled_from([0, -3600, 7200])] * 3))
def test_there_are_never_two_leaders_and_in_the_end_there_is_one(
    history: list[tuple[str, int, float]], skews: tuple[int, ...]
) -> None:
    world = World(*(skew * SEC for skew in skews))
    for act, who, seconds in history:
        process = world.processes[who]
        match act:
            case "freeze":
                process.frozen = True
            case "thaw":
                process.frozen = False
            case "deaf":
                process.line.fault = Fault.UNAVAILABLE
            case "lost":
                process.line.fault = Fault.LOST
            case "heal":
                process.line.fault = None
            case "release" if not process.frozen:
                process.candidate.release()
        world.on(seconds)  # asserts that there are not two
    fresh = Process(world.hub, world.clock, "fresh", 0 * SEC)
    world.processes.append(fresh)
    for process in world.processes:
        process.frozen, process.line.fault = False, None
    assert len(world.on(60).leaders) == 1


def test_a_candidate_that_cannot_read_the_lease_keeps_trying() -> None:
    world = World(0 * SEC)
    world.processes[0].line.fault = Fault.UNAVAILABLE
    candidate = world.processes[0].candidate
    assert candidate.trouble == f"{REF} was not read yet"
    world.on(30)
    assert candidate.heard_at is None
    assert "cannot get Lease" in candidate.trouble
    world.processes[0].line.fault = None
    assert world.on(3).leaders == ["p0"]
    assert (candidate.trouble, candidate.heard_at is None) == ("", False)


def test_a_candidate_that_can_read_the_lease_but_not_write_it_is_in_trouble() -> None:
    world = World(0 * SEC)
    line, candidate = world.processes[0].line, world.processes[0].candidate
    line.fault, line.hears = Fault.UNAVAILABLE, ("get",)
    world.on(30)
    assert candidate.heard_at is None
    assert "cannot create Lease" in candidate.trouble
