"""Where is asked what takes long? One thread with an event loop, on which much waits side by side.

Nothing of it can hold up the engine.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any


class Workers:
    """Runs coroutines. `places` is for them to wait for: so many ask at once.

    Args:
        name: of the thread.
    """

    def __init__(self, name: str, most: int) -> None:
        self.places = asyncio.Semaphore(most)
        self._loop = asyncio.new_event_loop()
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
        """End: what still runs is given up, then ``last`` is waited for."""
        asyncio.run_coroutine_threadsafe(self._end(last), self._loop).result()
        self.call(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self, last: Callable[[], Awaitable[None]]) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await last()
