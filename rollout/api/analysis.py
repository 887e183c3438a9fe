"""The wire form of analysis templates, ours and those of ``argoproj.io/v1alpha1``.

Both have one vocabulary. Every field that is not served is refused by its name.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Annotated, Any

import re2
from pydantic import Field, ValidationError

from rollout.api.analysis_metric import MetricShape
from rollout.api.fields import listed, mapping, text, version_of
from rollout.api.wire import (
    Conditions,
    Name,
    RuledShape,
    Shape,
    WireObject,
    accepted,
    list_map,
    passing,
)
from rollout.api.words import problems_of
from rollout.measuring.cluster_jobs import on_cluster
from rollout.measuring.templates import arguments_in, with_arguments
from rollout.measuring.values import AnalysisArgument, AnalysisMetric, AnalysisTemplate, SecretRef
from rollout.model.kinds import Obj, Ref
from rollout.model.problems import Problem

FACT = re.compile(
    r"\A(workload\.name|workload\.namespace|placement|stage|revision|cluster\.name"
    r"|cluster\.labels\[[^\]]+\]|cluster\.claims\[[^\]]+\])\Z"
)
FACT_ACCEPTED = (
    "workload.name, workload.namespace, placement, stage, revision, cluster.name, "
    "cluster.labels[KEY] or cluster.claims[NAME]"
)


class SecretKeyShape(Shape):
    """One entry of a Secret in the namespace of the template."""

    name: Name
    key: Name


class ValueFromShape(RuledShape):
    """Where the value of an argument comes from: one of these."""

    secret_key_ref: SecretKeyShape | None = None
    rollout: Annotated[str | None, passing(lambda v: v is None or FACT.match(v), FACT_ACCEPTED)] = (
        None
    )
    """What the rollout knows: `workload.name`, `revision`, `stage`, `cluster.labels[KEY]`, ..."""

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        if len([each for each in written.values() if each is not None]) != 1:
            yield Problem("", written, "either secretKeyRef or rollout")


class ArgumentShape(Shape):
    """A value that is put in where a metric says `{{args.NAME}}`."""

    name: Name
    value: str | None = None
    """Without this and valueFrom the workload has to give it."""
    value_from: ValueFromShape | None = None

    def to_model(self) -> AnalysisArgument:
        source = self.value_from
        secret = source.secret_key_ref if source else None
        return AnalysisArgument(
            name=self.name,
            value=self.value,
            secret=SecretRef(name=secret.name, key=secret.key) if secret else None,
            fact=(source.rollout if source else None) or "",
        )


class DryRunShape(Shape):
    """Metrics that are measured and do not count: a regular expression (RE2) of their names."""

    metric_name: Annotated[
        str,
        passing(lambda v: _pattern(v) is not None, "a regular expression"),
        accepted("a regular expression"),
    ]


class RetentionShape(Shape):
    """How many measurements of a metric are kept in the status."""

    metric_name: Annotated[
        str,
        passing(lambda v: _pattern(v) is not None, "a regular expression"),
        accepted("a regular expression"),
    ]
    limit: Annotated[int, Field(ge=1, le=100)]


def _pattern(value: str) -> Any:
    options = re2.Options()
    options.log_errors, options.max_mem = False, 1 << 20
    try:
        return re2.compile(value, options)
    except re2.error:
        return None


def _matches(pattern: str, name: str) -> bool:
    compiled = _pattern(pattern)
    return compiled is not None and compiled.fullmatch(name) is not None


class AnalysisSpec(RuledShape):
    """What to measure."""

    metrics: Annotated[
        list[MetricShape], Field(min_length=1, max_length=32, json_schema_extra=list_map("name"))
    ]
    args: Annotated[
        list[ArgumentShape] | None, Field(json_schema_extra=list_map("name"), max_length=64)
    ] = None
    dry_run: Annotated[list[DryRunShape] | None, Field(max_length=32)] = None
    measurement_retention: Annotated[list[RetentionShape] | None, Field(max_length=32)] = None

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        args = [each for each in listed(written.get("args")) if isinstance(each, dict)]
        known = {text(each.get("name")) for each in args}
        secret = {
            text(a.get("name")) for a in args if mapping(a.get("valueFrom")).get("secretKeyRef")
        }
        seen: set[str] = set()
        for i, metric in enumerate(listed(written.get("metrics"))):
            if not isinstance(metric, dict):
                continue
            name = metric.get("name")
            if isinstance(name, str) and name in seen:
                yield Problem(f"metrics[{i}].name", name, "a name that no other metric has")
            seen.add(str(name))
            for used in sorted(arguments_in(metric) - known):
                path = f"metrics[{i}]{place_of(metric, used)}"
                yield Problem(path, f"args.{used}", "an argument that args names")
            for used in sorted(arguments_in(without_provider(metric)) & secret):
                yield Problem(f"metrics[{i}]", f"args.{used}", "a Secret only in the provider")
            job = mapping(mapping(metric.get("provider")).get("job"))
            for used in sorted(arguments_in(job) & secret) if job.get("onCluster") else ():
                said = "no Secret with onCluster: it would stand in a ManifestWork"
                yield Problem(f"metrics[{i}].provider.job", f"args.{used}", said)


def without_provider(metric: Obj) -> Obj:
    """How often a metric is measured, and what the result means."""
    return {key: value for key, value in metric.items() if key != "provider"}


def place_of(value: Any, argument: str) -> str:
    """Where in a metric an argument is named: the path of the text, from there."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in pairs:
            if argument in arguments_in(inner):
                step = f".{key}" if isinstance(value, dict) else f"[{key}]"
                return f"{step}{place_of(inner, argument)}"
    return ""


