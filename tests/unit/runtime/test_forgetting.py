"""Nothing grows with workloads that are gone: what a controller keeps is what is there."""

from collections import deque
from collections.abc import Iterator, Mapping, Set
from enum import Enum
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

from benchmarks.virtual import documents
from rollout.fleet.fleet import Fleet
from rollout.fleet.versions import Versions
from rollout.model import names
from rollout.model.kinds import (
    CLUSTER_SET_BINDING,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Ref,
    ref_of,
)
from rollout.placement.index import ClusterIndex
from rollout.planning.placements import PlacementPlanner
from rollout.rollouts.witness import Witnesses
from rollout.runtime.assembly import uid_of
from rollout.runtime.decisions import DecisionLog, read_log
from rollout.runtime.spans import FinishedSpan, SpanRecorder
from rollout.sim.local import NOTES_KEPT
from rollout.sim.simulate import Simulation
from tests.support import make
from tests.support.processes import Process, World

EACH = 8
ROUNDS = 3
BOUNDED: dict[str, type] = {
    "_gone": Versions,  # those deleted lately, at most 5,000
    "_derived": ClusterIndex,  # columns of scores, at most so many
    "_loads": PlacementPlanner,  # of the placements planned last
    "_records": Fleet,  # looked at where records are tested
}
"""What may grow up to a bound of its own, or has its own test, by attribute."""


def parts(thing: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of an object, whether it has a dictionary or slots."""
    names = [name for each in type(thing).__mro__ for name in getattr(each, "__slots__", ())]
    yield from ((name, getattr(thing, name, None)) for name in names)
    yield from getattr(thing, "__dict__", {}).items()


def sizes(thing: Any, path: str, seen: set[int], found: dict[str, int]) -> dict[str, int]:
    """How long every container is that can be reached, by the way to it."""
    if id(thing) in seen or isinstance(thing, _LEAVES):
        return found
    seen.add(id(thing))
    if isinstance(thing, Mapping | Set | list | tuple | deque):
        found[path] = found.get(path, 0) + len(thing)
        inner = thing.values() if isinstance(thing, Mapping) else thing
        for each in list(inner):
            sizes(each, f"{path}[]", seen, found)
    elif type(thing).__module__.startswith("rollout."):
        for name, each in parts(thing):
            if not isinstance(thing, BOUNDED.get(name, ())):
                sizes(each, f"{path}.{name}", seen, found)
    return found


_LEAVES = (str, bytes, int, float, Enum, type, FunctionType, MethodType, ModuleType, type(None))


def around(world: World, number: int) -> None:
    """Workloads and a placement of a namespace come, are rolled out, changed, and go."""
    space = f"tenant-{number}"
    world.hub.create(Ref(PLACEMENT, f"{space}/p"), make.placement("p", space))
    binding = Ref(CLUSTER_SET_BINDING, f"{space}/global")
    world.hub.create(binding, make.binding(space))
    refs = [Ref(REPLICA_SET, f"{space}/w{n}") for n in range(EACH)]
    for ref, profile in zip(refs, ("strict", "ocm") * (EACH // 2), strict=True):
        notes = {names.SEMANTICS: profile}
        world.hub.create(ref, make.workload(ref.name, space, annotations=notes))
    world.on(60)
    assert len(world.hub.list(MANIFEST_WORK).items) == EACH * 3
    for ref in refs:
        world.hub.patch(ref, {"spec": {"manifestWorkTemplate": make.template("2")}})
    world.on(60)
    for ref in (*refs, Ref(PLACEMENT, f"{space}/p")):
        world.hub.delete(ref)
    world.on(30)
    for kind in (ROLLOUT_RECORD, ROLLOUT_REVISION, PLACEMENT_DECISION):  # as the garbage collector
        for obj in world.hub.list(kind, space).items:
            world.hub.delete(ref_of(kind, obj))
    world.hub.delete(binding)
    world.on(30)
    assert world.hub.list(MANIFEST_WORK).items == ()


def kept(process: Process) -> dict[str, int]:
    found = sizes(process.controller, "controller", set(), {})
    return {**found, "metrics": len(process.parts.metrics.text().splitlines())}


def test_what_a_controller_keeps_does_not_grow_with_workloads_that_are_gone(
    tmp_path: Path,
) -> None:
    """The decision log and traces are on, and workloads of both profiles come and go."""
    world, spans = World(make.fleet(3)[:-1]), list[FinishedSpan]()
    process, log = world.start("p0"), DecisionLog(tmp_path / "log")
    fleet = process.controller.engine.fleet
    fleet.witness = Witnesses(log, SpanRecorder(lambda ref: uid_of(fleet, ref), spans.append))
    world.on(20)
    taken = []
    for number in range(ROUNDS):
        around(world, number)
        world.on(900)
        taken.append(kept(process))
    log.close()

    grown = {
        path: [sizes.get(path, 0) for sizes in taken]
        for path in taken[-1]
        if taken[0].get(path, 0) < taken[1].get(path, 0) < taken[-1][path]
    }
    assert grown == {}
    assert len(taken[-1]) > 50  # it has looked at something
    assert any(".witness._each" in path for path in taken[-1])
    assert {line.what for _, line in read_log(log.path)} == {"snapshot", "step", "ocm"}
    assert len({span.trace for span in spans}) == EACH // 2 * 2 * ROUNDS  # two revisions of each


def test_a_run_keeps_the_notes_of_workloads_that_are_there_and_not_of_those_that_are_gone() -> None:
    *fleet, workload = documents(1)
    simulation = Simulation(fleet)
    taken = []
    for number in range(6):
        names = [f"w{number}-{n}" for n in range(40)]
        for name in names:
            simulation.add({**workload, "metadata": {"name": name, "namespace": "default"}})
        account = simulation.run()
        assert all(found.notes for found in account.workloads)
        for name in names:
            simulation.hub.delete(Ref(REPLICA_SET, f"default/{name}"))
        simulation.run()
        taken.append(sizes(simulation, "simulation", set(), {}))

    assert max(each["simulation._run._notes"] for each in taken) < 3 * 40 + NOTES_KEPT
