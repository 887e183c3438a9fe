"""Run a whole rollout in virtual time: the 310 clusters of examples/canary, in a second or two."""

from pathlib import Path

from rollout import Simulation, load

last = Simulation(load(Path(__file__).parent / "canary").objects).run()

for workload in last.workloads:
    for title, stage in workload.stages:
        print(title, {phase.value: count for phase, count in stage.phases.items()})
print("took", last.now - last.started, "of fleet time")
assert last.done, [workload.message for workload in last.workloads]
