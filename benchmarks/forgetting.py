"""What stays in memory of workloads that are gone? Ten thousand are created, rolled out and deleted.

A thousand came and went before: only then what is kept up to a bound has reached it (the history of the
hub, objects deleted lately, caches). In a process of its own.
"""

import ctypes
import gc
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.virtual import documents
from rollout.model.kinds import (
    MANIFEST_WORK,
    REPLICA_SET,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Ref,
    ref_of,
)
from rollout.sim.simulate import Simulation

BEFORE, WORKLOADS, TOGETHER, CLUSTERS = 1_000, 10_000, 250, 3
MEGABYTES = 5.0
_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def resident() -> float:
    """Megabytes of this process, after what is free has been given back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_MB


class Coming:
    """Workloads that are created, rolled out and deleted, some of them at a time."""

    def __init__(self) -> None:
        *fleet, self._workload = documents(CLUSTERS)
        self._simulation = Simulation(fleet)
        self._numbers = count()

    def and_going(self, together: int) -> None:
        """So many more. At the end nothing of them is on the hub."""
        simulation, hub = self._simulation, self._simulation.hub
        names = [f"w{number}" for number in islice(self._numbers, together)]
        for name in names:
            simulation.add({**self._workload, "metadata": {"name": name, "namespace": "default"}})
        simulation.run()
        assert len(hub.list(MANIFEST_WORK).items) == CLUSTERS * together
        assert len(hub.list(ROLLOUT_RECORD).items) >= together
        assert len(hub.list(ROLLOUT_REVISION).items) >= together
        for name in names:
            hub.delete(Ref(REPLICA_SET, f"default/{name}"))
        simulation.run()
        assert hub.list(MANIFEST_WORK).items == hub.list(REPLICA_SET).items == ()
        for kind in (ROLLOUT_RECORD, ROLLOUT_REVISION):  # as the garbage collector does
            for obj in hub.list(kind).items:
                hub.delete(ref_of(kind, obj))
        simulation.run()


def grown() -> float:
    """Megabytes that ten thousand workloads leave behind, after the first thousand."""
    workloads = Coming()
    sizes: list[float] = []
    for number in (BEFORE, WORKLOADS):
        for _ in range(number // TOGETHER):
            workloads.and_going(TOGETHER)
        sizes.append(resident())
    return sizes[1] - sizes[0]


def kept(first: int, then: int) -> float:
    """Bytes that Python keeps of each of the later workloads, after so many first ones."""
    workloads = Coming()
    tracemalloc.start()
    sizes: list[int] = []
    for together in (first, then):
        workloads.and_going(together)
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    return (sizes[1] - sizes[0]) / then


def run() -> Iterator[Figure]:
    command = [sys.executable, "-m", "benchmarks.forgetting"]
    said = subprocess.run(command, check=True, capture_output=True).stdout
    yield Figure("forgetting.grown", float(said), "MB", MEGABYTES)


if __name__ == "__main__":
    print(grown())
