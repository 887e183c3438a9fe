"""Runs a whole rollout on one machine: engine, simulated agents and time.

On virtual time the run jumps from one instant at which something happens to the next; on wall time,
or a multiple of it, it waits. The engine is the same. On a hub that keeps state, everything pending is
saved with each commit, so that a killed run goes on identically.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rollout.account.build import fleet_account
from rollout.account.tree import FleetAccount, NoteAccount
from rollout.clock import Clock, VirtualClock
from rollout.fleet.fleet import Fleet
from rollout.hub.base import EmbeddedHub, StateKey, profile_of
from rollout.model.instants import earliest, parse_instant, rfc3339_micro
from rollout.model.kinds import WORKLOADS
from rollout.model.policy import DEFAULT, Policy
from rollout.placement.cel.bounds import SLICE_STEPS
from rollout.placement.grouping import Profile
from rollout.planning.placements import PlacementPlanner
from rollout.planning.plan import Note
from rollout.plugins import gates
from rollout.rollouts.witness import Witness
from rollout.runtime.engine import Engine
from rollout.runtime.io import Io
from rollout.runtime.pace import Pace
from rollout.runtime.planners import planners, trackers
from rollout.sim.addon_agents import AddOnManager
from rollout.sim.agents import Agents
from rollout.sim.drives import Drive, Hurry, Jump, Real
from rollout.sim.scenario import Scenario
from rollout.sim.surroundings import simulated_io
from rollout.sim.work import kept_agents

LONGEST_RUN = timedelta(days=30)
NOTES_KEPT = 50
TOLD_KEPT = 1000
"""So much of what happened outlives the process, in a state file."""
HEARTBEAT = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class RunMoment:
    """A run right after something was planned. ``account`` gives how all workloads stand when it is called."""

    started: datetime
    now: datetime
    account: Callable[[], FleetAccount]


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended."""

    last: FleetAccount
    interrupted: bool = False


def drive_for(clock: Clock, speed: float | None) -> Drive:
    """What moves time: ``speed`` fleet seconds a wall second; None jumps from event to event."""
    if speed is None:
        assert isinstance(clock, VirtualClock), "only a virtual clock can jump"
        return Jump(clock)
    return Real(clock) if speed == 1 else Hurry(clock, speed)


def _fleet(policy: Policy) -> Fleet:
    return Fleet(policy, trackers=trackers(rolls_addons=True), gates=gates())


