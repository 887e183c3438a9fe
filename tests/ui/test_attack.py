"""Does an attack on the dashboard change anything for the rollouts beside it?"""

import resource
import socket
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.dashboards import process_on
from tests.ui.serving import PATIENCE, rollout

pytestmark = pytest.mark.ui

CONNECTIONS = 1_000
RELEASE = (
    "-f",
    "examples/canary",
    "--agents",
    "examples/operate/agents.yaml",
    "--clock",
    "virtual",
)
HOSTILE = (
    "/login?token=forged",
    "/login?token=" + "x" * 5_000,
    "/rollouts/mwrs/%00/..%2f..%2fetc",
    "/?q=%3Cscript%3E&labels=%2C%2C&page=99999999999999",
    "/static/..%2f..%2fapp.py",
    "/what-if?run=../../x",
)


def _answer(address: str) -> int:
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE) as found:
            return int(found.status)
    except urllib.error.HTTPError as refusal:
        return refusal.code


def _told(printed: str) -> str:
    """What a run says of its rollouts, without the table of how long it took."""
    return printed.partition("\nWORKLOAD")[0]


def test_a_thousand_connections_and_forged_tokens_change_nothing_for_a_rollout(
    tmp_path: Path,
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * CONNECTIONS)), hard))
    state = tmp_path / "attacked.db"
    rollout(state, "apply", "-f", "examples/canary")
    quiet = tmp_path / "quiet.db"
    rollout(quiet, "apply", "-f", "examples/canary")
    with process_on(state) as entrance:
        parts = urlsplit(entrance)
        begun = f"GET /events HTTP/1.1\r\nHost: {parts.netloc}\r\nCookie: rollout-session-{parts.port}=x\r\n"
        opened = []
        for _ in range(CONNECTIONS):
            each = socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE)
            each.sendall(begun.encode())
            opened.append(each)
        codes = [_answer(f"http://{parts.netloc}{path}") for path in HOSTILE]
        attacked = rollout(state, "run", *RELEASE)
        for each in opened:
            each.close()
        left = _answer(entrance)

    assert all(400 <= code < 600 or code == 200 for code in codes)
    assert codes[0] in (403, 503)
    assert "default/storefront ✔ RolledOut: 310 clusters succeeded" in attacked
    assert _told(attacked) == _told(rollout(quiet, "run", *RELEASE))
    assert left == 200
