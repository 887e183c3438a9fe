"""A soak in which leaders are killed, each with another wrong clock, lasts longer by all the time without one.

Leases of three seconds leave about as long without a leader after each kill. The soak is so much longer than
that that a successor which counts this time, or goes by its own clock, touches the next cluster far too early.
CI kills few; ``ROLLOUT_KUBE_KILLS=200`` makes the soak longer, and kills more.
"""

import signal
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from rollout.hub.kube import KubeHub
from rollout.model.kinds import MANIFEST_WORK
from tests.kube.cluster import Cluster
from tests.kube.history import History
from tests.kube.processes import WRONG_CLOCK, FieldAgents, Process, install, kubeconfig_of
from tests.kube.setting import eventually, namespace, put
from tests.kube.test_kill import AGENTS, KILLS, SHORTEST_LEASE, Line, next_leader
from tests.support import make

pytestmark = pytest.mark.kube

CLUSTERS = 6
CANARIES = frozenset({"c00", "c01"})
SOAK = timedelta(seconds=max(12, KILLS // 5))
SHORT_SOAK = timedelta(seconds=12)
SHORTEST, LONGEST = 2.5, 5.0
"""Seconds for which one has read everything and leads, before it is killed."""
SLACK = timedelta(seconds=2)
"""Agents and the API server tell whole seconds."""
SEEN_LATE = timedelta(seconds=0.5)
"""By how much later than it began this test may see that somebody leads."""


class Lead(NamedTuple):
    """A span in which one controller led, by the clock that the API server and the agents share."""

    begin: datetime
    end: datetime

    def within(self, begin: datetime, end: datetime) -> timedelta:
        return max(timedelta(0), min(self.end, end) - max(self.begin - SEEN_LATE, begin))


@pytest.fixture
def agents(server: Cluster, admin: KubeHub) -> Iterator[None]:
    found = FieldAgents(server.kubeconfig, AGENTS)
    yield
    found.stop()


def now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  other processes are timed


def touched(hub: KubeHub) -> set[str]:
    return {work["metadata"]["namespace"] for work in hub.list(MANIFEST_WORK).items}


def has_read(process: Process) -> bool:
    return "everything is read; leading" in process.log()


def kill_while_canaries_soak(hub: KubeHub, line: Line) -> list[Lead]:
    """Kill each leader soon, until another cluster than a canary is touched. Returns: who led when."""
    dice, pause, leads = Random("soaks"), threading.Event(), list[Lead]()
    line.enlist()
    line.enlist()
    while True:
        process = next_leader(hub, line)
        eventually("it has read everything", partial(has_read, process))
        begin = now()
        deadline = begin + timedelta(seconds=dice.uniform(SHORTEST, LONGEST))
        while now() < deadline or not touched(hub):
            pause.wait(0.1)
            if touched(hub) - CANARIES:
                return [*leads, Lead(begin, now())]
        process.signal(signal.SIGKILL)
        leads.append(Lead(begin, now()))
        process.ended()


class Soak(NamedTuple):
    """How it went on: how many kills, how long it was, and for how long of it somebody led."""

    kills: int
    lasted: timedelta
    seen: timedelta


def soak(
    server: Cluster, hub: KubeHub, folder: Path, soaks: timedelta, program: str = WRONG_CLOCK
) -> Soak:
    """Kill the leaders while canaries soak for so long. ``program``: what the controllers run."""
    install(hub)
    account = kubeconfig_of(server, hub)
    line = Line(account, folder, SHORTEST_LEASE, wrong=True, program=program)
    namespace(hub, *(f"c{n:02d}" for n in range(CLUSTERS)))
    for obj in make.fleet(CLUSTERS, canary=len(CANARIES)):
        put(hub, obj)
    history = History(hub)
    strategy = make.progressive(
        mandatory=["canary"], maxConcurrency=CLUSTERS, progressDeadline="1h",
        minSuccessTime=f"{soaks.total_seconds():g}s",
    )  # fmt: skip
    try:
        put(hub, make.workload(strategy=strategy))
        leads = kill_while_canaries_soak(hub, line)
        eventually("the history is told", lambda: history.soaked(CANARIES) is not None)
    finally:
        line.stop()
    begun, over = history.soaked(CANARIES) or (now(), now())
    history.close()
    assert not [p.name for p in line.processes if "Traceback" in p.log()]
    kills = sum(begun < lead.end < over for lead in leads)
    seen = sum((lead.within(begun, over) for lead in leads), timedelta(0))
    print(f"{kills} kills in a soak of {soaks}: it lasted {over - begun}, led {seen} of it")
    return Soak(kills, over - begun, seen)


@pytest.mark.usefixtures("agents")
def test_s13_a_soak_counts_only_the_time_in_which_somebody_led(
    server: Cluster, admin: KubeHub, tmp_path: Path
) -> None:
    found = soak(server, admin, tmp_path, SOAK)
    assert found.kills >= SOAK.total_seconds() // 6
    assert found.seen >= SOAK - SLACK


@pytest.mark.usefixtures("agents")
def test_s13_a_successor_that_counts_the_time_before_it_led_is_caught(
    server: Cluster, admin: KubeHub, tmp_path: Path
) -> None:
    found = soak(server, admin, tmp_path, SHORT_SOAK, "tests.kube.careless")
    assert found.kills
    assert found.seen < SHORT_SOAK - SLACK
