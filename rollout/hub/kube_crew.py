"""Who carries many requests at once? Jobs that wait for a place in the window, then run on the loop.

Namespaces are served in turn, one job each, and so are the lots of one namespace: neither a busy
namespace nor a large lot holds up anybody else. A job is not begun before there is a place for it; so
what is queued can still be stopped.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from rollout.errors import Throttled, Unavailable
from rollout.hub.kube_calls import Calls
from rollout.hub.kube_window import Window
from rollout.model.turns import Turns


@dataclass(frozen=True, slots=True)
class Job:
    """Asks for something once, and tells whom it concerns what came of it.

    ``run`` raises Throttled or Unavailable after that, so that the window learns of it; nothing else.
    ``what``: requests that take about as long as each other, such as a verb and a kind; None: how
    long it takes says nothing about the server's load.
    """

    run: Callable[[], Awaitable[None]]
    what: Hashable = None


class Crew:
    """Runs jobs, as many at once as the server grants."""

    def __init__(self, calls: Calls, window: Window | None = None) -> None:
        self.calls = calls
        self.window = window or Window()
        self.most_in_flight = 0
        self._lots: Turns[deque[Job]] = Turns()
        self._alarm: asyncio.TimerHandle | None = None

    def post(self, jobs: Sequence[Job], turn: str = "") -> None:
        """Take on a lot of jobs of a namespace, from any thread; returns at once."""
        lot = deque(jobs)
        if lot:
            self.calls.session.post(lambda: self._take_on(lot, turn))

    def waiting(self) -> int:
        """How many jobs have not begun; a number for people, read on the loop's thread or at rest."""
        return sum(len(lot) for lot in self._lots)

    def _take_on(self, lot: deque[Job], turn: str) -> None:
        self._lots.put(turn, lot)
        self._fill()

    def _fill(self) -> None:
        """Begin as many jobs as there are places; none once the session is closed."""
        if self.calls.session.is_closed:
            self._lots.clear()
        now = self.calls.session.elapsed()
        while self.window.is_open(now) and (found := self._lots.take()) is not None:
            turn, lot = found
            job = lot.popleft()
            if lot:
                self._lots.put(turn, lot)
            self.window.sent()
            self.most_in_flight = max(self.most_in_flight, self.window.in_flight)
            self.calls.session.start(self._run(job, now))
        pause = self.window.paused_until - now
        if self._lots and pause > 0 and self._alarm is None:
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
