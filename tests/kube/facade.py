"""An API server in one file: a hub in memory, behind HTTP on loopback, that can be told to misbehave.

Its thread owns the hub. `Facade.script` says what becomes of the next requests of a verb; what is not
scripted is answered as an API server would.
"""

import asyncio
import json
import threading
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from rollout.clock import SystemClock
from rollout.errors import (
    AlreadyExists,
    Conflict,
    Denied,
    Expired,
    Gone,
    HubError,
    Invalid,
    Throttled,
)
from rollout.hub.admission import admit
from rollout.hub.memory import MemoryHub
from rollout.model.events import Event
from rollout.model.kinds import CLUSTER_PROFILE, KINDS, SHARED_DECISION, Kind, Obj, Ref, key_of

_CODES: list[tuple[type[HubError], int, str]] = [
    (AlreadyExists, 409, "AlreadyExists"),
    (Conflict, 409, "Conflict"),
    (Gone, 404, "NotFound"),
    (Invalid, 422, "Invalid"),
    (Denied, 403, "Forbidden"),
    (Throttled, 429, "TooManyRequests"),
    (Expired, 410, "Expired"),
    (HubError, 503, "ServiceUnavailable"),
]
Request = web.Request
Act = Callable[[Request], Awaitable[web.StreamResponse | None]]
"""What becomes of a request; None: it is answered as usual after all."""


@dataclass(frozen=True)
class Asked:
    """A request, to be looked at afterwards."""

    verb: str  # get, list, watch, create, patch, delete
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Facade:
    """Serves until `close`. ``url`` is where."""

    asked: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hub = MemoryHub(SystemClock(), history=5_000, admit=admit)
        self._scripts: dict[str, deque[Act]] = defaultdict(deque)
        self._pages: dict[str, tuple[list[Obj], int]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="facade", daemon=True)
        self._thread.start()
        self.url = self._on_loop(self._serve())

    def _on_loop(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _serve(self) -> str:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        return f"http://127.0.0.1:{port}"

    def close(self) -> None:
        self._on_loop(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()
        self.hub.close()

    async def _end(self) -> None:
        handlers = asyncio.all_tasks() - {asyncio.current_task()}
        for task in handlers:
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)
        await self._runner.cleanup()

    def do(self, work: Callable[[MemoryHub], Any]) -> Any:
        """Use the hub behind it, on its thread."""

        async def on_loop() -> Any:
            return work(self.hub)

        return self._on_loop(on_loop())

    def script(self, verb: str, *acts: Act) -> None:
        """What becomes of the next requests of this verb, in order."""
        self._loop.call_soon_threadsafe(self._scripts[verb].extend, acts)

    def gate(self) -> tuple[Act, Callable[[], None]]:
        """An act that answers as usual, but not before the gate is open; and what opens it."""
        opened = asyncio.Event()

        async def act(request: Request) -> None:
            await opened.wait()

        return act, lambda: self._on_loop(_set(opened))

    async def lose(self, request: Request) -> web.StreamResponse:
        """Do what is asked, and close the connection without an answer."""
        kind, namespace, name, sub = parts_of(request.path)
        assert kind is not None
        self._do(request, kind, key_of(namespace, name), sub, json.loads(await request.read()))
        return await cut(request)

    def count(self, verb: str) -> int:
        return sum(a.verb == verb for a in tuple(self.asked))

    def kubeconfig(self, folder: Path, token: str = "") -> Path:
        path = folder / "kubeconfig"
        user = f"{{token: {token}}}" if token else "{}"
        path.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
            f"clusters: [{{name: c, cluster: {{server: '{self.url}'}}}}]\n"
            f"users: [{{name: u, user: {user}}}]\n"
            "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
        )
        return path

    # -- answering -----------------------------------------------------------------------------

    async def _handle(self, request: Request) -> web.StreamResponse:
        kind, namespace, name, sub = parts_of(request.path)
        verb = _verb(request, name)
        body = json.loads(await request.read() or b"null")
        self.asked.append(
            Asked(
                verb,
                request.method,
                request.path,
                dict(request.query),
                dict(request.headers),
                body,
            )
        )
        script = self._scripts[verb]
        if script:
            scripted = await script.popleft()(request)
            if scripted is not None:
                return scripted
        if kind is None:
            return web.Response(status=404, text="404 page not found\n")
        try:
            if verb == "watch":
                return await self._watch(request, kind)
            found = self._do(request, kind, key_of(namespace, name), sub, body)
            return web.json_response(found, status=201 if verb == "create" else 200)
        except HubError as error:
            return status_of(error)

    def _do(self, request: Request, kind: Kind, key: str, sub: str, body: Any) -> Obj:
        hub, ref = self.hub, Ref(kind, key)
        match request.method:
            case "GET" if ref.name:
                return hub.get(ref)
            case "GET":
                return self._list(request, kind, ref.namespace or None)
            case "POST":
                name = body["metadata"].get("name", "")
                namespace = body["metadata"].get("namespace", "") if kind.namespaced else ""
                key = f"{namespace}/{name}" if kind.namespaced else name
                return hub.create(Ref(kind, key), body)
            case "PATCH":
                wanted = (body.get("metadata") or {}).get("resourceVersion")
                patch = hub.patch_status if sub == "status" else hub.patch
                return patch(ref, body, int(wanted) if wanted else None)
            case "DELETE":
                conditions = (body or {}).get("preconditions") or {}
                wanted = conditions.get("resourceVersion")
                hub.delete(ref, conditions.get("uid"), int(wanted) if wanted else None)
                return {"kind": "Status", "status": "Success"}
        raise Invalid(request.method)

    def _list(self, request: Request, kind: Kind, namespace: str | None) -> Obj:
        limit = int(request.query.get("limit", "0")) or 10**9
        token = request.query.get("continue", "")
        if token:
            items, version = self._pages.pop(token)
        else:
            selector = request.query.get("labelSelector", "")
            listing = self.hub.list(kind, namespace, label_selector=selector)
            items, version = list(listing.items), listing.version
        meta = {"resourceVersion": str(version)}
        if len(items) > limit:
            meta["continue"] = f"token-{len(self.asked)}"
            self._pages[meta["continue"]] = (items[limit:], version)
        return {"kind": f"{kind.name}List", "metadata": meta, "items": items[:limit]}

    async def _watch(self, request: Request, kind: Kind) -> web.StreamResponse:
        queue: asyncio.Queue[Event] = asyncio.Queue()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        try:
            end = self.hub.watch(kind, int(request.query["resourceVersion"]), queue.put_nowait)
        except Expired as error:
            await response.write(line("ERROR", json.loads(status_of(error).body or b"")))  # type: ignore[arg-type]  # bytes it is
            return response
        try:
            while True:
                event = await queue.get()
                await response.write(line(event.change.value, event.obj))
        except ConnectionResetError:
            return response
        finally:
            end()


