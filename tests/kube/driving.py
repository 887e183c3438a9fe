"""The whole engine on a real API server, on real time: engine, agents, each on a thread of its own."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rollout.clock import SteadyClock
from rollout.fleet.fleet import Fleet
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.model.kinds import (
    REPLICA_SET,
)
from rollout.model.policy import DEFAULT
from rollout.planning.plan import Note, Write
from rollout.providers.deliverer import ChannelDeliverer
from rollout.providers.hosts import HostPolicy
from rollout.providers.kinds import installed
from rollout.providers.measurer import ProviderMeasurer
from rollout.providers.sinks import installed_sinks
from rollout.runtime.analysis_io import AnalysisIo
from rollout.runtime.engine import Engine
from rollout.runtime.io import Done, Io, WriteOutcome, WriteResult
from rollout.runtime.kube_io import KubeIo
from rollout.runtime.notification_io import NotificationIo
from rollout.runtime.pace import Pace
from rollout.runtime.planners import planners
from rollout.runtime.timers import ApsTimers
from rollout.sim.agents import Agents
from rollout.sim.scenario_file import parse_scenario
from tests.kube.setting import PATIENCE, connect

QUICK = """
apiVersion: rollout-engine.io/v1alpha1
kind: AgentScenario
spec:
  seed: 7
  resourceStatus: true
  defaults:
    applyAfter: {min: 10ms, max: 100ms}
    readyAfter: {min: 50ms, max: 300ms}
"""


@dataclass
class _Kept:
    """An `Io` that remembers what was refused."""

    inner: Io
    refused: list[str]

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        def back(write: Write, outcome: WriteOutcome) -> None:
            if outcome.result is WriteResult.REFUSED:
                self.refused.append(outcome.message)
            done(write, outcome)

        self.inner.send(writes, back, turn)


@dataclass
class Running:
    """An engine and agents, each with a connection of its own. `stop` ends them."""

    kubeconfig: Path
    agents_kubeconfig: Path
    scenario: str = QUICK
    gather: timedelta = timedelta(milliseconds=50)
    notes: list[Note] = field(default_factory=list)
    faults: list[BaseException] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def start(self) -> "Running":
        clock = self._clock = SteadyClock()
        self.hub = KubeHub(Access(str(self.kubeconfig)))
        self._timers: list[ApsTimers] = []
        loopback = HostPolicy(("127.0.0.1",))
        self._measurer = ProviderMeasurer(self.hub, clock, installed(()), loopback)
        self._deliverer = ChannelDeliverer(self.hub, clock, installed_sinks(()), loopback)
        measuring = AnalysisIo(KubeIo(self.hub), self._measurer, clock)
        self.engine = Engine(
            self.hub,
            clock,
            self._arm,
            planners(keeps_sets=False),
            Fleet(
                replace(DEFAULT, settle=timedelta(0), failure_grace=timedelta(seconds=1))
            ),  # a test cannot wait for 15 s per stage
            io=_Kept(NotificationIo(measuring, self._deliverer, clock), self.refused),
            pace=Pace(least_interval={REPLICA_SET: self.gather}, strict=True),
            notes=self._note,
        )
        self._agents_hub = connect(self.agents_kubeconfig)
        self._agents = Agents(self._agents_hub, clock, parse_scenario(self.scenario))
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._guarded, args=(work,), name=work.__name__)
            for work in (self._drive_engine, self._drive_agents)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def _arm(self, wake: Any) -> ApsTimers:
        self._timers.append(ApsTimers(wake, clock=self._clock))
        return self._timers[-1]

    def _note(self, note: Note, now: datetime) -> None:
        self.notes.append(note)

    def _guarded(self, work: Any) -> None:
        try:
            work()
        except BaseException as error:  # a test looks at it
            self.faults.append(error)
            raise

    def _drive_engine(self) -> None:
        self.engine.start()
        while not self._ended.is_set():
            self.engine.run_until_idle()
            self.engine.wait(0.1)

    def _drive_agents(self) -> None:
        self._agents.start()
        while not self._ended.wait(0.01):
            self._agents.run_due()

    def stop(self) -> None:
        if self._ended.is_set():
            return
        self._ended.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        self.engine.stop()
        self._measurer.close()
        self._deliverer.close()
        self._agents.close()
        for timers in self._timers:
            timers.scheduler.shutdown(wait=False)
        self.hub.close()
        self._agents_hub.close()
        assert not self.faults, self.faults

    def reasons(self) -> Iterable[str]:
        return [note.reason for note in self.notes]
