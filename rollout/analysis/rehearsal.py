"""Simulates rollouts and their agents without a hub: the same decisions and draws, but faster.

It gives what the whole simulation gives (the same touches at the same instants, the same end) at a
small part of the cost, since no object is made, written or read. Tests hold the two equal. (Where an
agent reports at the very microsecond of a deadline or of the end of a soak, and several workloads are
on their way, a hub plans some of them before the report and some after; here it is always before.)
"""

import heapq
from collections.abc import Collection
from datetime import datetime

from rollout.account.finish import ImaginedRollout
from rollout.analysis.setting import Actor, Part, Setting
from rollout.analysis.tracks import Reached, Track, nowhere
from rollout.model.conditions import read_conditions
from rollout.model.kinds import Obj, Ref
from rollout.model.work import Work
from rollout.rollouts.line import Line
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.observations import Observation
from rollout.sim.local import LONGEST_RUN
from rollout.sim.members import FOREVER
from rollout.sim.reports import AgentReport, conditions
from rollout.sim.template import WorkTemplate
from rollout.sim.timeline import TimedReport, draws, following
from rollout.strategies.base import Phase, Step
from rollout.strategies.states import Report, read_report

_FLYING = frozenset({Phase.PROGRESSING, Phase.SOAKING})
"""Between these a cluster may go without changing what is decided."""
_FINISHED = frozenset({Phase.SOAKED, Phase.FAILED, Phase.SKIPPED, Phase.LOST})


class Understanding:
    """What an engine makes of a work's conditions, report by report; equal ones are worked out once."""

    def __init__(self, template: WorkTemplate, rules: frozenset[str]) -> None:
        self._template, self._rules = template, rules
        self._states: dict[object, tuple[int, list[Obj]]] = {}
        self._lists: list[list[Obj]] = []
        self._known: dict[tuple[int, AgentReport, int], tuple[int, Report]] = {}

    def begin(self, said: tuple[Obj, ...]) -> int:
        """The state of a work that carries these conditions."""
        return self._state(list(said))

    def after(self, state: int, report: AgentReport, generation: int) -> tuple[int, Report]:
        """The state after a report, and what the engine reads in it."""
        key = (state, report, generation)
        known = self._known.get(key)
        if known is None:
            told = conditions(
                self._lists[state], report, self._template, generation=generation, now=""
            )
            work = Work("", "", generation=generation, conditions=read_conditions(told))
            known = self._known[key] = (self._state(told), read_report(work, self._rules))
        return known

    def _state(self, told: list[Obj]) -> int:
        parts = ("type", "status", "observedGeneration", "reason")
        key = tuple(tuple(c.get(part) for part in parts) for c in told)
        if key not in self._states:
            self._states[key] = (len(self._lists), told)
            self._lists.append(told)
        return self._states[key][0]


class _RehearsedAgent:
    """One cluster's agent, from the moment that its cluster is touched."""

    __slots__ = ("actor", "begun", "state", "steps")

    def __init__(self, actor: Actor, state: int) -> None:
        self.actor, self.state = actor, state
        self.begun = False
        self.steps: tuple[TimedReport, ...] = ()


class _Live(ImaginedRollout):
    """A rollout that writes nothing down, except (where asked) on a track."""

    def __init__(self, part: Part, now: datetime, track: Track | None) -> None:
        super().__init__(part.workload, part.placement, "", now)
        self.track, self.now, self.changed_at = track, now, now
        self.begin(part.rollout, now, part.closing)

    def _write(self, line: Line) -> None:
        self.changed_at = self.now
        if self.track is not None and line.standing is not None:
            self.track.add(self.now, line.standing)


