"""How does a history run? Engine, agents, people and time together, with every bad luck in between."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import cast

from rollout.clock import Clock, HubClock, VirtualClock
from rollout.fleet.fleet import Fleet
from rollout.hub.base import EmbeddedHub, Hub
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import CLUSTER_CALENDAR, PLACEMENT, Kind
from rollout.planning.plan import Planner
from rollout.runtime.engine import Engine
from rollout.runtime.pace import Pace
from rollout.runtime.planners import planners
from rollout.runtime.timers import VirtualTimers, Wake
from rollout.sim.agents import Agents
from tests.safety.allowed import allow
from tests.safety.door import Crash, Door, SlowIo
from tests.safety.hands import Hands
from tests.safety.kinds import SUBJECTS
from tests.safety.observer import Judge, Violation
from tests.safety.ocm_agents import AgentsOfAddOns, OcmAgents
from tests.safety.setting import REVISIONS, Setting
from tests.safety.subject import Controllers
from tests.safety.terms import QUIET
from tests.safety.watched import StartsSucceed, Watched, WatchedFleet
from tests.support.faults import FaultyHub

T0 = datetime(2030, 1, 1, tzinfo=UTC)
TURNS = 200  # more at one instant is a loop
BREATH = timedelta(milliseconds=20)
"""A controller gathers for a second. Without that, it could write pages of a placement whose owner is gone,
which the hub removes, for ever at one instant: until it hears of the owner.
"""
LOOKS = 50  # and so is coming to rest so often at one instant
PATIENCE = timedelta(hours=8)
TROUBLE = timedelta(seconds=60)
"""So long after a fault, or the start of a process, it may still be busy with what came of it."""
BACKED_OFF = timedelta(minutes=10)
"""So long after a fault it may still wait to try again, the last time after five minutes and some more."""
RECORDED = (
    "edit_record", "edit_head", "strip_record", "plant_page", "remove_record", "forge_revision",
)  # fmt: skip
UNSEEN = ("leave_clusters", "disown_record")
SKEWS = (0, 0, 0, 40, -40, 600, -600, 10_800, -10_800)  # seconds


class History:
    """One run of one setting.

    ``die_after``: the engine dies after so many writes (repeatedly). ``hub``: where it happens; a
    write to it has been told to all watchers when it returns.
    """

    def __init__(
        self, setting: Setting, *, die_after: int | None = None, hub: Hub | None = None
    ) -> None:
        self.setting = setting
        self.subject = SUBJECTS[setting.kind]
        self.clock = VirtualClock(T0)
        self.hub: Hub = hub or MemoryHub(self.clock, history=5_000)
        self.dice = Random(f"world:{setting.seed}")
        self._skews = Random(f"skews:{setting.seed}")
        faults = Random(f"faults:{setting.seed}")
        self.faults = StartsSucceed(faults, setting.faults, self.clock.now)
        # A history needs neither the batches nor the states of embedded hubs.
        self.faulty = FaultyHub(cast(EmbeddedHub, self.hub), self.faults)
        self.counts: Counter[str] = Counter()
        self.judge = Judge(self.subject, self.hub, self.clock.now, self.counts, setting.waits)
        self.judge.lag = setting.latency
        self._later: list[tuple[datetime, int, Callable[[], None]]] = []
        self._number = 0
        self.hands = Hands(setting, self.hub, self.clock.now, self.later, self.flying, self.failed)
        self.agents = (self._work_agents(), *self.subject.controllers(self.hub, self.clock))
        self.engine: Engine | None = None
        self.timers: VirtualTimers | None = None
        self.door: Door | None = None
        self.slow: SlowIo | None = None
        self._died_at: datetime | None = None
        self.writes: list[int] = []
        self._die_after = die_after
        self._next_release = T0
        self._rested_at = T0
        self._restarted_at = T0 - TROUBLE
        self._off = timedelta(0)  # how far the machine's clock is ahead
        self._process_clock: HubClock | None = None
        self.closely = 0.05 if die_after is None else 0.005  # how often it is looked at so, at rest

    def _work_agents(self) -> Controllers:
        setting = self.setting
        if setting.looks_every is None:
            return Agents(self.hub, self.clock, setting.scenario)
        kind = AgentsOfAddOns if setting.kind == "addon" else OcmAgents
        agents = kind(self.hub, self.clock, setting.seed, setting.looks_every, REVISIONS)
        agents.is_gated = setting.rules
        self.judge.plans.verdicts.truth = agents
        return agents

    @property
    def violations(self) -> list[Violation]:
        return self.judge.violations

    # -- the engine's life -------------------------------------------------------------------------

    def make_door(self) -> Door:
        return Door(self.faulty, self.judge, self.subject.carrier, self.hands.refusing)

    def planners(self) -> Mapping[Kind, Planner[Fleet]]:
        """Of an engine that starts."""
        shared = planners()
        return {
            PLACEMENT: shared[PLACEMENT],
            CLUSTER_CALENDAR: shared[CLUSTER_CALENDAR],
            self.subject.ref.kind: Watched(self.judge, self.subject.planner()),
        }

    def start_engine(self) -> None:
        now, setting = self.clock.now(), self.setting
        self.door = self.make_door()
        self.door.writes_left = self._die_after
        self._die_after = None
        if setting.latency:
            self.slow = SlowIo(self.door, self.clock, self.dice, setting.latency)
        self.engine = Engine(
            self.door,
            self._clock_of_a_process(),
            self._make_timers,
            self.planners(),
            WatchedFleet(self.judge, self.setting.waits),
            io=self.slow or self.door.io(),
            pace=Pace(least_interval={PLACEMENT: BREATH}, strict=True),
            seed=0,
        )
        self.judge.told.restart()
        if self._died_at is not None:
            if self.dice.random() < 0.5:
                self.engine.fleet.out_of_touch(self._died_at, now)
            self._restarted_at = now
            self._count_restart(now)
        self.faults.starting = True
        self.engine.start()
        self.faults.starting = False
        self.judge.read_all(now)

    def _clock_of_a_process(self) -> Clock:
        """A new process goes by the time that the server's answers tell, however far off its own machine's
        clock is.
        """
        self._off = timedelta(seconds=self._skews.choice(SKEWS))

        def elapsed() -> float:
            return (self.clock.now() - T0).total_seconds()

        clock = HubClock(lambda: self.clock.now() + self._off, elapsed)
        clock.heard(self.clock.now(), elapsed(), elapsed())
        clock.settle()
        self.counts["S13.skewed_successors"] += bool(self._off and self._died_at)
        self._process_clock = clock
        return clock

    def step(self) -> None:
        """This machine's clock is set, and some answers tell a time that is far off."""
        self._off = timedelta(seconds=self._skews.choice(SKEWS))
        elapsed = (self.clock.now() - T0).total_seconds()
        for _ in range(self._skews.randrange(0, 9)):
            told = self.clock.now() + timedelta(seconds=self._skews.choice(SKEWS))
            if self._process_clock is not None:
                self._process_clock.heard(told, elapsed, elapsed)

    def _count_restart(self, now: datetime) -> None:
        for rollout in self.judge.told.rollouts.values():
            flying = [c for c in rollout.tracks if rollout.in_flight(c, now)]
            self.judge.plans.restarted_in_flight.update(flying)
            self.counts["R1.restarts"] += 1
            self.counts["R1.restarts_in_flight"] += bool(flying)
            waited = [c for c in flying if rollout.deadline(now, ())]
            self.counts["S13.restarts_before_deadline"] += bool(waited)
            soaking = [c for c in flying if rollout.tracks[c].health == "succeeded"]
            self.counts["S13.restarts_in_soak"] += bool(soaking)

    def _make_timers(self, wake: Wake) -> VirtualTimers:
        self.timers = VirtualTimers(self.clock, wake)
        return self.timers

    def die(self, span: timedelta) -> None:
        """The engine is gone, and comes back after a while."""
        if self.engine is None or self.door is None:
            return
        self.writes.append(self.door.writes)
        self.door.close()
        self.engine.stop()
        self.engine = self.timers = self.slow = self.door = None
        self.judge.is_ours = False
        self._died_at = self.clock.now()
        self.later(span, self.start_engine)

    def forget(self, span: timedelta) -> None:
        """The engine is gone, and its record with it."""
        self.die(span)
        self.hands.act("lose_record")

    def flying(self) -> list[str]:
        now = self.clock.now()
        rollouts = self.judge.told.rollouts.values()
        return [c for r in rollouts for c in r.tracks if r.in_flight(c, now)]

    def failed(self) -> list[str]:
        """Clusters that have failed on what is rolled out now."""
        now = self.clock.now()
        return [
            cluster
            for rollout in self.judge.told.rollouts.values()
            for cluster in rollout.tracks
            if (track := rollout.current(cluster)) and rollout.is_failure(track, now)
        ]

    def outage(self, span: timedelta) -> None:
        """The hub is out of reach for a while: watches break, no call gets through."""
        if self.faults.down:
            return
        self.faults.down = True
        if self.door is not None:
            self.door.cut()
        self.later(span, self._back_in_touch)

    def _back_in_touch(self) -> None:
        self.faults.down = False

    # -- time --------------------------------------------------------------------------------------

    def later(self, span: timedelta, what: Callable[[], None]) -> None:
        self._number += 1
        self._later.append((self.clock.now() + span, self._number, what))
        self._later.sort(key=lambda item: item[:2])

    def start(self) -> None:
        """The engine, and whoever answers it."""
        self.start_engine()
        for agents in self.agents:
            agents.start()

    def run(self) -> "History":
        """The whole history: the script, then everything is repaired, then the end."""
        self.begin()
        self.until(T0 + self.setting.span)
        if not self.violations:
            self.finish()
        return self

    def begin(self) -> None:
        """Everything is there, and the script lies ahead."""
        self.hands.set_up()
        self.start()
        skewed = [r for r in self.setting.scenario.spec.rules if r.behaviour.clock_skew]
        self.counts["S13.skewed_agents"] += len(skewed)
        for act in self.setting.script:
            self.later(act.at, partial(self.act, act.verb))

    def forget_the_script(self) -> None:
        """Whatever lay ahead does not happen, but that a dead engine comes back, or the hub."""
        kept = (self.start_engine, self._back_in_touch)
        self._later = [item for item in self._later if item[2] in kept]

    def finish(self) -> None:
        """L5: once everything is repaired, a good revision is rolled out to the end."""
        self.faults.on = False
        self.forget_the_script()
        self.hands.heal()
        self.until(self.clock.now() + PATIENCE, to_the_end=True)
        if not self.violations:
            self._judge_end()

    def act(self, verb: str) -> None:
        self.counts[f"acts.{verb}"] += 1
        if verb in RECORDED and self.engine is None:
            return  # nobody but the controller's account may write there: what is put back is a second guard
        if verb in UNSEEN and self.engine is not None:
            return  # that is what `RECORDED` are about
        self.counts["S18.meddled"] += verb in (*RECORDED, *UNSEEN, "relabel_works")
        if verb == "step":
            self.counts["S13.steps"] += 1
            self.step()
        elif verb == "crash":
            self.die(timedelta(seconds=self.dice.choice((0, 1, 20, 100, 400))))
        elif verb == "crash_soon" and self.door is not None:
            self.door.writes_left = self.dice.randrange(0, 12)
        elif verb == "lose_record":
            with_it = self.dice.random() < 0.5
            if with_it or self.engine is None:  # nobody lives who could write it again
                self.forget(timedelta(seconds=self.dice.choice((0, 5, 60))))
            else:
                self.hands.act(verb)
        elif verb == "blink":
            self.outage(timedelta(seconds=self.dice.choice((1, 2, 3))))
        elif verb == "outage":
            self.outage(timedelta(seconds=self.dice.choice((3, 20, 60, 150, 300))))
        elif verb != "crash_soon":
            self.hands.act(verb)

    def until(self, end: datetime, *, to_the_end: bool = False) -> None:
        looks = 0  # at one instant
        while not self.violations:
            self._settle()
            if self.violations:
                return
            self._rest()
            looks = looks + 1 if self.clock.now() == self._rested_at else 0
            self._rested_at = self.clock.now()
            if looks > LOOKS:
                self.judge.blame("L1", "the engine looks again and again at one instant")
            at = self._next_at()
            if at is None or at > end or (to_the_end and self._is_over()):
                if not to_the_end and end > self.clock.now():
                    self.clock.advance(end - self.clock.now())
                return
            self.clock.advance(max(at - self.clock.now(), timedelta(0)))

    def _is_over(self) -> bool:
        """Whether all is done, and none of the engine's writes is on its way."""
        return self.is_done() and (self.slow is None or self.slow.next_at() is None)

    def _rest(self) -> None:
        """Nothing more happens at this instant."""
        if self.engine is None or self.timers is None:
            return
        if self._is_troubled():
            allow(self.counts, "trouble")
            return
        closely = self.dice.random() < self.closely
        self.judge.rested(self.engine.fleet, self.timers.next_at(), closely=closely)

    def _is_troubled(self) -> bool:
        """Whether the engine may have to do something again, or not have heard of something."""
        now, told = self.clock.now(), self.judge.told
        if self.slow is not None and self.slow.next_at() is not None:
            return True
        if now < max(self.faults.last, self._restarted_at) + TROUBLE or told.blind_since():
            return True
        if self.engine is not None and self.engine.failing and now < self.faults.last + BACKED_OFF:
            return True
        if self.faults.down or (self.door is not None and self.door.deaf):
            return True
        return any(t.refused for r in told.rollouts.values() for t in r.tracks.values())

    def _next_at(self) -> datetime | None:
        nexts = [agents.next_at() for agents in self.agents]
        nexts += [self._later[0][0]] if self._later else []
        nexts += [decider.next_at() for decider in self.hands.deciders.values()]
        nexts += [self.timers.next_at()] if self.timers else []
        nexts += [self.slow.next_at()] if self.slow else []
        if self.faults.on and self.setting.faults.hold + self.setting.faults.cut:
            nexts.append(self._next_release)
        return min((at for at in nexts if at is not None), default=None)

    def _settle(self) -> None:
        """Everything that is to be done at this instant."""
        for _ in range(TURNS):
            if not self._turn() or self.violations:
                return
        self.judge.blame("L1", "the engine never comes to rest at this instant")

    def _turn(self) -> bool:
        now = self.clock.now()
        busy = False
        while self._later and self._later[0][0] <= now:
            self._later.pop(0)[2]()
            busy = True
        for decider in self.hands.deciders.values():
            busy = bool(decider.run_due(now)) or busy
        if not self.faults.on or self._next_release <= now:
            self._next_release = now + timedelta(seconds=7)
            busy = bool(self.faulty.release()) or busy
        for agents in self.agents:
            busy = bool(agents.run_due()) or busy
        if self.engine is None or self.timers is None:
            return busy
        try:
            busy = bool(self.timers.run_due()) or busy
            busy = bool(self.slow and self.slow.run_due()) or busy
            return self.engine.turn() or busy
        except Crash:
            self.counts["R1.crashes_between_writes"] += 1
            self.die(timedelta(seconds=self.dice.choice((0, 0, 3, 60))))
            return True

    # -- the end -----------------------------------------------------------------------------------

    def is_done(self) -> bool:
        """Whether every placement says, of this generation and revision, that all is done."""
        workload = self.hub.get(self.subject.ref)
        status, generation = workload.get("status") or {}, workload["metadata"]["generation"]
        return self.subject.is_done(status, generation, self.hands.editor.asked())

    def carried(self) -> dict[str, tuple[str, ...]]:
        """Which revisions each cluster has at the end."""
        return {c: self.judge.carried(c) for c in sorted({*self.setting.clusters})}

    def _judge_end(self) -> None:
        self.counts["L5.finished"] += 1
        if not self.is_done():
            status = self.hub.get(self.subject.ref).get("status")
            self.judge.blame("L5", f"a good revision never finishes: {status}")
            return
        if self.engine is not None:
            self.counts["R5.replayed"] += 1
            self.judge.replay(self.engine.fleet, self.clock.now() + QUIET)
        for cluster, revisions in self.carried().items():
            owner = self.judge.told.owner(cluster)
            values = tuple(revision.rpartition("/")[2] for revision in revisions)
            if values != (("fix",) if owner is not None else ()):
                self.judge.blame("S9", f"{cluster} ends with {revisions}")
