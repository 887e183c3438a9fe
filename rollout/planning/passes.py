"""What does one look at a workload of any kind need? When to look again, and what is held off."""

from collections.abc import Sequence
from datetime import datetime

from rollout.model.approvals import Freeze
from rollout.model.intents import Intents
from rollout.model.problems import Problem
from rollout.planning.holds import workload_hold
from rollout.planning.views import Live
from rollout.strategies.base import Hold


class Pass:
    """One look at one workload, at the instant ``now``. ``rechecks``: when time alone changes it."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.rechecks: list[datetime] = []

    def recheck(self, at: datetime | None) -> None:
        """Look again then; what is past needs no look."""
        if at is not None and at > self.now:
            self.rechecks.append(at)

    def held(
        self, problems: Sequence[Problem], intents: Intents, freeze: Freeze | None
    ) -> Hold | None:
        """Why nothing of the workload may be touched."""
        if freeze is not None:
            self.recheck(freeze.until)
        return workload_hold(problems, intents, freeze)

    def is_refused(self, live: Live, cluster: str) -> bool:
        """Whether the server has refused a write there lately; it is tried again later (row 19)."""
        rejection = live.rejections.get(cluster)
        if rejection is None or rejection.retry_at <= self.now:
            return False
        self.recheck(rejection.retry_at)
        return True
