"""One process of the controller: it waits to lead, then drives the engine until it is stopped or
loses the lead.

Nothing is read before the lease is held: what a new leader decides on then contains everything that
its predecessor wrote. Nothing is decided before all of it has been read. A process that has lost the
lead ends; it never stands by again.
"""

import gc
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from rollout.clock import Clock
from rollout.errors import Fenced, HubError, RolloutError
from rollout.runtime.engine import Engine
from rollout.runtime.io import FencedIo
from rollout.runtime.leader import LeaderCandidate, LeaderState
from rollout.runtime.messages import Ask, Woken
from rollout.runtime.pace import BLINK

log = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_EVERY = 0.2
"""Seconds of wall time between looks at what tells nobody of itself: the lease, the watches, late
timers."""
_LOOK = timedelta(seconds=LOOK_EVERY)
BREATH = 0.02
"""Seconds after a message in which others come along: a turn costs as much as several messages."""
LONGEST_TURN = timedelta(minutes=3)
"""A process that has not come round for so long is taken to hang."""
RETRY = timedelta(seconds=5)
"""After a first read that failed."""


def quiet_collector() -> None:
    """Once everything is read: what is there now will stay. Collections look at the rest, rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether traffic, or an upgrade that waits, may count on this process; and why not."""

    ready: bool
    why: str


