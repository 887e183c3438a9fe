"""Decides how many requests are in flight and which is next: namespaces take turns.

`JobQueue` runs jobs as there are places in a `RequestWindow`, which has no fixed rate and no fixed number.

Additive increase, multiplicative decrease. The window grows by one for each round trip in which it was
full (by one for each answer until the first setback); a refusal for load or an answer that takes far
longer than is usual for such a request shrinks it, at most once per round trip. A server that refuses again right after
that is left alone for as long as it asks. Instants are seconds on a steady clock, given as arguments.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from rollout.errors import Throttled, Unavailable
from rollout.hub.kube_calls import Calls
from rollout.model.turns import Turns

FIRST, LEAST, MOST = 16, 1, 64
SLOW_SECONDS = 0.5
"""An answer is never called slow below this, however fast others are."""
SLOW_TIMES = 8.0
"""Above `SLOW_SECONDS`, slow is so many times the usual."""
HOLD_SECONDS = 1.0
"""After a setback the window does not grow for so long: each try costs somebody a refusal.

It is also what API servers ask to wait, always: only more than that is taken as meant for all.
"""


@dataclass(frozen=True, slots=True)
class _Usual:
    """How many seconds a request takes, as of an instant."""

    seconds: float
    at: float


@dataclass(slots=True, kw_only=True)
class RequestWindow:
    """The number that may be in flight, and since when."""

    size: float = FIRST
    in_flight: int = 0
    paused_until: float = 0.0
    shrunk_at: float = float("-inf")
    setbacks: int = 0  # in a row
    _usual: dict[Hashable, _Usual] = field(default_factory=dict)  # by what was asked

    def is_open(self, now: float) -> bool:
        """Whether one more may be sent."""
        return self.in_flight < int(self.size) and now >= self.paused_until

    def sent(self) -> None:
        self.in_flight += 1

    def answered(self, sent_at: float, now: float, what: Hashable = None) -> None:
        """An answer came that is no sign of load, whether the request succeeded or failed.

        Args:
            what: requests that usually take equally long; None: how long it took says nothing.
        """
        was_full = self.in_flight >= int(self.size)
        self.in_flight -= 1
        self.setbacks = 0
        if what is not None and self._is_slow(what, now - sent_at, now):
            self._shrink(0.8, sent_at, now)
        elif was_full and now >= self.shrunk_at + HOLD_SECONDS:
            never = self.shrunk_at == float("-inf")
            self.size = min(MOST, self.size + (1 if never else 1 / self.size))

    def _is_slow(self, what: Hashable, took: float, now: float) -> bool:
        """Whether the request took far longer than usual. Its duration then counts for what is usual."""
        usual = self._usual.get(what)
        if usual is None:
            self._usual[what] = _Usual(took, now)
            return False
        # The usual is the quickest lately: it may double in a minute, so that a busy hour does not
        # become the rule, and a server that moved away does not stay slow for ever.
        older = usual.seconds * 2 ** min((now - usual.at) / 60, 10)
        self._usual[what] = _Usual(min(took, older), now)
        return took > SLOW_SECONDS and took > SLOW_TIMES * usual.seconds

    def overloaded(self, sent_at: float, now: float, wait: float = 0.0) -> None:
        """The server refused a request because of load, or did not answer in time.

        Args:
            wait: seconds after which it wants to be asked again.
        """
        self.in_flight -= 1
        if self._shrink(0.5, sent_at, now):
            self.setbacks += 1
        if wait > HOLD_SECONDS or self.setbacks > 1:
            self.paused_until = max(self.paused_until, now + wait)

    def _shrink(self, factor: float, sent_at: float, now: float) -> bool:
        if sent_at < self.shrunk_at:
            return False  # it was sent before the last setback, which it is a part of
        self.size = max(LEAST, min(self.size, self.in_flight + 1) * factor)
        self.shrunk_at = now
        return True


@dataclass(frozen=True, slots=True)
class Job:
    """Sends one request and passes the answer to its callback.

    ``run`` raises Throttled or Unavailable after that, so that the window learns of it; nothing else.
    ``what``: requests that take about as long as each other, such as a verb and a kind; None: how
    long it takes says nothing about the server's load.
    """

    run: Callable[[], Awaitable[None]]
    what: Hashable = None


class JobQueue:
    """Runs jobs on the loop, as many at once as the server grants.

    Namespaces are served in turn, one job each, and so are the batches of one namespace: neither a
    busy namespace nor a large batch holds up anybody else. A job is not begun before there is a place
    for it; so what is queued can still be stopped.
    """

    def __init__(self, calls: Calls, window: RequestWindow | None = None) -> None:
        self.calls = calls
        self.window = window or RequestWindow()
        self.most_in_flight = 0
        self._batches: Turns[deque[Job]] = Turns()
        self._alarm: asyncio.TimerHandle | None = None

    def post(self, jobs: Sequence[Job], turn: str = "") -> None:
        """Take on a batch of jobs of a namespace, from any thread; returns at once."""
        batch = deque(jobs)
        if batch:
            self.calls.session.post(lambda: self._take_on(batch, turn))

    def waiting(self) -> int:
        """How many jobs have not begun; a number for people, read on the loop's thread or at rest."""
        return sum(len(batch) for batch in self._batches)

    def _take_on(self, batch: deque[Job], turn: str) -> None:
        self._batches.put(turn, batch)
        self._fill()

    def _fill(self) -> None:
        """Begin as many jobs as there are places; none once the session is closed."""
        if self.calls.session.is_closed:
            self._batches.clear()
        now = self.calls.session.elapsed()
        while self.window.is_open(now) and (found := self._batches.take()) is not None:
            turn, batch = found
            job = batch.popleft()
            if batch:
                self._batches.put(turn, batch)
            self.window.sent()
            self.most_in_flight = max(self.most_in_flight, self.window.in_flight)
            self.calls.session.start(self._run(job, now))
        pause = self.window.paused_until - now
        if self._batches and pause > 0 and self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(pause, self._resume)

    def _resume(self) -> None:
        self._alarm = None
        self._fill()

    async def _run(self, job: Job, began: float) -> None:
        session, window = self.calls.session, self.window
        try:
            await job.run()
        except Throttled as error:
            window.overloaded(began, session.elapsed(), error.after / timedelta(seconds=1))
        except Unavailable:
            window.overloaded(began, session.elapsed())
        except BaseException:
            window.in_flight -= 1
            raise
        else:
            window.answered(began, session.elapsed(), job.what)
        finally:
            self._fill()
