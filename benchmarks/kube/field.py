"""What does the driver see, and how does it answer as the clusters' agents? Watches, parsed sparely.

One watch per kind keeps just enough to tell when something is done. Agents report each new
generation of a work at once, while they are let.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from benchmarks.kube import fleet
from benchmarks.kube.client import AT_ONCE, MERGE_PATCH, Client, Refused
from rollout.hub.kube_objects import path_of
from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, PLACEMENT, PLACEMENT_DECISION, REPLICA_SET, Kind

Key = tuple[str, str]
_AGAIN_SECONDS = 0.1


class _Meta(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    resourceVersion: str = "0"  # noqa: N815  as on the wire
    generation: int = 0
    labels: dict[str, str] = {}


class _Condition(msgspec.Struct):
    type: str
    status: str


class _Decision(msgspec.Struct):
    clusterName: str  # noqa: N815


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []
    decisions: list[_Decision] = []
    numberOfSelectedClusters: int = -1  # noqa: N815


class _Manifest(msgspec.Struct):
    data: dict[str, str] = {}


class _Workload(msgspec.Struct):
    manifests: list[_Manifest] = []


class _Spec(msgspec.Struct):
    workload: _Workload = msgspec.field(default_factory=_Workload)


class _Object(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _Event(msgspec.Struct):
    type: str
    object: _Object


_EVENT = msgspec.json.Decoder(_Event)
_LIST = msgspec.json.Decoder(_Object)  # for its version
_STORED = msgspec.json.Decoder(_Object)


class TooLong(Exception):
    """It did not happen in time."""


@dataclass(slots=True)
class Work:
    """A work of the workload: what it carries, and what was reported of it."""

    version: str
    generation: int
    reported: int = 0


@dataclass
class Field:
    """Everything that the driver follows. `start`, `stop`.

    ``check`` raises where it is of no use to wait any longer: nobody is there who would do anything.
    """

    client: Client
    check: Callable[[], None] = lambda: None
    works: dict[Key, Work] = field(default_factory=dict)
    versions: Counter[str] = field(default_factory=Counter)  # version -> works that carry it
    reports: Counter[str] = field(default_factory=Counter)  # version -> works so reported
    decided: dict[str, dict[str, int]] = field(
        default_factory=dict
    )  # placement -> page -> clusters
    selected: dict[str, int] = field(default_factory=dict)  # placement -> number in its status
    rolled_out: int = 0  # version of the workload's status that says so, else 0
    reported_at: int = 0  # version of the last report

    def __post_init__(self) -> None:
        self._news = asyncio.Event()
        self._due: deque[Key] = deque()
        self._wake, self._let = asyncio.Event(), asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        takers: tuple[tuple[Kind, Callable[[str, _Object], None]], ...] = (
            (MANIFEST_WORK, self._work),
            (REPLICA_SET, self._replicaset),
            (PLACEMENT, self._placement),
            (PLACEMENT_DECISION, self._decision),
        )
        for kind, take in takers:
            listed = await self.client.send("GET", path_of(kind) + "?limit=1")
            version = int(_LIST.decode(listed).metadata.resourceVersion)
            self._spawn(self._follow(kind, version, take))
        for _ in range(AT_ONCE):
            self._spawn(self._agent())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(work))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def until(self, what: str, is_so: Callable[[], bool], seconds: float) -> float:
        """Wait until it is so.

        Returns: `time.perf_counter` then. Raises: TooLong, what `check` raises, or a task's error.
        """
        end = time.perf_counter() + seconds
        while not is_so():
            self.check()
            self._news.clear()
            for task in self._tasks:
                if task.done():
                    task.result()
            left = end - time.perf_counter()
            if left <= 0:
                raise TooLong(f"not within {seconds:.0f} s: {what}")
            # Not wait_for: Python 3.11's can swallow a cancellation that comes together with news.
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, 1.0)):
                    await self._news.wait()
        return time.perf_counter()

    # -- seeing --------------------------------------------------------------------------------

    async def _follow(self, kind: Kind, since: int, take: Callable[[str, _Object], None]) -> None:
        """Until it is cancelled: a server under load ends the watches of slow readers."""
        while True:
            async for lines in self.client.watch(path_of(kind), since):
                for line in lines:
                    try:
                        event = _EVENT.decode(line)
                    except msgspec.ValidationError as error:  # a Status: the watch has expired
                        raise Refused(f"watch {kind.plural}: {line[:300]!r}") from error
                    take(event.type, event.object)
                    since = int(event.object.metadata.resourceVersion)
                self._news.set()
            await asyncio.sleep(_AGAIN_SECONDS)

    def _work(self, change: str, obj: _Object) -> None:
        meta = obj.metadata
        if meta.name == fleet.BARE:
            return
        key = meta.namespace, meta.name
        known = self.works.pop(key, None)
        if known is not None:
            self._count(known, -1)
        if change == "DELETED":
            return
        manifests = obj.spec.workload.manifests
        version = manifests[0].data.get("version", "") if manifests else ""
        reported = known.reported if known else 0
        work = self.works[key] = Work(version, meta.generation, reported)
        self._count(work, 1)
        if work.generation > reported and (known is None or known.generation < work.generation):
            self._due.append(key)
            self._wake.set()

    def _count(self, work: Work, by: int) -> None:
        self.versions[work.version] += by
        if work.reported >= work.generation:
            self.reports[work.version] += by

    def _replicaset(self, change: str, obj: _Object) -> None:
        said = {c.type: c.status for c in obj.status.conditions}
        done = change != "DELETED" and said.get(names.PLACEMENT_ROLLED_OUT) == "True"
        self.rolled_out = int(obj.metadata.resourceVersion) if done else 0

    def _placement(self, change: str, obj: _Object) -> None:
        if change == "DELETED":
            self.selected.pop(obj.metadata.name, None)
        else:
            self.selected[obj.metadata.name] = obj.status.numberOfSelectedClusters

    def _decision(self, change: str, obj: _Object) -> None:
        meta = obj.metadata
        pages = self.decided.setdefault(meta.labels.get(names.PLACEMENT_LABEL, ""), {})
        if change == "DELETED":
            pages.pop(meta.name, None)
        else:
            pages[meta.name] = len(obj.status.decisions)

    # -- what is so ----------------------------------------------------------------------------

    def is_decided(self, placement: str, clusters: int) -> bool:
        pages = self.decided.get(placement, {})
        return self.selected.get(placement) == clusters == sum(pages.values())

    def is_reported(self, version: str, clusters: int) -> bool:
        """Whether all works carry it and were reported."""
        return self.versions[version] == self.reports[version] == clusters == len(self.works)

    def is_rolled_out(self, version: str, clusters: int) -> bool:
        """Whether all works were so reported, and the workload's status came after that."""
        return self.is_reported(version, clusters) and self.rolled_out > self.reported_at

    # -- agents --------------------------------------------------------------------------------

    def let_agents(self, act: bool) -> None:
        (self._let.set if act else self._let.clear)()

    async def _agent(self) -> None:
        while True:
            await self._let.wait()
            if not self._due:
                self._wake.clear()
                await self._wake.wait()
                continue
            key = self._due.popleft()
            work = self.works.get(key)
            if work is not None and work.reported < work.generation:
                await self._report(key, work)

    async def _report(self, key: Key, work: Work) -> None:
        generation = work.generation
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        path = path_of(MANIFEST_WORK, *key, "status")
        try:
            answer = await self.client.send(
                "PATCH", path, fleet.work_status(generation, since), MERGE_PATCH
            )
        except Refused as error:
            if " 404 " in str(error):
                return  # it was removed meanwhile
            raise
        stored = _STORED.decode(answer).metadata
        self.reported_at = max(self.reported_at, int(stored.resourceVersion))
        now = self.works.get(key)
        if now is not None:
            self._count(now, -1)
            now.reported = max(now.reported, generation)
            self._count(now, 1)
        self._news.set()
