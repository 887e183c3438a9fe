"""Controllers that are killed, again and again, each with another wrong clock: nothing is skipped, repeated,
early, lost or left behind.

CI kills few. ``ROLLOUT_KUBE_KILLS=200`` kills more, in a fleet that grows with it (docs/safety-contract.md).
"""

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from rollout.errors import Gone
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, REPLICA_SET, Ref
from tests.kube.cluster import Cluster
from tests.kube.history import History, differences, left
from tests.kube.processes import LOCK, QUICK, WRONG_CLOCK, FieldAgents, Process, install, token_of
from tests.kube.proxy import Proxy, proxied
from tests.kube.setting import PATIENCE, eventually, namespace, put, wipe
from tests.support import make

pytestmark = pytest.mark.kube

KILLS = int(os.environ.get("ROLLOUT_KUBE_KILLS", "24"))
CLUSTERS = 4 * KILLS
AT_ONCE = 8
SOAK = timedelta(seconds=3)
LONG = PATIENCE + 3 * CLUSTERS
"""Seconds in which a rollout comes to its end, whatever else the machine does."""
MOST_AHEAD = 600
"""Seconds that the clock of a controller is ahead or behind, at most; drawn anew for each."""
WEB = Ref(REPLICA_SET, "default/web")
SHORTEST_LEASE = {
    **QUICK,
    "ROLLOUT_LEASE_DURATION_SECONDS": "3",
    "ROLLOUT_RENEW_DEADLINE_SECONDS": "2",
    "ROLLOUT_RETRY_SECONDS": "0.3",
    "ROLLOUT_WRITE_TIMEOUT_SECONDS": "0.9",
}
"""Each kill costs a lease. Whoever is too slow to renew it is followed as if it had been killed."""
MOST_WRITES = 8
"""After so many of its writes, at most, a leader is killed; 0: while it still reads everything."""
SLOW = 0.1
"""Seconds that a write is on its way, at most: so that kills strike while writes are out."""
LONGEST = 20.0
"""Seconds that a leader is left alone where it does not write, at most."""
AGENTS = """
apiVersion: rollout-engine.io/v1alpha1
kind: AgentScenario
spec:
  seed: 7
  defaults:
    applyAfter: {min: 50ms, max: 150ms}
    readyAfter: {min: 100ms, max: 400ms}
"""


@dataclass
class Line:
    """Controllers, one after the other: one leads, the next one stands by."""

    kubeconfig: Path
    folder: Path
    env: dict[str, str]
    processes: list[Process] = field(default_factory=list)
    wrong: bool = False
    """Whether their clocks are."""
    program: str = WRONG_CLOCK

    def __post_init__(self) -> None:
        self._dice = Random("clocks")

    def enlist(self) -> None:
        name = f"pod-{len(self.processes)}"
        ahead = self._dice.uniform(-MOST_AHEAD, MOST_AHEAD) if self.wrong else 0.0
        process = Process(self.kubeconfig, self.folder, name, self.env, ahead, self.program)
        self.processes.append(process.start())

    def named(self, identity: str) -> Process | None:
        """The process of this identity, where it is alive."""
        for process in self.processes:
            if identity.startswith(f"{process.name}_") and process.process.poll() is None:
                return process
        return None

    def alive(self) -> int:
        return sum(process.process.poll() is None for process in self.processes)

    def stop(self) -> None:
        for process in self.processes:
            process.stop()


def leader(hub: KubeHub, line: Line) -> Process | None:
    """Who holds the lease, where that is one that is alive."""
    try:
        identity = str(hub.get(LOCK)["spec"].get("holderIdentity") or "")
    except Gone:
        return None
    return line.named(identity)


def next_leader(hub: KubeHub, line: Line) -> Process:
    """Wait until one that is alive holds the lease. Another one always stands by."""
    found: list[Process] = []

    def leads() -> bool:
        process = leader(hub, line)
        while line.alive() < 2:
            line.enlist()
        found[:] = [process] if process else []
        return process is not None

    eventually("somebody leads", leads)
    return found[0]


