"""A real HTTP server on loopback that takes whatever is posted, and keeps it."""

import http.server
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class Received(list[tuple[Mapping[str, str], bytes]]):
    """Headers and bodies, in the order in which they came."""


@contextmanager
def receiver() -> Iterator[tuple[str, Received]]:
    """A server on loopback that takes whatever is posted; its address, and what it got."""
    got = Received()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append(({key.lower(): value for key, value in self.headers.items()}, body))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
