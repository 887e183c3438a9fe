"""How many bytes does an engine keep for each cluster, decision and work? Counted, so that it does not vary.

An engine reads a fleet as an API server sends it. What a second fleet, in which there is more of one
thing, takes more than the first is what is kept for it. Each fleet is read in a process of its own.
"""

import gc
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.stored import LATER, Unsent, engine_on, fleet_documents, rolled_out, written
from rollout.clock import VirtualClock
from rollout.sim.drives import Jump

CLUSTERS = 500
TARGETS = {"cluster": 2_700.0, "decision": 240.0, "work": 3_000.0}


def held(clusters: int, workloads: int, placements: int) -> int:
    """Bytes that an engine holds when it has read such a fleet, rolled out, and has planned it."""
    with tempfile.TemporaryDirectory(prefix="rollout-kept-") as folder:
        written(rolled_out(fleet_documents(clusters, workloads, placements)), Path(folder))
        gc.collect()
        tracemalloc.start(1)
        clock = VirtualClock(LATER)
        engine = engine_on(Path(folder), Unsent(), clock, Jump(clock))
        engine.start()
        engine.run_until_idle()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]


def _held(clusters: int, workloads: int, placements: int = 1) -> int:
    """The same, of a process that has done nothing else."""
    words = [str(number) for number in (clusters, workloads, placements)]
    command = [sys.executable, "-m", "benchmarks.kept", *words]
    return int(subprocess.run(command, check=True, capture_output=True).stdout)


def kept_for_each(clusters: int) -> dict[str, float]:
    """Bytes by thing. What is kept only once (caches, indexes) is in none of them."""
    none, one = _held(clusters, 0), _held(clusters, 1)
    return {
        "cluster": (_held(2 * clusters, 0) - none) / clusters,
        "decision": (_held(clusters, 0, 2) - none) / clusters,
        "work": (_held(clusters, 2) - one) / clusters,
    }


def run() -> Iterator[Figure]:
    for thing, found in kept_for_each(CLUSTERS).items():
        yield Figure(f"kept.{thing}", found, "B", TARGETS[thing])


if __name__ == "__main__":
    print(held(*map(int, sys.argv[1:])))
