"""A release that looks healthy and is slow, on a real API server and in minutes.

The story is that of `tests/stories/test_slow_release_day.py`: every cluster is measured before the next one is
touched. Revision 2 is slow on the third canary, is taken back and told; revision 3 waits for the window of each
region, and while what measures is away nothing passes. What measures is an HTTP server of the test's own, which is
away for seconds, and once more a real Prometheus, which is stopped for a minute; in the story in virtual time it
is away for ten. The controller is a process with its own account, a lease, and component `secrets`, and sends
traces.
"""

import http.server
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol
from zoneinfo import ZoneInfo

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.content import content_hash
from rollout.model.kinds import (
    CLUSTER_CALENDAR,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    REPLICA_SET,
    ROLLOUT_ANALYSIS,
    ROLLOUT_ANALYSIS_RUN,
    Obj,
    Ref,
)
from rollout.providers.secrets import SECRET
from tests.kube.cluster import Cluster, free_port
from tests.kube.conftest import lacking
from tests.kube.controlled import Controlled
from tests.kube.setting import eventually, managed_cluster, namespace, put
from tests.support import make
from tests.support.prometheus import RealPrometheus, program, prometheus_with
from tests.support.receiver import Received, receiver

pytestmark = pytest.mark.kube

CANARIES, EAST, WEST = ("c00", "c01", "c02"), "c03", "c04"
WEB, TEAM = Ref(REPLICA_SET, "default/web"), Ref(SECRET, "default/team")
REVISION = {version: content_hash(make.template(version)) for version in ("1", "2", "3")}
VERSION = {revision: version for version, revision in REVISION.items()}


def rate(version: str, cluster: str) -> float:
    """The share of requests answered in time: revision 2 is slow on the third canary."""
    return 0.3 if (version, cluster) == ("2", "c02") else 0.99


class Meter(Protocol):
    """What measures. It can go away and come back. ``outage``: for so many seconds it does; five errors in a row,
    a second apart, are one too many.
    """

    outage: float

    @property
    def provider(self) -> Obj: ...

    def away(self) -> None: ...

    def back(self) -> None: ...


class Served:
    """An HTTP server of the test's own."""

    outage = 6.0

    def __init__(self) -> None:
        self.is_away = False
        self.address = ""

    @property
    def provider(self) -> Obj:
        url = f"{self.address}/{{{{args.revision}}}}/{{{{args.cluster}}}}"
        return {"web": {"url": url, "jsonPath": "$.rate"}}

    def away(self) -> None:
        self.is_away = True

    def back(self) -> None:
        self.is_away = False

    def answer(self, path: str) -> tuple[int, Obj]:
        if self.is_away:
            return 503, {}
        _, revision, cluster = path.split("/")
        return 200, {"rate": rate(VERSION[revision], cluster)}


class Scraped:
    """A real Prometheus."""

    outage = 60.0

    def __init__(self, running: RealPrometheus) -> None:
        self._running = running

    @property
    def provider(self) -> Obj:
        query = 'scalar(shop_in_time{cluster="{{args.cluster}}",revision="{{args.revision}}"})'
        return {"prometheus": {"address": self._running.address, "query": query}}

    def away(self) -> None:
        self._running.stop()

    def back(self) -> None:
        self._running.start()


@contextmanager
def served() -> Iterator[Served]:
    meter = Served()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, said = meter.answer(self.path)
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    meter.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield meter
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def scraped(folder: Path) -> Iterator[Scraped]:
    lines = [
        f'shop_in_time{{cluster="{cluster}",revision="{revision}"}} {rate(version, cluster)}'
        for version, revision in REVISION.items()
        for cluster in (*CANARIES, EAST, WEST)
    ]
    exported = "\n".join(["# TYPE shop_in_time gauge", *lines, ""]).encode()
    ready = f"count(shop_in_time) == {len(lines)}"
    # A port that nobody is given while Prometheus is away.
    with prometheus_with(exported, folder, ready, free_port()) as running:
        yield Scraped(running)


@pytest.fixture(params=["server", "prometheus"])
def meter(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Meter]:
    if request.param == "server":
        with served() as found:
            yield found
        return
    if program() is None:
        lacking("no Prometheus: run scripts/prometheus.sh, or set PROMETHEUS to the program")
    with scraped(tmp_path) as real:
        yield real


@pytest.fixture
def told(admin: KubeHub) -> Iterator[Received]:
    with receiver() as (address, got):
        meta = {"name": TEAM.name, "namespace": TEAM.namespace}
        said = {"type": "webhook", "url": address}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": said}
        admin.create(TEAM, body)
        yield got
        admin.delete(TEAM)


