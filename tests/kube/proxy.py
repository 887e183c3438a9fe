"""A proxy in front of a real API server that fails at random, and can be told to let nothing through."""

import asyncio
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
from aiohttp import web

from tests.kube.cluster import Cluster
from tests.kube.facade import refusal

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


@dataclass
class Proxy:
    """Plain HTTP to us; behind it the server, as its admin. ``happened`` counts faults."""

    server: Cluster
    rates: Rates = Rates()
    seed: int = 1
    happened: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.is_open = True
        self._random = Random(self.seed)
        self._loop = asyncio.new_event_loop()
        self._watches: dict[int, web.Request] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self.url = self._on_loop(self._serve())

    def _on_loop(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    async def _serve(self) -> str:
        pki = self.server.folder / "pki"
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self._http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context, limit=0))
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    def kubeconfig(self, folder: Path) -> Path:
        path = folder / "proxy.kubeconfig"
        path.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
            f"clusters: [{{name: c, cluster: {{server: '{self.url}'}}}}]\n"
            "users: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
        )
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

    def close(self) -> None:
        self._on_loop(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    async def _end(self) -> None:
        handlers = asyncio.all_tasks() - {asyncio.current_task()}
        for task in handlers:
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)
        await self._runner.cleanup()
        await self._http.close()
        await asyncio.sleep(0.3)  # connections with TLS take a while to close

    def _draw(self) -> str:
        at = self._random.random() * 100
        for name in ("conflict", "throttled", "error", "unavailable", "reset", "lost", "late"):
            at -= getattr(self.rates, name)
            if at < 0:
                return name
        return ""

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if not self.is_open:
            return _abort(request)
        fault = self._draw()
        if fault == "conflict" and request.method != "PATCH":
            fault = ""
        self.happened[fault] += 1
        match fault:
            case "conflict":
                return refusal(409, "Conflict", "the object has been modified")
            case "throttled":
                return refusal(429, "TooManyRequests", "later", {"Retry-After": "1"})
            case "error":
                return refusal(500, "InternalError", "etcdserver: leader changed")
            case "unavailable":
                return web.Response(status=503, text="no healthy upstream")
            case "reset":
                return _abort(request)
            case "late":
                await asyncio.sleep(self._random.random())
        return await self._forward(request, fault == "lost")

    async def _forward(self, request: web.Request, lost: bool) -> web.StreamResponse:
        headers = {"Accept": "application/json"}
        if "Content-Type" in request.headers:
            headers["Content-Type"] = request.headers["Content-Type"]
        try:
            async with self._http.request(
                request.method,
                self.server.url + request.path_qs,
                data=await request.read(),
                headers=headers,
            ) as answer:
                if request.query.get("watch") == "true":
                    return await self._watch(request, answer)
                body = await answer.read()
        except (aiohttp.ClientError, ConnectionResetError):
            return _abort(request)
        if lost:
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


def _abort(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


@contextmanager
def proxied(server: Cluster, rates: Rates = Rates(), seed: int = 1) -> Iterator[Proxy]:
    proxy = Proxy(server, rates, seed)
    try:
        yield proxy
    finally:
        proxy.close()
