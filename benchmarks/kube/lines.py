"""What is measured, in which order? One fleet on one fresh API server, from nothing to a restart.

Every line leaves behind what the next one begins with. Seconds are the driver's, from the request that
sets things off to the watch event after which everything is as it should be.
"""

import asyncio
import json
import statistics
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.kube import fleet
from benchmarks.kube.audit import rate, status_writes
from benchmarks.kube.client import MERGE_PATCH, Client, Refused, each
from benchmarks.kube.controller import Controller
from benchmarks.kube.field import Field
from benchmarks.kube.probe import REST_SECONDS, Probe
from benchmarks.kube.reference import reference
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
_WORK_CREATES = ("create", MANIFEST_WORK.plural)


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
    _floors: dict[str, float] = field(default_factory=dict)  # line -> seconds of the floor

    async def run(self) -> AsyncIterator[Figure]:
        """All lines that are wanted, in their order."""
        await asyncio.wait_for(self._settle_down(), self.patience)
        if "floor" in self.wanted:
            async for figure in self._floor():
                yield figure
        starts = Starts(self)
        takers: dict[str, Callable[[], AsyncIterator[Figure]]] = {
            "works": self._works,
            "rolled": self._rolled,
            "progressive": self._progressive,
            "placements": self._placements,
            "idle": self._idle,
            "restart": starts.restart,
            "halfway": starts.halfway,
            "tenants": self._tenants,
            "many": starts.many,
        }
        load = ""  # whose peaks are to be told
        for line, take in takers.items():
            if line not in self.wanted and _PART_OF.get(line) not in self.wanted:
                continue
            await self._run_controller()
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

    async def _run_controller(self) -> None:
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

    async def _bare(
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

    async def _remove_bare(self, name: str) -> None:
        async def remove(cluster: str) -> None:
            await self.client.send("DELETE", path_of(MANIFEST_WORK, cluster, name))

        await each(fleet.cluster_names(self.clusters), remove)

    async def _floor(self) -> AsyncIterator[Figure]:
        """What no controller can be faster than: works that a bare loop writes and agents report."""
        alone = await self._bare(fleet.BARE, "1", at_once=1)
        await self._remove_bare(fleet.BARE)
        yield self.figure("floor.one-by-one", self.clusters / alone["seconds"], "/s")
        self.seen.let_agents(True)
        for line, version in (("create", "1"), ("change", "2")):
            before = self.probe.all_cpu()
            bare = await self._bare(fleet.FLOOR, version)
            ended = await self.seen.until(
                f"version {version} is reported",
                partial(self.seen.is_reported, version, self.clusters),
                self.patience,
            )
            seconds, cpu = ended - bare["began"], self.probe.all_cpu() - before + bare["cpu"]
            self.say(f"floor of {line}: {seconds:.2f} s, {cpu:.2f} s CPU of all")
            self._floors[line] = seconds
            yield self.figure(f"floor.{line}.seconds", seconds, "s")
            yield self.figure(f"floor.{line}.all-cpu", cpu, "s")
        await self._remove_bare(fleet.FLOOR)
        await self.seen.until("the floor's works are gone", lambda: not self.seen.works, 60.0)

    async def _bare_loop(self, *more: str) -> tuple[float, float, float]:
        """The creates of a workload without a controller; ``more`` words for the loop.

        Returns: creates a second, CPU seconds of the loop, and of all.
        """
        self.controller.stop()
        self.probe.count()
        before = self.probe.all_cpu()
        bare = await self._bare(fleet.BARE, "1", *more)
        reached = rate(self.probe.audit.read(), *_WORK_CREATES)
        all_cpu = self.probe.all_cpu() - before + bare["cpu"]
        self.say(f"{' '.join(('bare loop', *more))}: {reached:.0f}/s, {bare['cpu']:.2f} s CPU")
        await self._remove_bare(fleet.BARE)
        return reached, bare["cpu"], all_cpu

    # -- works ---------------------------------------------------------------------------------

    async def _works(self) -> AsyncIterator[Figure]:
        """The bare loops, then one workload, All, agents silent; then the agents report; repeatedly."""
        taken: dict[str, list[float]] = {line: [] for line in _WORKS}
        for _ in range(self.repeat):
            bare, bare_cpu, bare_all = await self._bare_loop()
            watching, _, watching_all = await self._bare_loop("watching")
            await self._run_controller()
            self.seen.let_agents(False)
            works = await self.probe.take(
                "works",
                lambda: self.apply(fleet.EVERYWHERE, "1"),
                lambda: self.seen.until("all works", self._has_all_works, self.patience),
            )
            reached = rate(works.requests, *_WORK_CREATES)
            self.say(f"works: {works.seconds:.2f} s, {reached:.0f}/s, {works.cpu:.2f} s CPU")
            status = await self.probe.take("status", self._let_agents, lambda: self.rolled_out("1"))
            self.say(f"status: {status.seconds:.2f} s, {status.cpu:.2f} s CPU")
            await self._remove_workload()
            values = (
                *(bare, bare_cpu, bare_all, watching / bare, bare_all / watching_all),
                *(reached, reached / bare, bare_all / works.all_cpu, reached / watching),
                *(works.seconds, works.cpu, len(works.requests)),
                *(status.seconds, status.cpu, len(status.requests)),
            )
            for line, value in zip(_WORKS, values, strict=True):
                taken[line].append(value)
        for line, unit in _WORKS.items():
            yield self.figure(line, statistics.median(taken[line]), unit)

    async def _let_agents(self) -> None:
        self.seen.let_agents(True)

    def _has_all_works(self) -> bool:
        return self.seen.versions["1"] == self.clusters

    async def apply(self, strategy: Obj, version: str) -> None:
        body = fleet.workload(version, strategy)
        await self.client.send("POST", path_of(REPLICA_SET, fleet.NAMESPACE), body)

    async def rolled_out(self, version: str) -> float:
        return await self.seen.until(
            f"version {version} is rolled out",
            lambda: self.seen.is_rolled_out(version, self.clusters),
            self.patience,
        )

    async def _remove_workload(self) -> None:
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
        async for figure in self._measured("rolled", apply, lambda: self.rolled_out("1")):
            yield figure
        await self._remove_workload()

    async def _progressive(self) -> AsyncIterator[Figure]:
        """A tenth at a time; then another template, the same way. The workload stays."""
        self.seen.let_agents(True)
        apply = lambda: self.apply(fleet.TENTHS, "1")  # noqa: E731  as above
        async for figure in self._measured("progressive", apply, lambda: self.rolled_out("1")):
            yield figure
        if "change" in self.wanted:
            done = lambda: self.rolled_out("2")  # noqa: E731  as above
            async for figure in self._measured("change", self._change, done):
                yield figure

    async def _change(self) -> None:
        await self.patch({"manifestWorkTemplate": fleet.template("2")})

    async def patch(self, spec: Obj) -> None:
        path = path_of(REPLICA_SET, fleet.NAMESPACE, fleet.WORKLOAD)
        await self.client.send("PATCH", path, {"spec": spec}, MERGE_PATCH)

    async def _measured(
        self, line: str, act: Callable[[], Awaitable[None]], done: Callable[[], Awaitable[float]]
    ) -> AsyncIterator[Figure]:
        taken = await self.probe.take(line, act, done)
        most = status_writes(taken.requests)
        self.say(
            f"{line}: {taken.seconds:.2f} s, {taken.cpu:.2f} s CPU, at most {most} status writes/s"
        )
        yield self.figure(f"{line}.seconds", taken.seconds, "s")
        floor = self._floors.get(_FLOOR_OF.get(line, ""))
        if floor is not None:
            yield self.figure(f"{line}.of-floor", taken.seconds / floor, "")
        yield self.figure(f"{line}.cpu", taken.cpu, "s")
        yield self.figure(f"{line}.all-cpu", taken.all_cpu, "s")
        yield self.figure(f"{line}.requests", len(taken.requests), "")

    # -- placements ----------------------------------------------------------------------------

    async def _placements(self) -> AsyncIterator[Figure]:
        """A hundred that select everything; then every tenth cluster leaves them."""

        async def create() -> None:
            await each(_placement_names(), lambda name: self.place(name, sided=True))

        async for figure in self._measured(
            "placements", create, lambda: self._all_decided(self.clusters)
        ):
            yield figure
        if "relabel" in self.wanted:
            leaving = fleet.cluster_names(self.clusters)[::10]
            left = self.clusters - len(leaving)

            async def relabel() -> None:
                await each(leaving, self._leave)

            async for figure in self._measured("relabel", relabel, lambda: self._all_decided(left)):
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
        return Tenants(self.client, self.seen, self.patience, self.say)


_WORKS = {
    "bare.creates": "/s", "bare.cpu": "s", "bare.all-cpu": "s",
    "watching.of-bare": "", "watching.of-bare-cpu": "",
    "works.creates": "/s", "works.of-bare": "", "works.of-bare-cpu": "", "works.of-watching": "",
    "works.seconds": "s", "works.cpu": "s", "works.requests": "",
    "status.seconds": "s", "status.cpu": "s", "status.requests": "",
}  # fmt: skip
"""Line -> unit, as they are taken together."""
_LOADS = ("tenants", "many")
"""Lines with another load than those before: their peaks are theirs."""
_FLOOR_OF = {"progressive": "create", "change": "change"}
"""What of the floor a line does besides."""
_PART_OF = {"works": "status", "progressive": "change", "placements": "relabel"}
"""Lines that are taken with another one: where only they are wanted, so is that."""


def _placement_names() -> Iterator[str]:
    return (f"p{number:03d}" for number in range(PLACEMENTS))
