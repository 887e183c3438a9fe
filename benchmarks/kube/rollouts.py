"""How long does a staged rollout take, and how long without a controller? By turns on one server.

The server is not equally quick all the time: a rollout is read against a floor taken just before it.
"""

import statistics
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.figures import Figure
from benchmarks.kube import fleet
from benchmarks.kube.probe import Taken
from benchmarks.kube.receipt import over

if TYPE_CHECKING:
    from benchmarks.kube.lines import Bench

_FLOOR_OF = {"progressive": "create", "change": "change"}
"""What of the floor a line does besides."""


class Rollouts:
    """The floor, then a rollout to a tenth at a time and a change of its template; repeatedly."""

    def __init__(self, bench: "Bench") -> None:
        self._bench = bench
        self._floors: dict[str, list[tuple[float, float]]] = {}  # line -> seconds, CPU of all
        self._taken: dict[str, list[Taken]] = {}

    async def run(self) -> AsyncIterator[Figure]:
        """Means over the repetitions. The workload of the last one stays."""
        bench = self._bench
        if "floor" in bench.wanted:
            yield bench.figure("floor.one-by-one", await self._one_by_one(), "/s")
        for number in range(bench.repeat):
            if number:
                await bench.remove_workload()
            if "floor" in bench.wanted:
                await self._floor()
            if bench.wanted.intersection(_FLOOR_OF):
                await self._roll_out()
        for figure in self._figures():
            yield figure

    # -- without a controller ------------------------------------------------------------------

    async def _one_by_one(self) -> float:
        bench = self._bench
        bench.controller.stop()
        alone = await bench.bare(fleet.BARE, "1", at_once=1)
        await bench.remove_bare(fleet.BARE)
        return bench.clusters / alone["seconds"]

    async def _floor(self) -> None:
        """What no controller can be faster than: works that a bare loop writes and agents report."""
        bench = self._bench
        bench.controller.stop()
        bench.seen.let_agents(True)
        for line, version in (("create", "1"), ("change", "2")):
            before = bench.probe.all_cpu()
            bare = await bench.bare(fleet.FLOOR, version)
            ended = await bench.seen.until(
                f"version {version} is reported",
                partial(bench.seen.is_reported, version, bench.clusters),
                bench.patience,
            )
            seconds, cpu = ended - bare["began"], bench.probe.all_cpu() - before + bare["cpu"]
            bench.say(f"floor of {line}: {seconds:.2f} s, {cpu:.2f} s CPU of all")
            self._floors.setdefault(line, []).append((seconds, cpu))
        await bench.remove_bare(fleet.FLOOR)
        await bench.seen.until("the floor's works are gone", lambda: not bench.seen.works, 60.0)

    # -- with one ------------------------------------------------------------------------------

    async def _roll_out(self) -> None:
        bench = self._bench
        await bench.run_controller()
        bench.seen.let_agents(True)
        await self._take("progressive", lambda: bench.apply(fleet.TENTHS, "1"), "1")
        if "change" in bench.wanted:
            await self._take("change", self._change, "2")

    async def _take(self, line: str, act: Callable[[], Awaitable[None]], version: str) -> None:
        bench = self._bench
        taken = await bench.take(line, act, lambda: bench.rolled_out(version))
        self._taken.setdefault(line, []).append(taken)

    async def _change(self) -> None:
        await self._bench.patch({"manifestWorkTemplate": fleet.template("2")})

    # -- what came of it -----------------------------------------------------------------------

    def _figures(self) -> Iterator[Figure]:
        figure = self._bench.figure
        floors = {line: [seconds for seconds, _ in each] for line, each in self._floors.items()}
        for line, seconds in floors.items():
            yield figure(f"floor.{line}.seconds", statistics.fmean(seconds), "s")
            yield from self._spread(f"floor.{line}", seconds)
            cpu = statistics.fmean(cpu for _, cpu in self._floors[line])
            yield figure(f"floor.{line}.all-cpu", cpu, "s")
        for line, taken in self._taken.items():
            seconds = [each.seconds for each in taken]
            yield from self._spread(line, seconds)
            if _FLOOR_OF[line] in floors:
                of_floor = sum(seconds) / sum(floors[_FLOOR_OF[line]])
                yield figure(f"{line}.of-floor", of_floor, "")
            yield from self._bench.costs(line, taken)

    def _spread(self, line: str, seconds: Sequence[float]) -> Iterator[Figure]:
        if len(seconds) > 1:
            yield self._bench.figure(f"{line}.spread", over(seconds).spread * 100, "%")
