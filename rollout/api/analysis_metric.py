"""The wire form of a metric: what is measured, by which provider, and what the result means.

A text can hold ``{{args.NAME}}``; until arguments have been put in, such a field is not read further.
"""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from rollout.api.wire import DnsName, Name, RawObject, RuledShape, Shape, accepted, passing
from rollout.measuring.conditions import condition
from rollout.measuring.templates import ARGUMENT
from rollout.measuring.values import AnalysisMetric
from rollout.model.amounts import DURATION_ACCEPTED, parse_duration
from rollout.model.kinds import Obj
from rollout.model.problems import Problem

INSTANT_OF_RANGE = re.compile(r'\Anow\(\)(?:\s*-\s*duration\("([^"]+)"\))?\Z')
RANGE_ACCEPTED = 'now() or now() - duration("1h")'
_WHOLE = re.compile(r"\A-?[0-9]{1,9}\Z", re.ASCII)


def is_open_text(value: object) -> bool:
    """Whether arguments are still to be put into it."""
    return isinstance(value, str) and ARGUMENT.search(value) is not None


def _number(value: int | str | None) -> int | None:
    return None if value is None or is_open_text(value) else int(value)


def _is_span(value: str) -> bool:
    return is_open_text(value) or parse_duration(value) is not None


def _is_whole(value: int | str, least: int) -> bool:
    if is_open_text(value):
        return True
    return (isinstance(value, int) or _WHOLE.match(value) is not None) and int(value) >= least


def _is_range_end(value: str) -> bool:
    match = INSTANT_OF_RANGE.match(value)
    open_ = is_open_text(value)
    return open_ or (match is not None and (not match[1] or parse_duration(match[1]) is not None))


_INT_OR_STRING = WithJsonSchema({"x-kubernetes-int-or-string": True})
SpanText = Annotated[
    str, Field(max_length=256), passing(_is_span, DURATION_ACCEPTED), accepted(DURATION_ACCEPTED)
]
_LIMIT = "a whole number of 0 or more"
LimitText = Annotated[
    int | str, passing(lambda v: _is_whole(v, 0), _LIMIT), accepted(_LIMIT), _INT_OR_STRING
]
_FROM_ONE = "a whole number of 1 or more"
CountText = Annotated[
    int | str, passing(lambda v: _is_whole(v, 1), _FROM_ONE), accepted(_FROM_ONE), _INT_OR_STRING
]
_UNBOUNDED = "a whole number of 0 or more, or -1 for no limit"
FailureLimitText = Annotated[
    int | str, passing(lambda v: _is_whole(v, -1), _UNBOUNDED), accepted(_UNBOUNDED), _INT_OR_STRING
]
RangeText = Annotated[
    str,
    Field(max_length=256),
    passing(_is_range_end, RANGE_ACCEPTED),
    accepted(RANGE_ACCEPTED),
]


class HeaderShape(Shape):
    """One header of a request."""

    key: Name
    value: str


class RangeQueryShape(Shape):
    """The span that a range query is about."""

    start: RangeText
    end: RangeText
    step: SpanText


class PrometheusShape(Shape):
    """A query of Prometheus. The result is a number, or a list of them."""

    address: Name
    query: Name
    range_query: RangeQueryShape | None = None
    timeout: Annotated[int | None, Field(ge=1, le=10)] = None
    """In seconds."""
    insecure: bool | None = None
    """Do not look at the server's certificate."""
    ca_bundle: str | None = None
    """Certificates, as PEM, of those who may have signed the server's."""
    headers: list[HeaderShape] | None = None


class WebShape(Shape):
    """A request. The result is the JSON of the answer, or what jsonPath finds in it."""

    url: Name
    method: Literal["GET", "POST", "PUT"] | None = None
    headers: list[HeaderShape] | None = None
    body: str | None = None
    json_body: RawObject | None = None
    timeout_seconds: Annotated[int | None, Field(ge=1, le=10)] = None
    json_path: str | None = None
    """RFC 9535; braces around it are left out."""
    insecure: bool | None = None
    """Do not look at the server's certificate."""
    ca_bundle: str | None = None
    """Certificates, as PEM, of those who may have signed the server's."""


class JobMetadataShape(Shape):
    """What a Job gets besides its name."""

    namespace: DnsName | None = None
    """On the cluster, with onCluster; the namespace of the workload where unset."""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class JobShape(RuledShape):
    """A Job. The result is Complete or Failed."""

    on_cluster: bool | None = None
    """On the measured cluster, in a ManifestWork; else on the hub, in the namespace of the run."""
    metadata: JobMetadataShape | None = None
    spec: RawObject

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        metadata = written.get("metadata")
        namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
        if namespace and not written.get("onCluster"):
            said = "none without onCluster: on the hub it is that of the run"
            yield Problem("metadata.namespace", namespace, said)


