"""The second half of the bad-release day: a release that looks healthy and is slow, and its fix by night.

Four canaries may be touched at any time; the shops of three regions only in their nights. Every cluster is
measured before the next one is touched. Revision 2 is slow on the third canary; revision 3 is the fix. In the
middle of the second night Prometheus is away for ten minutes. What it says stands in a scenario, and once more
(`make prometheus-test`) in a real Prometheus, which is stopped and started again.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

import pytest

from rollout.clock import VirtualClock
from rollout.hub.admission import admit
from rollout.hub.memory import MemoryHub
from rollout.measuring.values import Measure, Sample
from rollout.model import names
from rollout.model.content import content_hash
from rollout.model.kinds import ROLLOUT_ANALYSIS_RUN, ROLLOUT_NOTIFICATION, Obj
from rollout.providers.hosts import HostPolicy
from rollout.providers.kinds import installed
from rollout.providers.measurer import ProviderMeasurer
from tests.stories.test_analyses import template as analysis
from tests.support import make
from tests.support.prometheus import PATIENCE, RealPrometheus, prometheus_with
from tests.support.story import HOUR, MIN, T0, Story

CANARIES = ("c00", "c01", "c02", "c03")
EAST, MIDDLE, WEST = ("c04", "c05"), ("c06", "c07"), ("c08", "c09")
ZONES = {
    **dict.fromkeys(EAST, "Asia.Tokyo"),
    **dict.fromkeys(MIDDLE, "Europe.Berlin"),
    **dict.fromkeys(WEST, "America.Los_Angeles"),
}
NIGHTS = {
    "Asia.Tokyo": (17 * HOUR, 21 * HOUR),
    "Europe.Berlin": (25 * HOUR, 29 * HOUR),
    "America.Los_Angeles": (34 * HOUR, 38 * HOUR),
}
"""From 02:00 to 06:00 on the clock of each region, as spans after the first of January, 00:00 UTC."""
RELEASED, FIXED = 14 * HOUR, 15 * HOUR
AWAY = (25 * HOUR + 1 * MIN, 25 * HOUR + 11 * MIN)
REVISION = {version: content_hash(make.template(version)) for version in ("1", "2", "3")}


def minutes(span: timedelta) -> str:
    return f"{int(span / MIN)}m"


def calendar() -> Obj:
    night = {"name": "nights", "action": "Allow", "schedule": "0 2 * * *", "duration": "4h"}
    return {
        "apiVersion": "rollout-engine.io/v1alpha1",
        "kind": "ClusterCalendar",
        "metadata": {"name": "shops"},
        "spec": {
            "clusters": {"labelSelector": {"matchLabels": {"calendar": "nights"}}},
            "timeZoneFrom": {"label": "zone"},
            "windows": [night],
        },
    }


def measured() -> list[Obj]:
    """What Prometheus says of the share of requests that are answered in time; the last that fits counts."""
    fine = {"metric": "rate", "value": 0.99}
    slow = {
        "metric": "rate",
        "value": 0.3,
        "revision": REVISION["2"],
        "clusters": {"names": ["c02"]},
    }
    away = {
        "metric": "rate",
        "error": "no answer",
        "from": minutes(AWAY[0]),
        "to": minutes(AWAY[1]),
    }
    return [fine, slow, away]


class Day(Story):
    """The day. ``prometheus`` measures, where it is not the scenario that does."""

    prometheus: RealPrometheus | None = None

    def away(self) -> None:
        if self.prometheus is not None:
            self.prometheus.stop()

    def back(self) -> None:
        if self.prometheus is not None:
            self.prometheus.start()


class Waited:
    """A `Measurer` that is waited for: meanwhile time stands still."""

    def __init__(self, inner: ProviderMeasurer) -> None:
        self._inner = inner

    def measure(self, write: Measure, done: Callable[[Mapping[str, Sample]], None]) -> None:
        found = Future[Mapping[str, Sample]]()
        self._inner.measure(write, found.set_result)
        done(found.result(PATIENCE))


def begun(slo: Obj, **more: Any) -> Day:
    """The day as it went by 14:00, with the first revision everywhere."""
    fleet = make.fleet(10)
    for obj in fleet:
        if obj["kind"] == "ManagedCluster" and obj["metadata"]["name"] in ZONES:
            zone = ZONES[obj["metadata"]["name"]]
            obj["metadata"]["labels"] |= {"zone": zone, "calendar": "nights"}
    workload = make.workload(
        strategy=make.progressive(maxConcurrency=1, maxFailures=0),
        annotations={
            names.CLUSTER_ANALYSIS: "slo",
            names.ROLLBACK: "Automatic",
            names.NOTIFY: "team",
        },
    )
    told = Day([*fleet, slo, workload], **more)
    told.to(RELEASED)
    assert told.reason == "Complete"
    told.add(calendar())
    told.template(make.template("2"))
    return told


def exported() -> bytes:
    """What is scraped: the share of requests answered in time, by revision and cluster."""
    lines = ["# TYPE shop_in_time gauge"]
    for version, revision in REVISION.items():
        for cluster in (*CANARIES, *ZONES):
            rate = 0.3 if (version, cluster) == ("2", "c02") else 0.99
            lines.append(f'shop_in_time{{cluster="{cluster}",revision="{revision}"}} {rate}')
    return "\n".join([*lines, ""]).encode()


def asking(address: str) -> Obj:
    """The analysis, with a query of a real Prometheus."""
    query = 'shop_in_time{cluster="{{args.cluster}}",revision="{{args.revision}}"}'
    slo = analysis(
        successCondition="result[0] > 0.9",
        failureCondition="result[0] < 0.5",
        provider={"prometheus": {"address": address, "query": query}},
    )
    facts = {"cluster": "cluster.name", "revision": "revision"}
    args = [{"name": name, "valueFrom": {"rollout": fact}} for name, fact in facts.items()]
    return {**slo, "spec": {**slo["spec"], "args": args}}


REAL = pytest.param("prometheus", marks=pytest.mark.prometheus)


@pytest.fixture(scope="module", params=["scenario", REAL])
def day(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    if request.param == "scenario":
        yield begun(analysis(consecutiveErrorLimit=4), agents={"measurements": measured()})
        return
    folder, clock = tmp_path_factory.mktemp("prometheus"), VirtualClock(T0)
    hub = MemoryHub(clock, admit=admit)
    asked = ProviderMeasurer(hub, clock, installed(()), HostPolicy(("127.0.0.1",)))
    ready = f"count(shop_in_time) == {len(REVISION) * 10}"
    with prometheus_with(exported(), folder, ready) as running:
        more: dict[str, Any] = {"hub": hub, "clock": clock, "measurer": Waited(asked)}
        told = begun(asking(running.address), **more)
        told.prometheus = running
        yield told
    asked.close()


def triggers(told: Story, version: str) -> list[str]:
    found = [each["spec"] for each in told.hub.list(ROLLOUT_NOTIFICATION).items]
    return sorted(each["trigger"] for each in found if each["revision"] == REVISION[version])


def runs(told: Story, version: str) -> dict[str, str]:
    """By cluster, how the runs of a revision stand."""
    found = told.hub.list(ROLLOUT_ANALYSIS_RUN).items
    return {
        each["spec"]["cluster"]: each["status"]["phase"]
        for each in found
        if each["spec"]["revision"] == REVISION[version]
    }


def errors(told: Story, version: str) -> int:
    """How often a metric of a revision could not be measured."""
    found = told.hub.list(ROLLOUT_ANALYSIS_RUN).items
    mine = [each["status"] for each in found if each["spec"]["revision"] == REVISION[version]]
    return sum(metric["error"] for status in mine for metric in status["metrics"])


def test_the_third_canary_is_slow_and_the_release_is_halted_taken_back_and_told(
    day: Day,
) -> None:
    day.to(FIXED)

    assert list(day.touched("2")) == ["c00", "c01", "c02"]
    assert runs(day, "2") == {"c00": "Successful", "c01": "Successful", "c02": "Failed"}
    assert day.reason == "RolledBack"
    assert set(day.versions().values()) == {"1"}
    assert triggers(day, "2") == [
        "on-analysis-failed",
        "on-halted",
        "on-rolled-back",
        "on-rollout-started",
    ]


def test_the_fix_waits_for_the_night_of_each_region_and_is_done_at_dawn_in_the_west(
    day: Day,
) -> None:
    day.to(FIXED)
    day.template(make.template("3"))
    day.to(FIXED + HOUR)
    assert sorted(day.touched("3")) == list(CANARIES)
    assert len(set(day.touched("3").values())) == len(CANARIES), "one after the other"
    assert day.reason == "WindowClosed"

    day.to(AWAY[0])
    before = set(day.touched("3"))
    day.away()
    day.to(AWAY[1])
    assert set(day.touched("3")) == before, "something passed while Prometheus was away"
    assert day.reason not in ("RolledBack", "MaxFailuresExceeded", "AnalysisFailed")
    assert errors(day, "3") >= 5, "nothing was away"

    day.back()
    day.to(38 * HOUR)
    touched = day.touched("3")
    for cluster, zone in ZONES.items():
        begins, ends = NIGHTS[zone]
        assert begins <= touched[cluster] < ends, cluster
    assert set(runs(day, "3").values()) == {"Successful"}
    assert day.reason == "Complete"
    assert set(day.versions().values()) == {"3"}
    told = triggers(day, "3")
    assert told.count("on-window-closed") == 3
    assert told.count("on-completed") == 1