def set_up(hub: KubeHub, clusters: int = CLUSTERS) -> None:
    install(hub)
    namespace(hub, *(f"c{n:02d}" for n in range(clusters)))
    for obj in make.fleet(clusters, canary=clusters // 20):
        put(hub, obj)


def begin(hub: KubeHub) -> None:
    strategy = make.progressive(
        mandatory=["canary"],
        maxConcurrency=AT_ONCE,
        minSuccessTime=f"{SOAK.total_seconds():g}s",
        progressDeadline="1h",
    )
    put(hub, make.workload(strategy=strategy))


def is_done(hub: KubeHub) -> bool:
    obj = hub.get(WEB)
    return any(
        condition["type"] == names.READY and condition["status"] == "True"
        for condition in (obj.get("status") or {}).get("conditions") or ()
    )


def rest(hub: KubeHub) -> dict[str, str]:
    """What is left once nothing changes any more."""
    found = [left(hub)]

    def stands_still() -> None:
        threading.Event().wait(5)
        found.append(left(hub))
        assert not differences(found[-1], found[-2])

    eventually("it comes to rest", stands_still)
    return found[-1]


def ends_as(hub: KubeHub, wanted: dict[str, str]) -> None:
    problems = differences(left(hub), wanted)
    assert not problems, "\n".join(problems[:40])


def undisturbed(hub: KubeHub, kubeconfig: Path, folder: Path) -> dict[str, str]:
    """What a rollout leaves behind that nothing happened to."""
    line = Line(kubeconfig, folder, QUICK)
    line.enlist()
    try:
        begin(hub)
        eventually("the undisturbed rollout is done", lambda: is_done(hub), LONG)
        return rest(hub)
    finally:
        line.stop()


def kill_leaders(hub: KubeHub, line: Line, proxy: Proxy) -> list[tuple[int, int]]:
    """Returns: for each kill how many requests had come by then, and how many writes were out."""
    dice = Random("kills")
    line.enlist()
    line.enlist()
    kills: list[tuple[int, int]] = []
    while len(kills) < KILLS:
        process = next_leader(hub, line)
        wait_for_writes(proxy, dice.randint(0, MOST_WRITES), out=dice.random() < 0.5)
        if process.process.poll() is None:
            kills.append((len(proxy.asked), proxy.writes_out))
            process.signal(signal.SIGKILL)
            process.ended()
    return kills


def wait_for_writes(proxy: Proxy, count: int, *, out: bool) -> None:
    """Until so many more writes have come, and where asked for one is on its way; or for long enough."""
    begin = len(proxy.asked)
    pause = threading.Event()
    for _ in range(int(LONGEST / 0.01)):
        came = sum(asked.writes for asked in proxy.asked[begin:])
        if came >= count and (proxy.writes_out or not out):
            return
        pause.wait(0.01)


def finish(hub: KubeHub, line: Line) -> None:
    """Nobody is killed any more. Whoever loses the short lease is followed, as in a Deployment."""

    def done() -> bool:
        while line.alive() < 2:
            line.enlist()
        if is_done(hub):
            return True
        raise AssertionError(standing(hub))

    eventually("the rollout is done", done, LONG)


def standing(hub: KubeHub) -> str:
    """What the workload says, and whose agents have said nothing: for whoever reads a failure."""
    works = hub.list(MANIFEST_WORK).items
    silent = [w["metadata"]["namespace"] for w in works if not (w.get("status") or {})]
    status = hub.get(WEB).get("status") or {}
    said = [f"{c['type']} {c['reason']}: {c['message']}" for c in status.get("conditions") or []]
    return f"{len(works)} works, of which nothing is heard: {silent}; {said}"


@pytest.fixture
def agents(server: Cluster, admin: KubeHub) -> Iterator[None]:
    found = FieldAgents(server.kubeconfig, AGENTS)
    yield
    found.stop()


def each_work_was_written_once(history: History, clusters: int) -> None:
    """As the server tells it."""

    def complete() -> None:
        history.catch_up()
        assert len(history.contents()) == clusters

    eventually("the history is told", complete)
    assert {len(revisions) for revisions in history.contents().values()} == {1}
    assert history.generations() == {1}
    assert len(history.uids()) == clusters


def each_work_was_asked_for_once(proxy: Proxy) -> None:
    """But for what was there already."""
    of_works = [asked for asked in proxy.asked if asked.writes and asked.kind is MANIFEST_WORK]
    created = [asked.key for asked in of_works if asked.method == "POST" and asked.status == 201]
    assert len(created) == len(set(created)) == CLUSTERS
    assert not [a.key for a in of_works if a.method == "PATCH" and "spec" in a.body]


@pytest.mark.usefixtures("agents")
def test_kills_and_wrong_clocks_in_the_midst_of_a_rollout_change_nothing_of_its_end(
    server: Cluster, admin: KubeHub, tmp_path: Path
) -> None:
    set_up(admin)
    token = token_of(admin)
    with proxied(server) as proxy:
        wanted = undisturbed(admin, proxy.kubeconfig(tmp_path, token), tmp_path)
    wipe(admin)
    set_up(admin)
    token = token_of(admin)  # the account is another one now
    history = History(admin)
    with proxied(server, slow=SLOW) as proxy:
        line = Line(proxy.kubeconfig(tmp_path, token), tmp_path, SHORTEST_LEASE, wrong=True)
        try:
            begin(admin)
            kills = kill_leaders(admin, line, proxy)
            finish(admin, line)
            eventually("it ends as if undisturbed", lambda: ends_as(admin, wanted))
        finally:
            line.stop()

    writes = [at for at, a in enumerate(proxy.asked) if a.writes and 0 < a.status < 300]
    between = [at for at, _ in kills if writes[0] < at <= writes[-1]]
    caught = sum(out > 0 for _, out in kills)
    clocks = [p.ahead for p in line.processes if "off the API server's" in p.log()]
    print(
        f"{len(kills)} kills of {len(line.processes)} controllers: {len(between)} between first and"
    )
    print(
        f"last write, {caught} while writes were out; clocks {min(clocks):.0f} to {max(clocks):.0f} s"
    )
    assert len(between) >= KILLS * 4 // 5
    assert caught >= KILLS // 5
    assert len(clocks) >= KILLS * 4 // 5
    each_work_was_written_once(history, CLUSTERS)
    each_work_was_asked_for_once(proxy)
    canaries = {f"c{n:02d}" for n in range(CLUSTERS // 20)}
    assert history.too_early(canaries, AT_ONCE, SOAK) == []
    assert history.misdated(timedelta(seconds=MOST_AHEAD / 5)) == []
    history.close()
    assert not [p.name for p in line.processes if "Traceback" in p.log()]


@pytest.mark.usefixtures("agents")
def test_a_store_that_stands_still_and_a_server_that_restarts_cost_at_most_the_lead(
    server: Cluster, admin: KubeHub, tmp_path: Path
) -> None:
    """Two controllers with the lease as it is by default; whoever ends is followed."""
    clusters = 40
    set_up(admin, clusters)
    history = History(admin)
    with proxied(server) as proxy:
        line = Line(proxy.kubeconfig(tmp_path, token_of(admin)), tmp_path, QUICK)
        line.enlist()
        line.enlist()
        try:
            begin(admin)
            eventually("it has begun", lambda: len(admin.list(MANIFEST_WORK).items) >= 8)
            server.signal("etcd", signal.SIGSTOP)
            threading.Event().wait(10)
            server.signal("etcd", signal.SIGCONT)
            eventually("it goes on", lambda: len(admin.list(MANIFEST_WORK).items) >= 20)
            server.end("kube-apiserver")
            threading.Event().wait(2)
            server.start_apiserver()
            finish(admin, line)
            rest(admin)
        finally:
            server.signal("etcd", signal.SIGCONT)
            line.stop()

    each_work_was_written_once(history, clusters)
    history.close()
    assert not [p.name for p in line.processes if "Traceback" in p.log()]
