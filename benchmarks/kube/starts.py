"""What does a start of the controller cost? At rest, halfway through a rollout, with ten works a cluster.

Every start is measured from the process's own: imports, the lease and all lists are part of it.
"""

import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import msgspec

from benchmarks.figures import Figure
from benchmarks.kube import fleet
from benchmarks.kube.audit import caches
from benchmarks.kube.client import each
from rollout.hub.kube_calls import PAGE
from rollout.hub.kube_objects import path_of, query_of
from rollout.model.kinds import (
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_RECORD,
    Kind,
)

if TYPE_CHECKING:
    from benchmarks.kube.lines import Bench

WORKLOADS = 10
"""Of which each cluster has a work in the line `many`."""
_MANY = "many"
_LARGE = (MANAGED_CLUSTER, MANIFEST_WORK, PLACEMENT_DECISION, ROLLOUT_RECORD)
"""The kinds that a start reads most of."""


class _Listed(msgspec.Struct):
    """What a page of a list says of itself; its objects are passed over."""

    metadata: dict[str, Any]


class Starts:
    """The lines that begin with a controller that is not there."""

    def __init__(self, bench: "Bench") -> None:
        self._bench = bench

    async def restart(self, prefix: str = "") -> AsyncIterator[Figure]:
        """The bare lists; then a placement is made while nobody is there to decide it."""
        bench = self._bench
        bench.controller.stop()
        yield bench.figure(f"{prefix}restart.lists", await self._list_bare(), "s")
        bench.probe.count()
        late = f"{prefix}late".replace(".", "-")
        await bench.place(late)
        wall, began = time.time(), time.perf_counter()
        bench.controller.start()
        decided = await bench.seen.until(
            "the late placement is decided",
            lambda: bench.seen.is_decided(late, bench.clusters),
            bench.patience,
        )
        await bench.probe.quiet()
        cpu = bench.controller.look()
        asked = bench.probe.count(f"{prefix}restart")
        yield bench.figure(f"{prefix}restart.caches", caches(asked) - wall, "s")
        yield bench.figure(f"{prefix}restart.decided", decided - began, "s")
        yield bench.figure(f"{prefix}restart.cpu", cpu, "s")

    async def _list_bare(self) -> float:
        """How long do the large lists take a client that keeps nothing of them? Two kinds at once."""
        began = time.perf_counter()
        await each(_LARGE, self._read_through, at_once=2)
        return time.perf_counter() - began

    async def _read_through(self, kind: Kind) -> None:
        token = ""
        while True:
            query = query_of(limit=PAGE, **{"continue": token})
            body = await self._bench.client.send("GET", path_of(kind) + query)
            token = msgspec.json.decode(body, type=_Listed).metadata.get("continue", "")
            if not token:
                return

    async def halfway(self) -> AsyncIterator[Figure]:
        """Half of the clusters are in flight when the controller dies, and get well before the next one."""
        bench, seen = self._bench, self._bench.seen
        seen.let_agents(False)
        if seen.works:
            await bench.patch(fleet.workload("3", fleet.HALVES)["spec"])
        else:
            await bench.apply(fleet.HALVES, "3")
        half = bench.clusters // 2
        await seen.until("half", lambda: seen.versions["3"] == half, bench.patience)
        bench.controller.stop()
        seen.let_agents(True)
        await seen.until("half well", lambda: seen.reports["3"] == half, bench.patience)
        await bench.place("halfway")
        began = time.perf_counter()
        bench.controller.start()
        decided = await seen.until(
            "the placement is decided",
            lambda: seen.is_decided("halfway", bench.clusters),
            bench.patience,
        )
        yield bench.figure("halfway.decided", decided - began, "s")
        touched = await seen.until(
            "another cluster is touched", lambda: seen.versions["3"] > half, bench.patience
        )
        yield bench.figure("halfway.touched", touched - began, "s")
        await bench.rolled_out("3")
        yield bench.figure("halfway.seconds", time.perf_counter() - began, "s")

    async def many(self) -> AsyncIterator[Figure]:
        """A small workload reacts, before and after ten others put a work each on every cluster."""
        bench, seen = self._bench, self._bench.seen
        tenants = bench.tenants()
        await tenants.settle()
        empty = await tenants.react("without other works")
        works = WORKLOADS * bench.clusters
        bench.say(f"{works} works are written and reported")
        began = time.perf_counter()
        await each(map(str, range(WORKLOADS)), self._apply_one_of_many)
        await seen.until("all works", lambda: seen.reports[_MANY] == works, 10 * bench.patience)
        yield bench.figure("many.works", works, "")
        yield bench.figure("many.seconds", time.perf_counter() - began, "s")
        await bench.probe.rest(bench.patience)
        full = await tenants.react(f"beside {works} works")
        for line, taken in (("empty", empty), ("reaction", full)):
            yield bench.figure(f"many.{line}.p50", taken.p50, "s")
            yield bench.figure(f"many.{line}.p99", taken.p99, "s")
        yield bench.figure("many.reaction.of-empty", full.p99 / empty.p99, "")
        yield bench.figure("many.idle.cpu", await bench.at_rest(), "%")
        async for figure in self.restart("many."):
            yield figure

    async def _apply_one_of_many(self, number: str) -> None:
        body = fleet.workload(_MANY, fleet.EVERYWHERE)
        body["metadata"]["name"] = f"{_MANY}-{number}"
        await self._bench.client.send("POST", path_of(REPLICA_SET, fleet.NAMESPACE), body)
