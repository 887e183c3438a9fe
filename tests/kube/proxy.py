"""A proxy in front of a real API server that fails at random, and can be told to let nothing through.

It writes down what is asked of it (`Asked`), so that a test can judge what a process did, write by write.
"""

import asyncio
import json
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
from aiohttp import web

from rollout.hub.kube_loop import Loop
from rollout.model.kinds import LEASE, Kind
from tests.kube.cluster import Cluster
from tests.kube.facade import parts_of, refusal

_PASSED_ON = ("Content-Type", "Retry-After")


@dataclass(frozen=True)
class Rates:
    """How many of a hundred requests suffer each fault; ``cut`` is of chunks of watches."""

    conflict: float = 0
    throttled: float = 0
    error: float = 0
    unavailable: float = 0
    reset: float = 0
    lost: float = 0  # done, but the answer never comes
    late: float = 0
    cut: float = 0


@dataclass(slots=True)
class Asked:
    """One request: what for, what the proxy did to it (``fault``), what the server said.

    ``at`` is of the test's own steady clock. ``status`` 0: the server was not asked, or has not
    answered yet. ``body`` is of writes.
    """

    at: float
    method: str
    kind: Kind | None
    key: str
    subresource: str
    watching: bool
    body: dict[str, Any]
    fault: str = ""
    status: int = 0

    @property
    def writes(self) -> bool:
        """Whether it changes objects of the fleet: leases and events are of the process itself."""
        return self.method != "GET" and self.kind is not None and self.kind is not LEASE


