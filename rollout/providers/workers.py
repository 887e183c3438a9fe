"""Waits for many slow answers at once, on one thread with an event loop, so that the engine never waits.

What cannot wait there blocks a thread of its own. Of each kind of waiting one namespace gets a part of the
places and no more, so that those whose servers hang wait for themselves.
"""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from rollout.hub.kube_loop import Loop

T = TypeVar("T")
NAMESPACE: ContextVar[str] = ContextVar("namespace", default="")
"""For whom the present task asks."""
CLOSING_SECONDS = 5.0
"""So long the end waits for what blocks the loop, as a plugin may."""


class FairPlaces:
    """So many at once, and of one namespace no more than some of them."""

    def __init__(self, most: int, of_one: int) -> None:
        self._all, self._of_one = asyncio.Semaphore(most), of_one
        self._own: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def take(self, namespace: str) -> Callable[[], None]:
        """Wait for a place. Returns: what gives it back, to be called once on the loop's thread."""
        own = self._own.get(namespace)
        if own is None:
            own = self._own[namespace] = asyncio.Semaphore(self._of_one)
        await own.acquire()
        try:
            await self._all.acquire()
        except BaseException:
            own.release()
            raise

        def give_back() -> None:
            self._all.release()
            own.release()

        return give_back

    @contextlib.asynccontextmanager
    async def taken(self, namespace: str) -> AsyncIterator[None]:
        """A place, and `NAMESPACE` for as long as it lasts."""
        give_back = await self.take(namespace)
        token = NAMESPACE.set(namespace)
        try:
            yield
        finally:
            NAMESPACE.reset(token)
            give_back()


class Blocking:
    """Runs functions that block, each on a thread of its own, which the end of the process does not wait for.

    A place is taken until the function returns, also where nobody waits for it any more.
    """

    def __init__(self, name: str, most: int, of_one: int) -> None:
        self._name, self._places = name, FairPlaces(most, of_one)

    async def call(self, function: Callable[[], T]) -> T:
        """What it returns. Raises: what it raises."""
        loop = asyncio.get_running_loop()
        give_back = await self._places.take(NAMESPACE.get())
        future: asyncio.Future[T] = loop.create_future()

        def settle(set_it: Callable[[], None]) -> None:
            give_back()
            if not future.done():
                set_it()

        def tell(set_it: Callable[[], None]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(settle, set_it)

        def run() -> None:
            try:
                found = function()
            except BaseException as error:  # noqa: BLE001  (whoever waits for it is told)
                fault = error
                tell(lambda: future.set_exception(fault))
            else:
                tell(lambda: future.set_result(found))

        threading.Thread(target=run, name=self._name, daemon=True).start()
        return await future


class Workers:
    """Runs coroutines. `places` is for them to wait for: so many ask at once.

    Args:
        name: of the thread.
        of_one: so many of one namespace.
    """

    def __init__(self, name: str, most: int, of_one: int) -> None:
        self.places = FairPlaces(most, of_one)
        self._loop = Loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def call(self, job: Callable[[], None]) -> None:
        """Have the thread of the loop do it, soon. For any thread."""
        self._loop.call_soon_threadsafe(job)

    def begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a coroutine, beside all others. For any thread."""

        def start() -> None:
            task = self._loop.create_task(work())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self.call(start)

    def close(self, last: Callable[[], Awaitable[None]]) -> None:
        """End: what still runs is given up, then ``last`` is waited for; neither for longer than a while."""
        ended = asyncio.run_coroutine_threadsafe(self._end(last), self._loop)
        try:
            ended.result(CLOSING_SECONDS)
        except TimeoutError:
            return
        self.call(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self, last: Callable[[], Awaitable[None]]) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await last()
        await self._loop.hang_up()
