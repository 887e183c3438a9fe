"""The seam that is told of every decision, with all its inputs, and of every workload that is gone."""

from datetime import datetime
from typing import Protocol

from rollout.model.kinds import Ref
from rollout.rollouts.facts import Made


class Witness(Protocol):
    """Told of each decision that the engine takes, right before anything follows from it."""

    def made(self, workload: Ref, placement: str, made: Made, now: datetime) -> None:
        """The standings in it are shared and go on changing: they are to be read at once."""
        ...

    def gone(self, workload: Ref, now: datetime) -> None:
        """The object is gone, and no more is decided for it. Another one of its name begins anew."""
        ...


class Witnesses:
    """Several, told one after the other."""

    def __init__(self, *each: Witness) -> None:
        self._each = each

    def made(self, workload: Ref, placement: str, made: Made, now: datetime) -> None:
        for witness in self._each:
            witness.made(workload, placement, made, now)

    def gone(self, workload: Ref, now: datetime) -> None:
        for witness in self._each:
            witness.gone(workload, now)
