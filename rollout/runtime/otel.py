"""Sends spans to OpenTelemetry, by the standard ``OTEL_*`` variables. Needs the extra ``otel``."""

from datetime import datetime

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags

from rollout import __version__
from rollout.runtime.spans import FinishedSpan

_SCOPE = InstrumentationScope("rollout", __version__)


class OtelExport:
    """Hands spans to a processor, which sends them on a thread of its own and drops what is too much.

    Args:
        processor: None: one that sends to a collector (``OTEL_EXPORTER_OTLP_ENDPOINT`` and others).
    """

    def __init__(self, processor: SpanProcessor | None = None) -> None:
        self._processor = processor or BatchSpanProcessor(OTLPSpanExporter())
        named = Resource({SERVICE_NAME: "rollout"})
        self._resource = named.merge(OTELResourceDetector().detect())

    def __call__(self, span: FinishedSpan) -> None:
        self._processor.on_end(
            ReadableSpan(
                name=span.name,
                context=_context(span.trace, span.id),
                parent=_context(span.trace, span.parent) if span.parent else None,
                resource=self._resource,
                attributes=dict(span.attributes),
                start_time=_nanoseconds(span.began),
                end_time=_nanoseconds(span.ended),
                status=Status(StatusCode.ERROR, span.fault)
                if span.fault
                else Status(StatusCode.OK),
                instrumentation_scope=_SCOPE,
            )
        )

    def close(self) -> None:
        """Send what waits."""
        self._processor.shutdown()


def _context(trace: int, span: int) -> SpanContext:
    return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp()) * 1_000_000_000 + at.microsecond * 1_000
