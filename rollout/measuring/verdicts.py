"""Decides the verdict of a run, what is measured now, and when to measure next.

Fails closed: what was not measured, or cannot be, is never Successful. The worst limit of a metric counts,
then the worst metric of the run, and no later measurement makes a Failed one better.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rollout.measuring.conditions import assess
from rollout.measuring.values import (
    AnalysisMetric,
    AnalysisResult,
    Measurement,
    MetricResult,
    Sample,
)
from rollout.model.analyses import PHASES, AnalysisPhase
from rollout.model.wording import shortened

AGAIN_AFTER_ERROR = timedelta(seconds=10)
"""After an error a metric without an interval is measured again so much later."""
LOOK_AFTER, LOOK_AT_LAST = timedelta(seconds=5), timedelta(minutes=1)
"""At what has not come to its end yet one looks again after a quarter of the time that it takes already, within
these, and no later than the interval: whoever takes long is looked at seldom.
"""
LONGEST_VALUE = 256
"""Characters of a value that a status shows."""
LONGEST_TOLD = 60
"""Characters of a value that a message shows."""


@dataclass(frozen=True, slots=True)
class Due:
    """What is to be measured now, by name, and when something is due next (None: nothing will be)."""

    metrics: tuple[str, ...] = ()
    look_at: datetime | None = None


def begin(metrics: Iterable[AnalysisMetric], now: datetime) -> AnalysisResult:
    """A run that begins now."""
    fresh = {metric.name: MetricResult(name=metric.name) for metric in metrics}
    return AnalysisResult(started_at=now, metrics=fresh)


def due(
    metrics: Iterable[AnalysisMetric],
    result: AnalysisResult,
    now: datetime,
    looks: Mapping[str, datetime] | None = None,
) -> Due:
    """What of a run that has begun is to be measured at this instant.

    Args:
        looks: when to look again at metrics that have not come to their end yet, where that is known.
    """
    if result.finished_at is not None or result.started_at is None:
        return Due()
    ready: list[str] = []
    later: list[datetime] = []
    for metric in metrics:
        known = result.metrics.get(metric.name, MetricResult(name=metric.name))
        if known.phase.is_final:
            continue
        at = _next_at(metric, known, result.started_at)
        if _is_pending(known):
            at = (looks or {}).get(metric.name, at)
        if at <= now:
            ready.append(metric.name)
        else:
            later.append(at)
    return Due(tuple(ready), min(later, default=None))


def _next_at(metric: AnalysisMetric, known: MetricResult, started_at: datetime) -> datetime:
    if not known.measurements:
        return started_at + metric.initial_delay
    last = known.measurements[-1]
    if _is_pending(known):
        taken = last.finished_at - last.started_at
        most = min(metric.interval or LOOK_AT_LAST, LOOK_AT_LAST)
        return last.finished_at + max(LOOK_AFTER, min(taken / 4, most))
    return last.finished_at + (metric.interval or AGAIN_AFTER_ERROR)


def _is_pending(known: MetricResult) -> bool:
    return bool(known.measurements) and known.measurements[-1].phase is AnalysisPhase.RUNNING


def take(
    metrics: Sequence[AnalysisMetric],
    result: AnalysisResult,
    samples: Mapping[str, Sample],
    now: datetime,
) -> AnalysisResult:
    """The run with what was measured, by the name of the metric.

    What comes after a metric's, or the run's, end is left out.
    """
    if result.finished_at is not None:
        return result
    found: dict[str, MetricResult] = {}
    for metric in metrics:
        known = result.metrics.get(metric.name, MetricResult(name=metric.name))
        sample = samples.get(metric.name)
        if sample is not None and not known.phase.is_final:
            known = _with(metric, known, sample)
        found[metric.name] = known
    return _concluded(metrics, replace(result, metrics=found), now)


def stop(result: AnalysisResult, why: str, now: datetime) -> AnalysisResult:
    """The run, ended before its verdict was clear: it is never Successful."""
    if result.finished_at is not None:
        return result
    phase = result.phase
    if phase in (AnalysisPhase.RUNNING, AnalysisPhase.SUCCESSFUL):
        phase = AnalysisPhase.INCONCLUSIVE
    return replace(result, phase=phase, message=why, finished_at=now, stopped=True)


def worked_out(metrics: Sequence[AnalysisMetric], said: AnalysisResult) -> AnalysisResult:
    """The run as it follows from its measurements, whatever phases and counts its status says (S18).

    Where a metric has been measured more often than is kept, its counts are believed.
    """
    if said.stopped:
        return said
    if said.started_at is None:
        return AnalysisResult(metrics={})
    found = {metric.name: _recounted(metric, said) for metric in metrics}
    instants = [one.finished_at for each in found.values() for one in each.measurements]
    ended_at = said.finished_at or max(instants, default=said.started_at)
    result = _concluded(metrics, replace(said, metrics=found), ended_at)
    return replace(result, message=said.message) if result.phase is said.phase else result


def agree(one: AnalysisResult, other: AnalysisResult) -> bool:
    """Whether both say the same of the run and of each metric, but for their words."""
    return _plain(one) == _plain(other)


def takes_back(before: AnalysisResult, after: AnalysisResult) -> bool:
    """Whether a later status of the same run has lost what was measured, as no measurement does."""
    if before.started_at is None:
        return False
    has_reopened = before.finished_at is not None and after.finished_at is None
    if after.started_at != before.started_at or has_reopened:
        return True
    found = ((each, after.metrics.get(name)) for name, each in before.metrics.items())
    return any(each is None or _fewer(each, known) for known, each in found)


def _fewer(after: MetricResult, before: MetricResult) -> bool:
    return any(
        new < old
        for new, old in (
            (after.successful, before.successful),
            (after.failed, before.failed),
            (after.inconclusive, before.inconclusive),
            (after.error, before.error),
        )
    )


def _plain(result: AnalysisResult) -> tuple[object, ...]:
    metrics = {name: replace(each, message="") for name, each in result.metrics.items()}
    return result.phase, result.finished_at is None, result.stopped, metrics


def _recounted(metric: AnalysisMetric, said: AnalysisResult) -> MetricResult:
    known = said.metrics.get(metric.name, MetricResult(name=metric.name))
    phases = [one.phase for one in known.measurements if one.phase is not AnalysisPhase.RUNNING]
    if known.count + known.error < metric.kept or len(phases) < metric.kept - 1:
        known = replace(
            known,
            count=len(phases) - phases.count(AnalysisPhase.ERROR),
            successful=phases.count(AnalysisPhase.SUCCESSFUL),
            failed=phases.count(AnalysisPhase.FAILED),
            inconclusive=phases.count(AnalysisPhase.INCONCLUSIVE),
            error=phases.count(AnalysisPhase.ERROR),
            consecutive_error=_in_a_row(phases, AnalysisPhase.ERROR),
            consecutive_success=_in_a_row(phases, AnalysisPhase.SUCCESSFUL),
        )
    phase, message = judged(metric, known)
    return known if phase is known.phase else replace(known, phase=phase, message=message)


def _in_a_row(phases: Sequence[AnalysisPhase], phase: AnalysisPhase) -> int:
    """How many of the last ones are so, one after the other."""
    return next((i for i, each in enumerate(reversed(phases)) if each is not phase), len(phases))


def unreadable(why: str, now: datetime) -> AnalysisResult:
    """A run whose metrics cannot be read: it ends at once, and a person has to act."""
    return AnalysisResult(
        phase=AnalysisPhase.INCONCLUSIVE, message=why, started_at=now, finished_at=now, metrics={}
    )


def _with(metric: AnalysisMetric, known: MetricResult, sample: Sample) -> MetricResult:
    """The metric with one more measurement; one that has not come to its end makes room for the next."""
    before = known.measurements
    if _is_pending(known):
        began, before = before[-1].started_at, before[:-1]
        sample = replace(sample, started_at=began)
    if sample.is_pending:
        waiting = Measurement(
            phase=AnalysisPhase.RUNNING,
            started_at=sample.started_at,
            finished_at=sample.finished_at,
        )
        return replace(known, measurements=(*before, waiting)[-metric.kept :])
    if sample.error:
        phase, message = AnalysisPhase.ERROR, sample.error
    elif sample.is_assumed:
        phase, message = AnalysisPhase.SUCCESSFUL, "assumed"
    else:
        phase, message = assess(metric.success, metric.failure, sample.value)
    measured = Measurement(
        phase=phase,
        started_at=sample.started_at,
        finished_at=sample.finished_at,
        value="" if sample.error else value_text(sample.value),
        message=message,
    )
    is_error, is_success = phase is AnalysisPhase.ERROR, phase is AnalysisPhase.SUCCESSFUL
    counted = replace(
        known,
        count=known.count + (not is_error),
        successful=known.successful + is_success,
        failed=known.failed + (phase is AnalysisPhase.FAILED),
        inconclusive=known.inconclusive + (phase is AnalysisPhase.INCONCLUSIVE),
        error=known.error + is_error,
        consecutive_error=known.consecutive_error + 1 if is_error else 0,
        consecutive_success=known.consecutive_success + 1 if is_success else 0,
        measurements=(*before, measured)[-metric.kept :],
    )
    phase, message = judged(metric, counted)
    return replace(counted, phase=phase, message=message)


def judged(metric: AnalysisMetric, known: MetricResult) -> tuple[AnalysisPhase, str]:
    """The verdict of a metric by its counts, and why."""
    if metric.failure_limit is not None and known.failed > metric.failure_limit:
        told = f"{known.failed} failed, tolerated {metric.failure_limit}"
        return AnalysisPhase.FAILED, _because(told, known)
    if known.inconclusive > metric.inconclusive_limit:
        told = f"{known.inconclusive} inconclusive, tolerated {metric.inconclusive_limit}"
        return AnalysisPhase.INCONCLUSIVE, _because(told, known)
    if known.consecutive_error > metric.error_limit:
        told = f"{known.consecutive_error} errors in a row, tolerated {metric.error_limit}"
        return AnalysisPhase.ERROR, _because(told, known)
    enough = metric.consecutive_success_limit
    if enough is not None and known.consecutive_success >= enough:
        return AnalysisPhase.SUCCESSFUL, ""
    if metric.count is None or known.count < metric.count:
        return AnalysisPhase.RUNNING, ""
    if enough is not None:
        return AnalysisPhase.INCONCLUSIVE, f"{enough} successes in a row were not reached"
    if not known.successful:
        return AnalysisPhase.INCONCLUSIVE, "no measurement was successful"
    return AnalysisPhase.SUCCESSFUL, ""


def _because(told: str, known: MetricResult) -> str:
    """With what the last measurement says of itself, and gave."""
    if not known.measurements:
        return told
    last = known.measurements[-1]
    why = f": {last.message}" if last.message else ""
    value = f"; the last value is {shortened(last.value, LONGEST_TOLD)}" if last.value else ""
    return f"{told}{why}{value}"


def _concluded(
    metrics: Sequence[AnalysisMetric], result: AnalysisResult, now: datetime
) -> AnalysisResult:
    """The run with the verdict of its metrics; dry ones do not count."""
    counting = [metric for metric in metrics if not metric.is_dry]
    known = [result.metrics[metric.name] for metric in counting]
    if not known:
        return replace(result, phase=AnalysisPhase.INCONCLUSIVE, message="nothing is measured")
    worst = min(known, key=lambda each: PHASES.index(each.phase))
    is_over = worst.phase is AnalysisPhase.FAILED or all(each.phase.is_final for each in known)
    message = f"metric {worst.name}: {worst.message}" if worst.message else ""
    return replace(result, phase=worst.phase, message=message, finished_at=now if is_over else None)


def value_text(value: object) -> str:
    """The value as JSON; NaN and the infinities as JavaScript calls them."""
    return shortened(json.dumps(value, default=str, ensure_ascii=False), LONGEST_VALUE)
