"""Timed wake-ups: `Timers` puts keys back on a queue at an instant.

A timer never runs work. It only calls ``wake(key)``, which must be thread-safe and, where timers
are shared, cheap. It may arm timers, also the one that has just fired.
"""

import heapq
import logging
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from apscheduler.executors.base import BaseExecutor, run_job
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.schedulers.base import BaseScheduler
from apscheduler.triggers.date import DateTrigger

from rollout.clock import Clock, SystemClock

log = logging.getLogger(__name__)

Wake = Callable[[Hashable], None]


class Timers(Protocol):
    """Keyed one-shot alarms. Arming a key again replaces its instant."""

    def arm(self, key: Hashable, at: datetime) -> None: ...
    def cancel(self, key: Hashable) -> None: ...


class VirtualTimers:
    """Alarms on a `VirtualClock`; the simulator jumps from one to the next."""

    def __init__(self, clock: Clock, wake: Wake) -> None:
        self._clock, self._wake = clock, wake
        self._due: dict[Hashable, datetime] = {}
        self._heap: list[tuple[datetime, str, Hashable]] = []  # ties by repr, as APScheduler

    def arm(self, key: Hashable, at: datetime) -> None:
        self._due[key] = at
        heapq.heappush(self._heap, (at, repr(key), key))

    def cancel(self, key: Hashable) -> None:
        self._due.pop(key, None)

    def next_at(self) -> datetime | None:
        """The earliest armed instant; drops superseded heap entries."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def run_due(self) -> int:
        """Wake every key due at the clock's now; return how many."""
        woken = 0
        while (at := self.next_at()) is not None and at <= self._clock.now():
            key = heapq.heappop(self._heap)[2]
            del self._due[key]
            self._wake(key)
            woken += 1
        return woken


class _InlineExecutor(BaseExecutor):  # type: ignore[misc]  # apscheduler has no types
    """Runs the wake callback on the scheduler's thread.

    APScheduler's own DebugExecutor leaves one counter entry behind per job id;
    keys here are unbounded over a process's life, so keep no counters at all.
    """

    def submit_job(self, job: Any, run_times: list[datetime]) -> None:
        for event in run_job(job, job._jobstore_alias, run_times, self._logger.name):
            self._scheduler._dispatch_event(event)

    def _do_submit_job(self, job: Any, run_times: list[datetime]) -> None:
        raise AssertionError("submit_job runs the job itself")


class SteppedScheduler(BaseScheduler):  # type: ignore[misc]  # apscheduler has no types
    """An APScheduler without a thread: due jobs run only in `run_due`."""

    def wakeup(self) -> None:
        """Nothing sleeps, so there is nothing to wake."""

    def shutdown(self, wait: bool = True) -> None:
        super().shutdown(wait)

    def run_due(self) -> None:
        self._process_jobs()


@dataclass(frozen=True, slots=True)
class _Alarm:
    """One arming of a key, and the name of its job."""

    at: datetime
    job: str


class ApsTimers:
    """Alarms on APScheduler; each armed key is a visible one-shot job.

    Instants are on ``clock``, which may be steadier than the wall clock that APScheduler reads: a
    job is armed for as far ahead as the instant is away. A step of the wall clock can make a job
    late; `sweep` wakes what is due all the same.
    """

    def __init__(
        self,
        wake: Wake,
        scheduler: type[BaseScheduler] = BackgroundScheduler,
        clock: Clock | None = None,
    ) -> None:
        self._wake = wake
        self._wall = SystemClock()
        self._clock: Clock = clock or self._wall
        self._due: dict[Hashable, _Alarm] = {}
        self._number = 0
        self._lock = threading.Lock()  # jobs fire on APScheduler's thread
        self.scheduler = scheduler(
            timezone=UTC,
            executors={"default": _InlineExecutor()},
            # No grace limit: a late wake-up is still wanted, a lost one stalls a rollout.
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self.scheduler.start()

    def arm(self, key: Hashable, at: datetime) -> None:
        with self._lock:
            before = self._due.get(key)
            self._number += 1
            # APScheduler removes a job after it has run, by its name: one that was armed meanwhile
            # under the same name would go, too.
            alarm = self._due[key] = _Alarm(at, f"{key!r} #{self._number}")
        self.scheduler.add_job(
            self._fire,
            DateTrigger(self._wall.now() + (at - self._clock.now()), timezone=UTC),
            args=(key, alarm),
            id=alarm.job,
        )
        self._discard(before)

    def cancel(self, key: Hashable) -> None:
        with self._lock:
            before = self._due.pop(key, None)
        self._discard(before)

    def _discard(self, alarm: _Alarm | None) -> None:
        if alarm is None:
            return
        try:
            self.scheduler.remove_job(alarm.job)
        except JobLookupError:
            log.debug("timer %s has fired just now", alarm.job)

    def next_at(self) -> datetime | None:
        """The earliest armed instant."""
        with self._lock:
            return min((alarm.at for alarm in self._due.values()), default=None)

    def sweep(self) -> None:
        """Wake every key that is due on the clock, in order of instant and then of key."""
        now = self._clock.now()
        with self._lock:
            late = sorted((a.at, repr(key), key) for key, a in self._due.items() if a.at <= now)
        for _, _, key in late:
            self.cancel(key)
            self._wake(key)

    def _fire(self, key: Hashable, alarm: _Alarm) -> None:
        with self._lock:
            if self._due.get(key) is not alarm:
                return  # armed anew, cancelled, or swept a moment ago
            del self._due[key]
        self._wake(key)
