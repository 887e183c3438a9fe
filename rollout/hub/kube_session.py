"""The connections to an API server: one thread, one event loop, one pool.

Everything asynchronous of the hub happens on this thread; others call `Session.run` and wait.
Every request has a time-out. Nothing is retried here but a 401 with credentials that can be renewed,
within the same time. No request waits for credentials before it is sent: see `Credentials`.
"""

import asyncio
import concurrent.futures
import logging
import threading
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import aiohttp
from yarl import URL

from rollout.errors import HubError, Silent, Unavailable
from rollout.hub.kube_access import PLUGIN_SECONDS, Access, Credentials, credentials
from rollout.hub.kube_answers import BROKEN, broken_said, error_of, short
from rollout.hub.kube_loop import Loop

log = logging.getLogger(__name__)

T = TypeVar("T")

Heard = Callable[[datetime, float, float], object]
"""Is told what time the server says it is; when it was asked and when it answered, on the monotonic
clock, in seconds. Called on the loop's thread."""

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
_UNAUTHORIZED = 401
_CLOSING_SECONDS = 5.0
_HEAR_SECONDS = 0.05

SSLProtocol.max_size = 32 << 10  # a buffer of asyncio's 256 KB for each connection would be 20 MB


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds after which waiting ends.

    ``connect``: for a connection. ``read``: for the whole answer to a read. ``write``: for the whole
    answer to a write, shorter than half a lease: a fenced leader must not have writes on their way.
    ``silence``: for the next byte of a watch; an API server sends a bookmark each minute.
    """

    connect: float = 5.0
    read: float = 30.0
    write: float = 10.0
    silence: float = 150.0


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back, whatever its status."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class Session:
    """A way to one API server. Raises ConfigError where its configuration cannot be used.

    Args:
        compressed: whether the server may compress its answers. That takes it, and us, some time of which
            a network nearby gives less back.
    """

    def __init__(
        self,
        access: Access | None = None,
        times: Times | None = None,
        heard: Heard | None = None,
        *,
        compressed: bool = True,
    ) -> None:
        self.times = times or Times()
        self._accept = {"Accept": JSON, "User-Agent": "rollout"}
        if not compressed:
            self._accept["Accept-Encoding"] = "identity"
        self._heard = heard
        self._hear_at = 0.0
        self._loop = Loop()
        self._thread = threading.Thread(target=self._serve, name="kube", daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._certificate_edition = 0
        self._thread.start()
        try:
            self._credentials: Credentials = self.run(
                credentials(access or Access()), self.times.connect + PLUGIN_SECONDS
            )
            self._http: aiohttp.ClientSession = self.run(self._open(), self.times.connect)
        except BaseException:
            with suppress(HubError):
                self.run(self._loop.hang_up(), _CLOSING_SECONDS)
            self._end_loop()
            raise
        configuration = self._credentials.configuration
        self.host: str = configuration.host.rstrip("/")
        self._extra: dict[str, Any] = {}
        if configuration.tls_server_name:
            self._extra["server_hostname"] = configuration.tls_server_name
        if configuration.proxy:
            self._extra["proxy"] = configuration.proxy
        if configuration.proxy_headers:
            self._extra["proxy_headers"] = configuration.proxy_headers

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _open(self) -> aiohttp.ClientSession:
        return self._credentials.session()

    # -- for other threads ---------------------------------------------------------------------

    def run(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Have the loop do it, and wait. Raises: what it raises; Unavailable when time is over."""
        return self.wait(self.begin(work), seconds)

    def begin(self, work: Coroutine[Any, Any, T]) -> "concurrent.futures.Future[T]":
        """Have the loop do it; `wait` for it. Raises: Unavailable when all is closed."""
        if self._closed:
            work.close()
            raise Unavailable("the connection to the API server is closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def wait(self, begun: "concurrent.futures.Future[T]", seconds: float) -> T:
        """What came of it. Raises: what it raises; Unavailable when time is over."""
        assert threading.current_thread() is not self._thread, "it would wait for itself"
        try:
            return begun.result(seconds)
        except TimeoutError as error:
            if begun.done():
                raise
            begun.cancel()
            raise Unavailable(f"no answer from the API server in {seconds:.0f} s") from error
        except concurrent.futures.CancelledError as error:
            raise Unavailable("the connection to the API server was closed") from error

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called: nothing new is begun."""
        return self._closed

    def post(self, call: Callable[[], None]) -> None:
        """Have the loop call this soon; returns at once. Nothing happens once it is closed."""
        if not self._closed:
            self._loop.call_soon_threadsafe(call)

    def close(self) -> None:
        """End everything that is under way. Writes on their way may or may not have been done."""
        if self._closed:
            return
        self._closed = True
        closing = asyncio.run_coroutine_threadsafe(self._shut(), self._loop)
        try:
            self.wait(closing, _CLOSING_SECONDS)
        except HubError as error:
            log.warning("closing the connection to the API server: %s", error)
        self._end_loop()

    async def _shut(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._http.close()
        await self._credentials.close()
        await self._loop.hang_up()

    def _end_loop(self) -> None:
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSING_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    # -- on the loop ---------------------------------------------------------------------------

    def start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Begin work; for code on the loop. What it raises is logged."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def spawn(self, work: Coroutine[Any, Any, None]) -> Callable[[], None]:
        """Begin work, from any thread. Returns: a function that ends it, for any thread."""
        started: list[asyncio.Task[None]] = []
        ended = threading.Event()

        def begin() -> None:
            if ended.is_set() or self._closed:
                work.close()
            else:
                started.append(self.start(work))

        def cancel() -> None:
            for task in started:
                task.cancel()

        def end() -> None:
            ended.set()
            self.post(cancel)

        if self._closed:
            work.close()
        else:
            self._loop.call_soon_threadsafe(begin)
        return end

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a task of the Kubernetes hub failed", exc_info=error)

    def elapsed(self) -> float:
        """Seconds on the loop's steady clock, to measure and to wait with."""
        return self._loop.time()

    async def call(
        self, method: str, path: str, body: bytes | None = None, content_type: str = JSON
    ) -> HttpAnswer:
        """One request, and its repetition with newer credentials, all within one time-out.

        Whoever asked right before the call whether it may be made need not ask again.
        Raises: Unavailable where no whole answer came; Denied for bad credentials.
        """
        seconds = self.times.read if method == "GET" else self.times.write
        end = self.elapsed() + seconds
        edition = self._credentials.edition
        answer = await self._once(method, path, body, content_type, seconds=seconds)
        if answer.status != _UNAUTHORIZED:
            return answer
        if self._credentials.edition == edition:
            await self._credentials.renew(self.elapsed(), patience=end - self.elapsed())
        left = end - self.elapsed()
        if left <= 0:
            raise Unavailable(f"{method} {short(path)}: no newer credentials in time")
        if self._credentials.edition != edition:
            answer = await self._once(method, path, body, content_type, seconds=left)
        return answer

    def _client(self) -> aiohttp.ClientSession:
        """The connections with the client certificate of now; older ones are closed soon."""
        edition = self._credentials.certificate_edition
        if edition != self._certificate_edition:
            self._certificate_edition = edition
            old, self._http = self._http, self._credentials.session()
            self.start(self._retire(old))
        return self._http

    async def _retire(self, old: aiohttp.ClientSession) -> None:
        try:
            await asyncio.sleep(self.times.read)
        finally:
            await old.close()

    async def _once(
        self,
        method: str,
        path: str,
        body: bytes | None,
        content_type: str,
        seconds: float,
    ) -> HttpAnswer:
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=self.times.connect)
        headers = await self._headers(content_type if body is not None else None)
        sent = self.elapsed()
        try:
            async with self._client().request(
                method, self._url(path), data=body, headers=headers, timeout=timeout, **self._extra
            ) as response:
                self._hear(response.headers.get("Date"), sent)
                return HttpAnswer(response.status, await response.read(), response.headers)
        except BROKEN as error:
            raise Unavailable(f"{method} {short(path)}: {broken_said(error)}") from error

    def _hear(self, date: str | None, sent: float) -> None:
        """What time the server says it is: once in a while, since it costs a little to read."""
        received = self.elapsed()
        if self._heard is None or date is None or received < self._hear_at:
            return
        try:
            told = parsedate_to_datetime(date)
        except ValueError:
            return
        if told.tzinfo is not None:
            self._hear_at = received + _HEAR_SECONDS
            self._heard(told, sent, received)

    @asynccontextmanager
    async def stream(self, path: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """The chunks of an answer without end. Raises: HubError where it is refused or breaks."""
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=self.times.connect, sock_read=self.times.silence
        )
        headers = await self._headers(None)
        opened = False
        try:
            async with self._client().get(
                self._url(path), headers=headers, timeout=timeout, **self._extra
            ) as response:
                if response.status >= 300:
                    if response.status == _UNAUTHORIZED:
                        await self._credentials.renew(self.elapsed(), patience=self.times.read)
                    what = f"watch {short(path)}"
                    raise error_of(what, response.status, await response.read(), response.headers)
                opened = True
                yield response.content.iter_any()
        except TimeoutError as error:
            if not opened:
                raise Unavailable(f"watch {short(path)}: {broken_said(error)}") from error
            seconds = self.times.silence
            raise Silent(f"watch {short(path)}: nothing new for {seconds:g} s") from error
        except BROKEN as error:
            raise Unavailable(f"watch {short(path)}: {broken_said(error)}") from error

    def _url(self, path: str) -> URL:
        """Paths come quoted (`rollout.hub.kube_objects`): to quote them again would cost 20 µs."""
        return URL(self.host + path, encoded=True)

    async def _headers(self, content_type: str | None) -> dict[str, str]:
        if self._closed:
            raise Unavailable("the connection to the API server is closed")
        headers = dict(self._accept)
        if content_type is not None:
            headers["Content-Type"] = content_type
        await self._credentials.sign(headers, self.elapsed())
        return headers
