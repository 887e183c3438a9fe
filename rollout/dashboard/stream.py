"""Tells an open page of each change: one stream of events for each tab, with the number of each new view.

The page then asks for itself again; what somebody may see is decided there. A stream ends with the
session that it was opened in.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import chain

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from rollout.dashboard.answers import Office
from rollout.dashboard.view import DashboardView
from rollout.errors import HubError

ALIVE_SECONDS = 10.0
"""So often a stream says that it is there, and it is looked whether its session is: proxies cut what is silent."""
MOST_STREAMS = 256
MOST_OF_ONE = 32


class Streams:
    """The streams that are open, by person."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._open: dict[str, set[asyncio.Event]] = {}
        self._closing = asyncio.Event()

    async def answer(self, request: Request) -> Response:
        try:
            person = await run_in_threadpool(self._office.person, request)
        except HubError as fault:
            return PlainTextResponse(str(fault), 503)
        if person is None:
            return PlainTextResponse("log in first", 401)
        mine = self._open.get(person.name, ())
        if len(mine) >= MOST_OF_ONE or sum(map(len, self._open.values())) >= MOST_STREAMS:
            return PlainTextResponse("too many streams are open; the page asks by itself", 429)
        return StreamingResponse(
            self._events(request, person.name),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    def look_again(self) -> None:
        """Look now whose sessions are over."""
        for news in chain(*self._open.values()):
            news.set()

    def close(self) -> None:
        self._closing.set()

    async def _events(self, request: Request, name: str) -> AsyncIterator[str]:
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def heard(_: DashboardView) -> None:
            loop.call_soon_threadsafe(news.set)

        end = self._office.observer.listen(heard)
        self._open.setdefault(name, set()).add(news)
        try:
            yield f"retry: 2000\n{_event(self._office.observer.view)}"
            while not self._closing.is_set():
                said = ": alive\n\n"
                with suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), ALIVE_SECONDS)
                    news.clear()
                    said = _event(self._office.observer.view)
                if not await self._may_go_on(request):
                    return
                yield said
        finally:
            end()
            self._open[name].discard(news)
            if not self._open[name]:
                del self._open[name]

    async def _may_go_on(self, request: Request) -> bool:
        """Whether whoever listens is still somebody; a server that cannot say so ends nothing."""
        try:
            return await run_in_threadpool(self._office.person, request) is not None
        except HubError:
            return True


def _event(view: DashboardView) -> str:
    return f"event: view\ndata: {view.number}\n\n"
