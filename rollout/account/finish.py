"""Works out when a rollout could be finished at the earliest: every agent succeeds the moment it is asked.

Clusters wait for their windows. Whatever is measured, of a cluster or at a gate, is good, and takes as long as its
delay and its intervals do.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from msgspec import structs

from rollout.account.interventions import gates_at
from rollout.account.states import state_of
from rollout.account.waits import remedy
from rollout.model.analyses import ANALYSIS_GATE
from rollout.model.approvals import Side
from rollout.model.instants import earliest
from rollout.model.kinds import Ref
from rollout.model.waits import Reason, Wait
from rollout.planning.analyses import KnownAnalyses
from rollout.planning.measurable import takes
from rollout.rollouts.facts import Decided
from rollout.rollouts.head import Head
from rollout.rollouts.line import KeptContent, Line
from rollout.rollouts.live import NOTHING_KEPT, LiveRollout
from rollout.rollouts.observations import Observation
from rollout.rollouts.share import PlacementShare
from rollout.rollouts.workload import Workload
from rollout.strategies.base import (
    NOTHING_CLOSED,
    Checkpoint,
    Closed,
    Health,
    Phase,
    Rollout,
    Step,
)
from rollout.strategies.gates import Gates, gate_key

MOST_STEPS = 100_000
FARTHEST = timedelta(days=366)
"""What calendars have not opened by then is not waited for."""

NOT_WORKED_OUT = "not worked out in profile ocm"

Closing = Callable[[datetime], Closed]
"""The clusters that calendars close at an instant."""


class FinishSurroundings(Protocol):
    """What a finish depends on besides the workload."""

    @property
    def measured(self) -> KnownAnalyses:
        """Analyses and their runs."""
        ...

    def closed(self, workload: Ref, now: datetime) -> Closed:
        """The clusters that calendars close to a workload then."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuringSpans:
    """How long measuring takes: of each cluster, and at each gate, by its key, which stands at a stage."""

    cluster: timedelta = timedelta(0)
    gates: Mapping[str, tuple[str, Side, timedelta]] = field(default_factory=dict)
    began: Mapping[str, datetime] = field(default_factory=dict)


def spans_of(
    workload: Workload[PlacementShare], live: LiveRollout, known: KnownAnalyses
) -> MeasuringSpans:
    """How long is measured in one placement; of a gate that is being measured also since when."""
    intents, gates = workload.intents, dict[str, tuple[str, Side, timedelta]]()
    for stage in live.ledger.rollout.staging.stages:
        for gate in gates_at(intents.gates, live.placement, stage):
            if gate.kind == ANALYSIS_GATE:
                span = takes(gate.argument, workload.ref, intents, known)
                gates[gate_key(gate, stage)] = (stage.key, gate.side, span)
    runs = known.runs(workload.ref).values() if gates else ()
    began = {
        run.subject.at: run.result.started_at
        for run in runs
        if run.subject.placement == live.placement
        and run.subject.revision == live.revision
        and run.subject.attempt == live.head.attempt
        and run.result.started_at is not None
    }
    own = takes(intents.cluster_analysis, workload.ref, intents, known)
    return MeasuringSpans(cluster=own, gates=gates, began=began)


def closing(
    closed: Callable[[Ref, datetime], Closed], workload: Workload[PlacementShare]
) -> Closing:
    """The clusters closed to a workload; none while a person lets it past all calendars."""

    def at(now: datetime) -> Closed:
        is_past = workload.intents.overridden_until(now) is not None
        return NOTHING_CLOSED if is_past else closed(workload.ref, now)

    return at


class ImaginedRollout(LiveRollout):
    """A rollout that keeps no record, for asking how it would go on. Every work in it carries what it should."""

    def begin(self, rollout: Rollout, now: datetime, closing: Closing) -> None:
        """Go on from there; the standings given are copied."""
        self._closing = closing
        self._keeps_watch = False
        self.lines = {c: Line(cluster=c, standing=each) for c, each in rollout.standings.items()}
        self.ledger.reset(rollout, now)
        self.book.set_head(Head(rollout.revision, passed=rollout.passed))

    def decide(
        self,
        hold: Wait | None,
        now: datetime,
        *,
        kept: Mapping[str, KeptContent] = NOTHING_KEPT,
        barred: str = "",
        closed: Closed = NOTHING_CLOSED,
    ) -> Decided:
        """As every rollout does, with the clusters that are closed at that instant."""
        return super().decide(hold, now, kept=kept, barred=barred, closed=self._closing(now))

    def next_change(self) -> datetime | None:
        """When time alone next changes a cluster, or opens one."""
        due, opens = self.ledger.next_due(), self.closed.touch.until
        return earliest(due[0] if due else None, opens)

    def _write(self, line: Line) -> None:
        """Nothing is written down."""


