"""The values of analyses: what is measured, and the results."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from rollout.model.analyses import AnalysisPhase
from rollout.model.instants import rfc3339, rfc3339_micro
from rollout.model.kinds import Obj, Ref
from rollout.model.problems import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisMetric:
    """One thing to measure, again and again, until its verdict is clear.

    ``count`` None: there is no end. ``failure_limit`` None: it is not bounded. ``consecutive_success_limit``:
    after so many in a row it is Successful (None: only ``count`` ends it). ``provider`` is as written.
    ``is_dry``: it is measured, but does not count. ``kept``: so many measurements stand in the status.
    """

    name: str
    provider: Obj
    interval: timedelta | None = None
    initial_delay: timedelta = timedelta(0)
    count: int | None = 1
    success: str = ""
    failure: str = ""
    failure_limit: int | None = 0
    inconclusive_limit: int = 0
    error_limit: int = 4
    consecutive_success_limit: int | None = None
    is_dry: bool = False
    kept: int = 10

    @property
    def takes(self) -> timedelta:
        """From the beginning to its verdict, where every measurement is good and there at once."""
        ends = [each for each in (self.count, self.consecutive_success_limit) if each]
        return self.initial_delay + (min(ends, default=1) - 1) * (self.interval or timedelta(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One attempt to measure. ``value`` is the result as JSON, cut off where it is long."""

    phase: AnalysisPhase
    started_at: datetime
    finished_at: datetime
    value: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricResult:
    """How one metric stands. ``count`` counts all measurements but errors."""

    name: str
    phase: AnalysisPhase = AnalysisPhase.RUNNING
    message: str = ""
    count: int = 0
    successful: int = 0
    failed: int = 0
    inconclusive: int = 0
    error: int = 0
    consecutive_error: int = 0
    consecutive_success: int = 0
    measurements: tuple[Measurement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisResult:
    """How a run stands. ``finished_at`` None: measuring goes on. ``stopped``: nobody waited for it."""

    phase: AnalysisPhase = AnalysisPhase.RUNNING
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    stopped: bool = False
    metrics: Mapping[str, MetricResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What a provider answered: a value as JSON has it, or (``error``) why there is none.

    ``is_pending``: what measures (a Job) has not come to its end. ``is_assumed``: nobody measured, and it is
    taken to be good, as only simulations do.
    """

    started_at: datetime
    finished_at: datetime
    value: object = None
    error: str = ""
    is_pending: bool = False
    is_assumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What an analysis is about.

    ``at`` says where in the rollout: a gate as it is written and the stage's key (``after:canary=analysis/slo
    at canary``), or "" in the background. ``cluster`` is "" unless it is about one cluster alone.
    ``attempt`` is another one after each retry.
    """

    workload: Ref
    placement: str
    revision: str
    attempt: str
    template: str
    at: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRef:
    """A value that stands in a Secret of the template's namespace; it is read when it is measured."""

    name: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisRun:
    """An analysis on its way: what is measured, and what came of it so far.

    ``owners`` are the uids of the objects that own it. ``mended`` says what its status told wrongly, ``writer``
    who wrote it last; the result is what follows from what was measured.
    """

    ref: Ref
    uid: str
    version: int
    subject: Subject
    metrics: tuple[AnalysisMetric, ...]
    result: AnalysisResult
    secrets: Mapping[str, SecretRef]
    owners: frozenset[str] = frozenset()
    mended: str = ""
    writer: str = ""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisArgument:
    """An argument of a template: a value, a Secret's, or (``fact``) something that the rollout knows."""

    name: str
    value: str | None = None
    secret: SecretRef | None = None
    fact: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisTemplate:
    """What to measure. With problems it measures nothing.

    What it measures is as written: values of arguments are put in when a run begins. ``needs_cluster``: it can
    only be about one cluster. ``takes``: so long a run takes where every measurement is good.
    """

    ref: Ref
    raw: Obj
    version: int
    arguments: tuple[AnalysisArgument, ...] = ()
    ends: bool = True
    needs_cluster: bool = False
    takes: timedelta = timedelta(0)
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Measure these metrics of a run, by name, and write what comes of it into its status."""

    ref: Ref
    run: AnalysisRun
    metrics: tuple[str, ...]


def status_of(result: AnalysisResult) -> Obj:
    """The status of a run."""
    return {
        "phase": result.phase.value,
        "message": result.message or None,
        "startedAt": rfc3339_micro(result.started_at) if result.started_at else None,
        "finishedAt": rfc3339(result.finished_at) if result.finished_at else None,
        "stopped": result.stopped,
        "metrics": [_metric(each) for each in result.metrics.values()],
    }


def _metric(each: MetricResult) -> Obj:
    return {
        "name": each.name,
        "phase": each.phase.value,
        "message": each.message or None,
        "count": each.count,
        "successful": each.successful,
        "failed": each.failed,
        "inconclusive": each.inconclusive,
        "error": each.error,
        "consecutiveError": each.consecutive_error,
        "consecutiveSuccess": each.consecutive_success,
        "measurements": [_measurement(one) for one in each.measurements],
    }


def _measurement(one: Measurement) -> Obj:
    return {
        "phase": one.phase.value,
        "startedAt": rfc3339_micro(one.started_at),
        "finishedAt": rfc3339_micro(one.finished_at),
        "value": one.value,
        **({"message": one.message} if one.message else {}),
    }
