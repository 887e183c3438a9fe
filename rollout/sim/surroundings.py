"""The world outside the hub in a simulation: a scenario gives measurements; notifications go nowhere."""

from collections.abc import Callable, Mapping
from datetime import datetime

from rollout.clock import Clock
from rollout.errors import Gone
from rollout.hub.base import Hub
from rollout.measuring.values import AnalysisRun, Measure, Sample
from rollout.model.kinds import MANAGED_CLUSTER, Obj, Ref
from rollout.model.writes import Deliver
from rollout.runtime.analysis_io import AnalysisIo, Measurer
from rollout.runtime.io import InlineIo, Io
from rollout.runtime.notification_io import Deliverer, NotificationIo
from rollout.sim.members import selects
from rollout.sim.scenario import MeasuredValue, Scenario


class SimulatedDeliverer:
    """Implements `rollout.runtime.notification_io.Deliverer`: all that is told is taken as delivered."""

    def deliver(self, write: Deliver, done: Callable[[str], None]) -> None:
        done("")


SIMULATED: Deliverer = SimulatedDeliverer()


def simulated_io(
    hub: Hub,
    clock: Clock,
    scenario: Scenario,
    deliverer: Deliverer = SIMULATED,
    measurer: Measurer | None = None,
) -> Io:
    """The `Io` of an engine on a simulated hub. ``measurer``: instead of what the scenario says."""
    asked = measurer or ScenarioMeasurer(hub, clock, scenario)
    measuring = AnalysisIo(InlineIo(hub), asked, clock)
    return NotificationIo(measuring, deliverer, clock)


class ScenarioMeasurer:
    """Implements `rollout.runtime.analysis_io.Measurer`; answers at once.

    Args:
        is_hopeful: what the scenario does not say is taken to be good, instead of not measured.
    """

    def __init__(
        self, hub: Hub, clock: Clock, scenario: Scenario, *, is_hopeful: bool = False
    ) -> None:
        self._hub, self._clock, self._start = hub, clock, clock.now()
        self._is_hopeful = is_hopeful
        self._values = scenario.spec.measurements

    def measure(self, write: Measure, done: Callable[[Mapping[str, Sample]], None]) -> None:
        now = self._clock.now()
        done({name: self._sample(write.run, name, now) for name in write.metrics})

    def _sample(self, run: AnalysisRun, metric: str, now: datetime) -> Sample:
        said = [each for each in self._values if self._is_about(each, run, metric, now)]
        if not said and self._is_hopeful:
            return Sample(started_at=now, finished_at=now, is_assumed=True)
        if not said:
            text = f"the scenario does not say what {metric} measures: spec.measurements"
            return Sample(started_at=now, finished_at=now, error=text)
        last = said[-1]
        if last.error is not None:
            return Sample(started_at=now, finished_at=now, error=last.error)
        return Sample(started_at=now, finished_at=now, value=last.value)

    def _is_about(self, said: MeasuredValue, run: AnalysisRun, metric: str, now: datetime) -> bool:
        subject = run.subject
        if said.metric != metric or said.template not in (None, subject.template):
            return False
        if said.revision not in (None, subject.revision):
            return False
        if now < said.from_.on(self._start):
            return False
        if said.to is not None and said.to.on(self._start) <= now:
            return False
        if said.clusters is None:
            return True
        cluster = subject.cluster
        return bool(cluster) and selects(said.clusters, cluster, self._labels(cluster))

    def _labels(self, cluster: str) -> object:
        try:
            found: Obj = self._hub.get(Ref(MANAGED_CLUSTER, cluster))
        except Gone:
            return {}
        return found["metadata"].get("labels")
