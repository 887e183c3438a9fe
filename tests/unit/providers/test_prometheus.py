"""Against a real Prometheus, which scrapes an exporter of this test's own."""

import http.server
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rollout.model.kinds import Obj
from tests.unit.providers.test_providers import Measuring

pytestmark = pytest.mark.prometheus

METRICS = b"""\
# TYPE shop_errors gauge
shop_errors{cluster="c1"} 0.25
shop_errors{cluster="c2"} 0.5
"""


class _Exporter(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(METRICS)))
        self.end_headers()
        self.wfile.write(METRICS)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _binary() -> str:
    found = os.environ.get("PROMETHEUS") or shutil.which("prometheus")
    assert found, "install Debian's package prometheus, or set PROMETHEUS to the program"
    return found


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("prometheus")
    exporter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Exporter)
    threading.Thread(target=exporter.serve_forever, daemon=True).start()
    target = f"127.0.0.1:{exporter.server_address[1]}"
    config = folder / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 250ms, scrape_timeout: 250ms}\n"
        f"scrape_configs: [{{job_name: shop, static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    port = _free_port()
    process = subprocess.Popen(
        [_binary(), f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
         f"--web.listen-address=127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for_data(address)
        yield address
    finally:
        process.terminate()
        process.wait(10)
        exporter.shutdown()
        exporter.server_close()


def _wait_for_data(address: str) -> None:
    measuring = Measuring()
    pause = threading.Event()
    for _ in range(120):
        if measuring.sample(asked(address, "count(shop_errors) == 2")).value == [2.0]:
            break
        pause.wait(0.25)
    else:
        pytest.fail("Prometheus has scraped nothing within 30 s")
    measuring.measurer.close()


def asked(address: str, query: str, **told: Any) -> Obj:
    return {"prometheus": {"address": address, "query": query, **told}}


@pytest.fixture
def measuring() -> Iterator[Measuring]:
    made = Measuring()
    yield made
    made.measurer.close()


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ('shop_errors{cluster="c1"}', [0.25]),
        ("sort(shop_errors)", [0.25, 0.5]),
        ("scalar(sum(shop_errors))", 0.75),
        ("shop_missing", []),
        ("42", 42.0),
    ],
)
def test_a_query_gives_its_numbers(
    query: str, value: object, prometheus: str, measuring: Measuring
) -> None:
    found = measuring.sample(asked(prometheus, query))

    assert (found.error, found.value) == ("", value)


def test_a_range_gives_a_number_for_each_step(prometheus: str, measuring: Measuring) -> None:
    span = {"start": 'now() - duration("1s")', "end": "now()", "step": "500ms"}
    found = measuring.sample(asked(prometheus, "vector(7)", rangeQuery=span))

    assert found.value == [7.0, 7.0, 7.0]


@pytest.mark.parametrize("query", ["sum(", '"text"'])
def test_a_query_that_gives_no_number_is_an_error(
    query: str, prometheus: str, measuring: Measuring
) -> None:
    assert measuring.sample(asked(prometheus, query)).error


def test_not_a_number_is_a_value(prometheus: str, measuring: Measuring) -> None:
    found = measuring.sample(asked(prometheus, "scalar(shop_missing)"))

    assert found.error == ""
    assert found.value != found.value
