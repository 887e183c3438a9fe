"""What does a restart cost on a hub with a hundred thousand works, and in the middle of a rollout?

The objects come from files as an API server would send them, so this is the engine's own part: reading,
deciding, and the writes that it wants to make. CPU seconds, each in a process of its own.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.forgetting import resident
from benchmarks.machine import peak_memory
from benchmarks.stored import HALF, LATER, Unsent, engine_on, fleet_documents, rolled_out, written
from rollout.clock import VirtualClock
from rollout.model.events import Change, Event
from rollout.model.kinds import MANIFEST_WORK, REPLICA_SET, Obj, ref_of
from rollout.runtime.engine import Engine
from rollout.runtime.process import quiet_collector
from rollout.sim.drives import Jump

CLUSTERS, WORKLOADS = 10_000, 10
CHANGED = "changed"
QUIET = timedelta(minutes=1)
"""Virtual time in which a new process decides what can be decided: it looks for some seconds whether
placements are still being written.
"""

IDLE = timedelta(minutes=10)


def everywhere(clusters: int, workloads: int) -> Iterator[Obj]:
    """Workloads that are rolled out."""
    return rolled_out(fleet_documents(clusters, workloads))


def halfway(clusters: int) -> Iterator[Obj]:
    """One rollout with half of the fleet in flight; a tenth of that got well while nobody looked."""
    works = 0
    for obj in rolled_out(fleet_documents(clusters, 1, strategy=HALF), outcome="hang"):
        if obj["kind"] == MANIFEST_WORK.name:
            works += 1
            if works % 10 == 0:
                yield _well(obj)
                continue
        yield obj


def _well(work: Obj) -> Obj:
    """As its agent reports it when it makes progress no longer."""
    conditions = [
        {**c, "status": "False"} if c["type"] == "Progressing" else c
        for c in work["status"]["conditions"]
    ]
    return {**work, "status": {**work["status"], "conditions": conditions}}


def restarted(folder: Path) -> dict[str, float]:
    """Read and plan what the folder holds; then one workload's template changes. In this process."""
    touches: list[float] = []  # when each was decided
    io = Unsent(lambda: touches.append(time.process_time()))
    began = time.process_time()
    clock = VirtualClock(LATER)
    drive = Jump(clock)
    engine = engine_on(folder, io, clock, drive)
    engine.start()
    read = time.process_time()
    quiet_collector()
    engine.run_until_idle()
    planned = time.process_time()
    while (
        not touches and clock.now() < LATER + QUIET and drive.go(drive.next_at(), lambda _: False)
    ):
        engine.run_until_idle()
    found = {
        "read": read - began,
        "planned": planned - began,
        "decided": (touches[0] if touches else time.process_time()) - began,
        "touched": len(touches),
        "peak": peak_memory(),
        "memory": resident(),
    }
    found["idle"] = _idle(engine, clock, drive)
    touches.clear()
    clock.advance(timedelta(seconds=2))  # longer than news of a workload are gathered
    found["reaction"] = _changed(engine, touches)
    return found


def _idle(engine: Engine, clock: VirtualClock, drive: Jump) -> float:
    """Percent of a core that the engine's own timers take while nothing happens on the hub."""
    until = clock.now() + IDLE
    began = time.process_time()
    while (at := drive.next_at()) is not None and at <= until:
        drive.go(at, lambda _: False)
        engine.run_until_idle()
    clock.advance(until - clock.now())
    return (time.process_time() - began) / IDLE.total_seconds() * 100


def _changed(engine: Engine, touches: list[float]) -> float:
    """CPU seconds from the change of one template to the first touch that follows from it."""
    obj = engine.hub.list(REPLICA_SET).items[0]
    meta = obj["metadata"]
    spec = json.loads(json.dumps(obj["spec"]))
    spec["manifestWorkTemplate"]["workload"]["manifests"][0]["data"]["version"] = CHANGED
    version = int(meta["resourceVersion"]) + 10_000_000
    after = {
        **obj,
        "metadata": {
            **meta,
            "generation": meta["generation"] + 1,
            "resourceVersion": str(version),
        },
        "spec": spec,
    }
    began = time.process_time()
    engine.inbox.put(Event(ref_of(REPLICA_SET, after), Change.MODIFIED, after, version))
    engine.run_until_idle()
    return touches[0] - began


def _measured(make: str, clusters: int, workloads: int = 1) -> dict[str, float]:
    """Objects are made in one process, and read in another one."""
    with tempfile.TemporaryDirectory(prefix="rollout-restart-") as folder:
        said = ""
        for words in ((make, str(clusters), str(workloads)), ("read",)):
            command = [sys.executable, "-m", "benchmarks.restart", folder, *words]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found: dict[str, float] = json.loads(said)
        return found


def run() -> Iterator[Figure]:
    half = _measured("halfway", CLUSTERS)
    yield Figure("restart.halfway.read", half["read"], "s")
    yield Figure("restart.halfway.decided", half["decided"], "s", 8.0)
    yield Figure("restart.halfway.touched", half["touched"], "")
    small = _measured("everywhere", CLUSTERS)
    many = _measured("everywhere", CLUSTERS, WORKLOADS)
    yield Figure("restart.10k-works.memory", small["memory"], "MB")
    yield Figure("restart.100k-works.memory", many["memory"], "MB")
    yield Figure("restart.100k-works.peak", many["peak"], "MB", 1_200.0)
    yield Figure("restart.100k-works.read", many["read"], "s", 30.0)
    yield Figure("restart.100k-works.planned", many["planned"], "s", 30.0)
    yield Figure("restart.100k-works.idle", many["idle"], "%", 2.0)
    yield Figure("restart.reaction", many["reaction"] / small["reaction"], "x", 2.0)


def main(where: str, what: str, *words: str) -> None:
    makers: dict[str, Callable[[], Iterator[Obj]]] = {
        "halfway": lambda: halfway(int(words[0])),
        "everywhere": lambda: everywhere(int(words[0]), int(words[1])),
    }
    if what in makers:
        written(makers[what](), Path(where))
    else:
        print(json.dumps(restarted(Path(where))))


if __name__ == "__main__":
    main(*sys.argv[1:])
