"""What do analyses cost? 10,000 clusters, each measured on its own, a hundred of them just now.

``verdict`` is the time from the event of one run that has ended to the terms that follow from it; ``pass`` what a
look at the workload takes to find out which runs begin, and which are in the way; ``status`` the same of the
event of a measurement that decides nothing yet.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.figures import Figure, fastest
from benchmarks.terms import IN_FLIGHT, NOW, WEB, Hub, conditions
from rollout.api.analysis_run import decode_run
from rollout.fleet.replicasets import ReplicaSets
from rollout.model import names
from rollout.model.kinds import (
    MANIFEST_WORK,
    REPLICA_SET,
    ROLLOUT_ANALYSIS,
    ROLLOUT_ANALYSIS_RUN,
    ref_of,
)
from rollout.model.writes import Create
from rollout.planning.analyses import AnalysedWorkload, analysis_writes, run_name
from rollout.planning.plan import Write

SIZE = 10_000
COUNT = 3
VERDICT, PASS, STATUS = 20.0, 20.0, 1.0  # ms
TEMPLATE: dict[str, Any] = {
    "apiVersion": ROLLOUT_ANALYSIS.api_version,
    "kind": ROLLOUT_ANALYSIS.name,
    "metadata": {"namespace": "default", "name": "slo"},
    "spec": {
        "metrics": [
            {
                "name": "rate",
                "interval": "1m",
                "count": COUNT,
                "successCondition": "result[0] > 0.9",
                "provider": {"prometheus": {"address": "http://p:9090", "query": "rate"}},
            }
        ]
    },
}


def _named(run: dict[str, Any]) -> dict[str, Any]:
    """The run under the name that follows from what it is about."""
    read = decode_run(ref_of(ROLLOUT_ANALYSIS_RUN, run), run)
    assert read is not None
    return {**run, "metadata": {**run["metadata"], "name": run_name(read.subject)}}


class _Measured:
    """A rollout of which every cluster has a run; those in flight are measured still."""

    def __init__(self) -> None:
        self.hub = Hub(SIZE)
        meta = self.hub.workload["metadata"]
        asked = {**meta, "annotations": {names.CLUSTER_ANALYSIS: "slo"}}
        self.hub.tell(ROLLOUT_ANALYSIS, TEMPLATE, NOW)
        self.hub.tell(REPLICA_SET, {**self.hub.workload, "metadata": asked}, NOW)
        for work in self.hub.works[:IN_FLIGHT]:
            self.hub.tell(MANIFEST_WORK, {**work, "status": {"conditions": conditions(True)}}, NOW)
        self.refresh()
        self.running = [write.obj for write in self.writes() if isinstance(write, Create)]
        assert len(self.running) == IN_FLIGHT
        like = self.running[0]
        for n in range(IN_FLIGHT, SIZE):
            spec = {**like["spec"], "cluster": f"cluster-{n:06d}"}
            self.tell_run(_named({**like, "spec": spec}), 3)
        for run in self.running:
            self.tell_run(run, 1)
        self.refresh()
        self.count = 0

    def tell_run(self, run: dict[str, Any], count: int) -> None:
        """It was measured so often, and well: three times are enough."""
        at, phase = "2026-01-01T00:05:00.000000Z", "Successful" if count == COUNT else "Running"
        good = {"phase": "Successful", "startedAt": at, "finishedAt": at, "value": "1"}
        status = {
            "phase": phase,
            "startedAt": at,
            "finishedAt": None if phase == "Running" else at,
            "metrics": [
                {
                    "name": "rate",
                    "phase": phase,
                    "count": count,
                    "successful": count,
                    "consecutiveSuccess": count,
                    "measurements": [good] * count,
                }
            ],
        }
        self.hub.tell(ROLLOUT_ANALYSIS_RUN, {**run, "status": status}, NOW)

    def refresh(self) -> None:
        self.hub.fleet.refresh(WEB, NOW)

    def writes(self) -> list[Write]:
        known = self.hub.fleet.tracker(ReplicaSets).workload(WEB.key)
        assert known is not None
        workload = AnalysedWorkload(WEB, "uid-web", known.intents)
        decided = [share.live.decide(None, NOW) for share in known.shares.values()]
        return analysis_writes(workload, decided, self.hub.fleet.measured, NOW)[0]

    def status(self) -> None:
        self.count += 1
        self.tell_run(self.running[0], self.count % COUNT)
        self.refresh()

    def verdict(self) -> None:
        self.count += 1
        self.tell_run(self.running[0], COUNT if self.count % 2 else COUNT - 1)
        self.refresh()


def run() -> Iterator[Figure]:
    measured = _Measured()
    yield Figure("analyses_verdict_10k", fastest(measured.verdict) * 1e3, "ms", VERDICT)
    yield Figure("analyses_status_10k", fastest(measured.status) * 1e3, "ms", STATUS)
    assert not measured.writes()
    yield Figure("analyses_pass_10k", fastest(measured.writes) * 1e3, "ms", PASS)
