"""The wire form of an analysis run: its metrics, its workload, and the results so far."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field, ValidationError

from rollout.api.analysis import (
    DryRunShape,
    RetentionShape,
    SecretKeyShape,
    metrics_of,
    place_of,
    without_provider,
)
from rollout.api.analysis_metric import MetricShape
from rollout.api.fields import listed, mapping, text, version_of
from rollout.api.reading import read
from rollout.api.wire import InstantText, Name, Shape, WireObject, WorkloadKindName, list_map
from rollout.api.words import problems_of
from rollout.measuring.templates import arguments_in
from rollout.measuring.values import (
    AnalysisResult,
    AnalysisRun,
    Measurement,
    MetricResult,
    SecretRef,
    Subject,
)
from rollout.measuring.verdicts import agree, worked_out
from rollout.model.analyses import AnalysisPhase
from rollout.model.instants import parse_instant
from rollout.model.kinds import KINDS, Obj, Ref, key_of
from rollout.model.ownership import writer_of
from rollout.model.problems import Problem


class AnalysisWorkloadShape(Shape):
    """The workload that a run is about."""

    kind: WorkloadKindName
    name: Name


class RunSecretShape(Shape):
    """An argument that stands in a Secret of the run's namespace."""

    name: Name
    secret_key_ref: SecretKeyShape


class RunSpec(Shape):
    """What is measured for whom. Written by the controller, once."""

    workload: AnalysisWorkloadShape
    placement: Name
    revision: Name
    attempt: str
    """Another one after each retry."""
    template: Name
    at: str | None = None
    """The gate that asks; absent where it runs in the background."""
    cluster: str | None = None
    metrics: Annotated[
        list[MetricShape], Field(min_length=1, max_length=32, json_schema_extra=list_map("name"))
    ]
    dry_run: list[DryRunShape] | None = None
    measurement_retention: list[RetentionShape] | None = None
    secrets: Annotated[list[RunSecretShape] | None, Field(json_schema_extra=list_map("name"))] = (
        None
    )


class MeasurementShape(Shape):
    """One attempt to measure."""

    phase: str
    started_at: InstantText
    finished_at: InstantText
    value: str | None = None
    message: str | None = None


class MetricResultShape(Shape):
    """How one metric stands."""

    name: Name
    phase: str
    message: str | None = None
    count: int | None = None
    successful: int | None = None
    failed: int | None = None
    inconclusive: int | None = None
    error: int | None = None
    consecutive_error: int | None = None
    consecutive_success: int | None = None
    measurements: list[MeasurementShape] | None = None


class RunStatus(Shape):
    """How a run stands. Written by the controller."""

    phase: str | None = None
    message: str | None = None
    started_at: InstantText | None = None
    finished_at: InstantText | None = None
    stopped: bool | None = None
    metrics: Annotated[
        list[MetricResultShape] | None, Field(json_schema_extra=list_map("name"))
    ] = None


class AnalysisRunObject(WireObject):
    """An analysis on its way: what is measured, and what came of it so far."""

    spec: RunSpec
    status: RunStatus | None = None


def decode_run(ref: Ref, obj: Obj) -> AnalysisRun | None:
    """A run; None where it does not say what it is about. With problems it measures nothing."""
    meta = mapping(obj.get("metadata"))
    spec, problems = _spec(mapping(obj.get("spec")))
    if spec is None:
        return None
    kind = KINDS[spec.workload.kind]
    namespace = ref.namespace if kind.namespaced else ""
    metrics = () if problems else metrics_of(spec.metrics, spec.dry_run, spec.measurement_retention)
    status, _ = read(RunStatus, obj.get("status"), "status")
    said = _result(status or RunStatus())
    result = worked_out(metrics, said)
    return AnalysisRun(
        ref=ref,
        uid=text(meta.get("uid")),
        version=version_of(meta),
        subject=Subject(
            workload=Ref(kind, key_of(namespace, spec.workload.name)),
            placement=spec.placement,
            revision=spec.revision,
            attempt=spec.attempt,
            template=spec.template,
            at=spec.at or "",
            cluster=spec.cluster or "",
        ),
        metrics=metrics,
        result=result,
        secrets={
            each.name: SecretRef(name=each.secret_key_ref.name, key=each.secret_key_ref.key)
            for each in spec.secrets or ()
        },
        owners=frozenset(text(mapping(o).get("uid")) for o in listed(meta.get("ownerReferences"))),
        mended="" if agree(said, result) else _mended(said, result),
        writer=writer_of(obj),
        problems=problems,
    )


def _spec(written: Obj) -> tuple[RunSpec | None, tuple[Problem, ...]]:
    """What it is about, and what is wrong with it; None where nobody can tell what it is about."""
    try:
        return RunSpec.model_validate(written, extra="ignore"), tuple(_left_open(written))
    except ValidationError as error:
        named, _ = read(RunSpec, {**written, "metrics": [_NEVER]}, "spec")
        return named, tuple(problems_of(error, "spec", RunSpec))


def _left_open(written: Obj) -> Iterable[Problem]:
    """Arguments whose value could not be put in where they stand: the run was made to say so."""
    listed_metrics = map(mapping, listed(written.get("metrics")))
    for i, metric in enumerate(map(without_provider, listed_metrics)):
        for used in sorted(arguments_in(metric)):
            path = f"spec.metrics[{i}]{place_of(metric, used)}"
            yield Problem(path, f"args.{used}", "an argument whose value can stand there")


def _mended(said: AnalysisResult, result: AnalysisResult) -> str:
    if said.phase is result.phase:
        return "its status had counts that are not those of its measurements"
    return f"its status said {said.phase}, and what was measured makes {result.phase}"


_NEVER: Obj = {"name": "unread", "provider": {"plugin": {"none": {}}}, "failureCondition": "true"}
"""Stands for metrics that cannot be read, so that the rest of a run can be."""


def _result(status: RunStatus) -> AnalysisResult:
    return AnalysisResult(
        phase=_phase(status.phase),
        message=status.message or "",
        started_at=parse_instant(status.started_at),
        finished_at=parse_instant(status.finished_at),
        stopped=bool(status.stopped),
        metrics={each.name: _metric(each) for each in status.metrics or ()},
    )


def _metric(each: MetricResultShape) -> MetricResult:
    return MetricResult(
        name=each.name,
        phase=_phase(each.phase),
        message=each.message or "",
        count=each.count or 0,
        successful=each.successful or 0,
        failed=each.failed or 0,
        inconclusive=each.inconclusive or 0,
        error=each.error or 0,
        consecutive_error=each.consecutive_error or 0,
        consecutive_success=each.consecutive_success or 0,
        measurements=tuple(_measurements(each.measurements or ())),
    )


def _measurements(listed: Iterable[MeasurementShape]) -> Iterable[Measurement]:
    for each in listed:
        started, finished = parse_instant(each.started_at), parse_instant(each.finished_at)
        if started is not None and finished is not None:
            yield Measurement(
                phase=_phase(each.phase),
                started_at=started,
                finished_at=finished,
                value=each.value or "",
                message=each.message or "",
            )


def _phase(word: str | None) -> AnalysisPhase:
    """What a status says; whatever is none of our words is no verdict."""
    try:
        return AnalysisPhase(word or "")
    except ValueError:
        return AnalysisPhase.RUNNING
