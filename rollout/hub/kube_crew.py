"""Who carries many writes at once? Jobs that wait for a place in the window, then run on the loop.

Lots are served in turn, one job each, so that a large one holds up no small one. A job is not begun
before there is a place for it; so what is queued can still be stopped.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

from rollout.errors import Throttled, Unavailable
from rollout.hub.kube_calls import Calls
from rollout.hub.kube_window import Window

Job = Callable[[], Awaitable[None]]
"""Does one write, and tells whom it concerns what came of it. Raises Throttled or Unavailable after
that, so that the window learns of it; nothing else."""


class Crew:
    """Runs jobs, as many at once as the server grants."""

    def __init__(self, calls: Calls, window: Window | None = None) -> None:
        self.calls = calls
        self.window = window or Window()
        self.most_in_flight = 0
        self._lots: deque[deque[Job]] = deque()
        self._alarm: asyncio.TimerHandle | None = None

    def post(self, jobs: Sequence[Job]) -> None:
        """Take on a lot of jobs, from any thread; returns at once."""
        lot = deque(jobs)
        if lot:
            self.calls.session.post(lambda: self._take_on(lot))

    def waiting(self) -> int:
        """How many jobs have not begun; a number for people, read from any thread."""
        return sum(len(lot) for lot in tuple(self._lots))

    def _take_on(self, lot: deque[Job]) -> None:
        self._lots.append(lot)
        self._fill()

    def _fill(self) -> None:
        """Begin as many jobs as there are places; none once the session is closed."""
        if self.calls.session.is_closed:
            self._lots.clear()
        now = self.calls.session.elapsed()
        while self._lots and self.window.is_open(now):
            lot = self._lots.popleft()
            job = lot.popleft()
            if lot:
                self._lots.append(lot)
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
            await job()
        except Throttled as error:
            window.overloaded(began, session.elapsed(), error.after / timedelta(seconds=1))
        except Unavailable:
            window.overloaded(began, session.elapsed())
        except BaseException:
            window.in_flight -= 1
            raise
        else:
            window.answered(began, session.elapsed())
        finally:
            self._fill()