class _Act:
    """One part on its way: the rollout, and the agents of the clusters that were touched."""

    def __init__(self, part: Part, start: datetime, seed: int, track: Track | None) -> None:
        self.part, self._start, self._seed = part, start, seed
        self.live = _Live(part, start, track)
        self.is_done = False  # everything is rolled out, as the engine's own status would say
        self._understood = Understanding(part.template, part.rules)
        self._agents: dict[str, _RehearsedAgent] = {}
        self._due: list[tuple[datetime, str]] = []

    def next_at(self) -> datetime | None:
        """When an agent acts, or time alone changes something."""
        changes = self.live.next_change()
        acts = self._due[0][0] if self._due else None
        if changes is None or (acts is not None and acts < changes):
            return acts
        return changes

    def go(self, now: datetime) -> None:
        """Do all that happens at an instant: first what time brings, then what agents say."""
        self.live.now = now
        changes = self.live.next_change()
        if changes is not None and changes <= now:
            self.decide(now)
        while self._due and self._due[0][0] <= now:
            matters = False
            while self._due and self._due[0][0] <= now:
                _, cluster = heapq.heappop(self._due)
                matters = self._act(cluster, now) or matters
            if matters:
                self.decide(now)

    def decide(self, now: datetime) -> None:
        """Touch what is to be touched. Asked again, the ledger would have nothing to add."""
        step = self.live.step(self.part.rollout.hold, now)
        for cluster in step.touch:
            self.live.attempt(cluster, "", now)
            self._begin_soon(cluster, now)
        if self.live.track is not None:
            self.live.track.passed.update(dict.fromkeys(step.passed, now))
        is_free = step.halt is None and step.hold is None
        self.is_done = is_free and (step.complete or _is_finished(step))

    def _begin_soon(self, cluster: str, now: datetime) -> None:
        actor = self.part.actors[cluster]
        agent = self._agents[cluster] = _RehearsedAgent(actor, self._understood.begin(actor.said))
        back = actor.member.back_at(now) if actor.member.windows else None
        if back is None:
            self._begin(cluster, agent, now)
        elif back != FOREVER:
            heapq.heappush(self._due, (back, cluster))

    def _begin(self, cluster: str, agent: _RehearsedAgent, now: datetime) -> None:
        actor = agent.actor
        agent.begun = True
        attempt = actor.attempt(self._start, now)
        drawn = draws(self._seed, actor.key, actor.generation, attempt)
        agent.steps = following(
            actor.behaviour,
            self.part.template,
            drawn,
            now,
            generation=actor.generation,
            said=list(actor.said),
        )
        self._arm(cluster, agent)

    def _arm(self, cluster: str, agent: _RehearsedAgent) -> None:
        if agent.steps:
            heapq.heappush(self._due, (agent.steps[0].at, cluster))

    def _act(self, cluster: str, now: datetime) -> bool:
        """Let an agent act. Returns: whether what is decided could change."""
        agent = self._agents[cluster]
        member = agent.actor.member
        back = member.back_at(now) if member.windows else None
        if back is not None:
            if back != FOREVER:
                heapq.heappush(self._due, (back, cluster))
            return False
        if not agent.begun:
            self._begin(cluster, agent, now)
            return False
        due = 0
        for step in agent.steps:
            if step.at > now:
                break
            due += 1
        report = agent.steps[due - 1].report
        agent.steps = agent.steps[due:]
        self._arm(cluster, agent)
        return self._report(cluster, agent, report, now)

    def _report(
        self, cluster: str, agent: _RehearsedAgent, report: AgentReport, now: datetime
    ) -> bool:
        agent.state, read = self._understood.after(agent.state, report, agent.actor.generation)
        ledger = self.live.ledger
        before = ledger.judgement(cluster).phase
        revision = self.part.rollout.revision
        self.live.observe(
            cluster,
            Observation(
                content=revision, health=read.health, reason=read.reason, revision=revision
            ),
            now,
        )
        after = ledger.judgement(cluster).phase
        return before is not after and not (before in _FLYING and after in _FLYING)


def _is_finished(step: Step) -> bool:
    return bool(step.stages) and all(
        stage.passed and all(not n or phase in _FINISHED for phase, n in stage.phases.items())
        for stage in step.stages
    )


class Rehearsal:
    """All parts of a setting on one virtual time, from its start to the end.

    Args:
        seed: of all chance.
        tracks: filled with what becomes of each cluster, by (workload, placement), where given.
        about: the workloads that ``counted``, ``done_at``, ``halted_at`` and ``changed_at`` are of;
            None: all.
    """

    def __init__(
        self,
        setting: Setting,
        seed: int,
        tracks: dict[tuple[str, str], Track] | None = None,
        *,
        about: Collection[Ref] | None = None,
        reached: Reached = nowhere,
    ) -> None:
        self._reached = reached
        self.start = self._now = setting.start
        self._acts: list[_Act] = []
        for part in setting.parts:
            track = None
            if tracks is not None:
                track = tracks[part.workload.key, part.placement] = Track(
                    part.rollout, setting.start
                )
            self._acts.append(_Act(part, setting.start, seed, track))
        self._counted = [a for a in self._acts if about is None or a.part.workload in about]
        self.halted_at: datetime | None = None
        self.done_at: datetime | None = None

    @property
    def lives(self) -> list[LiveRollout]:
        return [act.live for act in self._acts]

    @property
    def counted(self) -> list[LiveRollout]:
        """The rollouts that it is about."""
        return [act.live for act in self._counted]

    def run(self) -> None:
        """To where every part is done, nothing can happen any more, or thirty days are over."""
        for act in self._acts:
            act.decide(self.start)
        self._look()
        end = self.start + LONGEST_RUN
        while not (self._acts and all(act.is_done for act in self._acts)):
            nexts = [(at, act) for act in self._acts if (at := act.next_at()) is not None]
            soonest = min((at for at, _ in nexts), default=None)
            if soonest is None or soonest > end:
                return
            self._now = soonest
            for at, act in nexts:
                if at <= self._now:
                    act.go(self._now)
            self._look()

    def _look(self) -> None:
        self._reached(self._now - self.start)
        halted = any(act.live.last.halt is not None for act in self._counted)
        done = bool(self._counted) and all(act.is_done for act in self._counted)
        self.halted_at = (self.halted_at or self._now) if halted else None
        self.done_at = (self.done_at or self._now) if done else None

    @property
    def changed_at(self) -> datetime:
        """When anything last became of a cluster."""
        return max((act.live.changed_at for act in self._counted), default=self.start)
