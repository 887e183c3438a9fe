"""Answers HTTP requests to a running controller; slow clients do not delay others.

aiohttp speaks HTTP, on a thread and an event loop of each server. Connections are let in here: each has
so many seconds for its one request, from the handshake to the last byte of the answer, and when all
places are taken the oldest connection gives way.
"""

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from urllib.parse import parse_qs, urlsplit

from aiohttp import web

from rollout.runtime.health import (
    LARGEST_BODY,
    Address,
    Request,
    Response,
    Route,
    in_json,
    in_words,
)

log = logging.getLogger(__name__)

MOST = 64
"""Connections at a time."""
SECONDS = 30.0
"""For a whole request. The longest answer is that of the debug endpoint."""
_WORKERS = 4
"""Requests that are being answered at a time; others wait."""
_CLOSING_SECONDS = 2.0
_BACKLOG = 1024


class Server:
    """Answers on one address until it is closed. A path that ends in ``/`` stands for all below it.

    Args:
        tls: the files of a certificate and of its key.
        seconds: for a whole request.
    Raises: OSError where the address or a file of ``tls`` cannot be had.
    """

    def __init__(
        self,
        address: Address,
        routes: Mapping[str, Route],
        tls: tuple[str, str] | None = None,
        *,
        seconds: float = SECONDS,
    ) -> None:
        self._routes, self._seconds = dict(routes), seconds
        self._tls: ssl.SSLContext | None = None
        if tls is not None:
            self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self._tls.load_cert_chain(*tls)
        self._listening = _listening(address)
        host, port = self._listening.getsockname()[:2]
        self.address = Address(str(host), int(port))
        self._workers = ThreadPoolExecutor(_WORKERS, f"http {address}")
        self._connections: dict[asyncio.Task[None], None] = {}  # the oldest one first
        self._loop = asyncio.new_event_loop()
        self._http = web.Server(
            self._handle, access_log=None, handler_cancellation=True, loop=self._loop
        )
        self._thread = threading.Thread(target=self._run, name=f"http {address}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSING_SECONDS)
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._listen()
        self._loop.run_forever()
        self._loop.remove_reader(self._listening)
        self._loop.run_until_complete(_cut_all())
        self._listening.close()
        self._loop.close()

    # -- connections ---------------------------------------------------------------------------

    def _listen(self) -> None:
        self._loop.add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        """Lets one connection in. No coroutine awaits it: one that is cancelled would lose it."""
        try:
            connection, _ = self._listening.accept()
        except BlockingIOError:
            return
        except OSError as error:  # it was gone already, or there are no more descriptors
            log.debug("a connection was not accepted: %s", error)
            self._give_way()
            self._loop.remove_reader(self._listening)
            self._loop.call_later(0.01, self._listen)
            return
        connection.setblocking(False)
        if len(self._connections) >= MOST:
            self._give_way()
        task = self._loop.create_task(self._serve(connection))
        self._connections[task] = None
        task.add_done_callback(partial(self._ended, connection))

    def _ended(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        """A task that gave way before its first step has closed nothing."""
        self._connections.pop(task, None)
        connection.close()

    def _give_way(self) -> None:
        oldest = next(iter(self._connections), None)
        if oldest is not None:
            del self._connections[oldest]
            oldest.cancel()

    async def _serve(self, connection: socket.socket) -> None:
        """One connection, until it ends, its time is over or it gives way."""
        transport: asyncio.BaseTransport | None = None
        try:
            async with asyncio.timeout(self._seconds):
                transport, protocol = await self._loop.connect_accepted_socket(
                    lambda: _Protocol(self._http, self._loop), connection, ssl=self._tls
                )
                await protocol.closed.wait()
        except (OSError, TimeoutError) as error:
            log.debug("a connection was cut: %s", error)
        finally:
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()

    # -- requests ------------------------------------------------------------------------------

    async def _handle(self, asked: web.BaseRequest) -> web.Response:
        gone = threading.Event()
        path = urlsplit(asked.raw_path).path
        route = self._route(path)
        if route is None:
            return _sent(in_words(404, "there is nothing here"))
        request = await _read(asked, gone)
        try:
            found = await self._loop.run_in_executor(self._workers, route, request)
        except Exception:
            log.exception("answering %s failed", path)
            found = in_json(500, {"error": "it failed; the log of the controller says more"})
        finally:
            gone.set()
        return _sent(found)

    def _route(self, path: str) -> Route | None:
        found = self._routes.get(path)
        if found is not None:
            return found
        below = [
            prefix for prefix in self._routes if prefix.endswith("/") and path.startswith(prefix)
        ]
        return self._routes[max(below, key=len)] if below else None


class _Protocol(web.RequestHandler):
    """aiohttp's protocol with an event that is set when the connection has ended."""

    __slots__ = ("closed",)

    def __init__(self, http: web.Server, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            http,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # it turns that log off
            lingering_time=0,  # a body that is too large is not waited for
        )
        self.closed = asyncio.Event()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self.closed.set()


async def _cut_all() -> None:
    """Ends all that still runs, those too that gave way a moment ago."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def _listening(address: Address) -> socket.socket:
    """A socket that listens there, without blocking. Raises: OSError."""
    has_both = not address.host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if has_both or ":" in address.host else socket.AF_INET
    found = socket.create_server(
        (address.host, address.port), family=family, backlog=_BACKLOG, dualstack_ipv6=has_both
    )
    found.setblocking(False)
    return found


async def _read(asked: web.BaseRequest, gone: threading.Event) -> Request:
    length = asked.content_length or 0
    has_length = "Transfer-Encoding" not in asked.headers
    body = await asked.read() if has_length and 0 < length <= LARGEST_BODY else b""
    split = urlsplit(asked.raw_path)
    return Request(
        method=asked.method,
        path=split.path,
        query={key: values[-1] for key, values in parse_qs(split.query).items()},
        authorization=asked.headers.get("Authorization", ""),
        body=body,
        length=length if has_length else None,
        gone=gone.is_set,
    )


def _sent(found: Response) -> web.Response:
    headers = {
        "Content-Type": found.content_type,
        "X-Content-Type-Options": "nosniff",
        "Server": "rollout",
        **found.headers,
    }
    answer = web.Response(status=found.status, body=found.body, headers=headers)
    answer.force_close()  # one request for each connection: its deadline is that of the request
    return answer