@dataclass
class Proxy:
    """Plain HTTP to us; behind it the server, as whoever's token comes along, else as its admin.

    ``happened`` counts faults. ``slow``: seconds that a write of the fleet's objects is on its way,
    at most; drawn anew for each. ``asked``: all requests in the order in which they came.
    ``breaks``: names the fault of a request, where chance is not to decide. ``retry_after``: seconds
    that a throttled request is to wait.
    """

    server: Cluster
    rates: Rates = Rates()
    seed: int = 1
    slow: float = 0.0
    retry_after: int = 1
    happened: Counter[str] = field(default_factory=Counter)
    asked: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.is_open = True
        self.writes_out = 0  # writes that came and were not answered yet
        self.breaks: Callable[[Asked], str] = lambda _: ""
        self.holds: Callable[[Asked], bool] = lambda _: False
        self._released = asyncio.Event()
        self._random = Random(self.seed)
        self._loop = Loop()
        self._watches: dict[int, web.Request] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self.url = self._on_loop(self._serve())

    def _on_loop(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _serve(self) -> str:
        pki = self.server.folder / "pki"
        authority = str(pki / "ca.crt")
        admin, other = (ssl.create_default_context(cafile=authority) for _ in range(2))
        admin.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self._admin, self._other = (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context, limit=0))
            for context in (admin, other)
        )
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    def kubeconfig(self, folder: Path, token: str = "", name: str = "proxy") -> Path:
        path = folder / f"{name}.kubeconfig"
        user = f"{{token: '{token}'}}" if token else "{}"
        path.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
            f"clusters: [{{name: c, cluster: {{server: '{self.url}'}}}}]\n"
            f"users: [{{name: u, user: {user}}}]\n"
            "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
        )
        path.chmod(0o600)
        return path

    def shut(self) -> None:
        """Let nothing through any more, watches included."""
        self.is_open = False

        async def cut() -> None:
            for request in tuple(self._watches.values()):
                _abort(request)

        self._on_loop(cut())

    def open(self) -> None:
        self.is_open = True

    def hold(self, which: "Callable[[Asked], bool]") -> None:
        """Keep requests like these on their way, whatever becomes of whoever asked, until `release`."""
        self.holds = which

    def release(self) -> None:
        """Let what was held go on to the server, and hold nothing any more."""
        self.holds = lambda _: False
        self._loop.call_soon_threadsafe(self._released.set)

    def close(self) -> None:
        self._on_loop(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    async def _end(self) -> None:
        handlers = asyncio.all_tasks() - {asyncio.current_task()}
        for task in handlers:
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)
        await self._runner.cleanup()
        await self._admin.close()
        await self._other.close()
        await self._loop.hang_up()

    def _draw(self) -> str:
        at = self._random.random() * 100
        for name in ("conflict", "throttled", "error", "unavailable", "reset", "lost", "late"):
            at -= getattr(self.rates, name)
            if at < 0:
                return name
        return ""

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if not self.is_open:
            self.happened["shut"] += 1
            return _abort(request)
        asked = await _asked(request)
        asked.fault = self.breaks(asked) or self._draw()
        if asked.fault == "conflict" and request.method != "PATCH":
            asked.fault = ""
        self.asked.append(asked)
        self.happened[asked.fault] += 1
        self.writes_out += asked.writes
        try:
            return await self._answer(request, asked)
        finally:
            self.writes_out -= asked.writes

    async def _answer(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        match asked.fault:
            case "conflict":
                return refusal(409, "Conflict", "the object has been modified")
            case "throttled":
                return refusal(
                    429, "TooManyRequests", "later", {"Retry-After": f"{self.retry_after}"}
                )
            case "error":
                return refusal(500, "InternalError", "etcdserver: leader changed")
            case "unavailable":
                return web.Response(status=503, text="no healthy upstream")
            case "reset":
                return _abort(request)
            case "late":
                await asyncio.sleep(self._random.random())
        if self.slow and asked.writes:
            await asyncio.sleep(self._random.random() * self.slow)
        if self.holds(asked):
            asked.fault = "held"
            await self._released.wait()
        return await self._forward(request, asked)

    async def _forward(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        headers = {"Accept": "application/json"}
        for name in ("Content-Type", "Authorization"):
            if name in request.headers:
                headers[name] = request.headers[name]
        http = self._other if "Authorization" in headers else self._admin
        try:
            async with http.request(
                request.method,
                self.server.url + request.path_qs,
                data=await request.read(),
                headers=headers,
            ) as answer:
                if asked.watching:
                    asked.status = answer.status
                    return await self._watch(request, answer)
                body = await answer.read()
        except (aiohttp.ClientError, ConnectionResetError):
            return _abort(request)
        asked.status = answer.status
        if asked.fault == "lost":
            return _abort(request)
        kept = {name: answer.headers[name] for name in _PASSED_ON if name in answer.headers}
        return web.Response(status=answer.status, body=body, headers=kept)

    async def _watch(
        self, request: web.Request, answer: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status)
        await response.prepare(request)
        self._watches[id(request)] = request
        try:
            async for chunk in answer.content.iter_any():
                if self._random.random() * 100 < self.rates.cut:
                    self.happened["cut"] += 1
                    await response.write(chunk[: len(chunk) // 2])
                    return _abort(request)
                await response.write(chunk)
        except ConnectionResetError:
            return response
        finally:
            self._watches.pop(id(request), None)
        return response


async def _asked(request: web.Request) -> Asked:
    """What is asked, before anything is done about it."""
    kind, namespace, name, subresource = parts_of(request.path)
    text = await request.read() if request.method != "GET" else b""
    body = json.loads(text) if text else {}
    if request.method == "POST":
        name = name or str((body.get("metadata") or {}).get("name") or "")
    return Asked(
        time.monotonic(),  # noqa: TID251  a test measures
        request.method,
        kind,
        f"{namespace}/{name}" if namespace else name,
        subresource,
        request.query.get("watch") == "true",
        body,
    )


def _abort(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


@contextmanager
def proxied(
    server: Cluster, rates: Rates = Rates(), seed: int = 1, slow: float = 0.0
) -> Iterator[Proxy]:
    proxy = Proxy(server, rates, seed, slow)
    try:
        yield proxy
    finally:
        proxy.close()
