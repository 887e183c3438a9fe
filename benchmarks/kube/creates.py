"""How fast are works created, by bare loops and by a controller? And what does it cost to hear of them?

The server is not equally quick all the time, so each of the three is the first one in its turn.
"""

import statistics
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from benchmarks.figures import Figure
from benchmarks.kube import fleet
from benchmarks.kube.audit import rate
from benchmarks.kube.receipt import over
from rollout.model.kinds import MANIFEST_WORK

if TYPE_CHECKING:
    from benchmarks.kube.lines import Bench

WORK_CREATES = ("create", MANIFEST_WORK.plural)


class Creates:
    """A bare loop, one that watches, and one workload, All, agents silent; then the agents report."""

    def __init__(self, bench: "Bench") -> None:
        self._bench = bench
        self._taken: dict[str, list[float]] = {}

    async def run(self) -> AsyncIterator[Figure]:
        """Means over the repetitions."""
        takers = (self._bare, self._watching, self._works)
        for number in range(self._bench.repeat):
            first = number % len(takers)
            for take in takers[first:] + takers[:first]:
                await take()
        for figure in self._figures():
            yield figure

    def _note(self, **values: float) -> None:
        for line, value in values.items():
            self._taken.setdefault(line, []).append(value)

    async def _bare(self) -> None:
        creates, cpu, all_cpu = await self._loop()
        self._note(bare=creates, bare_cpu=cpu, bare_all=all_cpu)

    async def _watching(self) -> None:
        creates, cpu, all_cpu = await self._loop("watching")
        self._note(watching=creates, watching_cpu=cpu, watching_all=all_cpu)

    async def _loop(self, *more: str) -> tuple[float, float, float]:
        """The creates of a workload without a controller; ``more`` words for the loop.

        Returns: creates a second, CPU seconds of the loop, and of all.
        """
        bench = self._bench
        bench.controller.stop()
        bench.probe.count()
        before = bench.probe.all_cpu()
        bare = await bench.bare(fleet.BARE, "1", *more)
        reached = rate(bench.probe.audit.read(), *WORK_CREATES)
        all_cpu = bench.probe.all_cpu() - before + bare["cpu"]
        bench.say(f"{' '.join(('bare loop', *more))}: {reached:.0f}/s, {bare['cpu']:.2f} s CPU")
        await bench.remove_bare(fleet.BARE)
        return reached, bare["cpu"], all_cpu

    async def _works(self) -> None:
        bench = self._bench
        await bench.run_controller()
        bench.seen.let_agents(False)
        works = await bench.probe.take(
            "works",
            lambda: bench.apply(fleet.EVERYWHERE, "1"),
            lambda: bench.seen.until("all works", self._has_all_works, bench.patience),
        )
        reached = rate(works.requests, *WORK_CREATES)
        bench.say(f"works: {works.seconds:.2f} s, {reached:.0f}/s, {works.cpu:.2f} s CPU")
        status = await bench.probe.take("status", self._let_agents, lambda: bench.rolled_out("1"))
        bench.say(f"status: {status.seconds:.2f} s, {status.cpu:.2f} s CPU")
        await bench.remove_workload()
        self._note(works=reached, works_all=works.all_cpu, seconds=works.seconds, cpu=works.cpu)
        self._note(works_others=works.others_cpu, status_others=status.others_cpu)
        self._note(requests=len(works.requests), status_seconds=status.seconds)
        self._note(status_cpu=status.cpu, status_requests=len(status.requests))

    async def _let_agents(self) -> None:
        self._bench.seen.let_agents(True)

    def _has_all_works(self) -> bool:
        return self._bench.seen.versions["1"] == self._bench.clusters

    def _figures(self) -> Iterator[Figure]:
        mean = {line: statistics.fmean(values) for line, values in self._taken.items()}
        # As many creates at each of these paces take as long as all of them at this one.
        bare, watching, works = (
            statistics.harmonic_mean(self._taken[line]) for line in ("bare", "watching", "works")
        )
        for line, value, unit in (
            ("bare.creates", bare, "/s"),
            ("bare.spread", over(self._taken["bare"]).spread * 100, "%"),
            ("bare.cpu", mean["bare_cpu"], "s"),
            ("bare.all-cpu", mean["bare_all"], "s"),
            ("watching.of-bare", watching / bare, ""),
            ("watching.of-bare-cpu", mean["bare_all"] / mean["watching_all"], ""),
            ("watching.cpu", mean["watching_cpu"], "s"),
            ("watching.spread", over(self._taken["watching"]).spread * 100, "%"),
            ("works.creates", works, "/s"),
            ("works.spread", over(self._taken["works"]).spread * 100, "%"),
            ("works.of-bare", works / bare, ""),
            ("works.of-bare-cpu", mean["bare_all"] / mean["works_all"], ""),
            ("works.of-watching", works / watching, ""),
            ("works.seconds", mean["seconds"], "s"),
            ("works.cpu", mean["cpu"], "s"),
            ("works.of-others-cpu", mean["cpu"] / mean["works_others"], ""),
            ("works.requests", mean["requests"], ""),
            ("status.seconds", mean["status_seconds"], "s"),
            ("status.cpu", mean["status_cpu"], "s"),
            ("status.of-others-cpu", mean["status_cpu"] / mean["status_others"], ""),
            ("status.requests", mean["status_requests"], ""),
        ):
            if self._bench.repeat > 1 or not line.endswith(".spread"):
                yield self._bench.figure(line, value, unit)
