"""Is a cluster touched as soon as its window opens, though nothing else happens then? Promise L1.

Whose turn it is then, and how many slots are free, `tests.safety.slots` works out.
"""

from collections import Counter
from collections.abc import Callable
from datetime import datetime

from tests.safety import wishes
from tests.safety.model import Rollout
from tests.safety.slots import SlotsJudge
from tests.safety.terms import Stage
from tests.safety.told import Told


class OpeningsJudge:
    """Remembers who was closed when the engine last had nothing to do."""

    def __init__(self, told: Told, counts: Counter[str], blame: Callable[[str, str], None]) -> None:
        self._told, self._counts, self._blame = told, counts, blame
        self._closed: frozenset[str] = frozenset()
        # With counts of its own: guards of other promises count plans, and nothing is planned here.
        self._slots = SlotsJudge(told, Counter(), self._idle)

    def rested(self, now: datetime) -> None:
        """The engine has nothing more to do at this instant: nobody may be left whom it could touch."""
        closed = self._told.closed(now)
        opened, self._closed = self._closed - closed, closed
        for rollout in self._told.rollouts.values() if opened else ():
            if any(rollout.current(cluster) is None for cluster in opened & rollout.selected):
                self._counts["L1.openings_judged"] += 1
                self._slots.judge(rollout, [], self._reached(rollout, now), now)

    @staticmethod
    def _reached(rollout: Rollout, now: datetime) -> list[Stage]:
        found: list[Stage] = []
        for stage in rollout.plan.stages:
            found.append(stage)
            is_through = rollout.may_have_passed(stage, now)
            if not is_through or wishes.shut(rollout, stage, "before", "after"):
                break
        return found

    def _idle(self, _: str, message: str) -> None:
        self._blame("L1", f"a window has opened, and nobody looks: {message}")