class LocalRun:
    """Runs all workloads of a hub until each is done, or nothing can happen any more.

    Args:
        speed: fleet seconds a wall second; None jumps from one event to the next.
        seed: of the agents; None takes the scenario's.
        keep: keep all that is pending on the hub, so that a killed run goes on identically.
        gather: for how long events of a workload are gathered before it is planned again. Must be
            zero where state is kept, so that nothing is known that is not kept.
        drive: moves time, instead of the drive for ``speed``.
        policy: the waits and limits that it goes by.
        profile: decides where an object names none; None takes that of the last run on this hub.
        lasts: the run stops after so much fleet time, done or not; None: `LONGEST_RUN`.
        witness: is told of every decision.
        io: writes, measures and tells people; by default nobody is told, and the scenario says what is measured.
    """

    def __init__(
        self,
        hub: EmbeddedHub,
        clock: Clock,
        speed: float | None,
        scenario: Scenario,
        *,
        seed: int | None = None,
        keep: bool = True,
        gather: timedelta = timedelta(0),
        drive: Drive | None = None,
        policy: Policy = DEFAULT,
        profile: Profile | None = None,
        lasts: timedelta | None = None,
        witness: Witness | None = None,
        io: Io | None = None,
    ) -> None:
        self._hub, self._clock, self._speed, self._keep = hub, clock, speed, keep
        profile = self._keep_profile(profile)
        self._notes: dict[str, tuple[NoteAccount, ...]] = {}
        self._most_noted, self._told_more = NOTES_KEPT, False
        self._told: list[list[str]] = json.loads(hub.get_state(StateKey.TOLD) or b"[]")
        self._drive = drive or drive_for(clock, speed)
        self.engine = Engine(
            hub,
            clock,
            self._drive.timers,
            planners(PlacementPlanner(profile=profile, slice_steps=SLICE_STEPS), rolls_addons=True),
            fleet=_fleet(replace(policy, profile=profile)),
            pace=Pace(least_interval=dict.fromkeys(WORKLOADS, gather), strict=speed is None),
            io=io or simulated_io(hub, clock, scenario),
            notes=self._note,
            seed=0,
        )
        self.engine.fleet.witness = witness
        self.agents = Agents(hub, clock, scenario, seed, kept=keep)
        self.addons = AddOnManager(hub, clock)
        self._started = self._beaten = clock.now()
        self._stops = None if lasts is None else clock.now() + lasts

    def _keep_profile(self, chosen: Profile | None) -> Profile:
        """The profile of this run, saved on the hub for others that read it."""
        profile = chosen or profile_of(self._hub)
        with self._hub.batch():
            self._hub.put_state(StateKey.PROFILE, profile.encode())
        return profile

    def run(self, on_change: Callable[[RunMoment], None] | None = None) -> RunResult:
        """Run to the end. A KeyboardInterrupt ends the run early, with everything saved.

        Args:
            on_change: is called at each instant at which something was planned.
        """
        self._begin()
        try:
            self._loop(on_change)
        except KeyboardInterrupt:
            return RunResult(self._picture(), interrupted=True)
        finally:
            self.agents.close()
            self.addons.close()
            self.engine.stop()
            self._drive.close()
        return RunResult(self._picture())

    def _loop(self, on_change: Callable[[RunMoment], None] | None) -> None:
        end = self._started + LONGEST_RUN
        shown = -1
        while True:
            self._hub.poll()
            self._settle()
            self._beat()
            if self.engine.passes != shown:
                shown = self.engine.passes
                if on_change is not None:
                    on_change(RunMoment(self._started, self._clock.now(), self._picture))
                if self._is_done():
                    return
            at = earliest(self.agents.next_at(), self.addons.next_at(), self._drive.next_at())
            if self._stops is not None:
                if self._clock.now() >= self._stops:
                    self._stop_here()
                    return
                at = min(at, self._stops) if at is not None else None
            if (at is not None and at > end) or not self._drive.go(at, self.engine.wait):
                return

    def _stop_here(self) -> None:
        """Save the time, though nothing else happened at this instant."""
        if self._keep:
            with self._hub.batch():
                self._save()

    # -- one instant ---------------------------------------------------------------------------

    def _begin(self) -> None:
        kept = kept_agents(self._hub)
        if kept:
            self.agents.restore(kept)
        started = self._hub.get_state(StateKey.STARTED)
        self._started = (parse_instant(started.decode()) if started else None) or self._started
        alive = self._hub.get_state(StateKey.ALIVE)
        gone = parse_instant(alive.decode()) if alive else None
        if self._speed == 1 and gone is not None and gone < self._clock.now():
            self.engine.fleet.out_of_touch(gone, self._clock.now())
        with self._hub.batch():
            self._hub.put_state(StateKey.STARTED, rfc3339_micro(self._started).encode())
        self.engine.start()
        self.agents.start()
        self.addons.start()

    def _settle(self) -> None:
        """Do all that is due at this instant. What is pending is saved with each commit."""
        while True:
            with self._hub.batch():
                busy = self.engine.turn()
                busy = bool(self.agents.run_due()) or busy
                busy = bool(self.addons.run_due()) or busy
                if busy and self._keep:
                    self._save()
            if not busy or self._is_settled():
                return

    def _is_settled(self) -> bool:
        """Whether nobody has anything to do at this instant, as far as anybody has heard."""
        if not self.engine.is_idle:
            return False
        at = earliest(self.agents.next_at(), self.addons.next_at())
        return at is None or at > self._clock.now()

    def _beat(self) -> None:
        """On wall time: save that the run is alive, so that a restart knows how long it was not."""
        now = self._clock.now()
        if self._keep and self._speed == 1 and now >= self._beaten + HEARTBEAT:
            self._beaten = now
            self._hub.put_state(StateKey.ALIVE, rfc3339_micro(now).encode())

    def _save(self) -> None:
        now = rfc3339_micro(self._clock.now()).encode()
        if self._speed == 1:
            self._hub.put_state(StateKey.ALIVE, now)
        else:
            self._hub.put_state(StateKey.CLOCK, now)
        for key, value in self.agents.changes():
            self._hub.put_state(key, value)
        if self._told_more:
            self._told_more = False
            self._hub.put_state(StateKey.TOLD, json.dumps(self._told).encode())

    def _is_done(self) -> bool:
        """Every workload says, of its present generation, that it is rolled out."""
        fleet = self.engine.fleet
        found = fleet.rolled_out()
        if not found or not all(map(fleet.is_done, found)):
            return False
        # A configuration is edited without its workload being: what is still to happen may be that.
        return not any(t.workloads() for t in fleet.trackers) or not self.agents.awaits_events()

    def _note(self, note: Note, now: datetime) -> None:
        key = note.ref.key
        kept = self._notes.get(key, ())[-NOTES_KEPT + 1 :]
        self._notes[key] = (*kept, NoteAccount(now, note.reason, note.message))
        if len(self._notes) > self._most_noted:
            self._forget_gone()
        line = [rfc3339_micro(now), note.ref.kind.name, key, note.reason, note.message]
        self._told = [*self._told[-TOLD_KEPT + 1 :], line]
        self._told_more = True

    def _forget_gone(self) -> None:
        """Drop the notes of workloads that are gone, once they may be half of all."""
        there = {ref.key for each in self.engine.fleet.trackers for ref in each.workloads()}
        self._notes = {key: notes for key, notes in self._notes.items() if key in there}
        self._most_noted = 2 * len(self._notes) + NOTES_KEPT

    def _picture(self) -> FleetAccount:
        return fleet_account(self.engine.fleet, self._started, self._clock.now(), self._notes)
