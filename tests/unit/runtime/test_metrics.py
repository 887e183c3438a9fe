"""Is counted what happened, under the right names, and never by cluster?"""

from datetime import timedelta
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rollout.fleet.fleet import Fleet
from rollout.model import names
from rollout.model.analyses import AnalysisPhase
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    CLUSTER_MANAGEMENT_ADDON,
    MANIFEST_WORK,
    PLACEMENT,
    REPLICA_SET,
    Obj,
    Ref,
)
from rollout.model.writes import Patch
from rollout.planning.plan import NOTHING, Note, Plan
from rollout.runtime.assembly import uid_of
from rollout.runtime.io import WriteOutcome, WriteResult
from rollout.runtime.measured import MeasuredFleet, MeasuredPlanner, News
from rollout.runtime.metrics import ControllerFigures, Metrics, WorkloadFigures, figures
from tests.stories.test_analyses import template as analysis
from tests.support import make
from tests.support.addons import addon, config, installed_at, progressive
from tests.support.processes import SEC, T0, Process, World

CLUSTERS = 12


@pytest.fixture(scope="module")
def running() -> tuple[World, Process]:
    """A rollout half done, one cluster failed."""
    strategy = make.progressive(
        mandatoryDecisionGroups=[{"groupName": "canary"}],
        maxConcurrency="50%", maxFailures="25%", minSuccessTime="1m",
    )  # fmt: skip
    placement = make.placement(groups=("canary",))
    placement["spec"]["predicates"] = [
        {"requiredClusterSelector": {"celSelector": {"celExpressions": ["true"]}}}
    ]
    documents = [
        *make.clusters(CLUSTERS, canary=2), make.cluster_set(), make.binding(), placement,
        make.workload(strategy=strategy),
    ]  # fmt: skip
    world = World(documents)
    process = world.start("p0")
    world.on(200)
    return world, process


@pytest.mark.parametrize(("error", "told"), [(timedelta(seconds=-3.5), -3.5), (None, 0.0)])
def test_how_far_the_clock_is_off_is_a_metric(error: timedelta | None, told: float) -> None:
    metrics = Metrics()
    metrics.follow_clock(lambda: error)

    assert parsed(metrics.text())[("rollout_clock_error_seconds", ())] == told


