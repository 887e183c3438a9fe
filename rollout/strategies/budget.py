"""Counts failures against the budget of the fleet or of a stage.

Source: semantics rows 2 and 3.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rollout.model.waits import Reason, Wait
from rollout.strategies.base import IS_FAILURE, Phase, Rollout

_UNPROVEN = (Phase.PROGRESSING, Phase.SOAKING)


class Census(Protocol):
    """The members of one stage, counted. Candidates come ordered by (group, name)."""

    @property
    def phases(self) -> Mapping[Phase, int]: ...

    def outdated(self) -> Iterable[str]: ...

    def waiting(self) -> Iterator[str]: ...


@dataclass(slots=True)
class FailureScope:
    """Where failures are bounded together: the fleet, or one stage."""

    budget: int | None
    failures: int
    unproven: int  # touched with this revision, neither failed nor soaked

    @property
    def breached(self) -> bool:
        return self.budget is not None and self.failures > self.budget

    def room(self, strict: bool) -> int | None:
        """How many more clusters may be touched so that at most budget + 1 can fail; None: no limit."""
        if not strict or self.budget is None:
            return None
        return max(0, self.budget + 1 - self.failures - self.unproven)


def stage_scope(budget: int | None, census: Census) -> FailureScope:
    failures = unproven = 0
    for phase, n in census.phases.items():
        if phase in IS_FAILURE:
            failures += n
        elif phase in _UNPROVEN:
            unproven += n
    return FailureScope(budget, failures, unproven)


def fleet_scope(rollout: Rollout, stages: Sequence[FailureScope], total: int) -> FailureScope:
    budget, failures, unproven = rollout.staging.budget, 0, 0
    for scope in stages:
        failures += scope.failures
        unproven += scope.unproven
    return FailureScope(budget.of(total) if budget else None, failures, unproven)


def breach(rollout: Rollout, fleet: FailureScope, scopes: Sequence[FailureScope]) -> Wait | None:
    """The first scope whose failures exceed its budget (row 2): the fleet, then stages in order."""
    if fleet.breached:
        return _exceeded("the whole fleet", fleet)
    for stage, scope in zip(rollout.staging.stages, scopes, strict=True):
        if scope.breached:
            return _exceeded(f"mandatory {stage.title}" if stage.mandatory else stage.title, scope)
    return None


def _exceeded(where: str, scope: FailureScope) -> Wait:
    return Wait(
        Reason.MAX_FAILURES_EXCEEDED,
        f"{scope.failures} failed in {where}, {scope.budget} tolerated; roll out a fix, raise "
        "maxFailures, or skip the failed clusters",
    )