class ProviderShape(RuledShape):
    """Who measures: one of these."""

    prometheus: PrometheusShape | None = None
    web: WebShape | None = None
    job: JobShape | None = None
    plugin: RawObject | None = None
    """By the name of the plugin (entry point ``rollout.measures``) what it is told."""

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        if len([each for each in written.values() if each is not None]) != 1:
            yield Problem("", written, "one of prometheus, web, job, plugin")
        plugin = written.get("plugin")
        if isinstance(plugin, dict) and len(plugin) != 1:
            yield Problem("plugin", plugin, "the name of one plugin, and what it is told")


class MetricShape(RuledShape):
    """One thing to measure, and what the result means. Conditions are CEL over ``result``."""

    name: Name
    interval: SpanText | None = None
    initial_delay: SpanText | None = None
    count: CountText | None = None
    """How many measurements, errors left out; 1 where neither this nor interval is set. With an
    interval alone it is measured until the rollout has ended."""
    success_condition: str | None = None
    failure_condition: str | None = None
    failure_limit: FailureLimitText | None = None
    inconclusive_limit: LimitText | None = None
    consecutive_error_limit: LimitText | None = None
    """4 where unset."""
    consecutive_success_limit: LimitText | None = None
    provider: ProviderShape

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        provider = written.get("provider")
        is_job = isinstance(provider, dict) and provider.get("job") is not None
        conditions = ("successCondition", "failureCondition")
        if not is_job and not any(written.get(each) for each in conditions):
            yield Problem(
                "successCondition", None, "this or failureCondition: what is good, or bad"
            )
        for name in conditions:
            value = written.get(name)
            if isinstance(value, str) and value and not is_open_text(value):
                problem = condition(value).problem
                if problem:
                    yield Problem(name, value, f"a condition in CEL over result: {problem}")
        yield from _broken_counts(written)

    @property
    def ends(self) -> bool:
        """Whether it can become Successful."""
        bounds = (self.count, self.consecutive_success_limit)
        return self.interval is None or any(is_open_text(each) or _number(each) for each in bounds)

    def to_model(self, *, is_dry: bool = False, kept: int = 10) -> AnalysisMetric:
        """The metric, once all arguments are in."""
        count = _number(self.count)
        if count is None and self.interval is None and not self.consecutive_success_limit:
            count = 1
        limit = _number(self.failure_limit) or 0
        in_a_row = _number(self.consecutive_success_limit)
        errors = _number(self.consecutive_error_limit)
        success = self.success_condition or ""
        if not success and not self.failure_condition:
            success = 'result == "Complete"'  # of a Job: others have to have a condition
        return AnalysisMetric(
            name=self.name,
            provider=self.provider.model_dump(by_alias=True, exclude_none=True),
            interval=parse_duration(self.interval),
            initial_delay=parse_duration(self.initial_delay) or timedelta(0),
            count=count,
            success=success,
            failure=self.failure_condition or "",
            failure_limit=None if limit < 0 else limit,
            inconclusive_limit=_number(self.inconclusive_limit) or 0,
            error_limit=4 if errors is None else errors,
            consecutive_success_limit=in_a_row or None,
            is_dry=is_dry,
            kept=kept,
        )


def _broken_counts(written: Obj) -> Iterable[Problem]:
    """What is wrong between count, interval and limits."""
    count, failures = _whole(written.get("count")), _whole(written.get("failureLimit"))
    if count is not None and count > 1 and not written.get("interval"):
        yield Problem("interval", None, "an interval, since count is more than 1")
    in_a_row = written.get("consecutiveSuccessLimit")
    if in_a_row not in (None, 0, "0", 1, "1") and not written.get("interval"):
        yield Problem("interval", None, "an interval, since consecutiveSuccessLimit is more than 1")
    if count is not None:
        for name in ("failureLimit", "inconclusiveLimit"):
            limit = _whole(written.get(name))
            if limit is not None and limit > count:
                yield Problem(name, limit, f"at most count, which is {count}")
    if failures is not None and failures < 0 and in_a_row in (None, 0, "0"):
        yield Problem("failureLimit", failures, "-1 only together with consecutiveSuccessLimit")


def _whole(value: object) -> int | None:
    if isinstance(value, str) and _WHOLE.match(value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