def parsed(text: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def totals(text: bytes) -> dict[str, float]:
    """The sum over all labels of each sample."""
    found: dict[str, float] = {}
    for (name, _), value in parsed(text).items():
        found[name] = found.get(name, 0) + value
    return found


def scraped(process: Process) -> bytes:
    """A scrape, while the engine's thread (this one) answers for itself."""
    controller = process.controller
    taken = figures(
        controller.engine.fleet, T0, queued=controller.engine.waiting, retrying=2, in_flight=3
    )
    process.parts.metrics.follow(lambda: taken, lambda: controller.leads)
    return process.parts.metrics.text()


def test_a_rollout_can_be_read_from_the_metrics(running: tuple[World, Process]) -> None:
    _, process = running
    found = parsed(scraped(process))
    web = (("kind", "ManifestWorkReplicaSet"), ("name", "web"), ("namespace", "default"))
    by_phase = {
        dict(labels)["phase"]: value
        for (name, labels), value in found.items()
        if name == "rollout_clusters"
    }
    assert sum(by_phase.values()) == CLUSTERS
    assert by_phase["Soaked"] >= 2
    assert found["rollout_finished", web] == 0
    assert found["rollout_budget_used_ratio", web] == 0
    assert found["rollout_managed_clusters", ()] == CLUSTERS
    assert found["rollout_queue_retrying", ()] == 2
    assert found["rollout_writes_in_flight", ()] == 3
    assert found["rollout_leader", ()] == 1


def test_what_was_done_is_counted(running: tuple[World, Process]) -> None:
    world, process = running
    found = totals(scraped(process))
    landed = {
        dict(labels)["verb"]: value
        for (name, labels), value in parsed(scraped(process)).items()
        if name == "rollout_writes_total"
        and dict(labels)["kind"] == "ManifestWork"
        and dict(labels)["result"] == "landed"
    }
    assert landed["create"] == len(world.works())
    for name in (
        "rollout_plan_duration_seconds_count",
        "rollout_decision_lag_seconds_count",
        "rollout_write_duration_seconds_count",
        "rollout_notes_total",
        "scheduling_scheduling_duration_seconds_count",
        "scheduling_bind_duration_seconds_count",
        "scheduling_plugin_duration_seconds_count",
        "scheduling_cel_runtime_duration_seconds_count",
    ):
        assert found[name] > 0, name
    assert found.get("rollout_plan_failures_total", 0) == 0


def test_ocms_names_labels_and_buckets_are_kept(running: tuple[World, Process]) -> None:
    found = parsed(scraped(running[1]))
    plugins = {
        (dict(labels)["plugin_type"], dict(labels)["plugin_name"])
        for (name, labels) in found
        if name == "scheduling_plugin_duration_seconds_count"
    }
    assert plugins >= {
        ("filter", "Predicate"), ("filter", "TaintToleration"),
        ("prioritizer", "Balance"), ("prioritizer", "Steady"),
    }  # fmt: skip
    buckets = [
        float(dict(labels)["le"])
        for (name, labels) in found
        if name == "scheduling_scheduling_duration_seconds_bucket"
        and dict(labels)["name"] == "placement_scheduling"
    ]
    assert buckets[:-1] == pytest.approx([1e-6 * 10**k for k in range(10)])


def test_no_label_is_ever_a_cluster(running: tuple[World, Process]) -> None:
    world, process = running
    clusters = {f"c{i}" for i in range(100)} | set(world.works())
    for name, labels in parsed(scraped(process)):
        assert not clusters & {value for _, value in labels}, name
        assert "cluster" not in dict(labels), name


def test_a_standby_tells_that_it_does_not_lead_and_nothing_of_rollouts() -> None:
    text = Metrics().text()
    found = parsed(text)
    assert found["rollout_leader", ()] == 0
    assert not any(name == "rollout_clusters" for name, _ in found)


@pytest.mark.parametrize(
    ("result", "conflicts"),
    [
        (WriteResult.LANDED, 0),
        (WriteResult.STALE, 1),
        (WriteResult.REFUSED, 0),
        (WriteResult.UNKNOWN, 0),
    ],
)
def test_a_write_is_counted_by_what_came_of_it(result: WriteResult, conflicts: int) -> None:
    metrics = Metrics()
    metrics.answered(Patch(Ref(MANIFEST_WORK, "c1/web"), {}), WriteOutcome(result=result))
    found = parsed(metrics.text())
    labels = (("kind", "ManifestWork"), ("result", result.value), ("verb", "patch"))
    assert found["rollout_writes_total", labels] == 1
    kind = (("kind", "ManifestWork"),)
    assert found.get(("rollout_write_conflicts_total", kind), 0) == conflicts


class Ticking:
    """A clock that moves on by a second each time it is read."""

    def __init__(self) -> None:
        self._at = T0

    def now(self) -> Any:
        self._at += SEC
        return self._at


class Planner:
    kind = REPLICA_SET

    def __init__(self, plan: Plan | Exception) -> None:
        self._plan = plan

    def plan(self, key: str, view: Any, now: Any) -> Plan:
        if isinstance(self._plan, Exception):
            raise self._plan
        return self._plan


def test_the_lag_runs_from_the_first_news_to_the_write() -> None:
    metrics, news = Metrics(), News()
    ref = Ref(REPLICA_SET, "default/web")
    news[ref] = T0 - timedelta(seconds=3)
    write = Plan(((Patch(ref, {}),),))
    MeasuredPlanner(Planner(write), metrics, Ticking(), news).plan(ref.key, Fleet(), T0)
    found = totals(metrics.text())
    assert found["rollout_decision_lag_seconds_sum"] == 5  # 3 s of waiting, 2 s by the clock
    assert found["rollout_plan_duration_seconds_sum"] == 1
    assert news == {}


def test_a_pass_that_writes_nothing_has_no_lag() -> None:
    metrics, news = Metrics(), News({Ref(REPLICA_SET, "default/web"): T0})
    MeasuredPlanner(Planner(NOTHING), metrics, Ticking(), news).plan("default/web", Fleet(), T0)
    assert totals(metrics.text()).get("rollout_decision_lag_seconds_count", 0) == 0


def test_a_plan_that_raises_is_counted_and_still_raises() -> None:
    metrics = Metrics()
    planner = MeasuredPlanner(Planner(ZeroDivisionError()), metrics, Ticking(), News())
    with pytest.raises(ZeroDivisionError):
        planner.plan("default/web", Fleet(), T0)
    assert totals(metrics.text())["rollout_plan_failures_total"] == 1


def test_notes_are_counted_by_reason_and_type() -> None:
    metrics = Metrics()
    ref = Ref(PLACEMENT, "default/p")
    metrics.note(Note(ref, "DecisionUpdate", "m"))
    metrics.note(Note(ref, "DecisionUpdate", "n", warning=True))
    found = parsed(metrics.text())
    for kind in ("Normal", "Warning"):
        assert found["rollout_notes_total", (("reason", "DecisionUpdate"), ("type", kind))] == 1


def one(budget_used: float) -> ControllerFigures:
    return ControllerFigures(
        (
            WorkloadFigures(
                kind="Kind",
                namespace="ns",
                name="w",
                phases={"Failed": 1},
                blocked={"SlotsFull": 4},
                budget_used=budget_used,
                finished=True,
            ),
        )
    )


def test_figures_become_gauges() -> None:
    metrics = Metrics()
    metrics.follow(lambda: one(0.5), lambda: True)
    found = parsed(metrics.text())
    key = (("kind", "Kind"), ("name", "w"), ("namespace", "ns"))
    assert found["rollout_budget_used_ratio", key] == 0.5
    assert found["rollout_finished", key] == 1
    assert found["rollout_blocked", (*key, ("reason", "SlotsFull"))] == 4


@pytest.mark.parametrize(
    ("tolerated", "used"),
    [({"maxFailures": 4}, 0.5), ({"maxFailures": "50%"}, 2 / 6), ({"maxFailures": 0}, 2.0)],
    ids=str,
)
def test_the_budget_is_counted_where_it_is_tightest(tolerated: Obj, used: float) -> None:
    """Two of twelve clusters fail for good."""
    world = World(
        [*make.fleet(12), make.workload(strategy=make.progressive(**tolerated, maxConcurrency=12))],
        rules=[{"clusters": {"names": ["c01", "c02"]}, "behaviour": {"outcome": "fail"}}],
    )
    process = world.start("p0")
    world.on(150)
    assert _used(process) == pytest.approx(used)


def test_addons_are_counted_beside_workloads() -> None:
    """Four clusters in flight, since nobody renders or applies what they are to have."""
    placed = installed_at("p", strategy=progressive(maxConcurrency=4, maxFailures=8))
    world = World([*make.fleet(10), make.workload(), addon("default", placements=[placed])])
    world.hub.create(Ref(ADDON_DEPLOYMENT_CONFIG, "default/default"), config())
    process = world.start("p0")
    world.on(5)
    found = parsed(scraped(process))

    for kind, name, namespace in (
        ("ClusterManagementAddOn", "hello", ""),
        ("ManifestWorkReplicaSet", "web", "default"),
    ):
        key = (("kind", kind), ("name", name), ("namespace", namespace))
        phases = {
            dict(labels)["phase"]: value
            for (sample, labels), value in found.items()
            if sample == "rollout_clusters" and set(key) <= set(labels)
        }
        assert sum(phases.values()) == 10
        assert found["rollout_finished", key] == 0
    assert found["rollout_blocked", (*key_of_addon(), ("reason", "SlotsFull"))] == 6
    assert found["rollout_plan_duration_seconds_count", (("kind", "ClusterManagementAddOn"),)] > 0
    assert found["rollout_decision_lag_seconds_count", (("kind", "ClusterManagementAddOn"),)] > 0


def key_of_addon() -> tuple[tuple[str, str], ...]:
    return (("kind", "ClusterManagementAddOn"), ("name", "hello"), ("namespace", ""))


def test_what_is_told_of_an_addon_names_its_uid() -> None:
    world = World([*make.fleet(2), addon("default", placements=[installed_at()])])
    process = world.start("p0")
    world.on(5)
    stored = world.get(CLUSTER_MANAGEMENT_ADDON, "hello")

    fleet = process.controller.engine.fleet
    assert isinstance(fleet, MeasuredFleet)
    assert uid_of(fleet, Ref(CLUSTER_MANAGEMENT_ADDON, "hello")) == stored["metadata"]["uid"]


def _used(process: Process) -> float:
    (found,) = figures(
        process.controller.engine.fleet, T0, queued=0, retrying=0, in_flight=0
    ).workloads
    return found.budget_used


def test_calendars_and_analyses_can_be_read_from_the_metrics() -> None:
    night = {"name": "night", "action": "Allow", "schedule": "0 22 * * *", "duration": "4h"}
    calendar = {
        "apiVersion": "rollout-engine.io/v1alpha1",
        "kind": "ClusterCalendar",
        "metadata": {"name": "nights"},
        "spec": {"timeZoneFrom": {"label": "zone"}, "windows": [night]},
    }
    fleet = [
        make.cluster("berlin", {"zone": "Europe.Berlin"}),
        make.cluster("utc", {"zone": "UTC"}),
    ]
    web = make.workload(annotations={names.CLUSTER_ANALYSIS: "slo"})
    surroundings = (make.cluster_set(), make.binding(), make.placement())
    world = World([*fleet, *surroundings, analysis(), calendar, web])
    process = world.start("p0")
    world.on(60)

    found = parsed(scraped(process))

    # At midnight in UTC both are open; of the two clusters nothing can be measured in this process.
    zones = {
        dict(labels)["zone"]: value
        for (name, labels), value in found.items()
        if name == "rollout_calendar_open" and dict(labels)["name"] == "nights"
    }
    assert zones == {"Europe/Berlin": 1, "UTC": 1}
    runs = {
        dict(labels)["phase"]: value
        for (name, labels), value in found.items()
        if name == "rollout_analysis_runs"
    }
    assert sum(runs.values()) == 2
    assert set(runs) == {phase.value for phase in AnalysisPhase}
    assert found["rollout_measurements_total", (("result", "failed"),)] >= 2
    assert "berlin" not in str([labels for _, labels in found])


def test_what_nobody_could_be_told_is_given_up_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """This process tells nobody, so every attempt fails. A day would take some seconds."""
    monkeypatch.setattr("rollout.planning.deliveries.GIVE_UP_AFTER", timedelta(minutes=5))
    web = make.workload(annotations={names.NOTIFY: "team=on-completed"})
    world = World([*make.fleet(1), web])
    process = world.start("p0")
    world.on(10 * 60)

    found = parsed(scraped(process))
    assert found["rollout_notifications_total", (("result", "given_up"),)] == 1
    assert found["rollout_notifications_total", (("result", "failed"),)] >= 4
    assert ("rollout_notifications_total", (("result", "delivered"),)) not in found
