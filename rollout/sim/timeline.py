"""When does an agent say what? A behaviour, drawn for one cluster and one generation.

At most two reports for a revision that goes well: applied, then ready. Steps that fall together are
one, the last.
"""

from datetime import datetime
from typing import NamedTuple

from rollout.model.kinds import Obj
from rollout.model.names import APPLIED, COMPLETE
from rollout.sim.chance import Draws, span
from rollout.sim.reports import Report, holds, trouble
from rollout.sim.scenario import Alternative, Behaviour, Delay, Flaws, Outcome
from rollout.sim.template import Template


class Step(NamedTuple):
    """One report at its instant."""

    at: datetime
    report: Report


def following(
    behaviour: Behaviour,
    template: Template,
    drawn: Draws,
    at: datetime,
    generation: int,
    said: list[Obj],
) -> tuple[Step, ...]:
    """The steps of an agent that sees a generation at ``at`` and has ``said`` these conditions so far."""
    applied = next((c for c in said if c.get("type") == APPLIED), None)
    if applied is not None and applied.get("observedGeneration") == generation:
        steps = timeline(behaviour, template, drawn, at, is_update=False)
        return _unsaid(steps, said, generation, template)
    if _is_frozen(said, template):
        return (Step(at, Report.STALE),)
    return timeline(behaviour, template, drawn, at, is_update=applied is not None)


def _is_frozen(said: list[Obj], template: Template) -> bool:
    """A work that is Complete is never applied again. Source: OCM work agent spec 2.1."""
    return COMPLETE in template.conditions and any(
        c.get("type") == COMPLETE and c.get("status") == "True" for c in said
    )


def _unsaid(
    steps: tuple[Step, ...], said: list[Obj], generation: int, template: Template
) -> tuple[Step, ...]:
    """The steps after the last one that the work already carries: an agent that starts anew."""
    for number in range(len(steps), 0, -1):
        if holds(steps[number - 1].report, template, said, generation):
            return steps[number:]
    return steps


def leaving(behaviour: Behaviour, drawn: Draws, at: datetime) -> tuple[Step, ...]:
    """The steps of an agent that sees a deleted work. That it is deleting is said only while it takes."""
    wait = span(behaviour.delete_after, drawn[4])
    removed = Step(at + wait, Report.REMOVE)
    return (Step(at, Report.DELETING), removed) if wait else (removed,)


def timeline(
    behaviour: Behaviour, template: Template, draws: Draws, seen_at: datetime, is_update: bool
) -> tuple[Step, ...]:
    """The reports for a generation first seen at ``seen_at``, by time.

    Args:
        is_update: the agent had applied another generation of the work before.
    """
    outcome, recover_after = _drawn(behaviour, draws[0])
    applied_at = seen_at + span(behaviour.apply_after, draws[1])
    ready_at = applied_at + span(behaviour.ready_after, draws[2])
    never = outcome is Outcome.HANG
    steps = _applied(behaviour.flaws, seen_at, applied_at, None if never else ready_at, is_update)
    bad_at = applied_at
    match outcome:
        case Outcome.SUCCESS:
            steps.append(Step(ready_at, Report.READY))
            return _once_each([*steps, *_flaps(behaviour, template, ready_at)])
        case Outcome.FAIL if trouble(template) is Report.DEGRADED:
            bad_at = ready_at
            steps.append(Step(ready_at, Report.DEGRADED))
        case Outcome.FAIL | Outcome.FAIL_APPLY:
            steps = [Step(applied_at, Report.APPLY_FAILED)]
        case Outcome.SILENT:
            bad_at, steps = seen_at, []
        case Outcome.HANG:
            pass
    if recover_after is not None:
        well_at = bad_at + span(recover_after, draws[3])
        steps += [Step(well_at, Report.READY), *_flaps(behaviour, template, well_at)]
    return _once_each(steps)


def _drawn(behaviour: Behaviour, draw: float) -> tuple[Outcome, Delay | None]:
    other: Alternative | None = behaviour.alternative
    if other is not None and draw < other.probability:
        return other.outcome, other.recover_after
    return behaviour.outcome, behaviour.recover_after


def _applied(
    flaws: Flaws,
    seen_at: datetime,
    applied_at: datetime,
    ready_at: datetime | None,
    is_update: bool,
) -> list[Step]:
    """From seeing the work to its first honest evaluation. ``ready_at`` None: never ready."""
    if not is_update or not (flaws.stale_evaluation or flaws.missed_progress):
        return [Step(applied_at, Report.APPLYING)]
    steps = [Step(applied_at, Report.APPLIED)]
    if flaws.stale_evaluation:
        steps = [Step(seen_at, Report.STALE), Step(applied_at, Report.APPLIED_STALE)]
    evaluated_at = applied_at + flaws.evaluation_interval
    if ready_at is None or (not flaws.missed_progress and evaluated_at < ready_at):
        steps.append(Step(evaluated_at, Report.APPLYING))
    return steps


def _flaps(behaviour: Behaviour, template: Template, well_at: datetime) -> list[Step]:
    if behaviour.flapping is None:
        return []
    period, unwell = behaviour.flapping.period, trouble(template)
    return [
        Step(well_at + n * period, Report.READY if n % 2 == 0 else unwell)
        for n in range(1, 2 * behaviour.flapping.count + 1)
    ]


def _once_each(steps: list[Step]) -> tuple[Step, ...]:
    """Of steps at one instant only the last. Recovery never comes before what it recovers from."""
    if len(steps) == 2 and steps[0].at < steps[1].at:
        return (steps[0], steps[1])  # nearly always
    later = [step.at for step in steps[1:]]
    return tuple(
        step for step, after in zip(steps, later, strict=False) if after > step.at
    ) + tuple(steps[-1:])
