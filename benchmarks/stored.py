"""A hub that only holds: the objects of a fleet as an API server sends them, to be read by a new process.

The objects are made by a simulation that rolls workloads out, and kept as JSON. An engine on a
`StoredHub` does what one does after a restart: list everything, decide, and begin to write.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.virtual import documents
from rollout.clock import VirtualClock
from rollout.errors import Gone
from rollout.fleet.fleet import Fleet
from rollout.hub.base import EventSink, Expire, Listing
from rollout.hub.kube_objects import ObjectDecoder, by_key
from rollout.model.kinds import Kind, Obj, Ref
from rollout.planning.plan import Write, is_touch
from rollout.runtime.engine import Engine
from rollout.runtime.io import Done, WriteOutcome, WriteResult
from rollout.runtime.planners import planners
from rollout.sim.drives import Drive
from rollout.sim.scenario_file import parse_scenario
from rollout.sim.simulate import Simulation

PAGE = 500
"""Objects in one page of a list, as the engine asks for them."""
LATER = datetime(2026, 1, 2, tzinfo=UTC)
"""When the new process starts: nothing of the simulation is due any more."""
EVERYWHERE: Obj = {"type": "All"}
HALF: Obj = {"type": "Progressive", "progressive": {"maxConcurrency": "50%"}}
_AGENTS = """
apiVersion: rollout-engine.io/v1alpha1
kind: AgentScenario
spec:
  seed: 1
  defaults: {outcome: %s, applyAfter: {min: 1s, max: 5s}, readyAfter: {min: 10s, max: 30s}}
"""
_MANAGED = {
    "manager": "agent",
    "operation": "Update",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:status": {".": {}, "f:conditions": {}, "f:resourceStatus": {}}},
}


def fleet_documents(
    clusters: int, workloads: int, placements: int = 1, strategy: Obj = EVERYWHERE
) -> Iterator[Obj]:
    """A fleet, placements of all of it, and workloads of different templates over the first."""
    *fleet, placement, workload = documents(clusters)
    yield from fleet
    for number in range(placements):
        name = "all" if number == 0 else f"all-{number}"
        yield {**placement, "metadata": {"name": name, "namespace": "default"}}
    for number in range(workloads):
        spec = json.loads(json.dumps(workload["spec"]))
        spec["manifestWorkTemplate"]["workload"]["manifests"][0]["data"]["version"] = str(number)
        spec["placementRefs"][0]["rolloutStrategy"] = strategy
        yield {
            **workload,
            "metadata": {"name": f"w{number}", "namespace": "default"},
            "spec": spec,
        }


def rolled_out(documents: Iterator[Obj], *, outcome: str = "success") -> Iterator[Obj]:
    """All objects after a run to its end. ``outcome``: of every agent, as scenarios have it."""
    gather = timedelta(seconds=1)
    simulation = Simulation(documents, parse_scenario(_AGENTS % outcome), gather=gather)
    simulation.run()
    for _, obj in simulation.hub.everything():
        yield obj


def written(objects: Iterator[Obj], folder: Path) -> None:
    """Keep them, a file for each kind and a line for each object."""
    folder.mkdir(exist_ok=True)
    files: dict[str, Any] = {}
    for obj in objects:
        meta = {**obj["metadata"], "managedFields": [_MANAGED]}
        kind = obj["kind"]
        if kind not in files:
            files[kind] = (folder / kind).open("w")
        files[kind].write(json.dumps({**obj, "metadata": meta}, separators=(",", ":")) + "\n")
    for each in files.values():
        each.close()


class StoredHub:
    """Lists what a folder holds. Nothing ever happens there, and nothing can be written."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._reader = folder, ObjectDecoder()

    def expect(self, kinds: Sequence[Kind]) -> None:
        """Nothing is gained by beginning early."""

    def list(
        self, kind: Kind, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Listing:
        file = self._folder / kind.name
        found: list[Obj] = []
        if file.exists():
            with file.open("rb") as lines:
                while items := b",".join(islice(lines, PAGE)):
                    page = b'{"metadata":{"resourceVersion":"1"},"items":[' + items + b"]}"
                    found += self._reader.page(kind, page).objects()
        return Listing(by_key(kind, found), 1)

    def watch(
        self, kind: Kind, since: int, sink: EventSink, expired: Expire | None = None
    ) -> Callable[[], None]:
        return lambda: None

    def get(self, ref: Ref) -> Obj:
        raise Gone(f"get {ref}: it was only listed")

    def create(self, ref: Ref, obj: Obj) -> Obj:
        raise NotImplementedError

    def patch(self, ref: Ref, changes: Obj, version: int | None = None) -> Obj:
        raise NotImplementedError

    def patch_status(self, ref: Ref, changes: Obj, version: int | None = None) -> Obj:
        raise NotImplementedError

    def delete(self, ref: Ref, uid: str | None = None, version: int | None = None) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Nothing is held."""


class Unsent:
    """An `rollout.runtime.io.Io` that says of every write that it has landed, and sends none.

    ``told``: is called for each touch of a cluster.
    """

    def __init__(self, told: Callable[[], None] = lambda: None) -> None:
        self._told = told

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        for write in writes:
            if is_touch(write):
                self._told()
            done(write, WriteOutcome(result=WriteResult.LANDED))


def engine_on(folder: Path, io: Unsent, clock: VirtualClock, drive: Drive) -> Engine:
    """An engine that has read nothing yet. `Engine.start`, then `Engine.run_until_idle`."""
    return Engine(
        StoredHub(folder),
        clock,
        drive.timers,
        planners(),
        Fleet(),
        io=io,
    )
