"""Clocks: what they promise while the wall clock does as it likes."""

from datetime import UTC, datetime, timedelta

import pytest
from freezegun import freeze_time

from rollout.clock import SteadyClock, SystemClock, VirtualClock
from rollout.strategies import Health, Phase, Standing, Timing
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
    soaking = Standing("a", "r", clock.now(), Health.SUCCEEDED, clock.now())
    running = Standing("b", "r", clock.now(), Health.PROGRESSING, clock.now())

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
