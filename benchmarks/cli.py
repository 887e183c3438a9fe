"""Measures the CPU that commands take on the state file of a fleet of ten thousand clusters, rolled out.

Each command is a process of its own; what it takes is the least of several runs, in user and system time.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import yaml

from benchmarks.figures import Figure
from benchmarks.virtual import SCENARIO, documents
from rollout.hub.base import StateKey
from rollout.hub.database import Database, ObjectRow
from rollout.model.instants import rfc3339_micro
from rollout.sim.scenario_file import parse_scenario
from rollout.sim.simulate import Simulation

CLUSTERS = 10_000
TIMES = 3
LINES: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("version", ("version",), 0.1),
    ("help", ("simulate", "--help"), 0.4),
    ("status", ("status", "mwrs", "web"), 0.5),
    ("list", ("list",), 1.0),
    ("tree", ("get", "web", "-o", "tree"), 1.0),
    ("plan", ("plan", "-f", "change.yaml"), 3.0),
)
"""Each line: its name, what is typed, and the seconds of CPU that it may take."""


def prepared(clusters: int, folder: Path) -> Path:
    """A state file with a fleet that is rolled out, and beside it the change that is planned."""
    simulation = Simulation(
        documents(clusters), parse_scenario(SCENARIO), gather=timedelta(seconds=1)
    )
    simulation.run()
    *_, workload = documents(0)
    workload["spec"]["manifestWorkTemplate"]["workload"]["manifests"][0]["data"]["page"] = (
        "y" * 1_500
    )
    (folder / "change.yaml").write_text(yaml.safe_dump(workload))
    rows = [
        ObjectRow(
            int(obj["metadata"]["resourceVersion"]),
            ref.kind.name,
            ref.key,
            "ADDED",
            body=msgspec.json.encode(obj),
        )
        for ref, obj in simulation.hub.everything()
    ]
    path = folder / "state.db"
    database = Database(path, seed="rollout")
    database.begin()
    database.write(sorted(rows), [])
    database.put_state(StateKey.CLOCK, rfc3339_micro(simulation.clock.now()).encode())
    database.commit()
    database.close()
    return path


def cpu_of(words: tuple[str, ...], state: Path) -> float:
    """Seconds of CPU of one command, and of what it starts."""
    command = [sys.executable, "-m", "rollout", *words]
    env = {**os.environ, "ROLLOUT_STATE": str(state), "PYTHONPATH": str(Path(__file__).parents[1])}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installation has its bytecode
    with subprocess.Popen(command, cwd=state.parent, env=env, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 10), command
    return used.ru_utime + used.ru_stime


def measured(clusters: int, times: int = TIMES) -> Iterator[tuple[str, float, float]]:
    """Of each line its name, the seconds of CPU, and those that it may take."""
    with tempfile.TemporaryDirectory(prefix="rollout-cli-") as folder:
        state = prepared(clusters, Path(folder))
        for name, words, target in LINES:
            yield name, min(cpu_of(words, state) for _ in range(times)), target


def run() -> Iterator[Figure]:
    for name, seconds, target in measured(CLUSTERS):
        yield Figure(f"cli.{name}", seconds, "s", target)
