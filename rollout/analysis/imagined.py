"""How does a rollout go that is only imagined? As a live one, but nothing of it is written down."""

from dataclasses import replace
from datetime import datetime

from rollout.fleet.live import LiveRollout
from rollout.planning.record import Head
from rollout.strategies.base import Rollout


class Unwritten(LiveRollout):
    """A live rollout without a record. Every work in it carries what it should."""

    def begin(self, rollout: Rollout, now: datetime) -> None:
        """Go on from there; the standings given are copied."""
        self.ledger.reset(rollout, now)
        self.book.set_head(Head(rollout.revision, rollout.passed))

    def _write(self, cluster: str) -> None:
        """Nothing is written down."""

    def _mark(self, cluster: str) -> None:
        """Nothing is ever astray."""


def imagined(live: LiveRollout, now: datetime) -> Unwritten:
    """A rollout that stands as ``live`` does and can be led anywhere from there."""
    copy = Unwritten(live.workload, live.placement, "", now)
    known = live.ledger.rollout
    copy.begin(replace(known, standings=dict(known.standings)), now)
    return copy