class _Foreseen(ImaginedRollout):
    """One in which gates of analyses open so long after it came there; all other gates stand open."""

    def measure(self, spans: MeasuringSpans, opened: frozenset[str]) -> None:
        """``opened``: the gates that have opened already."""
        self.book.set_head(replace(self.head, opened=opened))
        self._gates = spans.gates
        self._opens = {
            key: began + spans.gates[key][2]
            for key, began in spans.began.items()
            if key in spans.gates
        }

    def _checkpoints(
        self, gates: Gates | None, head: Head, now: datetime
    ) -> tuple[Checkpoint, ...]:
        found: list[Checkpoint] = []
        for key, (stage, side, _) in self._gates.items():
            if key not in head.opened:
                opens = self._opens.get(key)
                is_shut = opens is None or opens > now
                wait = Wait(Reason.ANALYSIS_RUNNING, key, opens) if is_shut else None
                found.append(Checkpoint(key, stage, side, wait))
        return tuple(found)

    def comes_to_gate(self, step: Step, now: datetime) -> bool:
        """Whether it has just come to a gate, which is measured from now on."""
        key = step.gate.message if step.gate is not None else ""
        if key not in self._gates or key in self._opens:
            return False
        self._opens[key] = now + self._gates[key][2]
        return True

    def next_after(self, now: datetime) -> datetime | None:
        """When time alone next changes a cluster, or opens one, or a gate."""
        gates = (at for at in self._opens.values() if at > now)
        return earliest(self.next_change(), *gates)


def _foreseen(
    live: LiveRollout, now: datetime, closing: Closing, spans: MeasuringSpans
) -> _Foreseen:
    """A rollout that stands as ``live`` does and can be led anywhere from there."""
    copy = _Foreseen(live.workload, live.placement, "", now)
    known = live.ledger.rollout
    soak = max(known.timing.soak, spans.cluster)  # both run from a cluster's success on
    timing = replace(known.timing, measured=None, soak=soak)
    copy.begin(structs.replace(known, standings=dict(known.standings), timing=timing), now, closing)
    copy.measure(spans, live.head.opened)
    return copy


@dataclass(frozen=True, slots=True)
class Finish:
    """The earliest instant at which all is done, and how long that takes; None: never by itself.

    ``why`` says what stands in the way then.
    """

    at: datetime | None
    takes: timedelta | None
    why: str = ""


def finish_of(
    workload: Workload[PlacementShare], now: datetime, around: FinishSurroundings
) -> Finish:
    """The earliest finish of a planned workload."""
    if workload.is_ocm:
        return Finish(None, None, NOT_WORKED_OUT)
    shut = closing(around.closed, workload)
    finishes = [
        _finish(share.live, spans_of(workload, share.live, around.measured), now, shut)
        for share in workload.shares.values()
        if share.selected or not share.overlapped
    ]
    if not finishes and workload.raw is not None and state_of(workload.raw).is_done:
        return Finish(now, timedelta(0))  # no placement installs it: it is configured at once
    if not finishes:
        return Finish(None, None, "no placement has been read")
    for each in finishes:
        if each.at is None:
            return each
    last = max(each.at for each in finishes if each.at is not None)
    return Finish(last, last - now)


def _finish(like: LiveRollout, spans: MeasuringSpans, now: datetime, shut: Closing) -> Finish:
    start = now
    live = _foreseen(like, now, shut, spans)
    for cluster in list(live.ledger.standings):
        _succeed(live, cluster, now)
    for _ in range(MOST_STEPS):
        step = _settle(live, now)
        stopped = step.hold or step.halt
        ends = stopped.until if stopped is not None else None
        if stopped is not None and (ends is None or not now < ends <= start + FARTHEST):
            why = f"{stopped.reason}: not until {remedy(stopped.reason, stopped.message)}"
            return Finish(None, None, why)
        if step.complete:
            return Finish(now, now - start)
        due = ends or live.next_after(now)
        if due is None or due > start + FARTHEST:
            break
        now = due
    return Finish(None, None, _never(live))


def _never(live: LiveRollout) -> str:
    """Why time alone does not bring it to its end."""
    shut = {wait.reason: wait.message for wait in live.closed.touch.waits.values()}
    for reason in (Reason.CONCURRENCY_ZERO, *shut):
        if any(stage.blocked is reason for stage in live.last.stages):
            return f"{reason}: not until {remedy(reason, shut.get(reason, ''))}"
    for wait in live.ledger.rollout.unrendered.values():
        return f"{wait.reason}: not until this is corrected: {wait.message}"
    return "it never ends"


def _settle(live: _Foreseen, now: datetime) -> Step:
    """Touch what is to be touched now; all that is touched succeeds. A hold ends when it says."""
    hold = live.ledger.rollout.hold
    if hold is not None and hold.until is not None and hold.until <= now:
        hold = None
    while True:
        step = live.step(hold, now)
        for cluster in step.touch:
            live.attempt(cluster, "", now)
            _succeed(live, cluster, now)
        if not live.comes_to_gate(step, now) and not step.touch:
            return step


def _succeed(live: LiveRollout, cluster: str, now: datetime) -> None:
    """A cluster in flight with the revision is well, from now on."""
    if cluster not in live.ledger:
        return
    phase, standing = live.ledger.judgement(cluster).phase, live.ledger.standings[cluster]
    wanted = live.wanted(cluster)
    if standing.revision == wanted and phase in (Phase.PROGRESSING, Phase.FAILING):
        seen = Observation(content=wanted, health=Health.SUCCEEDED, reason="", revision=wanted)
        live.observe(cluster, seen, now)
