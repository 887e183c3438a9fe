"""Who is told of every decision, with all that it was made from?"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from rollout.model.kinds import Obj, Ref
from rollout.model.placement import Group
from rollout.model.waits import Wait
from rollout.strategies.base import Rollout, Step
from rollout.strategies.ocm_step import Reported
from rollout.strategies.retreat import Retreat, RetreatLimits


class Witness(Protocol):
    """Told right after a decision, before anything follows from it.

    What it is handed is shared and goes on changing: the standings are to be read at once.
    """

    def decided(self, workload: Ref, placement: str, rollout: Rollout, now: datetime,
                step: Step) -> None:  # fmt: skip
        """``step`` is what `rollout.strategies.step.decide` answers to ``(rollout, now)``."""
        ...

    def decided_as_ocm(self, workload: Ref, placement: str, strategy: Obj,
                       groups: tuple[Group, ...], reported: Mapping[str, Reported],
                       others: Sequence[str], hold: Wait | None, now: datetime, step: Step) -> None:  # fmt: skip
        """``step`` is what `ocm_step` answers to the arguments before it."""
        ...

    def retreated(self, workload: Ref, placement: str, rollout: Rollout,
                  targets: Mapping[str, str], began: datetime, limits: RetreatLimits,
                  now: datetime, found: Retreat) -> None:  # fmt: skip
        """``found`` is what `retreat` answers to the arguments before it."""
        ...
