"""What stays in memory of workloads that are gone? Ten thousand are created, rolled out and deleted.

The size is taken after the first quarter, when all that is kept up to a bound has reached it (objects
deleted lately, the history of the hub), and at the end. In a process of its own.
"""

import ctypes
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.virtual import documents
from rollout.model.kinds import (
    CONFIG_MAP,
    CONTROLLER_REVISION,
    MANIFEST_WORK,
    REPLICA_SET,
    Ref,
    ref_of,
)
from rollout.sim.simulate import Simulation

WORKLOADS, TOGETHER, CLUSTERS = 10_000, 250, 3
MEGABYTES = 5.0
_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def resident() -> float:
    """Megabytes of this process, after what is free has been given back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_MB


def grown() -> float:
    """Megabytes between the first quarter and the end."""
    *fleet, workload = documents(CLUSTERS)
    simulation = Simulation(fleet)
    sizes: list[float] = []
    numbers = iter(range(WORKLOADS))
    while names := [f"w{number}" for number in islice(numbers, TOGETHER)]:
        for name in names:
            simulation.add({**workload, "metadata": {"name": name, "namespace": "default"}})
        simulation.run()
        hub = simulation.hub
        assert len(hub.list(MANIFEST_WORK).items) == CLUSTERS * len(names)
        for name in names:
            hub.delete(Ref(REPLICA_SET, f"default/{name}"))
        simulation.run()
        assert hub.list(MANIFEST_WORK).items == hub.list(REPLICA_SET).items == ()
        for kind in (CONFIG_MAP, CONTROLLER_REVISION):  # as the garbage collector does
            for obj in hub.list(kind).items:
                hub.delete(ref_of(kind, obj))
        simulation.run()
        sizes.append(resident())
    return sizes[-1] - sizes[len(sizes) // 4 - 1]


def run() -> Iterator[Figure]:
    command = [sys.executable, "-m", "benchmarks.forgetting"]
    said = subprocess.run(command, check=True, capture_output=True).stdout
    yield Figure("forgetting.grown", float(said), "MB", MEGABYTES)


if __name__ == "__main__":
    print(grown())
