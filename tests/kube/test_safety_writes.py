"""The safety contract on a real API server where writes are late, are lost, or break.

R2 and R4: controllers behind proxies that hold, break and lose their writes and write down what became
of each.
"""

# ruff: noqa: N802  (tests are named after the ids of the contract)

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, pairwise
from pathlib import Path

import pytest

from rollout.hub.kube import KubeHub
from rollout.model.kinds import MANIFEST_WORK, REPLICA_SET, Obj, Ref, ref_of
from tests.kube.cluster import Cluster
from tests.kube.driving import QUICK as AGENTS
from tests.kube.guards import check
from tests.kube.history import History
from tests.kube.processes import SHORT_LEASE, FieldAgents, Process, install
from tests.kube.proxy import Asked, Proxy, Rates, proxied
from tests.kube.setting import eventually, namespace, put
from tests.kube.test_engine import CLUSTERS as CANARY
from tests.kube.test_engine import Run, canary, images, rolled_out, run
from tests.support import make

pytestmark = pytest.mark.kube

__all__ = ["canary", "run"]  # fixtures

# R2: a leader freezes while its writes are on their way

WEB = Ref(REPLICA_SET, "default/web")
FLEET = 24


@dataclass(frozen=True)
class Rival:
    """A controller behind a proxy of its own."""

    process: Process
    proxy: Proxy

    def held(self) -> list[Asked]:
        return [asked for asked in self.proxy.asked if asked.fault == "held"]


@pytest.fixture
def rival(server: Cluster, admin: KubeHub, tmp_path: Path) -> Iterator[Callable[[], Rival]]:
    """Starts controllers; all end with the test. There are a fleet and its agents."""
    install(admin)
    namespace(admin, *(f"c{n:02d}" for n in range(FLEET)))
    for obj in make.fleet(FLEET):
        put(admin, obj)
    agents = FieldAgents(server.kubeconfig, AGENTS)
    started: list[Rival] = []

    def start() -> Rival:
        name, proxy = f"pod-{len(started)}", Proxy(server)
        process = Process(proxy.kubeconfig(tmp_path, name=name), tmp_path, name, SHORT_LEASE)
        started.append(Rival(process.start(), proxy))
        return started[-1]

    yield start
    for each in started:
        each.process.stop()
        each.proxy.close()
    agents.stop()


def of_works(asked: Asked) -> bool:
    return asked.writes and asked.kind is MANIFEST_WORK


def versions(hub: KubeHub) -> Counter[str]:
    """How many works bring each version."""
    return Counter(version_of(work) for work in hub.list(MANIFEST_WORK).items)


def version_of(work: Obj) -> str:
    return str(work["spec"]["workload"]["manifests"][0]["data"]["version"])


def ask_for(hub: KubeHub, version: str) -> None:
    hub.patch(WEB, {"spec": {"manifestWorkTemplate": make.template(version, rules=())}})


def everywhere(hub: KubeHub, version: str) -> Callable[[], bool]:
    return lambda: versions(hub) == {version: FLEET}


def take_over(
    hub: KubeHub, first: Rival, second: Rival, change: Callable[[], object]
) -> list[Asked]:
    """The leader freezes with writes of works on their way; another one leads and finishes. Then those
    arrive, and the first one wakes up.

    Returns: the writes that were held.
    """
    first.proxy.hold(of_works)
    change()
    eventually("writes of works are on their way", lambda: len(first.held()) >= 8)
    first.process.signal(signal.SIGSTOP)
    ask_for(hub, "last")
    second.process.wait_until_it_leads()
    eventually("the second one has finished", everywhere(hub, "last"))
    before = len(first.proxy.asked)
    first.proxy.release()
    eventually("those have arrived", lambda: all(asked.status for asked in first.held()))
    first.process.signal(signal.SIGCONT)
    assert first.process.ended() == 3  # it has lost the lead
    eventually("all that was on its way has arrived", lambda: first.proxy.writes_out == 0)
    late = [*first.held(), *(a for a in first.proxy.asked[before:] if a.writes)]
    assert [asked.key for asked in late if 0 < asked.status < 300] == []
    return first.held()


def test_R2_what_a_frozen_leader_has_on_its_way_changes_nothing_once_another_one_leads(
    admin: KubeHub, rival: Callable[[], Rival]
) -> None:
    """First creates, of works that are there by then; then writes over what has changed by then."""
    counts: Counter[str] = Counter()
    first = rival()
    first.process.wait_until_it_leads()
    second = rival()
    eventually("it stands by", lambda: second.process.fetch("/readyz")[0] == 200)
    history = History(admin)
    held = take_over(admin, first, second, lambda: put(admin, make.workload(rules=())))
    note(counts, held)

    third = rival()
    eventually("it stands by", lambda: third.process.fetch("/readyz")[0] == 200)
    ask_for(admin, "first")
    eventually("it is rolled out", everywhere(admin, "first"))
    held = take_over(admin, second, third, lambda: ask_for(admin, "second"))
    note(counts, held)

    assert everywhere(admin, "last")()

    def is_told() -> None:
        history.catch_up()
        assert {len(said) for said in history.contents().values()} == {3}  # last, first, last

    eventually("it was written thrice", is_told)
    history.close()
    # The same write would have landed, had it no precondition:
    bare = {key: value for key, value in held[0].body.items() if key != "metadata"}
    admin.patch(Ref(MANIFEST_WORK, held[0].key), bare)
    assert not everywhere(admin, "last")()
    check("R2", counts)


