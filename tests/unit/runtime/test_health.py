"""Does the little server answer probes, refuse what is too much, and stay up? Over real sockets."""

import gc
import json
import resource
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rollout.clock import VirtualClock
from rollout.model.kinds import Obj, Ref
from rollout.runtime.health import (
    LARGEST_BODY,
    Address,
    Request,
    Response,
    health_routes,
    in_json,
    in_words,
    metrics_routes,
)
from rollout.runtime.process import Readiness
from rollout.runtime.reviews import TOKEN_REVIEW, Reviews
from rollout.runtime.server import MOST, Server


class State:
    alive = True
    readiness = Readiness(True, "it leads")


def echo(request: Request) -> Response:
    return in_json(
        200, {"method": request.method, "path": request.path, "query": dict(request.query),
              "body": request.body.decode(), "length": request.length},
    )  # fmt: skip


def broken(request: Request) -> Response:
    raise ValueError("the Secret is hunter2")


@pytest.fixture
def state() -> State:
    return State()


@pytest.fixture
def server(state: State) -> Iterator[Server]:
    routes = {
        **health_routes(lambda: state.alive, lambda: state.readiness),
        **metrics_routes(lambda: b"a 1\n", None),
    }
    made = Server(
        Address("127.0.0.1", 0), {**routes, "/deep/": echo, "/deep/er/": broken, "/exact": echo}
    )
    yield made
    made.close()


def fetch(server: Server, path: str, method: str = "GET", body: bytes | None = None) -> Response:
    url = f"http://127.0.0.1:{server.address.port}{path}"
    request = urllib.request.Request(url, data=body, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return Response(answer.status, answer.read(), answer.headers["Content-Type"])
    except urllib.error.HTTPError as error:
        with error:
            return Response(error.code, error.read(), error.headers["Content-Type"])


def test_probes_and_metrics_are_answered(server: Server) -> None:
    assert fetch(server, "/healthz") == in_words(200, "ok")
    assert fetch(server, "/readyz") == in_words(200, "it leads")
    metrics = fetch(server, "/metrics")
    assert (metrics.status, metrics.body) == (200, b"a 1\n")
    assert metrics.content_type.startswith("text/plain; version=0.0.4")


def test_a_loop_that_hangs_and_a_process_that_is_not_ready_are_told(
    server: Server, state: State
) -> None:
    state.alive, state.readiness = False, Readiness(False, "nothing has been read yet")
    assert fetch(server, "/healthz").status == 500
    assert fetch(server, "/readyz") == in_words(503, "nothing has been read yet")


@pytest.mark.parametrize("path", ["/", "/healthzz", "/../etc/passwd", "/metrics/", "/%00"])
def test_what_is_not_there_is_a_404(server: Server, path: str) -> None:
    assert fetch(server, path).status == 404


def test_a_path_with_a_slash_stands_for_all_below_it(server: Server) -> None:
    answer = json.loads(fetch(server, "/deep/a/b?x=1&x=2&y=", "POST", b"hello").body)
    assert answer == {
        "method": "POST", "path": "/deep/a/b", "query": {"x": "2"}, "body": "hello", "length": 5,
    }  # fmt: skip
    assert json.loads(fetch(server, "/exact").body)["method"] == "GET"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_every_method_is_the_routes_business(server: Server, method: str) -> None:
    assert json.loads(fetch(server, "/exact", method).body)["method"] == method


def test_a_body_that_is_too_large_is_not_read(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.address.port), timeout=60) as raw:
        raw.sendall(f"POST /deep/x HTTP/1.0\r\nContent-Length: {LARGEST_BODY + 1}\r\n\r\n".encode())
        answer = raw.makefile("rb").read()
    assert b" 200 " in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["body"] == ""


def test_a_route_that_raises_is_a_500_that_tells_nothing(server: Server) -> None:
    answer = fetch(server, "/deep/er/x")
    assert answer.status == 500
    assert b"hunter2" not in answer.body
    assert fetch(server, "/healthz").status == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_what_may_only_be_read_refuses_other_methods(
    server: Server, path: str, method: str
) -> None:
    assert fetch(server, path, method).status == 405
    assert fetch(server, path, "HEAD").status == 200


