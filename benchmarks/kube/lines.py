"""What is measured, in which order? One fleet on one fresh API server, from nothing to a restart.

Every line leaves behind what the next one begins with. Seconds are the driver's, from the request that
sets things off to the watch event after which everything is as it should be.
"""

import asyncio
import json
import statistics
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.kube import fleet
from benchmarks.kube.audit import status_writes
from benchmarks.kube.client import MERGE_PATCH, Client, Refused, each
from benchmarks.kube.controller import Controller
from benchmarks.kube.creates import Creates
from benchmarks.kube.field import Field
from benchmarks.kube.probe import REST_SECONDS, Probe, Taken
from benchmarks.kube.reference import reference
from benchmarks.kube.rollouts import Rollouts
from benchmarks.kube.starts import Starts
from benchmarks.kube.tenants import Tenants
from rollout.hub.kube_objects import path_of
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Obj,
)

LINES = ("floor", "works", "status", "rolled", "progressive", "change", "placements", "relabel", "idle",
         "restart", "halfway", "tenants", "many")  # fmt: skip
PLACEMENTS = 100
BARE_AT_ONCE = 64
"""As many as the engine has in flight at most."""
IDLE_SECONDS = 30.0
_FIRST_EDITION = (
    f"/api/v1/namespaces/{fleet.NAMESPACE}/configmaps",
    f"/apis/apps/v1/namespaces/{fleet.NAMESPACE}/controllerrevisions",
)
"""Where an older checkout keeps its records and revisions."""


