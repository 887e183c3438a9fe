"""Traces of whole rollouts, read back from the exporter that OpenTelemetry's SDK has for tests."""

import re
import shlex
from datetime import timedelta
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from rollout.cli.controller import controller
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import Obj
from rollout.runtime.assembly import uid_of
from rollout.runtime.otel import OtelExport
from rollout.runtime.spans import FinishedSpan, SpanRecorder
from tests.support import make
from tests.support.addon_story import AddOnStory, addon_documents
from tests.support.receiver import receiver
from tests.support.story import MIN, SETTLED, T0, Story

HOUR = timedelta(hours=1)
STRATEGY = make.progressive(mandatory=["canary"], maxFailures=0)


class Traced:
    """A story whose engine sends spans."""

    def __init__(self, agents: Obj | None = None, *, annotations: Obj | None = None) -> None:
        workload = make.workload(strategy=STRATEGY, annotations=annotations or {})
        self.story = Story([*make.fleet(3, canary=1), workload], agents)
        self._exporter = InMemorySpanExporter()
        self._export = OtelExport(SimpleSpanProcessor(self._exporter))
        self.listen()

    def listen(self) -> None:
        fleet = self.story.engine.fleet
        fleet.witness = SpanRecorder(lambda ref: uid_of(fleet, ref), self._export)

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        """By name, the last where there are several."""
        return {each.name: each for each in self._exporter.get_finished_spans()}

    @property
    def all(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    @property
    def count(self) -> int:
        return len(self.all)


def parent(span: ReadableSpan) -> int:
    assert span.parent is not None
    return int(span.parent.span_id)


def identity(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.trace_id)


def lasted(span: ReadableSpan) -> timedelta:
    assert span.start_time is not None
    assert span.end_time is not None
    return timedelta(microseconds=(span.end_time - span.start_time) // 1000)


def test_a_rollout_has_its_stages_and_they_have_their_clusters() -> None:
    traced = Traced()
    traced.story.end()

    spans = traced.spans
    whole = spans.pop("rollout default/web p")
    stages = {n: s for n, s in spans.items() if n.startswith("stage ")}
    clusters = {n: s for n, s in spans.items() if n.startswith("cluster ")}
    assert (len(stages), sorted(clusters)) == (2, ["cluster c00", "cluster c01", "cluster c02"])
    assert whole.parent is None
    assert {parent(each) for each in stages.values()} == {identity(whole)}
    assert {parent(each) for each in clusters.values()} == {identity(s) for s in stages.values()}
    traces = {each.context.trace_id for each in traced.spans.values() if each.context}
    assert len(traces) == 1
    assert {each.status.status_code for each in traced.spans.values()} == {StatusCode.OK}


def test_spans_begin_with_the_touch_and_end_with_the_verdict() -> None:
    traced = Traced()
    traced.story.end()

    canary = traced.spans["cluster c00"]
    assert canary.start_time == int(T0.timestamp()) * 10**9
    assert lasted(canary) == SETTLED
    assert lasted(traced.spans["rollout default/web p"]) == 2 * SETTLED
    assert canary.attributes is not None
    assert canary.attributes["rollout.cluster"] == "c00"
    assert canary.resource.attributes["service.name"] == "rollout"


def test_the_standard_variables_name_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "hub-7")
    traced = Traced()
    traced.story.end()

    assert traced.spans["cluster c00"].resource.attributes["service.name"] == "hub-7"


def test_a_failed_cluster_and_the_revision_that_another_one_follows_are_errors() -> None:
    traced = Traced({"defaults": {"outcome": "fail"}})
    traced.story.to(HOUR)
    assert traced.spans["cluster c00"].status.status_code is StatusCode.ERROR
    assert "rollout default/web p" not in traced.spans

    traced.story.template(make.template("2"))
    traced.story.on(MIN)
    whole = traced.spans["rollout default/web p"]
    assert whole.status.status_code is StatusCode.ERROR
    assert "failed" in str(whole.status.description)


def test_what_is_taken_back_ends_when_all_clusters_are_back() -> None:
    traced = Traced(annotations={names.ROLLBACK: "Automatic"})
    traced.story.end()
    traced.story.template(make.template("2"))
    traced.story.on(MIN / 60)
    traced.story.annotate(names.UNDO, traced.story.mwrs()["status"]["updateRevision"])
    traced.story.on(HOUR)

    whole = traced.spans["rollout default/web p"]
    assert whole.status.description == "it was taken back"


def test_a_process_that_goes_on_with_a_rollout_goes_on_with_its_trace() -> None:
    traced = Traced()
    traced.story.to(SETTLED + MIN / 60)
    first = traced.spans["cluster c00"]
    traced.story.restart()
    traced.listen()
    traced.story.end()

    whole, last = traced.spans["rollout default/web p"], traced.spans["cluster c02"]
    assert first.context is not None
    assert last.context is not None
    assert first.context.trace_id == last.context.trace_id
    assert whole.start_time == int(T0.timestamp()) * 10**9


def test_what_had_ended_before_is_not_told_again() -> None:
    traced = Traced()
    traced.story.end()
    count = traced.count
    traced.story.restart()
    traced.listen()
    traced.story.on(HOUR)

    assert traced.count == count


@pytest.mark.parametrize("is_whole", [True, False], ids=["completed", "overtaken"])
@pytest.mark.parametrize("restarts", [False, True], ids=["", "restarted"])
def test_a_revision_that_comes_back_has_spans_of_its_own(restarts: bool, is_whole: bool) -> None:
    traced = Traced()
    traced.story.end()
    traced.story.template(make.template("2"))
    if is_whole:
        traced.story.end()
    else:
        traced.story.on(MIN / 60)
    traced.story.template(make.template("1"))
    traced.story.on(MIN / 60)
    if restarts:
        traced.story.restart()
        traced.listen()
    traced.story.end()

    spans = traced.all
    ids = [each.context.span_id for each in spans if each.context]
    assert len(ids) == len(set(ids))
    assert {parent(each) for each in spans if each.parent} <= set(ids)
    wholes = [each for each in spans if each.parent is None]
    assert [each.name for each in wholes] == ["rollout default/web p"] * 3


def test_a_workload_that_is_deleted_on_its_way_ends_its_span() -> None:
    traced = Traced()
    traced.story.to(SETTLED + MIN / 60)
    canary = traced.spans["cluster c00"]
    traced.story.hub.delete(traced.story.subject)
    traced.story.settle()

    whole = traced.spans["rollout default/web p"]
    assert whole.status.description == "the workload was deleted"
    assert lasted(whole) == SETTLED + MIN / 60
    assert trace_of(whole) == trace_of(canary)


def test_a_workload_made_anew_with_the_same_template_has_a_trace_of_its_own() -> None:
    traced = Traced()
    traced.story.end()
    traced.story.hub.delete(traced.story.subject)
    traced.story.on(HOUR)
    traced.story.add(make.workload(strategy=STRATEGY))
    traced.story.end()

    first, second = (each for each in traced.all if each.parent is None)
    assert trace_of(first) != trace_of(second)
    assert lasted(first) == lasted(second) == 2 * SETTLED
    assert {each.status.status_code for each in traced.all} == {StatusCode.OK}


def test_a_workload_whose_deletion_was_never_heard_of_ends_its_span_under_its_own_uid() -> None:
    traced = Traced()
    traced.story.to(SETTLED + MIN / 60)
    fresh = make.workload(strategy=STRATEGY)
    fresh["metadata"] |= {"uid": "another", "resourceVersion": "9999", "generation": 1}
    heard = Event(traced.story.subject, Change.ADDED, fresh, 9999)
    traced.story.engine.fleet.apply(heard, traced.story.clock.now())

    whole = traced.spans["rollout default/web p"]
    assert whole.status.description == "the workload was deleted"
    assert trace_of(whole) == trace_of(traced.spans["cluster c00"])


def test_an_addon_that_is_deleted_on_its_way_ends_its_span() -> None:
    one_by_one = make.progressive(maxConcurrency=1)
    story = AddOnStory(addon_documents(3, strategy=one_by_one, annotations={}))
    fleet, spans = story.engine.fleet, list[FinishedSpan]()
    fleet.witness = SpanRecorder(lambda ref: uid_of(fleet, ref), spans.append)
    story.on(MIN / 60)
    assert spans == []
    story.hub.delete(story.subject)
    story.settle()

    assert [(each.parent, each.fault) for each in spans] == [(0, "the workload was deleted")]


# -- docs/traces.md --------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[3] / "docs" / "traces.md").read_text()


def test_what_the_page_types_sends_traces_where_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its variables, with a receiver on loopback in the collector's place; its command takes the option."""
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    words = shlex.split(block.replace("\\\n", " "))
    variables = dict(word.split("=", 1) for word in words if "=" in word)
    program, command, *options = [word for word in words if "=" not in word]
    assert (program, command) == ("rollout", "controller")
    known = {name for each in controller.params for name in each.opts}
    assert set(options) <= known

    with receiver() as (address, got):
        for name, value in variables.items():
            told = address if name == "OTEL_EXPORTER_OTLP_ENDPOINT" else value
            monkeypatch.setenv(name, told)
        export = OtelExport()
        traced = Traced()
        uid = traced.story.mwrs()["metadata"]["uid"]
        traced.story.engine.fleet.witness = SpanRecorder(lambda _: uid, export)
        traced.story.end()
        export.close()

    requests = [ExportTraceServiceRequest.FromString(body) for _, body in got]
    resources = [each for request in requests for each in request.resource_spans]
    services = {
        a.value.string_value
        for r in resources
        for a in r.resource.attributes
        if a.key == "service.name"
    }
    assert services == {variables["OTEL_SERVICE_NAME"]}
    names_sent = {s.name for r in resources for scope in r.scope_spans for s in scope.spans}
    assert names_sent == set(traced_names())


def traced_names() -> list[str]:
    traced = Traced()
    traced.story.end()
    return [each.name for each in traced.all]


def test_the_page_names_the_spans_and_the_attributes_that_there_are() -> None:
    traced = Traced()
    traced.story.end()

    rows = re.findall(r"^\| `(\w+) [^`]*` \|", PAGE, re.MULTILINE)
    assert {each.name.split()[0] for each in traced.all} == set(rows)
    named = set(re.findall(r"`(rollout\.\w+)`", PAGE))
    assert {key for each in traced.all for key in each.attributes or {}} == named
