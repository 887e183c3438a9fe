"""A real Prometheus on loopback, which scrapes an exporter of the tests' own. It can go away and come back."""

import http.server
import json
import os
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.kube.cluster import free_port

PATIENCE = 240.0
PAUSE = 0.25


def program() -> str | None:
    """Where it is: PROMETHEUS, on the PATH, or where `scripts/prometheus.sh` unpacks it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    unpacked = cache / "rollout-prometheus" / "usr" / "bin" / "prometheus"
    return os.environ.get("PROMETHEUS") or shutil.which("prometheus") or shutil.which(unpacked)


def _binary() -> str:
    found = program()
    assert found, "no Prometheus: run scripts/prometheus.sh, or set PROMETHEUS to the program"
    return found


class RealPrometheus:
    """A process. ``ready`` is a query that has a result once what matters has been scraped."""

    def __init__(self, folder: Path, target: str, ready: str, port: int | None = None) -> None:
        self._port, self._ready = port or free_port(), ready
        self.address = f"http://127.0.0.1:{self._port}"
        config = folder / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
            f"scrape_configs: [{{job_name: shop, static_configs: [{{targets: ['{target}']}}]}}]\n"
        )
        self._words = [
            _binary(), f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self._port}",
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait for data."""
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(self._words, stdout=quiet, stderr=quiet)
        pause = threading.Event()
        for _ in range(int(PATIENCE / PAUSE)):
            if self._answers():
                return
            pause.wait(PAUSE)
        raise AssertionError(f"Prometheus has scraped nothing within {PATIENCE:.0f} s")

    def _answers(self) -> bool:
        query = urllib.parse.urlencode({"query": self._ready})
        try:
            with urllib.request.urlopen(f"{self.address}/api/v1/query?{query}", timeout=5) as got:
                return bool(json.load(got)["data"]["result"])
        except OSError:
            return False

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE)
            self._process = None


def _at(metrics: bytes, seconds: float) -> bytes:
    """The same samples, each with an instant."""
    lines = metrics.decode().splitlines()
    stamp = f" {int(seconds * 1000)}"
    told = [line if line.startswith("#") else line + stamp for line in lines]
    return "\n".join([*told, ""]).encode()


@contextmanager
def prometheus_with(
    metrics: bytes, folder: Path, ready: str, port: int | None = None
) -> Iterator[RealPrometheus]:
    """One that scrapes these metrics, on any port if none is given.

    Each has the time of its scrape: what is told so stays known for minutes, though a busy machine may not
    answer the next scrape in time.
    """

    class Exporter(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            body = _at(metrics, time.time())  # noqa: TID251  Prometheus goes by the machine's clock
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    exporter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
    threading.Thread(target=exporter.serve_forever, daemon=True).start()
    made = RealPrometheus(folder, f"127.0.0.1:{exporter.server_address[1]}", ready, port)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        exporter.shutdown()
        exporter.server_close()