class Controller:
    """See the module. `step` is the body of the loop; `run` is the loop.

    Args:
        in_touch: whether every watch has a connection; asked again and again.
        sweep: wakes timers that a step of the wall clock has delayed.
        settled: called once, when everything has been read for the first time.
        begin: called once, when this process has the lead and before it reads anything.
        agree: called after that, before everything is read; again where it raises HubError.
        last_sign: of whoever looked after this before, asked when everything is read
            (`Fleet.began`); by the lease, if left out.
        idle: waits for so many seconds, or until there is a message.
    """

    def __init__(
        self,
        engine: Engine,
        candidate: LeaderCandidate,
        fenced: FencedIo,
        clock: Clock,
        *,
        in_touch: Callable[[], bool] = lambda: True,
        sweep: Callable[[], None] = lambda: None,
        settled: Callable[[], None] = lambda: None,
        begin: Callable[[], None] = lambda: None,
        agree: Callable[[], None] = lambda: None,
        last_sign: Callable[[], datetime | None] | None = None,
        idle: Callable[[float], object] | None = None,
    ) -> None:
        self.engine, self.candidate = engine, candidate
        self._fenced, self._clock = fenced, clock
        self._in_touch, self._sweep, self._settled = in_touch, sweep, settled
        self._prepare: Callable[[], None] | None = begin
        self._agree = agree
        self._last_sign = last_sign or (lambda: candidate.predecessor.last_sign)
        self._idle = idle or self._listen
        self._nap = idle or threading.Event().wait  # whatever waits in the inbox
        self._started = self._is_reading = False
        self._start_at: datetime | None = None
        self._why_not_started = "nothing has been read yet"
        self._stop = threading.Event()
        self._turned_at = self._looked_at = clock.now()
        self._touched_at = clock.now()  # when the watches were last seen to be connected
        self._heard_at: datetime | None = None  # when the lease was last heard of
        self._heard_until: datetime | None = None  # all news came; None: nothing has been read yet
        candidate.heard = lambda: self._heard_until

    # -- for any thread ------------------------------------------------------------------------

    def stop(self) -> None:
        """End soon, in good order. May be called by a signal handler."""
        self._stop.set()
        self.engine.inbox.put(Ask(lambda: None))

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    @property
    def leads(self) -> bool:
        """Whether this process leads and has read everything."""
        return self._started and self.candidate.standing is LeaderState.LEADING

    def ask(self, job: Callable[[], T], seconds: float) -> T:
        """Have the engine's thread do it, between two plans, and wait. Raises: TimeoutError."""
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(job())
            except BaseException as error:  # noqa: BLE001  (it belongs to whoever asked)
                future.set_exception(error)

        self.engine.inbox.put(Ask(work))
        try:
            return future.result(seconds)
        finally:
            future.cancel()

    def readiness(self) -> Readiness:
        """Ready: it leads and has read everything, or it could take over at any time."""
        if self.stopping:
            return Readiness(False, "it is stopping")
        match self.candidate.standing:
            case LeaderState.LOST:
                return Readiness(False, f"the lease is lost: {self.candidate.why_lost}")
            case LeaderState.LEADING if not self._started:
                return Readiness(False, self._why_not_started)
            case LeaderState.LEADING:
                return Readiness(True, "it leads")
        candidate = self.candidate
        heard = candidate.heard_at
        if heard is None or self._clock.now() >= heard + candidate.terms.duration:
            return Readiness(False, f"it cannot stand by: {candidate.trouble}")
        return Readiness(True, f"it stands by; {candidate.leader or 'nobody'} leads")

    def is_alive(self) -> bool:
        """Whether the loop still turns, or is reading everything: each read has its time-out."""
        return self._is_reading or self._clock.now() < self._turned_at + LONGEST_TURN

    # -- the loop ------------------------------------------------------------------------------

    def run(self, stop_within: timedelta = timedelta(seconds=10)) -> None:
        """Until `stop` was called, then in good order. Raises: Fenced where the lead is lost."""
        self.candidate.start()
        try:
            while not self.stopping:
                if not self.step():
                    # What waits in the inbox must not be planned before everything is read.
                    pause = self._nap if self._start_at else self._idle
                    pause(LOOK_EVERY)
        except Fenced:
            self.candidate.stop()
            self.engine.stop()
            raise
        self.finish(stop_within)

    def _listen(self, seconds: float) -> None:
        """Wait for a message, for at most this many seconds; after one, wait for `BREATH` more."""
        if self.engine.wait(seconds) and not self.stopping:
            self._nap(BREATH)

    def step(self) -> bool:
        """One turn. Returns False where there was nothing to do. Raises: Fenced."""
        now = self._turned_at = self._clock.now()
        standing = self.candidate.standing
        if standing is LeaderState.LOST:
            self.candidate.check()
        if not self._looked_at <= now < self._looked_at + _LOOK:
            self._looked_at = now
            self._sweep()
            if self._started:
                self._watch_out(now)
        if standing is LeaderState.LEADING and not self._started:
            return self._begin(now)
        return self.engine.turn(now)

    def finish(self, within: timedelta) -> None:
        """Plan no more, wait for the writes that are out, then let the lease go.

        Writes that do not come back within ``within`` keep the lease: it runs out by itself.
        """
        self.engine.stop()
        end = self._clock.now() + within
        while self._fenced.pending and self._clock.now() < end and self.candidate.may_write():
            self._nap(0.02)
        if self._fenced.pending:
            log.warning(
                "%d writes are still out; the lease runs out by itself", self._fenced.pending
            )
            self.candidate.stop()
        else:
            self.candidate.release()

    # -- first things --------------------------------------------------------------------------

    def _begin(self, now: datetime) -> bool:
        """Read everything. Returns False where that has to wait."""
        if self._start_at is not None and now < self._start_at:
            return False
        if self._prepare is not None:
            self._prepare()
            self._prepare = None
        self._is_reading = True
        trying = "beginning"
        try:
            self._agree()
            trying = "reading everything"
            self.engine.start()
        except HubError as error:
            self._why_not_started = f"{trying} failed: {error}"
            self._start_at = now + RETRY
            log.warning("%s; it is tried again", self._why_not_started)
            return False
        except RolloutError:
            raise
        except Exception as error:  # a fault of ours: to end, and to begin anew, would mend nothing
            self._why_not_started = f"{trying} failed: {type(error).__name__}: {error}"
            self._start_at = now + RETRY
            log.exception("%s; it is tried again", self._why_not_started)
            return False
        finally:
            self._is_reading = False
        self._started, self._start_at = True, None
        now = self._turned_at = self._touched_at = self._clock.now()
        self._heard_until = now
        # Nobody looked after the fleet since then: deadlines and soaks did not run (rows 8, 20).
        self.engine.fleet.began(self._last_sign(), now)
        self._heard_at = self.candidate.heard_at
        self._settled()
        log.info("everything is read; leading as %s", self.candidate.me)
        return True

    # -- out of touch --------------------------------------------------------------------------

    def _watch_out(self, now: datetime) -> None:
        """Tell the fleet while the hub is out of touch, and of the span once it is over (row 20)."""
        fleet = self.engine.fleet
        if self._in_touch():
            last, self._touched_at = self._touched_at, now
            fleet.blind("watches", None)
            self._note_outage(last, now)
        elif now > self._touched_at + BLINK:
            fleet.blind("watches", self._touched_at)
        since = fleet.outages.blind_since
        self._heard_until = self._touched_at if since is None else min(since, self._touched_at)
        heard = self.candidate.heard_at
        if heard is None:
            return
        # A connection over which nothing comes looks like one over which there is nothing to tell.
        fleet.blind("lease", heard if now > heard + BLINK else None)
        if heard != self._heard_at:
            last_heard, self._heard_at = self._heard_at or heard, heard
            self._note_outage(last_heard, heard)

    def _note_outage(self, begin: datetime, end: datetime) -> None:
        if end <= begin + BLINK:
            return
        log.warning("out of touch for %.1f s; deadlines did not run", (end - begin).total_seconds())
        fleet = self.engine.fleet
        fleet.out_of_touch(begin, end)
        for ref in fleet.rolled_out():
            self.engine.inbox.put(Woken(ref))
