"""Test the timing of a rollout in frozen time: the same engine, under freezegun."""

from datetime import UTC, datetime
from pathlib import Path

from freezegun import freeze_time

from rollout import Frozen, RunMoment, Simulation, SystemClock, load, parse_scenario

files = load(Path(__file__).parent / "canary")
alike = parse_scenario("""
apiVersion: rollout-engine.io/v1alpha1
kind: AgentScenario
spec:
  defaults: {applyAfter: 2s, readyAfter: 30s}
""")
passed: dict[str, str] = {}


def watch(moment: RunMoment) -> None:
    """Note when each stage passed."""
    for workload in moment.account().workloads:
        for note in workload.notes:
            if note.reason == "StagePassed":
                passed.setdefault(note.message, f"{note.at:%H:%M:%S}")


with freeze_time(datetime(2030, 1, 1, tzinfo=UTC)) as frozen:
    clock = SystemClock()
    drive = Frozen(frozen.move_to, clock)
    Simulation(files.objects, alike, clock=clock, drive=drive).run(watch)

for stage, at in passed.items():
    print(at, stage)