def parts_of(path: str) -> tuple[Kind | None, str, str, str]:
    """Kind, namespace, name and subresource of a path."""
    words = path.strip("/").split("/")
    if len(words) < 3:
        return None, "", "", ""
    group, version = ("", words[1]) if words[0] == "api" else (words[1], words[2])
    rest = words[2:] if words[0] == "api" else words[3:]
    if not rest:
        return None, "", "", ""
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    rest += [""] * (3 - len(rest))
    for kind in (*KINDS.values(), SHARED_DECISION, CLUSTER_PROFILE):
        if (kind.plural, kind.group, kind.version) == (rest[0], group, version):
            return kind, namespace, rest[1], rest[2]
    return None, "", "", ""


def _verb(request: Request, name: str) -> str:
    if request.method == "GET" and not name:
        return "watch" if request.query.get("watch") == "true" else "list"
    return {"GET": "get", "POST": "create", "PATCH": "patch", "DELETE": "delete"}[request.method]


def line(change: str, obj: Obj) -> bytes:
    """One line of a watch."""
    return json.dumps({"type": change, "object": obj}).encode() + b"\n"


def status_of(error: HubError) -> web.Response:
    code, reason = next((c, r) for kind, c, r in _CODES if isinstance(error, kind))
    details: dict[str, Any] = {"name": "it"} if isinstance(error, Gone) else {}
    return refusal(code, reason, str(error), **details)


# What a script can do


def refusal(
    code: int,
    reason: str = "",
    message: str = "",
    headers: dict[str, str] | None = None,
    **details: Any,
) -> web.Response:
    body = {
        "kind": "Status",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
        "details": details,
    }
    return web.json_response(body, status=code, headers=headers)


def refuse(code: int, reason: str = "", message: str = "no", **headers: str) -> Act:
    """Answer with a Status. Underscores in header names stand for hyphens."""

    async def act(request: Request) -> web.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return refusal(code, reason, message, named)

    return act


def say(body: bytes, code: int = 200) -> Act:
    """Answer with these bytes."""

    async def act(request: Request) -> web.Response:
        return web.Response(body=body, status=code)

    return act


async def _set(event: asyncio.Event) -> None:
    event.set()


def delay(seconds: float) -> Act:
    """Answer as usual, but late."""

    async def act(request: Request) -> None:
        await asyncio.sleep(seconds)

    return act


async def cut(request: Request) -> web.StreamResponse:
    """Close the connection without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def stream(*chunks: bytes | float, then: str = "end") -> Act:
    """A watch that says these chunks (numbers are pauses), then ends, is ``cut``, or ``hang``s."""

    async def act(request: Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for chunk in chunks:
            if isinstance(chunk, float):
                await asyncio.sleep(chunk)
            else:
                await response.write(chunk)
        if then == "cut":
            assert request.transport is not None
            request.transport.abort()
        elif then == "hang":
            await asyncio.sleep(60)
        return response

    return act


@contextmanager
def serving() -> Iterator[Facade]:
    facade = Facade()
    try:
        yield facade
    finally:
        facade.close()


@pytest.fixture
def facade() -> Iterator[Facade]:
    with serving() as found:
        yield found
