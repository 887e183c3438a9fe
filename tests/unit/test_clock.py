"""Clocks: what they promise while the wall clock does as it likes."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from freezegun import freeze_time

from rollout.clock import HubClock, SteadyClock, SystemClock, VirtualClock, since_boot
from rollout.strategies.base import Health, Phase, Standing, Timing
from rollout.strategies.judge import judge

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Machine:
    """A machine whose wall clock can be set, and whose monotonic clock cannot."""

    def __init__(self) -> None:
        self.wall, self.elapsed = NOON, 1000.0

    def pass_time(self, by: timedelta) -> None:
        self.wall += by
        self.elapsed += by.total_seconds()

    def clock(self) -> SteadyClock:
        return SteadyClock(lambda: self.wall, lambda: self.elapsed)


class ApiServer:
    """Answers in which it says what time it is, to the second; ``ahead`` of the machine's wall clock."""

    def __init__(self, machine: Machine, ahead: timedelta) -> None:
        self.machine, self.ahead = machine, ahead
        self.clock = HubClock(lambda: machine.wall, lambda: machine.elapsed)

    def answer(self, took: float = 0.02, at: float = 0.0) -> None:
        """One more answer, ``at`` seconds from now, that takes so long."""
        self.machine.pass_time(timedelta(seconds=at))
        sent = self.machine.elapsed
        self.machine.pass_time(timedelta(seconds=took / 2))
        told = (self.machine.wall + self.ahead).replace(microsecond=0)
        self.machine.pass_time(timedelta(seconds=took / 2))
        self.clock.heard(told, sent, self.machine.elapsed)

    def wrong_by(self) -> float:
        """Seconds between the clock and the server's."""
        return abs((self.clock.now() - self.machine.wall - self.ahead).total_seconds())


@pytest.mark.parametrize("ahead", [-600.0, -0.4, 0.0, 60.25, 400.0])
def test_a_hub_clock_goes_by_the_server_and_the_better_the_more_answers_it_has(
    ahead: float,
) -> None:
    server = ApiServer(Machine(), timedelta(seconds=ahead))
    assert server.clock.now() == server.machine.wall  # until the first answer
    assert server.clock.own_error() is None

    server.answer()
    assert server.wrong_by() <= 1.02
    for _ in range(40):
        server.answer(at=0.37)

    assert server.wrong_by() <= 0.05
    error = server.clock.own_error()
    assert error is not None
    assert abs(error.total_seconds() + ahead) <= 0.05


def test_an_answer_that_took_long_tells_little_and_spoils_nothing() -> None:
    server = ApiServer(Machine(), timedelta(seconds=60))
    for _ in range(20):
        server.answer(at=0.37)
    before = server.wrong_by()

    server.answer(took=30)

    assert server.wrong_by() <= before + 0.01


def test_few_answers_that_contradict_the_others_are_outvoted_and_many_are_believed() -> None:
    server = ApiServer(Machine(), timedelta(0))
    for _ in range(20):
        server.answer(at=0.37)
    server.ahead = timedelta(seconds=400)

    for _ in range(HubClock.OUTVOTED - 1):
        server.answer()
    assert server.wrong_by() > 399

    server.answer()
    assert server.wrong_by() <= 1.02


def test_an_answer_that_agrees_again_begins_the_count_anew() -> None:
    server = ApiServer(Machine(), timedelta(0))
    server.answer()
    for _ in range(3):
        server.ahead = timedelta(seconds=400)
        for _ in range(HubClock.OUTVOTED - 1):
            server.answer()
        server.ahead = timedelta(0)
        server.answer()

    assert server.wrong_by() <= 1.02