@pytest.fixture
def spans() -> Iterator[tuple[str, Received]]:
    """Where traces go: an OTLP receiver on loopback."""
    with receiver() as found:
        yield found


@pytest.fixture
def running(
    server: Cluster, admin: KubeHub, spans: tuple[str, Received], tmp_path: Path
) -> Iterator[Controlled]:
    traces = {
        "ROLLOUT_TRACES": "true",
        "OTEL_EXPORTER_OTLP_ENDPOINT": spans[0],
        "OTEL_BSP_SCHEDULE_DELAY": "500",
        "OTEL_SERVICE_NAME": "hub-7",
    }
    started = Controlled(server, admin, tmp_path, ("secrets",), traces)
    yield started
    started.stop()


def told_spans(received: Received) -> dict[str, set[int]]:
    """By the name of a span, the codes of its statuses (2: an error), of all that came from this hub."""
    found: dict[str, set[int]] = {}
    for _, body in received:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            names_of = {a.key: a.value.string_value for a in resource.resource.attributes}
            assert names_of["service.name"] == "hub-7"
            for scope in resource.scope_spans:
                for span in scope.spans:
                    found.setdefault(span.name, set()).add(span.status.code)
    return found


def analysis(provider: Obj) -> Obj:
    """Two measurements a second apart; above 0.9 is good, below 0.5 is bad."""
    return {
        "apiVersion": ROLLOUT_ANALYSIS.api_version,
        "kind": ROLLOUT_ANALYSIS.name,
        "metadata": {"name": "slo", "namespace": "default"},
        "spec": {
            "args": [
                {"name": "cluster", "valueFrom": {"rollout": "cluster.name"}},
                {"name": "revision", "valueFrom": {"rollout": "revision"}},
            ],
            "metrics": [
                {
                    "name": "rate",
                    "interval": "1s",
                    "count": 2,
                    "successCondition": "result > 0.9",
                    "failureCondition": "result < 0.5",
                    "provider": provider,
                }
            ],
        },
    }


ZONES = {"east": "Asia/Tokyo", "west": "America/Los_Angeles"}
"""The clock of each region. In the east a label of the cluster names it, in the west a claim."""
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def cron(at: datetime, region: str) -> str:
    """Each day in the minute in which the region's clock shows what it does at this instant."""
    there = at.astimezone(ZoneInfo(ZONES[region]))
    return f"{there.minute} {there.hour} * * *"


def night(region: str, begins: datetime, hours: int = 3) -> Obj:
    return {
        "name": "night",
        "action": "Allow",
        "schedule": cron(begins, region),
        "duration": f"{hours}h",
    }


def backup(region: str, ends: datetime) -> Obj:
    """It began in the minute before now, and ends within a second."""
    now = datetime.now(UTC)  # noqa: TID251  a test on real time
    begins = (now - MINUTE).replace(second=0, microsecond=0)
    lasts = int((ends - begins).total_seconds())
    return {
        "name": "backup",
        "action": "Deny",
        "schedule": cron(begins, region),
        "duration": f"{lasts}s",
        "reason": "the nightly backup",
    }


def windows(admin: KubeHub, region: str, *found: Obj) -> None:
    """From now on these are the windows of a region."""
    ref = Ref(CLUSTER_CALENDAR, region)
    if any(each["metadata"]["name"] == region for each in admin.list(CLUSTER_CALENDAR).items):
        admin.patch(ref, {"spec": {"windows": list(found)}})
        return
    source = {"label": "zone"} if region == "east" else {"claim": "zone"}
    spec = {
        "clusters": {"labelSelector": {"matchLabels": {"region": region}}},
        "timeZoneFrom": source,
        "windows": list(found),
    }
    meta = {"name": region}
    body = {"apiVersion": CLUSTER_CALENDAR.api_version, "kind": CLUSTER_CALENDAR.name}
    put(admin, {**body, "metadata": meta, "spec": spec})


def night_begins(admin: KubeHub, region: str, wait: timedelta) -> datetime:
    """It is night there, and its clusters are open once the backup is over. Returns: when that is."""
    now = datetime.now(UTC)  # noqa: TID251  a test on real time
    ends = (now + wait).replace(microsecond=0)
    windows(admin, region, night(region, now - HOUR), backup(region, ends))
    return ends


def carried(admin: KubeHub) -> dict[str, str]:
    """The version on each cluster."""
    return {
        work["metadata"]["namespace"]: work["spec"]["workload"]["manifests"][0]["data"]["version"]
        for work in admin.list(MANIFEST_WORK).items
    }


def reason(admin: KubeHub) -> str:
    conditions = admin.get(WEB)["status"]["conditions"]
    return {c["type"]: str(c["reason"]) for c in conditions}[names.PROGRESSING]


