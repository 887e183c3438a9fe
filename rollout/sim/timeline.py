"""Works out the reports of an agent and their instants, for one work at one generation.

A revision that goes well takes two reports: applied, then ready. Of reports at one instant only the
last is made. All chance is drawn by hashing the seed, the work, its generation and the attempt, so
that no order of events changes what a cluster draws.
"""

import hashlib
import struct
from datetime import datetime, timedelta
from statistics import NormalDist
from typing import NamedTuple

from rollout.model.kinds import Obj
from rollout.model.names import APPLIED, COMPLETE
from rollout.sim.reports import AgentReport, holds, trouble
from rollout.sim.scenario import AgentOutcome, Alternative, Behaviour, Delay, Flaws
from rollout.sim.template import WorkTemplate

Draws = tuple[float, ...]
"""Five independent numbers from 0 (included) to 1 (excluded)."""

_unpack = struct.Struct("<5Q").unpack
_MICROSECOND = timedelta(microseconds=1)
_STANDARD = NormalDist()


class TimedReport(NamedTuple):
    """One report at its instant."""

    at: datetime
    report: AgentReport


def following(
    behaviour: Behaviour,
    template: WorkTemplate,
    drawn: Draws,
    at: datetime,
    *,
    generation: int,
    said: list[Obj],
) -> tuple[TimedReport, ...]:
    """The reports of an agent that sees a generation at ``at``; ``said`` are the work's conditions."""
    applied = next((c for c in said if c.get("type") == APPLIED), None)
    if applied is not None and applied.get("observedGeneration") == generation:
        steps = timeline(behaviour, template, drawn, at, is_update=False)
        return _unsaid(steps, said, generation, template)
    if _is_frozen(said, template):
        return (TimedReport(at, AgentReport.STALE),)
    return timeline(behaviour, template, drawn, at, is_update=applied is not None)


def _is_frozen(said: list[Obj], template: WorkTemplate) -> bool:
    """A work that is Complete is never applied again. Source: OCM work agent spec 2.1."""
    return COMPLETE in template.conditions and any(
        c.get("type") == COMPLETE and c.get("status") == "True" for c in said
    )


def _unsaid(
    steps: tuple[TimedReport, ...], said: list[Obj], generation: int, template: WorkTemplate
) -> tuple[TimedReport, ...]:
    """The steps after the last one that the work already has: of an agent that was restarted."""
    for number in range(len(steps), 0, -1):
        if holds(steps[number - 1].report, template, said, generation):
            return steps[number:]
    return steps


def leaving(behaviour: Behaviour, drawn: Draws, at: datetime) -> tuple[TimedReport, ...]:
    """The reports of an agent that sees a deleted work; `DELETING` only where that takes time."""
    wait = span(behaviour.delete_after, drawn[4])
    removed = TimedReport(at + wait, AgentReport.REMOVE)
    return (TimedReport(at, AgentReport.DELETING), removed) if wait else (removed,)


def timeline(
    behaviour: Behaviour,
    template: WorkTemplate,
    drawn: Draws,
    seen_at: datetime,
    *,
    is_update: bool,
) -> tuple[TimedReport, ...]:
    """The reports for a generation first seen at ``seen_at``, in order.

    ``is_update``: the agent had applied another generation of the work before.
    """
    outcome, recover_after = _outcome(behaviour, drawn[0])
    applied_at = seen_at + span(behaviour.apply_after, drawn[1])
    ready_at = applied_at + span(behaviour.ready_after, drawn[2])
    evaluated_by = None if outcome is AgentOutcome.HANG else ready_at
    flaws = behaviour.flaws if is_update else None
    steps = _applied(flaws, seen_at, applied_at, evaluated_by)
    bad_at = applied_at
    match outcome:
        case AgentOutcome.SUCCESS:
            steps.append(TimedReport(ready_at, AgentReport.READY))
            return _once_each([*steps, *_flaps(behaviour, template, ready_at)])
        case AgentOutcome.FAIL if trouble(template) is AgentReport.DEGRADED:
            bad_at = ready_at
            steps.append(TimedReport(ready_at, AgentReport.DEGRADED))
        case AgentOutcome.FAIL | AgentOutcome.FAIL_APPLY:
            steps = [TimedReport(applied_at, AgentReport.APPLY_FAILED)]
        case AgentOutcome.SILENT:
            bad_at, steps = seen_at, []
        case AgentOutcome.HANG:
            pass
    if recover_after is not None:
        well_at = bad_at + span(recover_after, drawn[3])
        steps += [TimedReport(well_at, AgentReport.READY), *_flaps(behaviour, template, well_at)]
    return _once_each(steps)


