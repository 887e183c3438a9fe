"""How a run of an analysis is written: what is measured for whom, and what came of it so far."""

from typing import Annotated, Literal

from pydantic import Field

from rollout.api.analysis import DryRunShape, RetentionShape, SecretKeyShape
from rollout.api.analysis_metric import MetricShape
from rollout.api.wire import InstantText, Name, Shape, WireObject, list_map


class AnalysisWorkloadShape(Shape):
    """The workload that a run is about."""

    kind: Literal["ManifestWorkReplicaSet", "ClusterManagementAddOn"]
    name: Name


class RunSecretShape(Shape):
    """An argument that stands in a Secret of the run's namespace."""

    name: Name
    secret_key_ref: SecretKeyShape


class RunSpec(Shape, use_attribute_docstrings=True):
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
    metrics: Annotated[
        list[MetricResultShape] | None, Field(json_schema_extra=list_map("name"))
    ] = None


class AnalysisRunObject(WireObject):
    """An analysis on its way: what is measured, and what came of it so far."""

    spec: RunSpec
    status: RunStatus | None = None