@contextmanager
def slow_sockets(server: Server, count: int) -> Iterator[Callable[[], None]]:
    """So many connections; each call sends one more byte of a header over each, and opens those
    again that were cut."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(count + 500, hard)), hard))
    place = ("127.0.0.1", server.address.port)
    held: list[socket.socket] = []

    def drip() -> None:
        for n in range(count):
            try:
                held[n].sendall(b"a")
            except IndexError:
                held.append(socket.create_connection(place, timeout=60))
                held[n].sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
            except OSError:
                held[n].close()
                held[n] = socket.create_connection(place, timeout=60)

    try:
        drip()
        yield drip
    finally:
        for each in held:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_thousand_slow_sockets_keep_nobody_from_being_answered() -> None:
    server = Server(
        Address("127.0.0.1", 0),
        health_routes(lambda: State.alive, lambda: State.readiness),
        seconds=600,
    )
    try:
        with slow_sockets(server, 1_000) as drip:
            for _ in range(10):  # each answer comes long before one of them is cut for being slow
                assert fetch(server, "/healthz") == in_words(200, "ok")
                drip()
    finally:
        server.close()


def test_no_more_connections_are_held_than_there_are_places(server: Server) -> None:
    with slow_sockets(server, MOST * 3):
        assert fetch(server, "/healthz").status == 200
        assert len(server._connections) <= MOST


def test_a_server_that_closes_closes_the_connections_that_arrive_meanwhile_too() -> None:
    for _ in range(100):
        server = Server(Address("127.0.0.1", 0), {"/exact": echo})
        asked = [
            socket.create_connection(("127.0.0.1", server.address.port), timeout=60)
            for _ in range(3)
        ]
        server.close()
        for each in asked:
            each.close()
    del server
    gc.collect()  # a socket that nobody closed is a ResourceWarning here, and so a failure


def test_a_request_that_never_ends_is_cut_however_many_bytes_it_sends() -> None:
    server = Server(Address("127.0.0.1", 0), {"/exact": echo}, seconds=0.5)
    try:
        with socket.create_connection(("127.0.0.1", server.address.port), timeout=60) as raw:
            raw.sendall(b"GET /exact HTTP/1.1\r\nX-Slow: ")
            sent: list[str] = []
            with suppress(OSError):
                while len(sent) < 100:
                    raw.sendall(b"a")
                    sent.append("a")
                    time.sleep(0.05)  # noqa: TID251  a test watches another thread
        assert len(sent) < 40
    finally:
        server.close()


def test_a_route_is_told_when_whoever_asked_is_gone() -> None:
    asked, told = threading.Event(), threading.Event()

    def slow(request: Request) -> Response:
        asked.set()
        for _ in range(24_000):
            if request.gone():
                told.set()
                break
            threading.Event().wait(0.01)
        return in_words(200, "late")

    server = Server(Address("127.0.0.1", 0), {"/slow": slow})
    try:
        with socket.create_connection(("127.0.0.1", server.address.port), timeout=60) as raw:
            raw.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            assert asked.wait(60)
        assert told.wait(240)
    finally:
        server.close()


class Hub:
    """Knows one token; says whether its user may."""

    may = True

    def create(self, ref: Ref, obj: Obj) -> Obj:
        if ref.kind is TOKEN_REVIEW:
            known = obj["spec"]["token"] == "good"
            return {"status": {"authenticated": known, "user": {"username": "prometheus"}}}
        assert obj["spec"]["nonResourceAttributes"] == {"verb": "get", "path": "/metrics"}
        return {"status": {"allowed": self.may}}


@pytest.mark.parametrize(
    ("authorization", "may", "status"),
    [("", True, 401), ("Bearer bad", True, 401), ("Basic good", True, 401),
     ("Bearer good", False, 403), ("Bearer good", True, 200)],
)  # fmt: skip
def test_metrics_are_told_to_whom_the_hub_allows_it_where_that_is_asked_for(
    authorization: str, may: bool, status: int
) -> None:
    hub = Hub()
    hub.may = may
    reviews = Reviews(hub, VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)))  # type: ignore[arg-type]  # it only creates
    (route,) = metrics_routes(lambda: b"a 1\n", reviews).values()

    answer = route(Request(method="GET", path="/metrics", query={}, authorization=authorization))

    assert answer.status == status
    assert (answer.body == b"a 1\n") is (status == 200)


def test_with_a_certificate_it_speaks_tls_and_shrugs_off_who_does_not(tmp_path: Path) -> None:
    subprocess.run(
        [*["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"],
         *["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
         "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    certificate = str(tmp_path / "cert.pem")
    server = Server(
        Address("127.0.0.1", 0), {"/exact": echo}, (certificate, str(tmp_path / "key.pem"))
    )
    try:
        with pytest.raises((urllib.error.URLError, OSError)):
            fetch(server, "/exact")
        context = ssl.create_default_context(cafile=certificate)
        url = f"https://127.0.0.1:{server.address.port}/exact"
        with urllib.request.urlopen(url, context=context, timeout=60) as answer:
            assert json.loads(answer.read())["path"] == "/exact"
    finally:
        server.close()


def test_an_address_that_is_taken_is_an_error(server: Server) -> None:
    with pytest.raises(OSError, match="in use"):
        Server(Address("127.0.0.1", server.address.port), {})
