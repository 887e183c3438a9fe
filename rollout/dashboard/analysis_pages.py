"""The pages of analyses: the measurements, and how far they are from the thresholds."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from rollout.analysis.snapshot import stored
from rollout.api.analysis_run import decode_run
from rollout.dashboard.answers import PageRequest
from rollout.dashboard.charts import LineChart, line_chart
from rollout.dashboard.tables import PagedColumn, PagedTable, since
from rollout.dashboard.view import HubReading
from rollout.errors import Gone
from rollout.measuring.values import AnalysisMetric, AnalysisRun, MetricResult
from rollout.model.kinds import ROLLOUT_ANALYSIS_RUN, Ref, key_of, ref_of

RUNS = PagedTable[AnalysisRun](
    PagedColumn(key="analysis", title="Analysis", by=lambda run: run.subject.template),
    PagedColumn(key="verdict", title="Verdict", by=lambda run: run.result.phase.value),
    PagedColumn(key="workload", title="Workload", by=lambda run: run.subject.workload.key),
    PagedColumn(
        key="about", title="Cluster or gate", by=lambda run: run.subject.cluster or run.subject.at
    ),
    PagedColumn(key="revision", title="Revision"),
    PagedColumn(key="begun", title="Begun", by=lambda run: since(run.result.started_at)),
    words=lambda run: (
        run.subject.template,
        run.ref.key,
        run.result.phase.value,
        run.subject.workload.key,
        run.subject.cluster,
        run.subject.at,
        run.subject.revision,
    ),
)
_BOUND = re.compile(r"(?:<=|>=|<|>)\s*(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricPicture:
    """One metric as it is asked for, as it stands, and drawn (None: fewer than two values are numbers)."""

    asked: AnalysisMetric | None
    result: MetricResult
    chart: LineChart | None


def analyses(asked: PageRequest) -> Response:
    """Every analysis that has begun, in namespaces that this person may look into; newest first."""
    found = asked.office.observer.ask(_runs, "analyses")
    mine = [each for each in found if asked.may("list", ROLLOUT_ANALYSIS_RUN, each.ref.namespace)]
    table = RUNS.page(mine, asked.request.query_params)
    return asked.page("analyses.html", runs=table, known=len(mine))


def analysis(asked: PageRequest) -> Response:
    """One analysis. Raises: Gone, NotAllowed."""
    namespace, name = (str(asked.request.path_params[key]) for key in ("namespace", "name"))
    asked.require("list", ROLLOUT_ANALYSIS_RUN, namespace)
    key = key_of(namespace, name)
    found = asked.office.observer.ask(_runs, "analyses")
    run = next((each for each in found if each.ref.key == key), None)
    if run is None:
        raise Gone(f"there is no rolloutanalysisrun {key}")
    return asked.page("analysis.html", run=run, metrics=_pictures(run))


def runs_of(asked: PageRequest, ref: Ref) -> list[AnalysisRun]:
    """The analyses of a workload that this person may see, newest first."""
    if not asked.may("list", ROLLOUT_ANALYSIS_RUN, ref.namespace):
        return []
    found = asked.office.observer.ask(_runs, "analyses")
    return [each for each in found if each.subject.workload == ref]


def _runs(reading: HubReading) -> list[AnalysisRun]:
    objects = stored(reading.objects, ROLLOUT_ANALYSIS_RUN)
    read = (decode_run(ref_of(ROLLOUT_ANALYSIS_RUN, obj), obj) for obj in objects)
    measured = reading.snapshot.fleet.measured
    own = [each for each in map(measured.own, read) if each is not None]
    found = sorted(own, key=lambda each: each.ref.key)
    begun = reading.snapshot.now
    found.sort(key=lambda each: each.result.started_at or begun, reverse=True)
    return found


def _pictures(run: AnalysisRun) -> list[MetricPicture]:
    wanted = {each.name: each for each in run.metrics}
    return [
        MetricPicture(asked=wanted.get(name), result=result, chart=_chart(wanted.get(name), result))
        for name, result in run.result.metrics.items()
    ]


def _chart(wanted: AnalysisMetric | None, result: MetricResult) -> LineChart | None:
    points = [
        (each.finished_at.timestamp(), value)
        for each in result.measurements
        if (value := number_in(each.value)) is not None
    ]
    return line_chart(points, thresholds(wanted)) if len(points) > 1 else None


def thresholds(wanted: AnalysisMetric | None) -> Sequence[tuple[str, float]]:
    """The numbers that conditions compare with: ("success" or "failure", number)."""
    if wanted is None:
        return ()
    pairs = (("success", wanted.success), ("failure", wanted.failure))
    return tuple((name, float(n)) for name, text in pairs for n in _BOUND.findall(text))


def number_in(text: str) -> float | None:
    """A value as it was measured, where it is a number or a list that begins with one."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    first = value[0] if isinstance(value, list) and value else value
    is_number = isinstance(first, int | float) and not isinstance(first, bool)
    return float(first) if is_number and abs(first) < 1e300 else None
