"""What is measured, in which order? One fleet on one fresh API server, from nothing to a restart.

Every line leaves behind what the next one begins with. Seconds are the driver's, from the request that
sets things off to the watch event after which everything is as it should be.
"""

import asyncio
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.kube import fleet
from benchmarks.kube.audit import Audit, Request, counted, rate, status_writes
from benchmarks.kube.client import MERGE_PATCH, Client, Refused, each
from benchmarks.kube.controller import Controller
from benchmarks.kube.field import Field
from benchmarks.kube.reference import reference
from rollout.hub.kube_objects import path_of
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    CONFIG_MAP,
    CONTROLLER_REVISION,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    Obj,
)

LINES = ("works", "status", "rolled", "progressive", "change", "placements", "relabel", "idle",
         "restart")  # fmt: skip
PLACEMENTS = 100
BARE_AT_ONCE = 64
"""As many as the engine has in flight at most."""
IDLE_SECONDS = 30.0
REST_SECONDS = 35.0
"""Longer than scores of decisions are held back (30 s, as OCM has it)."""
_WORK_CREATES = ("create", MANIFEST_WORK.plural)


@dataclass
class Bench:
    """One size on one server. `run` yields figures as they are taken."""

    clusters: int
    wanted: frozenset[str]
    client: Client
    seen: Field
    controller: Controller
    audit: Audit
    kubeconfig: Path  # the controller's
    repeat: int = 3
    patience: float = 600.0
    idle_seconds: float = IDLE_SECONDS
    say: Callable[[str], None] = lambda _: None
    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    _most: int = 0  # status writes of one object in one second
    _probes: int = 0

    async def run(self) -> AsyncIterator[Figure]:
        """All lines that are wanted, in their order."""
        await self._settle_down()
        takers: dict[str, Callable[[], AsyncIterator[Figure]]] = {
            "works": self._works,
            "rolled": self._rolled,
            "progressive": self._progressive,
            "placements": self._placements,
            "idle": self._idle,
            "restart": self._restart,
        }
        for line, take in takers.items():
            if line in self.wanted or _PART_OF.get(line) in self.wanted:
                await self._run_controller()
                async for figure in take():
                    yield figure
        self.controller.stop()
        self._count()
        yield self._figure("memory", self.controller.peak_mb, "MB")
        yield self._figure("status-writes", self._most, "/s")

    def _figure(self, line: str, value: float, unit: str) -> Figure:
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
        await self._place(probe)
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
        await self._place(fleet.ALL)

    async def _place(self, name: str, *, sided: bool = False) -> None:
        body = fleet.placement(name, sided=sided)
        await self.client.send("POST", path_of(PLACEMENT, fleet.NAMESPACE), body)

    async def _bare_loop(self) -> tuple[float, float]:
        """The same creates without a controller. Returns: creates a second, and CPU seconds."""
        self.controller.stop()
        self._count()
        run = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks.kube.bare", str(self.kubeconfig)),
            *(str(self.clusters), str(BARE_AT_ONCE)),
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await run.communicate()
        reached, cpu = rate(self.audit.read(), *_WORK_CREATES), json.loads(said)["cpu"]
        self.say(f"bare loop: {reached:.0f}/s, {cpu:.2f} s CPU")

        async def remove(name: str) -> None:
            await self.client.send("DELETE", path_of(MANIFEST_WORK, name, fleet.BARE))

        await each(fleet.cluster_names(self.clusters), remove)
        return reached, cpu

    # -- works ---------------------------------------------------------------------------------

    async def _works(self) -> AsyncIterator[Figure]:
        """The bare loop, then one workload, All, agents silent; then the agents report; repeatedly."""
        taken: dict[str, list[float]] = {line: [] for line in _WORKS}
        for _ in range(self.repeat):
            bare, bare_cpu = await self._bare_loop()
            await self._run_controller()
            self.seen.let_agents(False)
            began, cpu = await self._begin()
            await self._apply(fleet.EVERYWHERE, "1")
            created = await self.seen.until("all works", self._has_all_works, self.patience) - began
            await self._quiet()
            reached = rate(self._count(), *_WORK_CREATES)
            cpu = self.controller.look() - cpu
            self.say(f"works: {created:.2f} s, {reached:.0f}/s, {cpu:.2f} s CPU")
            began, report_cpu = await self._begin()
            self.seen.let_agents(True)
            reported = await self._rolled_out("1") - began
            await self._quiet()
            report_cpu = self.controller.look() - report_cpu
            self.say(f"status: {reported:.2f} s, {report_cpu:.2f} s CPU")
            await self._remove_workload()
            values = (bare, bare_cpu, reached, reached / bare, created, cpu, reported, report_cpu)
            for line, value in zip(_WORKS, values, strict=True):
                taken[line].append(value)
        for line, unit in _WORKS.items():
            yield self._figure(line, statistics.median(taken[line]), unit)

    async def _begin(self) -> tuple[float, float]:
        """Wait until all is quiet. Returns: the instant, and the controller's CPU seconds so far."""
        await self._quiet()
        self._count()
        return time.perf_counter(), self.controller.look()

    def _has_all_works(self) -> bool:
        return self.seen.versions["1"] == self.clusters

    async def _apply(self, strategy: Obj, version: str) -> None:
        body = fleet.workload(version, strategy)
        await self.client.send("POST", path_of(REPLICA_SET, fleet.NAMESPACE), body)

    async def _rolled_out(self, version: str) -> float:
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
        await self._quiet()

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
        for kind in (CONFIG_MAP, CONTROLLER_REVISION):
            listed = json.loads(await self.client.send("GET", path_of(kind, fleet.NAMESPACE)))
            for meta in (obj["metadata"] for obj in listed["items"]):
                if meta.get("ownerReferences"):
                    path = path_of(kind, fleet.NAMESPACE, meta["name"])
                    await self.client.send("DELETE", path)

    # -- rollouts ------------------------------------------------------------------------------

    async def _rolled(self) -> AsyncIterator[Figure]:
        async for figure in self._timed("rolled", lambda: self._apply(fleet.EVERYWHERE, "1"), "1"):
            yield figure
        await self._remove_workload()

    async def _progressive(self) -> AsyncIterator[Figure]:
        """A tenth at a time; then another template, the same way. The workload stays."""
        apply = lambda: self._apply(fleet.TENTHS, "1")  # noqa: E731  named for what it does
        async for figure in self._timed("progressive", apply, "1"):
            yield figure
        if "change" in self.wanted:
            async for figure in self._timed("change", self._change, "2"):
                yield figure

    async def _change(self) -> None:
        path = path_of(REPLICA_SET, fleet.NAMESPACE, fleet.WORKLOAD)
        patch = {"spec": {"manifestWorkTemplate": fleet.template("2")}}
        await self.client.send("PATCH", path, patch, MERGE_PATCH)

    async def _timed(
        self, line: str, act: Callable[[], Awaitable[None]], version: str
    ) -> AsyncIterator[Figure]:
        self.seen.let_agents(True)
        async for figure in self._measured(line, act, lambda: self._rolled_out(version)):
            yield figure

    async def _measured(
        self, line: str, act: Callable[[], Awaitable[None]], done: Callable[[], Awaitable[float]]
    ) -> AsyncIterator[Figure]:
        began, before = await self._begin()
        await act()
        seconds = await done() - began
        await self._quiet()
        cpu = self.controller.look() - before
        most = status_writes(self._count())
        self.say(f"{line}: {seconds:.2f} s, {cpu:.2f} s CPU, at most {most} status writes/s")
        yield self._figure(f"{line}.seconds", seconds, "s")
        yield self._figure(f"{line}.cpu", cpu, "s")

    # -- placements ----------------------------------------------------------------------------

    async def _placements(self) -> AsyncIterator[Figure]:
        """A hundred that select everything; then every tenth cluster leaves them."""

        async def create() -> None:
            await each(_placement_names(), lambda name: self._place(name, sided=True))

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

    # -- at rest, and again --------------------------------------------------------------------

    async def _idle(self) -> AsyncIterator[Figure]:
        await self._at_rest()
        self.say(f"idle for {self.idle_seconds:.0f} s")
        before = self.controller.look()
        await asyncio.sleep(self.idle_seconds)
        used = self.controller.look() - before
        yield self._figure("idle.cpu", used / self.idle_seconds * 100, "%")

    async def _restart(self) -> AsyncIterator[Figure]:
        """A placement is made while nobody is there to decide it."""
        self.controller.stop()
        self._count()
        await self._place("late")
        wall, began = time.time(), time.perf_counter()
        self.controller.start()
        decided = await self.seen.until(
            "the late placement is decided",
            lambda: self.seen.is_decided("late", self.clusters),
            self.patience,
        )
        await self._quiet()
        cpu = self.controller.look()
        yield self._figure("restart.caches", _caches(self._count()) - wall, "s")
        yield self._figure("restart.decided", decided - began, "s")
        yield self._figure("restart.cpu", cpu, "s")

    # -- looking -------------------------------------------------------------------------------

    async def _quiet(self, seconds: float = 30.0) -> None:
        """Wait until the controller does next to nothing, at most for so long."""
        end = time.perf_counter() + seconds
        used = self.controller.look()
        while time.perf_counter() < end:
            await asyncio.sleep(1.0)
            before, used = used, self.controller.look()
            if used - before <= 0.03:
                return

    async def _at_rest(self) -> None:
        """Wait until nothing was decided for so long that nothing put off can be left."""
        self.say(f"waiting for {REST_SECONDS:.0f} s without a decision")
        self._count()
        last, end = time.perf_counter(), time.perf_counter() + self.patience
        while last + REST_SECONDS > time.perf_counter() < end:
            await asyncio.sleep(1.0)
            if any(request.decides for request in self._count()):
                last = time.perf_counter()

    def _count(self) -> list[Request]:
        """What the controller asked for since the last time."""
        found = self.audit.read()
        self.requests.update(counted(found))
        self._most = max(self._most, status_writes(found))
        return found


_WORKS = {
    "bare.creates": "/s", "bare.cpu": "s", "works.creates": "/s", "works.of-bare": "",
    "works.seconds": "s", "works.cpu": "s", "status.seconds": "s", "status.cpu": "s",
}  # fmt: skip
"""Line -> unit, as they are taken together."""
_PART_OF = {"works": "status", "progressive": "change", "placements": "relabel"}
"""Lines that are taken with another one: where only they are wanted, so is that."""


def _placement_names() -> Iterator[str]:
    return (f"p{number:03d}" for number in range(PLACEMENTS))


def _caches(requests: list[Request]) -> float:
    """When the last list before the first decision was answered."""
    first = min((r.began for r in requests if r.decides), default=float("inf"))
    return max((r.ended for r in requests if r.verb == "list" and r.ended <= first), default=first)
