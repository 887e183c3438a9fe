"""How does one look at a running controller? A small HTTP server: health, metrics, and what is mounted.

The standard library's server with a thread for each request: a few requests a minute, answered from
values that are at hand, do not need more. Requests beyond `MOST` at a time are refused, slow ones cut.
"""

import json
import logging
import ssl
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from rollout.model.kinds import Obj
from rollout.runtime.metrics import CONTENT_TYPE
from rollout.runtime.process import Readiness

log = logging.getLogger(__name__)

MOST = 16
SECONDS = 15
LARGEST_BODY = 1 << 20
JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked.

    ``length`` is the body's length as announced, None where it was not. ``gone``: whether whoever
    asked waits no longer.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    authorization: str = ""
    body: bytes = b""
    length: int | None = 0
    gone: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Response:
    """What is answered."""

    status: int
    body: bytes
    content_type: str = TEXT


Route = Callable[[Request], Response]


def in_json(status: int, obj: Obj) -> Response:
    return Response(status, json.dumps(obj, ensure_ascii=False).encode() + b"\n", JSON)


def in_words(status: int, text: str) -> Response:
    return Response(status, text.encode() + b"\n")


def health_routes(
    alive: Callable[[], bool], readiness: Callable[[], Readiness], metrics: Callable[[], bytes]
) -> dict[str, Route]:
    """What probes and Prometheus ask for; they may only read."""

    def live(_: Request) -> Response:
        return in_words(200, "ok") if alive() else in_words(500, "the engine does not come round")

    def ready(_: Request) -> Response:
        found = readiness()
        return in_words(200 if found.ready else 503, found.why)

    def measured(_: Request) -> Response:
        return Response(200, metrics(), CONTENT_TYPE)

    return {"/healthz": live, "/readyz": ready, "/metrics": measured}


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. ``host`` "": everywhere."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host or '*'}:{self.port}"


class Server:
    """Answers on one address until it is closed. A path that ends in ``/`` stands for all below it.

    Raises: OSError where the address cannot be had.
    """

    def __init__(
        self,
        address: Address,
        routes: Mapping[str, Route],
        tls: tuple[str, str] | None = None,
    ) -> None:
        """``tls``: the files of a certificate and of its key."""
        self._http = _Http(address, routes, tls)
        host, port = self._http.server_address[:2]
        self.address = Address(str(host), int(port))
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(0.2,), name=f"http {address}", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(2)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(
        self, address: Address, routes: Mapping[str, Route], tls: tuple[str, str] | None
    ) -> None:
        self.routes = dict(routes)
        self.places = threading.BoundedSemaphore(MOST)
        self.tls: ssl.SSLContext | None = None
        if tls is not None:
            self.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self.tls.load_cert_chain(*tls)
        super().__init__((address.host, address.port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """On the request's own thread: a client that is slow to shake hands holds up nobody."""
        try:
            request.settimeout(SECONDS)
            if self.tls is not None:
                request = self.tls.wrap_socket(request, server_side=True)
            super().process_request_thread(request, client_address)
        except OSError as error:
            log.debug("a request was cut: %s", error)
            self.shutdown_request(request)
        finally:
            self.places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("a request failed: %s", sys.exception())


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    timeout = SECONDS
    server_version = "rollout"
    sys_version = ""

    def _serve(self) -> None:
        split = urlsplit(self.path)
        route = self._route(split.path)
        response = in_words(404, "there is nothing here") if route is None else self._ask(route)
        self.send_response(response.status)
        self.send_header("Content-Type", response.content_type)
        self.send_header("Content-Length", str(len(response.body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)

    def _route(self, path: str) -> Route | None:
        routes = self.server.routes
        found = routes.get(path)
        if found is not None:
            return found
        below = [prefix for prefix in routes if prefix.endswith("/") and path.startswith(prefix)]
        return routes[max(below, key=len)] if below else None

    def _ask(self, route: Route) -> Response:
        said = self.headers.get("Content-Length", "0")
        length = int(said) if said.isascii() and said.isdigit() else None
        body = self.rfile.read(length) if length and length <= LARGEST_BODY else b""
        split = urlsplit(self.path)
        request = Request(
            self.command,
            split.path,
            {key: values[-1] for key, values in parse_qs(split.query).items()},
            self.headers.get("Authorization", ""),
            body,
            length,
        )
        try:
            return route(request)
        except Exception:
            log.exception("answering %s failed", split.path)
            return in_json(500, {"error": "it failed; the log of the controller says more"})

    def __getattr__(self, name: str) -> Any:
        """The base class looks for ``do_GET`` and its like: each method is the routes' business."""
        if name.startswith("do_"):
            return self._serve
        raise AttributeError(name)

    def log_message(self, *said: Any) -> None:
        log.debug(*said)
