"""When could it be finished at the earliest? As if every agent succeeded the moment it is asked.

Clusters wait for their windows. Analyses of clusters are taken to be Successful at once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rollout.account.states import state_of
from rollout.account.waits import remedy
from rollout.model.kinds import Ref
from rollout.model.waits import Reason, Wait
from rollout.rollouts.facts import Decided
from rollout.rollouts.head import Head
from rollout.rollouts.line import KeptContent, Line
from rollout.rollouts.live import NOTHING_KEPT, LiveRollout
from rollout.rollouts.observations import Observation
from rollout.rollouts.share import PlacementShare
from rollout.rollouts.workload import Workload
from rollout.strategies.base import NOTHING_CLOSED, Closed, Health, Phase, Rollout, Step

MOST_STEPS = 100_000
FARTHEST = timedelta(days=366)
"""What calendars have not opened by then is not waited for."""

NOT_WORKED_OUT = "not worked out in profile ocm"

Closing = Callable[[datetime], Closed]
"""The clusters that calendars close at an instant."""


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
        kept: Mapping[str, KeptContent] = NOTHING_KEPT,
        barred: str = "",
        *,
        closed: Closed = NOTHING_CLOSED,
    ) -> Decided:
        """As every rollout does, with the clusters that are closed at that instant."""
        return super().decide(hold, now, kept, barred, closed=self._closing(now))

    def next_change(self) -> datetime | None:
        """When time alone next changes a cluster, or opens one."""
        due, opens = self.ledger.next_due(), self.closed.touch.until
        return min((at for at in (due[0] if due else None, opens) if at is not None), default=None)

    def _write(self, line: Line) -> None:
        """Nothing is written down."""


def imagined(live: LiveRollout, now: datetime, closing: Closing) -> ImaginedRollout:
    """A rollout that stands as ``live`` does and can be led anywhere from there."""
    copy = ImaginedRollout(live.workload, live.placement, "", now)
    known = live.ledger.rollout
    timing = replace(known.timing, measured=None)
    copy.begin(replace(known, standings=dict(known.standings), timing=timing), now, closing)
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
    workload: Workload[PlacementShare], now: datetime, closed: Callable[[Ref, datetime], Closed]
) -> Finish:
    """The earliest finish of a planned workload. ``closed``: what calendars close to it at an instant."""
    if workload.is_ocm:
        return Finish(None, None, NOT_WORKED_OUT)
    finishes = [
        _finish(share.live, now, closing(closed, workload))
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


def _finish(like: LiveRollout, now: datetime, shut: Closing) -> Finish:
    start = now
    live = imagined(like, now, shut)
    for cluster in list(live.ledger.standings):
        _succeed(live, cluster, now)
    for _ in range(MOST_STEPS):
        step = _settle(live, now)
        stopped = step.hold or step.halt
        if stopped is not None:
            return Finish(
                None,
                None,
                f"{stopped.reason}: not until {remedy(stopped.reason, stopped.message)}",
            )
        if step.complete:
            return Finish(now, now - start)
        due = live.next_change()
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
    return "it never ends"


def _settle(live: LiveRollout, now: datetime) -> Step:
    """Touch what is to be touched now; all that is touched succeeds."""
    while True:
        step = live.step(live.ledger.rollout.hold, now)
        for cluster in step.touch:
            live.attempt(cluster, "", now)
            _succeed(live, cluster, now)
        if not step.touch:
            return step


def _succeed(live: LiveRollout, cluster: str, now: datetime) -> None:
    """A cluster in flight with the revision is well, from now on."""
    if cluster not in live.ledger:
        return
    phase, standing = live.ledger.judgement(cluster).phase, live.ledger.standings[cluster]
    wanted = live.wanted(cluster)
    if standing.revision == wanted and phase in (Phase.PROGRESSING, Phase.FAILING):
        seen = Observation(wanted, Health.SUCCEEDED, reason="", revision=wanted)
        live.observe(cluster, seen, now)
