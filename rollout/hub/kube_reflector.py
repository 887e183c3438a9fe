"""Watches one kind on an API server until it is ended, or until events may be missing.

It takes up where the last connection ended: at the version of the last event or bookmark. It never
asks in a tight loop: a connection that ends early, or is refused, is followed by a pause that grows.
Where the server no longer knows the version (410), or keeps sending what cannot be read, `expired` is
called once and the watch is over: whoever listens lists again, which also finds what was deleted
meanwhile. Source: Kubernetes API concepts, "Efficient detection of changes".
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from enum import Enum

from rollout.errors import Expired, Gone, HubError, NotServed, Silent, Throttled, Unavailable
from rollout.hub import kube_objects as wire
from rollout.hub.base import EventSink, Expire
from rollout.hub.kube_answers import watch_error
from rollout.hub.kube_calls import Calls
from rollout.model.events import Event
from rollout.model.kinds import Kind

log = logging.getLogger(__name__)

LIFETIME = (300, 600)
"""Seconds after which the server is asked to end a connection; drawn anew for each."""
HEALTHY_SECONDS = 5.0
"""A connection that lasted so long was a good one, however it ended."""
_MOST_UNREADABLE = 3
_LONGEST_LINE = 64 << 20


class State(Enum):
    """Where a reflector is."""

    CONNECTING = "connecting"
    WATCHING = "watching"
    WAITING = "waiting"
    ENDED = "ended"


class Reflector:
    """One kind, from one version on. `run` is a task on the loop; it calls ``sink`` there."""

    def __init__(
        self, calls: Calls, kind: Kind, since: int, sink: EventSink, expired: Expire | None
    ) -> None:
        self.kind, self.version = kind, since
        self.state = State.CONNECTING
        self.connections = 0
        self._calls, self._sink, self._expired = calls, sink, expired
        self._random = random.Random()  # noqa: S311  (jitter, not secrets)
        self._setbacks = 0  # connections in a row that were no good
        self._unreadable = 0  # in a row, at the same version

    async def run(self) -> None:
        """Watch until cancelled or expired."""
        try:
            while await self._connection():
                pass
        except Exception:  # a fault of ours must not leave the listener deaf
            log.exception("the watch of %s failed; listing again", self.kind.plural)
        finally:
            self.state = State.ENDED
        if self._expired is not None:
            self._expired()

    async def _connection(self) -> bool:
        """One connection and the pause after it. Returns False where the watch has expired."""
        before, began = self.version, self._calls.session.elapsed()
        problem: HubError | None = None
        self.state = State.CONNECTING
        self.connections += 1
        try:
            async with self._calls.session.stream(await self._path()) as chunks:
                self.state = State.WATCHING
                await self._read(chunks)
        except (Expired, Gone, NotServed) as error:  # gone is the kind: a list will tell
            log.info("%s; listing again", error)
            return False
        except HubError as error:
            problem = error
        lasted = self._calls.session.elapsed() - began
        if self.version != before or lasted >= HEALTHY_SECONDS:
            self._setbacks = self._unreadable = 0
        if self._unreadable >= _MOST_UNREADABLE:
            log.warning("watch %s: cannot be read; listing again: %s", self.kind.plural, problem)
            return False
        if isinstance(problem, Silent):
            log.debug("%s; watching again from version %d", problem, self.version)
        elif problem is not None:
            log.info("%s; watching again from version %d", problem, self.version)
        self.state = State.WAITING
        await asyncio.sleep(self._pause(problem))
        self._setbacks += 1
        return True

    def _pause(self, problem: HubError | None) -> float:
        """Never zero; a server that asks for more gets it."""
        asked = problem if isinstance(problem, Throttled) else None
        return self._calls.pause(self._setbacks, asked)

    async def _path(self) -> str:
        version = await self._calls.discovery.version_of(self.kind)
        return wire.path_of(self.kind, version=version) + wire.query_of(
            watch=True,
            resourceVersion=self.version,
            allowWatchBookmarks=True,
            timeoutSeconds=self._random.randint(*LIFETIME),
            labelSelector=self._calls.only.get(self.kind, ""),
        )

    async def _read(self, chunks: AsyncIterator[bytes]) -> None:
        tail = b""
        async for chunk in chunks:
            lines, tail = wire.lines_of(tail, chunk)
            for line in lines:
                self._take(line)
            if len(tail) > _LONGEST_LINE:
                self._unreadable += 1
                raise Unavailable(f"watch {self.kind.plural}: a line has no end")
        # What is left is half a line of a connection that was cut: it comes again.

    def _take(self, line: bytes) -> None:
        try:
            found = self._calls.reader.line(self.kind, line)
        except Unavailable:
            self._unreadable += 1
            raise
        if isinstance(found, bytes):
            raise watch_error(f"watch {self.kind.plural}", found)
        if not isinstance(found, Event):
            self.version = max(self.version, found)
            return
        self.version = max(self.version, found.version)
        self._calls.saw(self.kind, found.version)
        try:
            self._sink(found)
        except Exception:
            log.exception("whoever listens to %s raised; the watch goes on", found.ref)