@pytest.mark.parametrize("step", [-HOUR, HOUR], ids=["back", "ahead"])
@pytest.mark.parametrize("whose", ["the server's", "the machine's"])
def test_from_the_first_decision_on_no_clock_moves_a_hub_clock(step: timedelta, whose: str) -> None:
    server = ApiServer(Machine(), timedelta(seconds=60))
    for _ in range(20):
        server.answer(at=0.37)
    server.clock.settle()
    begin = server.clock.now()

    if whose == "the server's":
        server.ahead += step
    else:
        server.machine.wall += step
        server.ahead -= step
    for _ in range(10):
        server.answer(took=0, at=6)

    assert server.clock.now() == begin + timedelta(minutes=1)
    error = server.clock.own_error()
    assert error is not None  # it goes on to tell
    assert abs(error + server.ahead) <= timedelta(seconds=1)


def test_a_hub_clock_that_was_told_nothing_goes_by_the_machine_and_can_be_frozen() -> None:
    with freeze_time(NOON) as frozen:
        clock = HubClock(elapsed=lambda: 5.0)
        clock.settle()
        frozen.tick(HOUR)
        assert clock.now() == NOON


@pytest.mark.parametrize("step", [-HOUR, HOUR, 365 * 24 * HOUR], ids=["back", "ahead", "far ahead"])
def test_a_step_of_the_wall_clock_moves_no_steady_clock(step: timedelta) -> None:
    machine = Machine()
    clock = machine.clock()

    machine.pass_time(timedelta(minutes=3))
    machine.wall += step
    machine.pass_time(timedelta(minutes=2))

    assert clock.now() == NOON + timedelta(minutes=5)


@pytest.mark.parametrize("step", [-HOUR, HOUR], ids=["back", "ahead"])
def test_s13_a_step_of_the_clock_inside_a_process_ends_no_soak_and_no_deadline(
    step: timedelta,
) -> None:
    machine = Machine()
    clock = machine.clock()
    timing = Timing(soak=timedelta(minutes=5), deadline=timedelta(minutes=10))
    soaking = Standing("a", "r", touched=clock.now(), health=Health.SUCCEEDED, since=clock.now())
    running = Standing("b", "r", touched=clock.now(), health=Health.PROGRESSING, since=clock.now())

    machine.wall += step
    machine.pass_time(timedelta(minutes=5) - timedelta(microseconds=1))
    assert judge(soaking, "r", timing, clock.now()).phase is Phase.SOAKING
    machine.pass_time(timedelta(microseconds=1))
    assert judge(soaking, "r", timing, clock.now()).phase is Phase.SOAKED
    assert judge(running, "r", timing, clock.now()).phase is Phase.PROGRESSING
    machine.pass_time(timedelta(minutes=5))
    assert judge(running, "r", timing, clock.now()).phase is Phase.FAILED


def test_the_system_clock_is_frozen_by_freezegun() -> None:
    with freeze_time(NOON) as frozen:
        assert SystemClock().now() == NOON
        frozen.tick(HOUR)
        assert SystemClock().now() == NOON + HOUR


def test_a_virtual_clock_never_goes_back() -> None:
    clock = VirtualClock(NOON)

    with pytest.raises(ValueError, match="time cannot go backwards"):
        clock.advance(-timedelta(microseconds=1))
    assert clock.now() == NOON


def test_a_virtual_clock_needs_a_time_zone() -> None:
    with pytest.raises(ValueError, match="timezone-aware"):
        VirtualClock(datetime(2030, 1, 1))  # noqa: DTZ001  (that is the point)


def test_the_time_in_which_a_machine_is_suspended_counts_for_leases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "CLOCK_BOOTTIME", 7, raising=False)
    boot = {7: 1000.0}
    monkeypatch.setattr(time, "clock_gettime", boot.__getitem__, raising=False)
    clock = SteadyClock(lambda: NOON, since_boot)
    boot[7] += 60.0  # and the monotonic clock stood still

    assert clock.now() == NOON + timedelta(minutes=1)


def test_where_no_clock_counts_suspended_time_the_monotonic_one_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(time, "CLOCK_BOOTTIME", raising=False)
    before = since_boot()

    assert 0 <= since_boot() - before < 60