def message(admin: KubeHub) -> str:
    conditions = admin.get(WEB)["status"]["conditions"]
    return {c["type"]: str(c["message"]) for c in conditions}[names.PROGRESSING]


def runs(admin: KubeHub, version: str) -> dict[str, Obj]:
    """By cluster, the status of the runs of a revision."""
    return {
        run["spec"]["cluster"]: run["status"]
        for run in admin.list(ROLLOUT_ANALYSIS_RUN).items
        if run["spec"]["revision"] == REVISION[version]
    }


def release(admin: KubeHub, version: str) -> None:
    admin.patch(WEB, {"spec": {"manifestWorkTemplate": make.template(version)}})


def begin(admin: KubeHub, running: Controlled, meter: Meter) -> None:
    """Five clusters with the first revision, one after the other; the regions' windows are far away."""
    regions = {EAST: "east", WEST: "west"}
    namespace(admin, *CANARIES, *regions)
    for name in (*CANARIES, *regions):
        labels = {"region": regions.get(name, "none")}
        if name == EAST:
            labels["zone"] = ZONES["east"].replace("/", ".")
        put(admin, managed_cluster(name, **labels))
    claims = [{"name": "zone", "value": ZONES["west"]}]
    admin.patch_status(Ref(MANAGED_CLUSTER, WEST), {"status": {"clusterClaims": claims}})
    for obj in (make.cluster_set(), make.binding(), make.placement(), analysis(meter.provider)):
        put(admin, obj)
    notes = {names.CLUSTER_ANALYSIS: "slo", names.ROLLBACK: "Automatic", names.NOTIFY: "team"}
    strategy = make.progressive(maxConcurrency=1, maxFailures=0)
    put(admin, make.workload(strategy=strategy, annotations=notes))
    running.start()
    eventually("the first revision", lambda: reason(admin) == "Complete")
    later = datetime.now(UTC) + 2 * HOUR  # noqa: TID251  a test on real time
    for region in regions.values():
        windows(admin, region, night(region, later))


def heard(told: Received) -> list[str]:
    return [json.loads(body)["type"].rpartition(".")[2] for _, body in told]


def test_a_slow_release_is_taken_back_and_its_fix_waits_for_windows_and_for_what_measures(
    admin: KubeHub,
    running: Controlled,
    meter: Meter,
    told: Received,
    spans: tuple[str, Received],
) -> None:
    begin(admin, running, meter)

    # Slow on the third canary: halted, taken back, told.
    told.clear()
    release(admin, "2")
    eventually("it is taken back", lambda: reason(admin) == "RolledBack")
    assert set(carried(admin).values()) == {"1"}
    phases = {cluster: run["phase"] for cluster, run in runs(admin, "2").items()}
    assert phases == {"c00": "Successful", "c01": "Successful", "c02": "Failed"}
    wanted = {"rollout-started", "analysis-failed", "halted", "rolled-back"}
    eventually("people are told", lambda: wanted <= set(heard(told)))

    # The fix waits for the window of each region.
    release(admin, "3")
    eventually("the windows", lambda: reason(admin) == "WindowClosed")
    assert {c for c, version in carried(admin).items() if version == "3"} == set(CANARIES)
    assert f" {ZONES['east']} (" in message(admin), "on the region's clock"

    # In the first window what measures goes away: nothing passes, and nothing is taken back.
    meter.away()
    opens = night_begins(admin, "east", timedelta(seconds=4))
    eventually("the east", lambda: carried(admin)[EAST] == "3")
    assert datetime.now(UTC) >= opens  # noqa: TID251  a test on real time
    dawn = datetime.now(UTC) + HOUR  # noqa: TID251  a test on real time
    windows(admin, "west", night("west", dawn - 8 * HOUR, hours=8))
    eventually("an error", lambda: runs(admin, "3")[EAST]["metrics"][0]["error"] >= 1)
    time.sleep(meter.outage)  # noqa: TID251  a test on real time
    assert carried(admin)[WEST] == "1"
    assert reason(admin) not in ("RolledBack", "MaxFailuresExceeded", "AnalysisFailed")

    # It is back: done, before dawn in the west.
    meter.back()
    eventually("all of it", lambda: reason(admin) == "Complete")
    assert set(carried(admin).values()) == {"3"}
    assert {run["phase"] for run in runs(admin, "3").values()} == {"Successful"}
    eventually("the end is told", lambda: "completed" in heard(told))
    assert running.refused == []

    # All of it can be seen as traces: the release that was slow, and its fix.
    def traced() -> None:
        found = told_spans(spans[1])
        assert found["cluster c02"] == {1, 2}
        assert found["rollout default/web p"] == {1, 2}
        assert found[f"cluster {WEST}"] == {1}

    eventually("the traces", traced)
