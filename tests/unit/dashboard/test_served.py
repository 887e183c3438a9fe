"""Holds `rollout dashboard` as a process to how it is reached, and by whom."""

import http.client
import socket
import stat
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rollout.clock import VirtualClock
from rollout.dashboard import serve
from rollout.dashboard.serve import LOCAL, Pulse, probed
from rollout.runtime.health import Address
from rollout.runtime.server import Server
from tests.support.dashboards import (
    TOKEN,
    Served,
    comes_true,
    office_on,
    process_on,
    serving,
    story_on,
)
from tests.support.story import T0

BROWSER = """#!{python}
import pathlib, sys, urllib.parse
file = pathlib.Path(urllib.parse.urlsplit(sys.argv[1]).path)
seen = "\\n".join((*sys.argv[1:], oct(file.stat().st_mode), oct(file.parent.stat().st_mode), file.read_text()))
pathlib.Path("{seen}").write_text(seen)
"""


def test_a_browser_is_opened_without_the_token_in_what_it_is_started_with(tmp_path: Path) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(BROWSER.format(python=sys.executable, seen=seen))
    browser.chmod(0o700)
    with story_on(tmp_path / "state.db"):
        pass
    with process_on(tmp_path / "state.db", "--open", BROWSER=str(browser)) as address:
        assert comes_true(lambda: seen.exists() and address in seen.read_text())
        started, file, folder, _ = seen.read_text().split("\n", 3)

    assert TOKEN not in started
    assert (stat.S_IMODE(int(file, 8)), stat.S_IMODE(int(folder, 8))) == (0o600, 0o700)
    assert not Path(started.removeprefix("file://")).exists()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    path = tmp_path / "state.db"
    with story_on(path) as story, serving(path, story.clock) as served:
        yield served


def _connected(served: Served, sent: str = "") -> socket.socket:
    at = urlsplit(served.address)
    found = socket.create_connection((at.hostname, at.port), timeout=20)
    found.sendall(sent.replace("HOST", at.netloc).encode())
    return found


def _is_cut(connection: socket.socket) -> bool:
    try:
        return connection.recv(4096) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "GET /login HTTP/1.1\r\nHost: HOST\r\n",
        "POST /login HTTP/1.1\r\nHost: HOST\r\nContent-Length: 9\r\n\r\ntoken",
    ],
    ids=["nothing", "no end of the head", "no end of the body"],
)
def test_a_connection_without_a_whole_request_is_cut(
    served: Served, monkeypatch: pytest.MonkeyPatch, sent: str
) -> None:
    monkeypatch.setattr(serve, "REQUEST_SECONDS", 0.5)
    with closing(_connected(served, sent)) as silent:
        assert _is_cut(silent)


def test_a_connection_that_sends_a_request_byte_by_byte_is_cut(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "REQUEST_SECONDS", 0.5)
    with closing(_connected(served, "GET /healthz HTTP/1.1\r\nHost: HOST\r\n\r\n")) as slow:
        assert slow.recv(4096).startswith(b"HTTP/1.1 200")
        slow.settimeout(0.05)

        def cut() -> bool:
            try:
                slow.sendall(b"G")
                return _is_cut(slow)
            except TimeoutError:
                return False
            except OSError:
                return True

        assert comes_true(cut)


def test_a_stream_of_events_outlasts_the_time_of_a_request(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "REQUEST_SECONDS", 0.2)
    at = urlsplit(served.entrance)
    with closing(http.client.HTTPConnection(at.netloc)) as entering:
        entering.request("GET", f"{at.path}?{at.query}")
        cookie = (entering.getresponse().getheader("set-cookie") or "").partition(";")[0]
    asked = f"GET /events HTTP/1.1\r\nHost: HOST\r\nCookie: {cookie}\r\n\r\n"
    with closing(_connected(served, asked)) as stream:
        stream.settimeout(1)
        assert not _ends(stream)


def _ends(stream: socket.socket) -> bool:
    """Whether it ends before it says nothing for a while."""
    try:
        while stream.recv(4096):
            pass
    except TimeoutError:
        return False
    return True


def test_whoever_opens_connections_and_says_nothing_keeps_nobody_out(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "CONNECTIONS", 20)
    silent = [_connected(served) for _ in range(40)]
    with urllib.request.urlopen(f"{served.address}/login", timeout=20) as answer:
        assert answer.status == 200
    assert _is_cut(silent[0])
    for each in silent:
        each.close()


def test_probes_have_an_address_of_their_own_and_tell_whether_requests_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, pulse = tmp_path / "state.db", Pulse()
    with story_on(path) as story, office_on(path, story.clock) as (office, _):
        routes = probed(office, pulse)
        with closing(Server(Address(LOCAL, 0), routes)) as server:
            base = f"http://{LOCAL}:{server.address.port}"
            ready = [_code(f"{base}/{name}") for name in ("healthz", "readyz")]
            monkeypatch.setattr(serve, "ALIVE_SECONDS", 0.0)
            over = [_code(f"{base}/{name}") for name in ("healthz", "readyz")]

    assert (ready, over) == ([200, 200], [500, 503])


def test_a_dashboard_that_has_never_read_its_hub_is_alive_and_not_ready(tmp_path: Path) -> None:
    with office_on(tmp_path / "nowhere.db", VirtualClock(T0)) as (office, _):
        routes = probed(office, Pulse())
        with closing(Server(Address(LOCAL, 0), routes)) as server:
            base = f"http://{LOCAL}:{server.address.port}"
            found = [_code(f"{base}/{name}") for name in ("healthz", "readyz")]

    assert found == [200, 503]


def _code(address: str) -> int:
    try:
        with urllib.request.urlopen(address, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as fault:
        return fault.code