def _outcome(behaviour: Behaviour, draw: float) -> tuple[AgentOutcome, Delay | None]:
    other: Alternative | None = behaviour.alternative
    if other is not None and draw < other.probability:
        return other.outcome, other.recover_after
    return behaviour.outcome, behaviour.recover_after


def _applied(
    flaws: Flaws | None,
    seen_at: datetime,
    applied_at: datetime,
    ready_at: datetime | None,
) -> list[TimedReport]:
    """From seeing the work to its first correct evaluation.

    ``flaws`` is None for a new work, which has no old evaluation; ``ready_at`` is None for one that
    is never ready.
    """
    if flaws is None or not (flaws.stale_evaluation or flaws.missed_progress):
        return [TimedReport(applied_at, AgentReport.APPLYING)]
    steps = [TimedReport(applied_at, AgentReport.APPLIED)]
    if flaws.stale_evaluation:
        steps = [
            TimedReport(seen_at, AgentReport.STALE),
            TimedReport(applied_at, AgentReport.APPLIED_STALE),
        ]
    evaluated_at = applied_at + flaws.evaluation_interval
    if ready_at is None or (not flaws.missed_progress and evaluated_at < ready_at):
        steps.append(TimedReport(evaluated_at, AgentReport.APPLYING))
    return steps


def _flaps(behaviour: Behaviour, template: WorkTemplate, well_at: datetime) -> list[TimedReport]:
    if behaviour.flapping is None:
        return []
    period, unwell = behaviour.flapping.period, trouble(template)
    return [
        TimedReport(well_at + n * period, AgentReport.READY if n % 2 == 0 else unwell)
        for n in range(1, 2 * behaviour.flapping.count + 1)
    ]


def _once_each(steps: list[TimedReport]) -> tuple[TimedReport, ...]:
    """Of steps at one instant only the last. Steps never go back in time."""
    if len(steps) == 2 and steps[0].at < steps[1].at:
        return (steps[0], steps[1])  # nearly always
    later = [step.at for step in steps[1:]]
    return tuple(
        step for step, after in zip(steps, later, strict=False) if after > step.at
    ) + tuple(steps[-1:])


# -- chance ---------------------------------------------------------------------------------------


def draws(seed: int, key: str, generation: int, attempt: int) -> Draws:
    """The same for the same arguments, in every process and on every machine."""
    text = f"{seed}|{key}|{generation}|{attempt}"
    numbers = _unpack(hashlib.blake2b(text.encode(), digest_size=40).digest())
    return tuple([(number >> 11) * 2.0**-53 for number in numbers])


def span(delay: Delay, draw: float) -> timedelta:
    """The time that a draw stands for, in whole microseconds, never below zero."""
    if delay.max is not None and delay.mean is None:
        if delay.max == delay.min:
            return delay.min
        steps = (delay.max - delay.min) // _MICROSECOND
        return delay.min + int(draw * (steps + 1)) * _MICROSECOND
    assert delay.mean is not None
    assert delay.sigma is not None
    if not delay.sigma:
        found = delay.mean
    else:
        deviation = _STANDARD.inv_cdf(min(max(draw, 2.0**-53), 1 - 2.0**-53))
        found = delay.mean + round(deviation * (delay.sigma / _MICROSECOND)) * _MICROSECOND
    found = max(found, delay.min)
    return found if delay.max is None else min(found, delay.max)
