"""How does an open page hear of a change? One stream of events for each tab: the number of each new view.

The page then asks for itself again; what somebody may see is decided there.
"""

import asyncio
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from rollout.dashboard.answers import Office
from rollout.dashboard.view import DashboardView
from rollout.errors import HubError

ALIVE_SECONDS = 15.0
"""So often a stream says that it is there: proxies cut what is silent, and lost browsers are found."""
MOST_STREAMS = 256
MOST_OF_ONE = 32


class Streams:
    """The streams that are open, by session."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._open: dict[str, int] = {}
        self._closing = asyncio.Event()

    async def answer(self, request: Request) -> Response:
        try:
            person = await run_in_threadpool(self._office.person, request)
        except HubError as fault:
            return PlainTextResponse(str(fault), 503)
        if person is None:
            return PlainTextResponse("log in first", 401)
        mine = self._open.get(person.name, 0)
        if mine >= MOST_OF_ONE or sum(self._open.values()) >= MOST_STREAMS:
            return PlainTextResponse("too many streams are open; the page asks by itself", 429)
        self._open[person.name] = mine + 1
        return StreamingResponse(
            self._events(request, person.name),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    def close(self) -> None:
        self._closing.set()

    async def _events(self, request: Request, name: str) -> AsyncIterator[str]:
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def heard(_: DashboardView) -> None:
            loop.call_soon_threadsafe(news.set)

        end = self._office.observer.listen(heard)
        try:
            yield f"retry: 2000\n{_event(self._office.observer.view)}"
            while not self._closing.is_set():
                try:
                    await asyncio.wait_for(news.wait(), ALIVE_SECONDS)
                except TimeoutError:
                    yield ": alive\n\n"
                    continue
                news.clear()
                yield _event(self._office.observer.view)
        finally:
            end()
            left = self._open.pop(name) - 1
            if left:
                self._open[name] = left


def _event(view: DashboardView) -> str:
    return f"event: view\ndata: {view.number}\n\n"
