"""What did one line cost? Seconds, the controller's CPU, everybody's CPU, and what it asked for.

On a machine that has other work to do, seconds say little; the CPU that all of a line took together,
on as many cores as there are, says how long it would take alone.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.kube.audit import Audit, Request, counted, status_writes
from benchmarks.kube.controller import Controller, cpu_of

REST_SECONDS = 45.0
"""Longer than scores of decisions are held back (30 s, as OCM has it), and the time that it takes to
write them."""
BETWEEN = "between"
"""The line of requests that belong to no line: starts, what lines leave behind, and upkeep."""
_QUIET_CPU = 0.03  # seconds of a second


@dataclass(frozen=True, slots=True)
class Taken:
    """One line's cost. ``all_cpu``: of the API server, etcd, the driver and the controller."""

    seconds: float
    cpu: float
    all_cpu: float
    requests: list[Request]

    @property
    def others_cpu(self) -> float:
        """CPU seconds of the API server, etcd and the driver: the same programs beside any controller."""
        return self.all_cpu - self.cpu


@dataclass
class Probe:
    """Looks at the controller and at what is around it."""

    controller: Controller
    audit: Audit
    around: Sequence[int]  # process ids: the API server and etcd
    requests: dict[str, Counter[tuple[str, str]]] = field(default_factory=dict)  # by line
    taken: Counter[str] = field(default_factory=Counter)  # line -> how often
    most_status_writes: int = 0  # of one object in one second

    def all_cpu(self) -> float:
        """CPU seconds of everybody so far."""
        mine = time.process_time() + (self.controller.look() if self.controller.runs else 0.0)
        return mine + sum(cpu_of(Path("/proc") / str(pid)) for pid in self.around)

    def count(self, line: str = BETWEEN) -> list[Request]:
        """What the controller asked for since the last time; it is counted for this line."""
        found = self.audit.read()
        if found:
            self.requests.setdefault(line, Counter()).update(counted(found))
        self.most_status_writes = max(self.most_status_writes, status_writes(found))
        return found

    async def take(
        self,
        line: str,
        act: Callable[[], Awaitable[None]],
        done: Callable[[], Awaitable[float]],
    ) -> Taken:
        """What a line costs from ``act`` on. ``done`` returns the instant at which all was as wanted."""
        await self.quiet()
        self.count()
        cpu, all_cpu, began = self.controller.look(), self.all_cpu(), time.perf_counter()
        await act()
        seconds = await done() - began
        await self.quiet()
        self.taken[line] += 1
        return Taken(
            seconds, self.controller.look() - cpu, self.all_cpu() - all_cpu, self.count(line)
        )

    async def quiet(self, seconds: float = 30.0) -> None:
        """Wait until the controller does next to nothing, at most for so long."""
        end = time.perf_counter() + seconds
        used = self.controller.look()
        while time.perf_counter() < end:
            await asyncio.sleep(1.0)
            before, used = used, self.controller.look()
            if used - before <= _QUIET_CPU:
                return

    async def rest(self, seconds: float) -> None:
        """Wait until nothing was decided for so long that nothing put off can be left."""
        self.count()
        last, end = time.perf_counter(), time.perf_counter() + seconds
        while last + REST_SECONDS > time.perf_counter() < end:
            await asyncio.sleep(1.0)
            if any(request.decides for request in self.count()):
                last = time.perf_counter()
