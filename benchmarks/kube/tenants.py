"""How soon does one namespace's workload react while another namespace keeps the controller busy?

One sample is an edit of a workload's template and a new Placement, sent together. Its two reactions
are the time until the first work that carries the edit is stored, and until the first decision of that
Placement is stored, both by the audit log of the API server. The driver hears of them later: it watches
the works of all clusters, and a busy server ends that watch again and again.
"""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from math import ceil
from types import MappingProxyType

from benchmarks.kube import fleet
from benchmarks.kube.audit import Request
from benchmarks.kube.client import MERGE_PATCH, Client, Refused, each
from benchmarks.kube.field import Field
from rollout.hub.kube_objects import path_of
from rollout.model.kinds import (
    CLUSTER_SET_BINDING,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
)

QUIET, BUSY, HOSTILE = "quiet-tenant", "busy-tenant", "hostile-tenant"
SAMPLES = 40
REST_SECONDS = 2.0
"""Between samples: longer than news of one workload are gathered."""
REST_AFTER = 30.0
"""What many edits or creations began comes to rest: summaries are written after the last report."""
WORKLOADS, EDITS_A_SECOND, DELETED = 500, 25, 200
PLACEMENTS, EXPRESSIONS = 10, 64
_TEN = "[0,1,2,3,4,5,6,7,8,9]"
HEAVY = f"{_TEN}.all(a, {_TEN}.all(b, {_TEN}.all(c, {_TEN}.all(d, a + b + c + d < 99))))"
"""A CEL expression that is true everywhere, after ten thousand comparisons."""

