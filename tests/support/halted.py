"""A small fleet whose rollout has halted, in a state file: two of six agents never answer."""

from pathlib import Path

from rollout.model.kinds import Obj
from tests.support.shapes import binding, cluster, cluster_set, placement, run, workload, write

STRATEGY: Obj = {
    "type": "Progressive",
    "progressive": {
        "maxConcurrency": "50%",
        "minSuccessTime": "5m",
        "progressDeadline": "10m",
        "maxFailures": 1,
    },
}
SILENT: Obj = {
    "apiVersion": "rollout-engine.io/v1alpha1",
    "kind": "AgentScenario",
    "metadata": {"name": "silent"},
    "spec": {"rules": [{"clusters": {"names": ["c2", "c3"]}, "behaviour": {"outcome": "silent"}}]},
}
HEALTHY: Obj = {**SILENT, "spec": {}}


def files(place: Path, *extra: Obj) -> str:
    """The whole fleet in one file."""
    clusters = [cluster(f"c{i}") for i in range(1, 7)]
    return write(
        place / "fleet.yaml",
        cluster_set(),
        binding(),
        *clusters,
        placement(),
        workload(strategy=STRATEGY),
        *extra,
    )


def ran(place: Path, agents: Obj = SILENT) -> Path:
    """A state file after a run to its end, on virtual time."""
    state = place / "state.db"
    found = run("run", "-f", files(place, agents), "--clock", "virtual", state=state)
    assert found.exit_code in (0, 1), found.output
    return state
