"""A real HTTP server on loopback that misbehaves, by path."""

import contextlib
import http.server
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LATE = 0.8
"""Seconds that a slow answer takes."""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by the table `WAYS`."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.told = self.rfile.read(length) if length else b""
        WAYS[self.path.partition("?")[0].strip("/").split("/")[0]](self)
        self.close_connection = True

    do_POST = do_GET  # noqa: N815  (the names that the library calls)
    do_PUT = do_GET  # noqa: N815

    def say(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def json(self, value: object) -> None:
        self.say(json.dumps(value).encode())

    def to(self, where: str, status: int = 302) -> None:
        self.say(b"", status, Location=where)


def _slow(to: Handler) -> None:
    threading.Event().wait(LATE)
    to.json(1)


def _drip(to: Handler) -> None:
    to.send_response(200)
    to.send_header("Content-Length", "100")
    to.end_headers()
    for _ in range(8):
        with contextlib.suppress(OSError):
            to.wfile.write(b" ")
            to.wfile.flush()
        threading.Event().wait(LATE / 8)


def _cut(to: Handler) -> None:
    to.send_response(200)
    to.send_header("Content-Length", "100")
    to.end_headers()
    to.wfile.write(b'{"a":')


def _huge(to: Handler) -> None:
    to.send_response(200)
    to.end_headers()
    with contextlib.suppress(OSError):
        for _ in range(64):
            to.wfile.write(b" " * (1 << 16))


def _chunks(to: Handler) -> None:
    to.send_response(200)
    to.send_header("Transfer-Encoding", "chunked")
    to.end_headers()
    with contextlib.suppress(OSError):
        for _ in range(40):
            to.wfile.write(b"10000\r\n" + b"0" * 0x10000 + b"\r\n")


def _raw(text: bytes) -> Callable[[Handler], None]:
    def answer(to: Handler) -> None:
        with contextlib.suppress(OSError):
            to.wfile.write(text)

    return answer


def _vector(*values: object) -> Callable[[Handler], None]:
    result = [{"metric": {}, "value": [0, value]} for value in values]
    data = {"resultType": "vector", "result": result}
    return lambda to: to.json({"status": "success", "data": data})


WAYS: dict[str, Callable[[Handler], None]] = {
    "good": lambda to: to.json({"data": {"ok": True, "rate": 0.99, "list": [1, 2]}}),
    "half": lambda to: to.say(b'{"word": "a\\ud800", "many": [1.5, null]}'),
    "nested": lambda to: to.json([[i] for i in range(1_000)]),
    "echo": lambda to: to.json({"headers": dict(to.headers), "body": to.told.decode()}),
    "slow": _slow,
    "drip": _drip,
    "cut": _cut,
    "huge": _huge,
    "chunks": _chunks,
    "silent": _raw(b""),
    "garbage": _raw(b"\x00\x01\x02 no HTTP\r\n\r\n"),
    "old": _raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "headers": _raw(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n1"),
    "length": _raw(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n1"),
    "lengths": _raw(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n1"),
    "error": lambda to: to.say(b"out of order", 500),
    "gone": lambda to: to.say(b"", 404),
    "busy": lambda to: to.say(b"later", 503, Retry_After="100"),
    "login": lambda to: to.say(b"", 401, WWW_Authenticate="Basic"),
    "packed": lambda to: to.say(b"\x1f\x8b" + b"0" * 50, Content_Encoding="gzip"),
    "text": lambda to: to.say(b"all is well"),
    "html": lambda to: to.say(b"<html>login</html>", Content_Type="text/html"),
    "empty": lambda to: to.say(b""),
    "nothing": lambda to: to.say(b"", 204),
    "deep": lambda to: to.say(b"[" * 200_000 + b"]" * 200_000),
    "digits": lambda to: to.say(b"9" * 10_000),
    "nan": _vector("NaN"),
    "inf": _vector("+Inf", "-Inf"),
    "vector": _vector("1", "0.5"),
    "none": _vector(),
    "words": _vector("fast"),
    "numbers": _vector(5),
    "broken": lambda to: to.json({"status": "success", "data": {"resultType": "vector"}}),
    "list": lambda to: to.json([1]),
    "refused": lambda to: to.json({"status": "error", "error": "parse error"}),
    "string": lambda to: to.json(
        {"status": "success", "data": {"resultType": "string", "result": [0, "x"]}}
    ),
    "metadata": lambda to: to.to("http://169.254.169.254/latest/meta-data"),
    "loopback": lambda to: to.to("http://127.0.0.2:1/"),
    "elsewhere": lambda to: to.to("http://example.com/"),
    "file": lambda to: to.to("file:///etc/passwd"),
    "round": lambda to: to.to("/round"),
    "here": lambda to: to.to("/good"),
    "nowhere": lambda to: to.say(b"", 302),
}


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET

    def handle_error(self, *_: Any) -> None:
        """Clients hang up on it: that is what it is for."""


@contextmanager
def bad_server(certificate: Path | None = None) -> Iterator[str]:
    """Its address. With a certificate (and its key, in one file) it speaks TLS."""
    server = _Server(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    scheme = "https" if certificate else "http"
    try:
        yield f"{scheme}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
