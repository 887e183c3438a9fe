"""Holds attacks on the dashboard to changing nothing for the rollouts beside it, and for who looks."""

import resource
import socket
import threading
import urllib.error
import urllib.request
from collections import Counter
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from rollout.clock import SystemClock
from tests.support.dashboards import comes_true, process_on
from tests.ui.serving import PATIENCE, rollout

pytestmark = pytest.mark.ui

CONNECTIONS = 1_000
SLOWEST = 20.0
"""Seconds that the list may take meanwhile: the machine that tests run on has much else to do."""
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


_ALIASED = ", ".join(f"a{n}: *a" for n in range(1_000))
BOMB = f"""apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {{namespace: default, name: bomb}}
spec:
  placementRefs: [{{name: canary, rolloutStrategy: {{type: All}}}}]
  manifestWorkTemplate:
    workload:
      manifests:
      - {{apiVersion: v1, kind: ConfigMap, metadata: {{name: x, namespace: default}},
         data: {{a: &a {"x" * 20_000}, {_ALIASED}}}}}
"""


class _Attacker:
    """Somebody who is let in, and asks for what costs much, until it is over."""

    def __init__(self, entrance: str) -> None:
        jar = urllib.request.HTTPCookieProcessor(CookieJar())
        self._opener = urllib.request.build_opener(jar)
        self._base = entrance.partition("/login")[0]
        self.over, self.codes = threading.Event(), Counter[int]()
        self._opener.open(entrance, timeout=PATIENCE).read()
        form = self._opener.open(f"{self._base}/what-if", timeout=PATIENCE).read().decode()
        self._forgery = form.partition('name="forgery" value="')[2].partition('"')[0]

    def look(self) -> tuple[float, str]:
        """How long the list takes for somebody who only looks, and what it says."""
        clock = SystemClock()
        began = clock.now()
        page = self._opener.open(f"{self._base}/", timeout=PATIENCE).read().decode()
        return (clock.now() - began).total_seconds(), page

    def run(self, kind: int) -> None:
        n = 0
        while not self.over.is_set():
            n += 1
            path, body = self._wish(kind, n)
            try:
                answer = self._opener.open(f"{self._base}{path}", body, PATIENCE)
                self.codes[answer.status] += 1
                if path != "/events":
                    answer.read()
                else:
                    answer.read(64)  # and it stays open until it is forgotten
            except urllib.error.HTTPError as refusal:
                self.codes[refusal.code] += 1

    def _wish(self, kind: int, n: int) -> tuple[str, bytes | None]:
        fields = {"forgery": self._forgery, "a": BOMB, "runs": "500"}
        return (
            (f"/clusters/prod-us-west-{n % 9 + 1}?why={kind}-{n}", None),
            ("/act/freeze?shown=1&until=2h", None),
            ("/what-if", urlencode(fields).encode()),
            ("/events", None),
            ("/act/pause", urlencode({f"f{i}": "x" for i in range(150)}).encode()),
            (f"/?q={'9' * 4000}&page={'9' * 4000}&labels=%00", None),
        )[kind % 6]


def test_somebody_who_is_let_in_and_asks_for_what_costs_much_keeps_nobody_waiting(
    tmp_path: Path,
) -> None:
    state, quiet = tmp_path / "attacked.db", tmp_path / "quiet.db"
    for each in (state, quiet):
        rollout(each, "apply", "-f", "examples/canary")
    with process_on(state) as entrance:
        attacker, visitor = _Attacker(entrance), _Attacker(entrance)
        attacking = [threading.Thread(target=attacker.run, args=(n,)) for n in range(18)]
        for thread in attacking:
            thread.start()
        attacked = rollout(state, "run", *RELEASE)
        waits = [visitor.look()[0] for _ in range(5)]
        is_followed = comes_true(lambda: "✔ done" in visitor.look()[1], int(SLOWEST))
        attacker.over.set()
        for thread in attacking:
            thread.join()
        left = _answer(entrance)

    assert "default/storefront ✔ RolledOut: 310 clusters succeeded" in attacked
    assert _told(attacked) == _told(rollout(quiet, "run", *RELEASE))
    assert max(waits) < SLOWEST
    assert is_followed
    assert left == 200
    assert set(attacker.codes) <= {200, 303, 400, 404, 429, 503}, attacker.codes