def metrics_of(
    metrics: Iterable[MetricShape],
    dry_run: Iterable[DryRunShape] | None,
    retention: Iterable[RetentionShape] | None,
) -> tuple[AnalysisMetric, ...]:
    """The metrics, once all arguments are in; the first pattern that matches a name counts."""
    dry, kept = tuple(dry_run or ()), tuple(retention or ())
    return tuple(
        metric.to_model(
            is_dry=any(_matches(each.metric_name, metric.name) for each in dry),
            kept=next((r.limit for r in kept if _matches(r.metric_name, metric.name)), 10),
        )
        for metric in metrics
    )


class AnalysisStatus(Shape):
    """Whether a template can be read. Written by the controller."""

    conditions: Conditions | None = None


class AnalysisObject(WireObject):
    """What to measure, and what the results mean: for gates, in the background, for each cluster."""

    spec: AnalysisSpec
    status: AnalysisStatus | None = None


def decode_analysis(ref: Ref, obj: Obj) -> AnalysisTemplate:
    """A template of either group. Of one of which any field is bad or not served: its problems."""
    version = version_of(mapping(obj.get("metadata")))
    try:
        spec = AnalysisSpec.model_validate(mapping(obj.get("spec")), extra="forbid")
    except ValidationError as error:
        problems = tuple(problems_of(error, "spec", AnalysisSpec))
        return AnalysisTemplate(ref=ref, raw=obj, version=version, problems=problems)
    arguments = tuple(each.to_model() for each in spec.args or ())
    secret = [each.name for each in arguments if each.secret is not None]
    problems = ()
    if secret and not ref.namespace:
        said = "no Secret: a template without a namespace has none"
        problems = (Problem(f"spec.args[{secret[0]}].valueFrom.secretKeyRef", secret[0], said),)
    metrics = metrics_of(spec.metrics, spec.dry_run, spec.measurement_retention)
    if all(metric.is_dry for metric in metrics):
        said = "patterns that leave a metric that counts"
        problems = (*problems, Problem("spec.dryRun", None, said))
    return AnalysisTemplate(
        ref=ref,
        raw=obj,
        version=version,
        arguments=arguments,
        needs_cluster=any(on_cluster(metric) is not None for metric in metrics),
        takes=max((m.takes for m in metrics if not m.is_dry), default=timedelta(0)),
        ends=all(
            shape.ends or metric.is_dry for shape, metric in zip(spec.metrics, metrics, strict=True)
        ),
        problems=problems,
    )


def with_given(template: AnalysisTemplate, given: Mapping[str, str]) -> AnalysisTemplate:
    """The template with these arguments put in, and with the problems that they bring."""
    spec = template.raw["spec"]
    metrics = with_arguments(spec["metrics"], given)
    filled: Obj = {**template.raw, "spec": {**spec, "metrics": metrics}}
    return decode_analysis(template.ref, filled)
