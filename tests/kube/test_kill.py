"""Controllers that are killed, again and again: nothing is lost, repeated or left behind."""

import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from rollout.errors import Gone
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, REPLICA_SET, Ref
from tests.kube.cluster import Cluster
from tests.kube.history import History, differences, left
from tests.kube.processes import LOCK, QUICK, FieldAgents, Process, install, token_of
from tests.kube.proxy import Proxy, proxied
from tests.kube.setting import eventually, namespace, put, wipe
from tests.support import make

pytestmark = pytest.mark.kube

CLUSTERS = 200
KILLS, KILLS_BETWEEN_WRITES = 50, 40
WEB = Ref(REPLICA_SET, "default/web")
SHORT_LEASE = {
    **QUICK,
    "ROLLOUT_LEASE_DURATION_SECONDS": "2",
    "ROLLOUT_RENEW_DEADLINE_SECONDS": "1.3",
    "ROLLOUT_RETRY_SECONDS": "0.2",
    "ROLLOUT_WRITE_TIMEOUT_SECONDS": "0.6",
}
"""Each kill costs a lease."""
MOST_WRITES = 8
"""After so many of its writes, at most, a leader is killed; 0: while it still reads everything."""
SLOW = 0.1
"""Seconds that a write is on its way, at most: so that kills strike while writes are out."""
LONGEST = 10.0
"""Seconds that a leader lives, at most."""
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

    def enlist(self) -> None:
        name = f"pod-{len(self.processes)}"
        process = Process(self.kubeconfig, self.folder, name, self.env)
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

    eventually("somebody leads", leads, 30)
    return found[0]


def set_up(hub: KubeHub, clusters: int = CLUSTERS) -> None:
    install(hub)
    namespace(hub, *(f"c{n:02d}" for n in range(clusters)))
    for obj in make.fleet(clusters, canary=clusters // 20):
        put(hub, obj)


def begin(hub: KubeHub) -> None:
    strategy = make.progressive(
        mandatory=["canary"], maxConcurrency=4, minSuccessTime="0s", progressDeadline="10m"
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
    found = left(hub)
    for _ in range(10):
        threading.Event().wait(2)
        before, found = found, left(hub)
        if found == before:
            return found
    pytest.fail("it never comes to rest: " + "; ".join(differences(found, before)))


def undisturbed(hub: KubeHub, kubeconfig: Path, folder: Path) -> dict[str, str]:
    """What a rollout leaves behind that nothing happened to."""
    line = Line(kubeconfig, folder, QUICK)
    line.enlist()
    try:
        begin(hub)
        eventually("the undisturbed rollout is done", lambda: is_done(hub), 180)
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
        wait_for_writes(proxy, dice.randint(0, MOST_WRITES))
        threading.Event().wait(dice.uniform(0, SLOW))
        if process.process.poll() is None:
            kills.append((len(proxy.asked), proxy.writes_out))
            process.signal(signal.SIGKILL)
            process.ended()
    return kills


def wait_for_writes(proxy: Proxy, count: int) -> None:
    """Until so many more writes have come, or for long enough."""
    begin = len(proxy.asked)
    pause = threading.Event()
    for _ in range(int(LONGEST / 0.01)):
        if sum(asked.writes for asked in proxy.asked[begin:]) >= count:
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

    eventually("the rollout is done", done, 180)


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
    history.catch_up()
    assert {len(revisions) for revisions in history.contents().values()} == {1}
    assert history.generations() == {1}
    assert len(history.uids()) == clusters
    history.close()


def each_work_was_asked_for_once(proxy: Proxy) -> None:
    """But for what was there already."""
    of_works = [asked for asked in proxy.asked if asked.writes and asked.kind is MANIFEST_WORK]
    created = [asked.key for asked in of_works if asked.method == "POST" and asked.status == 201]
    assert len(created) == len(set(created)) == CLUSTERS
    assert not [a.key for a in of_works if a.method == "PATCH" and "spec" in a.body]


@pytest.mark.usefixtures("agents")
def test_fifty_kills_in_the_midst_of_a_rollout_change_nothing_of_its_end(
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
        line = Line(proxy.kubeconfig(tmp_path, token), tmp_path, SHORT_LEASE)
        try:
            begin(admin)
            kills = kill_leaders(admin, line, proxy)
            finish(admin, line)
            found = rest(admin)
        finally:
            line.stop()

    writes = [at for at, a in enumerate(proxy.asked) if a.writes and 0 < a.status < 300]
    between = [at for at, _ in kills if writes[0] < at <= writes[-1]]
    caught = sum(out > 0 for _, out in kills)
    print(f"{len(between)} kills between first and last write, {caught} while writes were out")
    assert len(between) >= KILLS_BETWEEN_WRITES
    assert caught >= KILLS // 5
    problems = differences(found, wanted)
    assert not problems, "\n".join(problems[:40])
    each_work_was_written_once(history, CLUSTERS)
    each_work_was_asked_for_once(proxy)
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
            eventually("it has begun", lambda: len(admin.list(MANIFEST_WORK).items) >= 8, 60)
            server.signal("etcd", signal.SIGSTOP)
            threading.Event().wait(10)
            server.signal("etcd", signal.SIGCONT)
            eventually("it goes on", lambda: len(admin.list(MANIFEST_WORK).items) >= 20, 90)
            server.end("kube-apiserver")
            threading.Event().wait(2)
            server.start_apiserver()
            finish(admin, line)
            rest(admin)
        finally:
            server.signal("etcd", signal.SIGCONT)
            line.stop()

    each_work_was_written_once(history, clusters)
    assert not [p.name for p in line.processes if "Traceback" in p.log()]