def note(counts: Counter[str], held: list[Asked]) -> None:
    counts["R2.held"] += len(held)
    counts["R2.refused"] += sum(asked.status == 409 for asked in held)
    counts["R2.woken"] += 1


# R4: what fails is tried again, and what may have been done is looked at first

ROUGH = Rates(throttled=1, error=3, unavailable=3, reset=3, late=3, cut=5)
"""For everything that is asked; besides, every third write suffers one of `TROUBLES`, in turn."""
TROUBLES = ("lost", "error", "throttled", "reset", "unavailable")
SEEN_TO_FAIL = ("error", "unavailable", "reset", "lost", "conflict")
WOKEN = 4
"""So many attempts may come before a pause is over."""
RETRY_AFTER = 2
"""Seconds. One second is what an API server asks for always: that is not taken as meant for all."""


class Trouble:
    """Names the fault of each third write. Only what is written over can conflict."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._turn = {"PATCH": cycle(("conflict", *TROUBLES)), "POST": cycle(TROUBLES)}

    def __call__(self, asked: Asked) -> str:
        if not asked.writes or asked.method not in self._turn:
            return ""
        self._seen[asked.method] += 1
        return "" if self._seen[asked.method] % 3 else next(self._turn[asked.method])


def next_about(log: list[Asked], at: int) -> Asked | None:
    """The next request about the same object."""
    one = log[at]
    return next((a for a in log[at + 1 :] if (a.kind, a.key) == (one.kind, one.key)), None)


def hasty(log: list[Asked], counts: Counter[str]) -> list[str]:
    """Writes that were repeated before anybody looked what had become of them, or too soon."""
    found = []
    for at, asked in enumerate(log):
        if not asked.writes:
            continue
        counts[f"R4.{asked.fault}"] += 1
        then = next_about(log, at)
        if then is None:
            continue
        if asked.fault in SEEN_TO_FAIL:
            counts["R4.read_back"] += then.method == "GET"
            if then.method != "GET":
                found.append(f"{asked.method} {asked.key} ({asked.fault}), then {then.method}")
        elif asked.fault == "throttled":
            counts["R4.waited_as_asked"] += 1
            if then.method != "GET" and then.at < asked.at + RETRY_AFTER:
                found.append(f"{asked.key} came {then.at - asked.at:.2f} s after it was throttled")
    return found


def test_R4_a_write_of_unknown_result_is_read_back_and_what_fails_is_tried_again(
    server: Cluster, canary: KubeHub, run: Run, tmp_path: Path
) -> None:
    counts: Counter[str] = Counter()
    history = History(canary)
    with proxied(server, ROUGH) as proxy:
        proxy.retry_after, proxy.breaks = RETRY_AFTER, Trouble()
        running = run(kubeconfig=proxy.kubeconfig(tmp_path))
        eventually("the rollout is done", rolled_out(canary))
        proxy.rates, proxy.breaks = Rates(), lambda _: ""
        counts["R4.backed_off"] = backed_off(canary, proxy)
        eventually("the work is back", lambda: set(images(canary)) == set(CANARY))
        running.stop()
        assert hasty(proxy.asked, counts) == []
        counts["R4.cut"] = proxy.happened["cut"]
    assert images(canary) == dict.fromkeys(CANARY, "1.4.0")

    def is_told() -> None:
        history.catch_up()
        assert len(history.uids()) == len(CANARY) + 1  # one was deleted on the way

    eventually("the history is told", is_told)
    assert {len(revisions) for revisions in history.contents().values()} == {1}
    history.close()
    check("R4", counts)


def backed_off(hub: KubeHub, proxy: Proxy) -> int:
    """A work is gone, and the server fails whenever it is created anew.

    Returns: how many pauses there were between attempts, each twice the last one, less up to a fifth.
    A few attempts come before: news of the workload, such as the status that was written meanwhile, have
    it planned again at once, and what fails then counts as one with the failure before.
    """
    (work,) = hub.list(MANIFEST_WORK, CANARY[-1]).items
    ref = ref_of(MANIFEST_WORK, work)
    tries: list[float] = []

    def breaks(asked: Asked) -> str:
        if asked.method != "POST" or (asked.kind, asked.key) != (ref.kind, ref.key):
            return ""
        tries.append(asked.at)
        return "error"

    proxy.breaks = breaks
    if work["metadata"].get("finalizers"):
        hub.patch(ref, {"metadata": {"finalizers": None}})
    hub.delete(ref)
    eventually("four pauses were kept", lambda: kept(tries) >= 4)
    proxy.breaks = lambda _: ""
    assert len(tries) <= 1 + kept(tries) + WOKEN, tries
    return kept(tries)


def kept(tries: Sequence[float]) -> int:
    """How many pauses, each twice the last one, were kept between these instants."""
    found = 0
    for before, after in pairwise(tuple(tries)):
        found += after - before >= 0.8 * 0.5 * 2**found - 0.05
    return found