_ALONE = {QUIET: ["web"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reactions:
    """Half of all reactions took at most so many seconds, and 99 of 100."""

    p50: float
    p99: float


class NotLogged(Exception):
    """The driver heard of a reaction that the audit log does not show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Something that was asked of the controller, and what the driver heard of it.

    Attributes:
        what: for people, such as "an edit".
        began: when it was asked, in seconds since the epoch.
        heard: seconds until the driver heard of the reaction.
        writes: each is a reaction: (resource or resource/subresource, object).
    """

    what: str
    began: float
    heard: float
    writes: frozenset[tuple[str, str]]


def reactions(samples: Sequence[Sample], requests: Sequence[Request]) -> list[float]:
    """Seconds until the first of the writes that answer each sample was stored. Raises: NotLogged."""
    made: defaultdict[tuple[str, str], list[Request]] = defaultdict(list)
    for request in requests:
        if request.verb in ("create", "update", "patch") and request.code < 300:
            made[request.what, request.where].append(request)
    found: list[float] = []
    for sample in samples:
        ends = [r.ended for each in sample.writes for r in made[each] if r.began >= sample.began]
        if not ends:
            raise NotLogged(
                f"{sample.what}: no write of {sorted(sample.writes)} is in the audit log"
            )
        found.append(min(ends) - sample.began)
    return found


@dataclass
class Tenants:
    """Takes the samples, on a fleet that is there and with a controller that runs.

    ``requests``: what the controller asked the server for since it was last called.
    """

    client: Client
    seen: Field
    requests: Callable[[], Sequence[Request]]
    patience: float
    say: Callable[[str], None]
    samples: int = SAMPLES
    workloads: int = WORKLOADS
    _number: int = 0

    async def run(self) -> AsyncIterator[tuple[str, float]]:
        """Pairs of a line (`idle.p50` ...) and its seconds."""
        await self.settle({QUIET: ["web"], BUSY: self._names(), HOSTILE: []})
        loads = {
            "idle": self._nothing,
            "edits": self._edits,
            "deletion": self._deletion,
            "hostile": self._hostile,
        }
        for line, load in loads.items():
            async with load():
                taken = await self.react(line)
            yield f"{line}.p50", taken.p50
            yield f"{line}.p99", taken.p99

    async def settle(self, workloads: Mapping[str, list[str]] = MappingProxyType(_ALONE)) -> None:
        """Namespaces with their workloads, by name and rolled out on three clusters each."""
        self.seen.let_agents(True)
        for space, names in workloads.items():
            named = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
            await self.client.send("POST", "/api/v1/namespaces", named)
            binding = {**fleet.binding(), "metadata": {"name": "global", "namespace": space}}
            await self.client.send("POST", path_of(CLUSTER_SET_BINDING, space), binding)
            if names:
                await self._place(space, "three", numberOfClusters=3)
                await self._decided("three")
                await self._create(space, names)
                self.seen.decided.pop("three", None)
        await asyncio.sleep(REST_AFTER)

    async def _create(self, space: str, names: list[str]) -> None:
        """Workloads on three clusters each; until their works are reported."""
        self._number += 1
        version = f"begun-{self._number}"

        async def create(name: str) -> None:
            body = fleet.workload(version, fleet.EVERYWHERE)
            body["metadata"] = {"name": name, "namespace": space}
            body["spec"]["placementRefs"][0]["name"] = "three"
            await self.client.send("POST", path_of(REPLICA_SET, space), body)

        await each(names, create)
        await self.seen.until(
            f"the works of {space} are reported",
            lambda: self.seen.reports[version] >= 3 * len(names),
            self.patience,
        )

    def _names(self) -> list[str]:
        return [f"w{number:03d}" for number in range(self.workloads)]

    async def _place(self, space: str, name: str, **spec: object) -> None:
        body = fleet.placement(name)
        body["metadata"]["namespace"] = space
        body["spec"].update(spec)
        await self.client.send("POST", path_of(PLACEMENT, space), body)

    async def _decided(self, name: str) -> None:
        await self.seen.until(
            f"placement {name} is decided",
            lambda: any(self.seen.decided.get(name, {}).values()),
            self.patience,
        )

    # -- samples -------------------------------------------------------------------------------

    async def react(self, what: str) -> Reactions:
        """Edits and new Placements of the quiet tenant. ``what``: for the progress that is told."""
        self.requests()
        samples: list[Sample] = []
        for _ in range(self.samples):
            self._number += 1
            pair = (self._edit(f"quiet-{self._number}"), self._decide(f"quiet-{self._number}"))
            samples += await asyncio.gather(*pair)
            await asyncio.sleep(REST_SECONDS * (0.75 + random.random() / 2))
        taken = reactions(samples, self.requests())
        in_order = sorted(taken)
        longest = taken.index(in_order[-1])
        self.say(
            f"{what}: {len(taken)} reactions, the longest {in_order[-1]:.2f} s "
            f"({samples[longest].what}, sample {longest // 2 + 1}), the next {in_order[-2]:.2f} s; "
            f"the driver heard of one after {max(sample.heard for sample in samples):.2f} s"
        )
        return Reactions(p50=in_order[len(taken) // 2], p99=in_order[ceil(len(taken) * 0.99) - 1])

    async def _edit(self, version: str) -> Sample:
        began = time.time()
        await self._change(QUIET, "web", version)
        seen = self.seen.versions
        await self.seen.until(f"{version} is written", lambda: seen[version] > 0, self.patience)
        heard = time.time() - began
        works = [key for key, work in self.seen.works.items() if work.version == version]
        writes = frozenset(("manifestworks", "/".join(key)) for key in works)
        return Sample(what="an edit", began=began, heard=heard, writes=writes)

    async def _decide(self, name: str) -> Sample:
        began = time.time()
        await self._place(QUIET, name, numberOfClusters=3)
        await self._decided(name)
        heard = time.time() - began
        pages = tuple(self.seen.decided.get(name, ()))
        writes = frozenset(("placementdecisions/status", f"{QUIET}/{page}") for page in pages)
        await self.client.send("DELETE", path_of(PLACEMENT, QUIET, name))
        for page in pages:
            with suppress(Refused):  # it is gone
                await self.client.send("DELETE", path_of(PLACEMENT_DECISION, QUIET, page))
        return Sample(what="a decision", began=began, heard=heard, writes=writes)

    async def _change(self, space: str, name: str, version: str) -> None:
        patch = {"spec": {"manifestWorkTemplate": fleet.template(version)}}
        path = path_of(REPLICA_SET, space, name)
        await self.client.send("PATCH", path, patch, MERGE_PATCH)

    # -- what keeps the controller busy --------------------------------------------------------

    @asynccontextmanager
    async def _nothing(self) -> AsyncIterator[None]:
        yield

    @asynccontextmanager
    async def _edits(self) -> AsyncIterator[None]:
        """The busy tenant edits its workloads, at a rate that does not depend on the answers."""
        async with _beside(self._edit_on()):
            await asyncio.sleep(5)
            yield
        await asyncio.sleep(REST_AFTER)

    async def _edit_on(self) -> None:
        names = self._names()
        async with asyncio.TaskGroup() as group:
            began, number = time.perf_counter(), 0
            while True:
                group.create_task(self._change(BUSY, random.choice(names), f"busy-{number}"))
                number += 1
                left = began + number / EDITS_A_SECOND - time.perf_counter()
                await asyncio.sleep(max(left, 0))

    @asynccontextmanager
    async def _deletion(self) -> AsyncIterator[None]:
        """It deletes many of them at once and, when they are gone, creates them again; on and on."""
        async with _beside(self._delete_on()):
            yield

    async def _delete_on(self) -> None:
        names = self._names()[: self.workloads * DELETED // WORKLOADS]
        while True:
            began = time.perf_counter()
            await each(names, lambda n: self.client.send("DELETE", path_of(REPLICA_SET, BUSY, n)))
            for name in names:
                await self._gone(name)
            self.say(f"{len(names)} workloads are gone after {time.perf_counter() - began:.1f} s")
            await self._create(BUSY, names)

    async def _gone(self, name: str) -> None:
        while True:
            try:
                await self.client.send("GET", path_of(REPLICA_SET, BUSY, name))
            except Refused:
                return
            await asyncio.sleep(0.5)

    @asynccontextmanager
    async def _hostile(self) -> AsyncIterator[None]:
        """Placements that ask for far more evaluation than anybody needs."""
        selector = {"celExpressions": [f"{HEAVY} && {n} < 99" for n in range(EXPRESSIONS)]}
        predicates = [{"requiredClusterSelector": {"celSelector": selector}}]
        names = [f"heavy-{number}" for number in range(PLACEMENTS)]
        for name in names:
            await self._place(HOSTILE, name, predicates=predicates)
        yield
        for name in names:
            await self.client.send("DELETE", path_of(PLACEMENT, HOSTILE, name))


@asynccontextmanager
async def _beside(work: Awaitable[None]) -> AsyncIterator[None]:
    """Work that goes on meanwhile, and ends then at the latest. Raises: what it raises."""
    task = asyncio.ensure_future(work)
    try:
        yield
        if task.done():
            task.result()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
