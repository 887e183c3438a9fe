"""Chooses which stop is told of a workload whose placements are stopped for several reasons.

A revision that is taken back in one placement is barred in all. So the progress of the rollback comes
first, and other stops come after it. Source: semantics row 27.
"""

from dataclasses import dataclass

from rollout.model.waits import Reason, Scope, Wait

_HALTED, _GOING, _STANDING, _DONE, _OTHER = range(5)
_RANKS = {
    Reason.ROLLBACK_HALTED: _HALTED,
    Reason.ROLLING_BACK: _GOING,
    Reason.ROLLED_BACK: _DONE,
}


@dataclass(frozen=True, slots=True)
class PlacementStop:
    """What stops one placement. ``goes_back``: the revision is being taken back there, or was."""

    placement: str
    wait: Wait
    goes_back: bool

    @property
    def rank(self) -> int:
        """The lowest is told; of several the first placement's.

        A rollback is over only when it is over everywhere. So one that is halted comes first, then one
        that goes on, then one that something else keeps from going on.
        """
        return _RANKS.get(self.wait.reason, _STANDING if self.goes_back else _OTHER)


def is_against_placement(reason: Reason) -> bool:
    """Whether it tells something against the placement. That it selects nobody is told otherwise."""
    if reason is Reason.MISCONFIGURED:
        return True
    return reason.scope is Scope.PLACEMENT and reason is not Reason.NO_TARGETS
