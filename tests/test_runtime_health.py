"""Does the little server answer probes, refuse what is too much, and stay up? Over real sockets."""

import json
import socket
import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from rollout.runtime.health import (
    LARGEST_BODY,
    MOST,
    Address,
    Request,
    Response,
    Server,
    health_routes,
    in_json,
    in_words,
)
from rollout.runtime.process import Readiness


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
    routes = health_routes(lambda: state.alive, lambda: state.readiness, lambda: b"a 1\n")
    made = Server(
        Address("127.0.0.1", 0), {**routes, "/deep/": echo, "/deep/er/": broken, "/exact": echo}
    )
    yield made
    made.close()


def fetch(server: Server, path: str, method: str = "GET", body: bytes | None = None) -> Response:
    url = f"http://127.0.0.1:{server.address.port}{path}"
    request = urllib.request.Request(url, data=body, method=method)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
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


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "BREW"])
def test_every_method_is_the_routes_business(server: Server, method: str) -> None:
    assert json.loads(fetch(server, "/exact", method).body)["method"] == method


def test_a_body_that_is_too_large_is_not_read(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.address.port), timeout=5) as raw:
        raw.sendall(f"POST /deep/x HTTP/1.0\r\nContent-Length: {LARGEST_BODY + 1}\r\n\r\n".encode())
        answer = raw.makefile("rb").read()
    assert b" 200 " in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["body"] == ""


def test_a_route_that_raises_is_a_500_that_tells_nothing(server: Server) -> None:
    answer = fetch(server, "/deep/er/x")
    assert answer.status == 500
    assert b"hunter2" not in answer.body
    assert fetch(server, "/healthz").status == 200


def test_connections_that_say_nothing_do_not_take_all_places_for_ever(server: Server) -> None:
    held = [socket.create_connection(("127.0.0.1", server.address.port)) for _ in range(MOST)]
    try:
        waiting = threading.Event()
        for _ in range(50):
            waiting.wait(0.02)
        with pytest.raises((urllib.error.URLError, OSError)):
            fetch(server, "/healthz")
    finally:
        for each in held:
            each.close()
    for _ in range(100):
        try:
            assert fetch(server, "/healthz").status == 200
            break
        except (urllib.error.URLError, OSError):
            threading.Event().wait(0.02)
    else:
        pytest.fail("the places were never given back")


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
        with urllib.request.urlopen(url, context=context, timeout=5) as answer:
            assert json.loads(answer.read())["path"] == "/exact"
    finally:
        server.close()


def test_an_address_that_is_taken_is_an_error(server: Server) -> None:
    with pytest.raises(OSError, match="in use"):
        Server(Address("127.0.0.1", server.address.port), {})