@dataclass(kw_only=True)
class Bench:
    """One size on one server. `run` yields figures as they are taken."""

    clusters: int
    wanted: frozenset[str]
    client: Client
    seen: Field
    controller: Controller
    probe: Probe
    kubeconfig: Path  # the controller's
    repeat: int = 3
    patience: float = 600.0
    idle_seconds: float = IDLE_SECONDS
    say: Callable[[str], None] = lambda _: None
    _probes: int = 0

    async def run(self) -> AsyncIterator[Figure]:
        """All lines that are wanted, in their order."""
        await asyncio.wait_for(self._settle_down(), self.patience)
        starts = Starts(self)
        takers: dict[str, Callable[[], AsyncIterator[Figure]]] = {
            "works": Creates(self).run,
            "rolled": self._rolled,
            "progressive": Rollouts(self).run,
            "placements": self._placements,
            "idle": self._idle,
            "restart": starts.restart,
            "halfway": starts.halfway,
            "tenants": self._tenants,
            "many": starts.many,
        }
        load = ""  # whose peaks are to be told
        for line, take in takers.items():
            if line not in self.wanted and not self.wanted.intersection(_PARTS.get(line, ())):
                continue
            await self.run_controller()
            if line in _LOADS:
                for peak in self._peaks(load) if self.probe.requests else ():
                    yield peak
                load = f"{line}."
            async for figure in take():
                yield figure
        self.controller.stop()
        for peak in self._peaks(load):
            yield peak

    def _peaks(self, prefix: str = "") -> Iterator[Figure]:
        """The most memory, and the most status writes of one name in one second, up to now."""
        self.probe.count()
        yield self.figure(f"{prefix}memory", self.controller.peak_mb, "MB")
        yield self.figure(f"{prefix}status-writes", self.probe.most_status_writes, "/s")

    def figure(self, line: str, value: float, unit: str) -> Figure:
        known = reference(line, self.clusters)
        name = f"{self.clusters}.{line}"
        if known is None:
            return Figure(name, value, unit)
        return Figure(name, value, unit, known.target, known.ocm, known.rising)

    async def run_controller(self) -> None:
        """Start it, where it is not running, and wait until it works: it decides a placement."""
        if self.controller.runs:
            return
        self.controller.start()
        self._probes += 1
        probe = f"probe-{self._probes}"
        await self.place(probe)
        for name in (fleet.ALL, probe):
            await self.seen.until(
                f"placement {name} is decided",
                partial(self.seen.is_decided, name, self.clusters),
                self.patience,
            )
        await self._displace(probe)

    async def _displace(self, name: str) -> None:
        """Remove a placement, and what it owned."""
        await self.client.send("DELETE", path_of(PLACEMENT, fleet.NAMESPACE, name))
        for page in tuple(self.seen.decided.get(name, ())):
            path = path_of(PLACEMENT_DECISION, fleet.NAMESPACE, page)
            with suppress(Refused):  # it is gone
                await self.client.send("DELETE", path)

    # -- before --------------------------------------------------------------------------------

    async def _settle_down(self) -> None:
        """Clusters, their namespaces, the set and a placement of all of them."""
        self.say(f"{self.clusters} clusters join")
        send = self.client.send

        async def join(name: str) -> None:
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            await send("POST", "/api/v1/namespaces", space)
            await send("POST", path_of(MANAGED_CLUSTER), fleet.cluster(name))
            status = path_of(MANAGED_CLUSTER, None, name, "status")
            await send("PATCH", status, fleet.cluster_status(), MERGE_PATCH)

        await each(fleet.cluster_names(self.clusters), join)
        await send("POST", path_of(CLUSTER_SET), fleet.cluster_set())
        await send("POST", path_of(CLUSTER_SET_BINDING, fleet.NAMESPACE), fleet.binding())
        await self.place(fleet.ALL)

    async def place(self, name: str, *, sided: bool = False) -> None:
        body = fleet.placement(name, sided=sided)
        await self.client.send("POST", path_of(PLACEMENT, fleet.NAMESPACE), body)

    # -- without a controller ------------------------------------------------------------------

    async def bare(
        self, name: str, version: str, *more: str, at_once: int = BARE_AT_ONCE
    ) -> dict[str, float]:
        """Write these works in a process that does nothing else. Returns: what it says at its end."""
        run = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks.kube.bare", str(self.kubeconfig), name),
            *(str(self.clusters), str(at_once), version, *more),
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await asyncio.wait_for(run.communicate(), self.patience)
        found: dict[str, float] = json.loads(said)
        return found

    async def remove_bare(self, name: str) -> None:
        async def remove(cluster: str) -> None:
            await self.client.send("DELETE", path_of(MANIFEST_WORK, cluster, name))

        await each(fleet.cluster_names(self.clusters), remove)

    # -- one workload --------------------------------------------------------------------------

    async def apply(self, strategy: Obj, version: str) -> None:
        body = fleet.workload(version, strategy)
        await self.client.send("POST", path_of(REPLICA_SET, fleet.NAMESPACE), body)

    async def rolled_out(self, version: str) -> float:
        return await self.seen.until(
            f"version {version} is rolled out",
            lambda: self.seen.is_rolled_out(version, self.clusters),
            self.patience,
        )

    async def remove_workload(self) -> None:
        path = path_of(REPLICA_SET, fleet.NAMESPACE, fleet.WORKLOAD)
        await self.client.send("DELETE", path)
        await self.seen.until("the works are gone", lambda: not self.seen.works, self.patience)
        await self._gone(path)
        await self.probe.quiet()

    async def _gone(self, path: str) -> None:
        """The workload itself goes after its works, and what it owned after that."""
        for _ in range(int(self.patience * 10)):
            try:
                await self.client.send("GET", path)
            except Refused:
                await self._collect_garbage()
                return
            await asyncio.sleep(0.1)
        raise Refused(f"{path} stays")

    async def _collect_garbage(self) -> None:
        """As kube-controller-manager would, which is not there: the workload owned all of these."""
        for path in (
            *(path_of(kind, fleet.NAMESPACE) for kind in (ROLLOUT_RECORD, ROLLOUT_REVISION)),
            *_FIRST_EDITION,
        ):
            listed = json.loads(await self.client.send("GET", path))
            for meta in (obj["metadata"] for obj in listed["items"]):
                if meta.get("ownerReferences"):
                    await self.client.send("DELETE", f"{path}/{meta['name']}")

    # -- rollouts ------------------------------------------------------------------------------

    async def _rolled(self) -> AsyncIterator[Figure]:
        self.seen.let_agents(True)
        apply = lambda: self.apply(fleet.EVERYWHERE, "1")  # noqa: E731  named for what it does
        async for figure in self.measured("rolled", apply, lambda: self.rolled_out("1")):
            yield figure
        await self.remove_workload()

    async def patch(self, spec: Obj) -> None:
        path = path_of(REPLICA_SET, fleet.NAMESPACE, fleet.WORKLOAD)
        await self.client.send("PATCH", path, {"spec": spec}, MERGE_PATCH)

    async def measured(
        self, line: str, act: Callable[[], Awaitable[None]], done: Callable[[], Awaitable[float]]
    ) -> AsyncIterator[Figure]:
        for figure in self.costs(line, [await self.take(line, act, done)]):
            yield figure

    async def take(
        self, line: str, act: Callable[[], Awaitable[None]], done: Callable[[], Awaitable[float]]
    ) -> Taken:
        """What a line costs from ``act`` on, told as it is taken."""
        taken = await self.probe.take(line, act, done)
        most = status_writes(taken.requests)
        self.say(
            f"{line}: {taken.seconds:.2f} s, {taken.cpu:.2f} s CPU, at most {most} status writes/s"
        )
        return taken

    def costs(self, line: str, taken: Sequence[Taken]) -> Iterator[Figure]:
        """Means of what was taken."""
        mean = statistics.fmean
        yield self.figure(f"{line}.seconds", mean(each.seconds for each in taken), "s")
        yield self.figure(f"{line}.cpu", mean(each.cpu for each in taken), "s")
        yield self.figure(f"{line}.all-cpu", mean(each.all_cpu for each in taken), "s")
        others = mean(each.others_cpu for each in taken)
        yield self.figure(f"{line}.of-others-cpu", mean(each.cpu for each in taken) / others, "")
        yield self.figure(f"{line}.requests", mean(len(each.requests) for each in taken), "")

    # -- placements ----------------------------------------------------------------------------

    async def _placements(self) -> AsyncIterator[Figure]:
        """A hundred that select everything; then every tenth cluster leaves them."""

        async def create() -> None:
            await each(_placement_names(), lambda name: self.place(name, sided=True))

        async for figure in self.measured(
            "placements", create, lambda: self._all_decided(self.clusters)
        ):
            yield figure
        if "relabel" in self.wanted:
            leaving = fleet.cluster_names(self.clusters)[::10]
            left = self.clusters - len(leaving)

            async def relabel() -> None:
                await each(leaving, self._leave)

            async for figure in self.measured("relabel", relabel, lambda: self._all_decided(left)):
                yield figure

    async def _leave(self, name: str) -> None:
        patch = {"metadata": {"labels": {fleet.SIDE: fleet.OUT}}}
        await self.client.send("PATCH", path_of(MANAGED_CLUSTER, None, name), patch, MERGE_PATCH)

    async def _all_decided(self, selected: int) -> float:
        return await self.seen.until(
            f"all placements select {selected}",
            lambda: all(self.seen.is_decided(name, selected) for name in _placement_names()),
            self.patience,
        )

    # -- at rest ---------------------------------------------------------------------------------

    async def _idle(self) -> AsyncIterator[Figure]:
        self.say(f"waiting for {REST_SECONDS:.0f} s without a decision")
        await self.probe.rest(self.patience)
        yield self.figure("idle.cpu", await self.at_rest(), "%")
        self.probe.count("idle")

    async def at_rest(self) -> float:
        """Percent of a core that the controller takes while nothing happens."""
        self.say(f"idle for {self.idle_seconds:.0f} s")
        before = self.controller.look()
        await asyncio.sleep(self.idle_seconds)
        return (self.controller.look() - before) / self.idle_seconds * 100

    async def _tenants(self) -> AsyncIterator[Figure]:
        async for line, seconds in self.tenants().run():
            yield self.figure(f"tenants.{line}", seconds, "s")

    def tenants(self) -> Tenants:
        """Namespaces beside that of the other lines."""
        return Tenants(self.client, self.seen, self.probe.count, self.patience, self.say)


_LOADS = ("tenants", "many")
"""Lines with another load than those before: their peaks are theirs."""
_PARTS = {"works": ("status",), "progressive": ("floor", "change"), "placements": ("relabel",)}
"""Lines that are taken with another one: where only they are wanted, so is that."""


def _placement_names() -> Iterator[str]:
    return (f"p{number:03d}" for number in range(PLACEMENTS))
