"""Does anything of ours grow without bound? Promises about growth: R8."""

import json
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

from rollout.clock import VirtualClock
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    PLACEMENT,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Obj,
    Ref,
)
from rollout.sim.local import LocalRun
from rollout.sim.scenario import Scenario
from tests.safety import objects
from tests.safety.hands import Hands
from tests.safety.kinds import EDITORS, SUBJECTS
from tests.safety.setting import Setting, draw_any
from tests.safety.world import T0, History

Blame = Callable[[str, str], None]

PAGE = 2_000  # clusters on a page of a record, at most, as promised
STATUS = 20_000  # bytes of a workload's status
FLEETS = {"replicaset": (600, 2_400), "addon": (100, 400)}


def measure(kind: str, counts: Counter[str], blame: Blame) -> None:
    """R8: two fleets of different sizes, and two lives of different lengths."""
    small, large = (_objects(kind, n) for n in FLEETS[kind])
    counts["R8.fleets_measured"] += 2
    for name in (SUBJECTS[kind].ref.kind.name, PLACEMENT.name):
        if large[name] > STATUS or large[name] > small[name] * 1.5:
            blame("R8", f"a {name} grows from {small[name]} to {large[name]} bytes")
    if large["lines"] > PAGE:
        blame("R8", f"a page of the record has {large['lines']} clusters")
    if large["timers"] > small["timers"] + 2:
        blame("R8", f"timers grow from {small['timers']} to {large['timers']}")
    middle, late = _lives(kind, 14, 28)
    counts["R8.lives_measured"] += 1
    if late["entries"] > middle["entries"] * 1.1 + 50:
        blame("R8", f"what is kept in memory grows from {middle} to {late} with the revisions")
    if late["revisions"] > middle["revisions"]:
        blame("R8", f"ControllerRevisions grow from {middle} to {late}")


def _objects(kind: str, fleet: int) -> dict[str, int]:
    """The largest of our objects after a rollout over a fleet of this size."""
    clock = VirtualClock(T0)
    hub = MemoryHub(clock, history=1_000)
    _fill(hub, kind, fleet)
    run = LocalRun(hub, clock, None, Scenario(), keep=False, gather=timedelta(seconds=20))
    run.run()
    pages = [
        json.loads(o["data"].get("clusters.json", "{}")) for o in hub.list(ROLLOUT_RECORD).items
    ]
    workload = hub.get(SUBJECTS[kind].ref)
    placement = hub.get(Ref(PLACEMENT, "default/p"))
    return {
        SUBJECTS[kind].ref.kind.name: len(json.dumps(workload)),
        PLACEMENT.name: len(json.dumps({**placement, "status": _without_names(placement)})),
        "lines": max(len(page) for page in pages),
        "timers": len(getattr(run.engine.timers, "_due", ())),
    }


def _without_names(placement: Obj) -> Obj:
    """The API lists the names of a group's pages in the status, a hundred clusters to a page."""
    return {k: v for k, v in placement["status"].items() if k != "decisionGroups"}


def _fill(hub: MemoryHub, kind: str, fleet: int) -> None:
    meta = {"name": "global"}
    everyone: Obj = {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}
    hub.create(Ref(CLUSTER_SET, "global"), {"metadata": meta, "spec": everyone})
    hub.create(
        Ref(CLUSTER_SET_BINDING, "default/global"),
        {"metadata": {**meta, "namespace": "default"}, "spec": {"clusterSet": "global"}},
    )
    for number in range(fleet):
        ref = Ref(MANAGED_CLUSTER, f"c{number:05d}")
        hub.create(ref, objects.cluster(ref.name, "rest"))
        hub.patch_status(ref, objects.availability("True", T0))
    hub.create(Ref(PLACEMENT, "default/p"), objects.placement("p", False, "100%"))
    editor = EDITORS[kind](_quiet(draw_any(1, kind)), hub, Random(0), lambda _: None)
    editor.create({"p": {"type": "All"}}, {})


def _lives(kind: str, *rounds: int) -> list[dict[str, int]]:
    """One engine, after so many revisions and changes of the fleet."""
    history = History(_quiet(draw_any(1, kind)))
    history.hands.set_up()
    history.start()
    found: list[dict[str, int]] = []
    for number in range(1, max(rounds) + 1):
        _round(history.hands, number)
        end = history.clock.now() + timedelta(minutes=5)
        history.until(end)
        if number in rounds:
            assert history.engine is not None
            kept = len(history.hub.list(ROLLOUT_REVISION).items)
            found.append({"entries": entries(history.engine), "revisions": kept})
    return found


def _round(hands: Hands, number: int) -> None:
    hands.editor.roll_out(f"n{number}")
    cluster = hands.setting.clusters[number % len(hands.setting.clusters)]
    ref = Ref(MANAGED_CLUSTER, cluster)
    hands.hub.delete(ref)
    hands.hub.create(ref, objects.cluster(cluster, "rest"))
    hands.hub.patch_status(ref, objects.availability("True", T0))


def _quiet(setting: Setting) -> Setting:
    return replace(
        setting,
        clusters=tuple(f"c{n:02d}" for n in range(8)),
        rings={f"c{n:02d}": "rest" for n in range(8)},
        refs=("p",),
        strategies={"p": {"type": "All"}},
        scenario=Scenario(),
        script=(),
        foreign=False,
        faults=replace(setting.faults, conflict=0),
    )


def entries(root: object) -> int:
    """How many entries all containers hold that can be reached, objects of the hub left out."""
    seen: set[int] = set()
    todo: list[object] = [root]
    total = 0
    while todo:
        item = todo.pop()
        if id(item) in seen or isinstance(item, str | bytes | int | float | type | MemoryHub):
            continue
        seen.add(id(item))
        if isinstance(item, dict):
            if "apiVersion" in item or "metadata" in item:
                continue
            total += len(item)
            todo += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set | frozenset | deque):
            total += len(item)
            todo += item
        elif type(item).__module__.startswith("rollout."):
            todo += _attributes(item)
    return total


def _attributes(item: object) -> list[Any]:
    slots = [getattr(kind, "__slots__", ()) for kind in type(item).__mro__]
    names = [name for each in slots for name in ((each,) if isinstance(each, str) else each)]
    found = [getattr(item, name) for name in names if hasattr(item, name)]
    return [*getattr(item, "__dict__", {}).values(), *found]
