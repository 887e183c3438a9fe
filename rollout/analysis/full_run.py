"""Runs the engine, simulated agents and a hub in memory to the end of a rollout.

Works for every scenario; a rehearsal does the same faster where only agents act.
"""

from collections.abc import Collection
from datetime import datetime

from rollout.analysis.tracks import Reached, Track, nowhere
from rollout.clock import VirtualClock
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import Ref
from rollout.rollouts.live import LiveRollout
from rollout.sim.drives import Jump
from rollout.sim.local import LocalRun
from rollout.sim.scenario import Scenario
from rollout.sim.surroundings import ScenarioMeasurer, simulated_io


class FullRun:
    """One run on a hub of our own, which is used up by it.

    ``tracks`` are filled with what becomes of each cluster, by (workload, placement). ``done_at`` and
    ``halted_at`` are of the workloads that it is about (None: of all): since when they are all done, and
    since when one of them has halted. ``reached`` is told how much time has passed in the run.
    """

    def __init__(
        self,
        hub: MemoryHub,
        clock: VirtualClock,
        scenario: Scenario,
        seed: int | None = None,
        *,
        about: Collection[Ref] | None = None,
        reached: Reached = nowhere,
    ) -> None:
        self._reached = reached
        self.start = self.changed_at = clock.now()
        self.halted_at: datetime | None = None
        self.done_at: datetime | None = None
        self._about = about
        self.tracks: dict[tuple[str, str], Track] = {}
        measurer = ScenarioMeasurer(hub, clock, scenario, is_hopeful=True)
        io = simulated_io(hub, clock, scenario, measurer=measurer)
        self._run = LocalRun(
            hub, clock, None, scenario, seed=seed, keep=False, drive=Jump(clock), io=io
        )

    def run(self) -> None:
        """To where every workload is done, or nothing can happen any more."""
        self._look(self._run.run(lambda moment: self._look(moment.now)).last.now)

    @property
    def counted(self) -> list[LiveRollout]:
        """The rollouts that it is about."""
        return [live for live in self.lives if self._counts(live.workload)]

    @property
    def lives(self) -> list[LiveRollout]:
        """The rollouts of all workloads that exist, but of placements whose clusters others own."""
        fleet = self._run.engine.fleet
        workloads = map(fleet.rollout, fleet.rolled_out())
        return [
            share.live
            for workload in workloads
            if workload is not None
            for share in workload.shares.values()
            if share.selected or not share.overlapped
        ]

    def _look(self, now: datetime) -> None:
        self._reached(now - self.start)
        for live in self.lives:
            key = (live.workload.key, live.placement)
            track = self.tracks.get(key)
            rollout = live.ledger.rollout
            if track is None:
                track = self.tracks[key] = Track(rollout, self.start)
            if track.rollout.revision != rollout.revision:
                track.passed.clear()
            track.rollout = rollout
            if track.sweep(now, live.ledger.standings.values()) and self._counts(live.workload):
                self.changed_at = now
            for stage in live.last.stages:
                if stage.passed:
                    track.passed.setdefault(stage.key, now)
        halted = any(live.last.halt is not None for live in self.counted)
        self.halted_at = (self.halted_at or now) if halted else None
        self.done_at = (self.done_at or now) if self._is_done() else None

    def _counts(self, workload: Ref) -> bool:
        return self._about is None or workload in self._about

    def _is_done(self) -> bool:
        fleet = self._run.engine.fleet
        found = [ref for ref in fleet.rolled_out() if self._counts(ref)]
        return bool(found) and all(map(fleet.is_done, found))
