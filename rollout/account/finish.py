"""When could it be finished at the earliest? As if every agent succeeded the moment it is asked."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rollout.account.states import state_of
from rollout.account.waits import remedy
from rollout.fleet.live import LiveRollout
from rollout.fleet.observations import Observation
from rollout.fleet.tracker import Standing
from rollout.planning.record import Head
from rollout.strategies.base import Health, Phase, Rollout, Step

MOST_STEPS = 100_000


class ImaginedRollout(LiveRollout):
    """A rollout that keeps no record, for asking how it would go on. Every work in it carries what it should."""

    def begin(self, rollout: Rollout, now: datetime) -> None:
        """Go on from there; the standings given are copied."""
        self.ledger.reset(rollout, now)
        self.book.set_head(Head(rollout.revision, rollout.passed))

    def _write(self, cluster: str) -> None:
        """Nothing is written down."""

    def _mark(self, cluster: str) -> None:
        """Nothing is ever astray."""


def imagined(live: LiveRollout, now: datetime) -> ImaginedRollout:
    """A rollout that stands as ``live`` does and can be led anywhere from there."""
    copy = ImaginedRollout(live.workload, live.placement, "", now)
    known = live.ledger.rollout
    copy.begin(replace(known, standings=dict(known.standings)), now)
    return copy


@dataclass(frozen=True, slots=True)
class Finish:
    """The earliest instant at which all is done, and how long that takes; None: never by itself.

    ``why`` says what stands in the way then.
    """

    at: datetime | None
    takes: timedelta | None
    why: str = ""


def finish_of(workload: Standing, now: datetime) -> Finish:
    """The earliest finish of a planned workload."""
    if workload.is_ocm:
        return Finish(None, None, "not worked out in profile ocm")
    finishes = [
        _finish(share.live, now)
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


def _finish(like: LiveRollout, now: datetime) -> Finish:
    start = now
    live = imagined(like, now)
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
        due = live.ledger.next_due()
        if due is None:
            break
        now = due[0]
    zero = any(stage.blocked == "ConcurrencyZero" for stage in live.last.stages)
    why = f"ConcurrencyZero: not until {remedy('ConcurrencyZero')}" if zero else "it never ends"
    return Finish(None, None, why)


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
        seen = Observation(wanted, Health.SUCCEEDED, "", wanted)
        live.observe(cluster, seen, now)
