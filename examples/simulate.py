"""Run a whole rollout in virtual time: the 310 clusters of examples/canary, in a second or two."""

from pathlib import Path

from rollout.api.load import load
from rollout.sim.simulate import Simulation

files = load([Path(__file__).parent / "canary"])
last = Simulation(files.objects).run()

for workload in last.workloads:
    for title, stage in workload.stages:
        print(title, {phase.value: count for phase, count in stage.phases.items()})
print("took", last.now - last.started, "of fleet time")
