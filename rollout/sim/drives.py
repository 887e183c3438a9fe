"""The ways to move a run from one instant to the next: jump, wait, or move a frozen clock."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from rollout.clock import Clock, VirtualClock
from rollout.runtime.timers import ApsTimers, SteppedScheduler, Timers, VirtualTimers, Wake

LOOK_EVERY = 0.2
"""Seconds of wall time between looks at what other processes wrote."""


class Drive(Protocol):
    """Moves time. ``timers`` is called once, before anything else."""

    def timers(self, wake: Wake) -> Timers: ...

    def next_at(self) -> datetime | None:
        """The earliest armed timer; None where none is armed, or where they fire by themselves."""
        ...

    def go(self, at: datetime | None, wait: Callable[[float], bool]) -> bool:
        """Move on to ``at``, or until a message comes (``wait`` blocks for so many seconds).

        Returns False where nothing can happen any more.
        """
        ...

    def close(self) -> None: ...


class Jump:
    """Virtual time: from one instant at which something happens to the next."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    def timers(self, wake: Wake) -> Timers:
        self._timers = VirtualTimers(self._clock, wake)
        return self._timers

    def next_at(self) -> datetime | None:
        return self._timers.next_at()

    def go(self, at: datetime | None, wait: Callable[[float], bool]) -> bool:
        if at is None:
            return False
        self._clock.advance(max(at - self._clock.now(), timedelta(0)))
        self._timers.run_due()
        return True

    def close(self) -> None:
        """Nothing is held."""


class Hurry:
    """A multiple of wall time: waits for a part of it."""

    def __init__(self, clock: Clock, speed: float) -> None:
        self._clock, self._speed = clock, speed

    def timers(self, wake: Wake) -> Timers:
        self._timers = VirtualTimers(self._clock, wake)
        return self._timers

    def next_at(self) -> datetime | None:
        return self._timers.next_at()

    def go(self, at: datetime | None, wait: Callable[[float], bool]) -> bool:
        wait(patience(at, self._clock.now(), self._speed))
        self._timers.run_due()
        return True

    def close(self) -> None:
        """Nothing is held."""


class Real:
    """Wall time, on APScheduler's thread; `go` also fires what a step of the clock has delayed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def timers(self, wake: Wake) -> Timers:
        self._timers = ApsTimers(wake, clock=self._clock)
        return self._timers

    def next_at(self) -> datetime | None:
        return None

    def go(self, at: datetime | None, wait: Callable[[float], bool]) -> bool:
        wait(patience(at, self._clock.now(), 1))
        self._timers.sweep()
        return True

    def close(self) -> None:
        self._timers.scheduler.shutdown(wait=False)


class Frozen:
    """Frozen wall time: ``move_to`` is freezegun's, the timers are APScheduler's, stepped."""

    def __init__(self, move_to: Callable[[datetime], None], clock: Clock) -> None:
        self._move_to, self._clock = move_to, clock

    def timers(self, wake: Wake) -> Timers:
        self._timers = ApsTimers(wake, SteppedScheduler, clock=self._clock)
        return self._timers

    def next_at(self) -> datetime | None:
        return self._timers.next_at()

    def go(self, at: datetime | None, wait: Callable[[float], bool]) -> bool:
        if at is None:
            return False
        if at > self._clock.now():
            self._move_to(at)
        self._timers.sweep()
        return True

    def close(self) -> None:
        self._timers.scheduler.shutdown(wait=False)


def patience(at: datetime | None, now: datetime, speed: float) -> float:
    """Wall seconds until ``at``, at most `LOOK_EVERY`."""
    if at is None:
        return LOOK_EVERY
    return min(LOOK_EVERY, max((at - now).total_seconds() / speed, 0.001))
