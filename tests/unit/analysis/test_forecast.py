"""What `plan` foresees is what the engine then does; and nothing of it happens by asking."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from rollout.analysis.cautions import Caution
from rollout.analysis.copies import holding
from rollout.analysis.forecast import Forecast, WorkloadPlan, forecast
from rollout.analysis.full_run import FullRun
from rollout.clock import VirtualClock
from rollout.errors import Gone
from rollout.hub.base import Listing
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import (
    CLUSTER_CALENDAR,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT,
    REPLICA_SET,
    Kind,
    Obj,
    Ref,
)
from rollout.model.names import FAILURE_TOLERANCE, PAUSED
from rollout.sim.scenario import Scenario
from rollout.sim.scenario_file import parse_scenario
from tests.support.analysis_cases import random_question
from tests.support.changes import storing
from tests.support.shapes import binding, cluster, cluster_set, placement, workload

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MIN = timedelta(minutes=1)
STRATEGY: Obj = {
    "type": "Progressive",
    "progressive": {
        "maxConcurrency": "25%",
        "minSuccessTime": "5m",
        "maxFailures": "10%",
        "mandatoryDecisionGroups": [{"groupName": "canary"}],
    },
}
GROUPS: Obj = {
    "groupStrategy": {
        "decisionGroups": [
            {
                "groupName": "canary",
                "groupClusterSelector": {"labelSelector": {"matchLabels": {"ring": "canary"}}},
            }
        ]
    }
}


def fleet(size: int = 12, strategy: Obj = STRATEGY, value: str = "1") -> list[Obj]:
    rings = [{"ring": "canary"} if i < 2 else {} for i in range(size)]
    clusters = [cluster(f"c{i:02}", ring) for i, ring in enumerate(rings)]
    chosen = placement(decisionStrategy=GROUPS)
    return [cluster_set(), binding(), *clusters, chosen, workload(strategy=strategy, value=value)]


def rolled_out(objects: Iterable[Obj]) -> tuple[MemoryHub, VirtualClock]:
    hub, clock = holding({}, NOW)
    storing(objects)(hub)
    FullRun(hub, clock, Scenario()).run()
    return hub, clock


def only(found: Forecast) -> WorkloadPlan:
    (plan,) = found.workloads
    return plan


def test_a_new_workload_goes_to_every_cluster_by_stage_and_in_order() -> None:
    plan = only(forecast(None, storing(fleet()), NOW))

    canary, rest = plan.placements[0].stages
    assert (canary.title, canary.added, canary.at_once) == (
        "canary #0",
        ("c00", "c01"),
        ("c00", "c01"),
    )
    assert rest.added == tuple(f"c{i:02}" for i in range(2, 12))
    assert (rest.asked_limit, rest.limit, rest.asked_budget, rest.budget) == ("25%", 3, "10%", 2)
    assert (rest.at_once, rest.blocked) == ((), "WaitingForStage")
    assert (plan.before, plan.touches, plan.removal.clusters) == ("", 12, ())


def test_the_earliest_finish_has_every_soak_in_it() -> None:
    """The canary soaks, then 10 clusters, 3 at a time: one and four soaks of five minutes."""
    plan = only(forecast(None, storing(fleet()), NOW))

    assert plan.finish.takes == 5 * 5 * MIN


def test_asking_changes_nothing() -> None:
    hub, clock = rolled_out(fleet())
    before = dict(hub.everything())

    forecast(hub, storing(fleet(value="2")), clock.now())

    assert dict(hub.everything()) == before


def test_an_unchanged_file_changes_nothing() -> None:
    hub, clock = rolled_out(fleet())

    found = forecast(hub, storing([workload(strategy=STRATEGY)]), clock.now())

    assert (found.changes, found.objects, found.workloads) == (False, (), ())


def test_a_changed_template_updates_every_cluster_and_shows_how() -> None:
    hub, clock = rolled_out(fleet())

    found = forecast(hub, storing([workload(strategy=STRATEGY, value="2")]), clock.now())

    plan = only(found)
    assert [str(each) for each in found.objects] == ["ManifestWorkReplicaSet default/web"]
    assert sum(len(stage.updated) for stage in plan.placements[0].stages) == 12
    assert plan.before not in ("", plan.after)
    assert plan.diff_of == "c00"
    assert "-      value: '1'" in plan.diff
    assert "+      value: '2'" in plan.diff


def test_a_new_cluster_is_added_and_the_others_are_kept() -> None:
    hub, clock = rolled_out(fleet())

    plan = only(forecast(hub, storing([cluster("new")]), clock.now()))

    rest = plan.placements[0].stages[1]
    assert (rest.added, rest.updated, rest.unchanged) == (("new",), (), 10)


def test_a_cluster_that_the_edited_placement_leaves_out_loses_the_workload() -> None:
    hub, clock = rolled_out(fleet())
    smaller = placement(decisionStrategy=GROUPS, numberOfClusters=4)

    removal = only(forecast(hub, storing([smaller]), clock.now())).removal

    assert len(removal.clusters) == 8
    assert (removal.removed, removal.held) == (removal.clusters, "")


def test_the_brake_holds_removals_that_nobody_asked_for() -> None:
    """Labels change, no spec does: more than a fifth of the clusters would go."""
    chosen = placement(predicates=[{"requiredClusterSelector": {"labelSelector": {
        "matchLabels": {"in": "yes"}}}}])  # fmt: skip
    clusters = [cluster(f"c{i:02}", {"in": "yes"}) for i in range(20)]
    hub, clock = rolled_out([cluster_set(), binding(), *clusters, chosen, workload()])
    clock.advance(timedelta(hours=1))
    relabelled = [cluster(f"c{i:02}", {"in": "no"}) for i in range(15)]

    removal = only(forecast(hub, storing(relabelled), clock.now())).removal

    assert len(removal.clusters) == 15
    assert removal.removed == ()
    assert removal.held.startswith("RemovalBrake: 15 of 20 clusters would lose the workload")


def unstored(obj: Obj) -> Obj:
    """A stored object as somebody would write it."""
    kept = ("name", "namespace", "labels", "annotations")
    meta = {key: obj["metadata"][key] for key in kept if key in obj["metadata"]}
    return {**obj, "metadata": meta}


@pytest.mark.parametrize("seed", range(12))
def test_what_is_foreseen_for_right_now_is_what_the_engine_does_first(seed: int) -> None:
    hub, clock = random_question(seed).hub()
    written = [unstored(obj) for _, obj in hub.everything()]

    found = forecast(None, storing(written), clock.now())
    run = FullRun(hub, clock, Scenario())
    run.run()

    foreseen = {
        (plan.key, cluster)
        for plan in found.workloads
        for each in plan.placements
        for stage in each.stages
        for cluster in stage.at_once
    }
    touched = {
        (workload, cluster)
        for (workload, _), track in run.tracks.items()
        for cluster, found in track.standings.items()
        if any(standing.touched == run.start for _, standing in found)
    }
    assert foreseen == touched


def messages(found: Forecast) -> str:
    return "\n".join(map(str, found.warnings))


def test_a_budget_that_can_be_overrun_is_warned_of_unless_the_workload_says_strict() -> None:
    tight = {**STRATEGY, "progressive": {**STRATEGY["progressive"], "maxFailures": 0}}
    strict = workload(strategy=tight)
    strict["metadata"]["annotations"] = {FAILURE_TOLERANCE: "Strict"}

    loose = forecast(None, storing(fleet(strategy=tight)), NOW)
    safe = forecast(None, storing([*fleet(strategy=tight), strict]), NOW)

    assert "up to 3 clusters are in flight at once and 0 may fail" in messages(loose)
    assert safe.warnings == ()


@pytest.mark.parametrize(
    ("strategy", "advice"),
    [
        ({"type": "Progressive", "progressive": {"maxConcurrency": 3}}, "lower maxConcurrency"),
        ({"type": "Progressive", "progressive": {}}, "set maxConcurrency"),
        ({"type": "ProgressivePerGroup"}, "make the decision groups smaller"),
    ],
)
def test_the_advice_against_overrunning_a_budget_is_one_that_can_be_followed(
    strategy: Obj, advice: str
) -> None:
    found = forecast(None, storing(fleet(strategy=strategy)), NOW)

    assert found.warnings
    assert {caution.remedy.rpartition(", or ")[2] for caution in found.warnings} == {advice}


def test_what_keeps_a_new_placement_from_being_decided_is_said_in_the_plan() -> None:
    selector = {"celSelector": {"celExpressions": ["managedCluster.metadata.name =="]}}
    broken = placement(predicates=[{"requiredClusterSelector": selector}])

    (stage,) = only(forecast(None, storing([*fleet(), broken]), NOW)).placements

    assert stage.hold is not None
    assert stage.hold.reason == "NotDecided"
    assert "celExpressions[0]: 'managedCluster.metadata.name ==' is not valid" in stage.hold.message
    assert "Syntax error" in stage.hold.message


@pytest.mark.parametrize(
    ("progressive", "reason"),
    [
        ({"mandatoryDecisionGroups": [{"groupName": "canaries"}]}, "UnknownDecisionGroup"),
        ({"maxConcurrency": "0%"}, "ConcurrencyZero"),
    ],
)
def test_what_would_never_end_says_why(progressive: Obj, reason: str) -> None:
    strategy = {"type": "Progressive", "progressive": progressive}

    plan = only(forecast(None, storing(fleet(strategy=strategy)), NOW))

    assert plan.finish.at is None
    assert plan.finish.why.startswith(f"{reason}: not until ")


def test_a_paused_workload_is_foreseen_to_stand_still() -> None:
    hub, clock = rolled_out(fleet())
    hub.patch(Ref(REPLICA_SET, "default/web"), {"metadata": {"annotations": {PAUSED: "true"}}})
    change = {"spec": {"manifestWorkTemplate": workload(value="2")["spec"]["manifestWorkTemplate"]}}

    plan = only(
        forecast(
            hub, lambda copy: patched(copy, Ref(REPLICA_SET, "default/web"), change), clock.now()
        )
    )

    assert plan.placements[0].hold is not None
    assert plan.placements[0].hold.reason == "Paused"
    assert [stage.at_once for stage in plan.placements[0].stages] == [(), ()]


def test_a_freeze_is_foreseen_to_stop_whatever_goes_on() -> None:
    hub, clock = holding({}, NOW)
    storing(fleet())(hub)
    freeze = {
        "apiVersion": "rollout-engine.io/v1alpha1",
        "kind": "Freeze",
        "metadata": {"name": "incident"},
        "spec": {},
    }

    found = only(forecast(hub, storing([freeze]), clock.now()))

    assert [p.hold.reason if p.hold else "" for p in found.placements] == ["Frozen"]
    assert [stage.at_once for stage in found.placements[0].stages] == [(), ()]


def patched(hub: object, ref: Ref, changes: Obj) -> None:
    assert isinstance(hub, MemoryHub)
    hub.patch(ref, changes)


def test_further_warnings_are_asked_for_with_all_objects_as_they_would_be() -> None:
    seen: list[str] = []

    def warn(objects: Iterable[Obj]) -> list[Caution]:
        seen.extend(obj["kind"] for obj in objects)
        return [Caution("a", "b", "c")]

    found = forecast(None, storing(fleet()), NOW, warn=warn)

    assert "a: b; c" in messages(found)
    assert seen.count(MANAGED_CLUSTER.name) == 12
    assert MANIFEST_WORK.name not in seen
    assert PLACEMENT.name in seen


INSTANT = """
apiVersion: rollout-engine.io/v1alpha1
kind: AgentScenario
spec: {defaults: {applyAfter: 0s, readyAfter: 0s}}
"""


@pytest.mark.parametrize("closing", [False, True], ids=["open", "with calendars"])
@pytest.mark.parametrize("seed", range(16))
def test_the_earliest_finish_is_that_of_agents_that_succeed_at_once(
    seed: int, closing: bool
) -> None:
    hub, clock = random_question(seed, closing=closing).hub()
    written = [unstored(obj) for _, obj in hub.everything()]

    found = forecast(None, storing(written), clock.now())
    run = FullRun(hub, clock, parse_scenario(INSTANT))
    run.run()

    finishes = [plan.finish.at for plan in found.workloads]
    assert (None not in finishes) == (run.done_at is not None)
    if run.done_at is not None:
        assert max(at for at in finishes if at is not None) == run.done_at


def test_a_window_that_never_opens_is_what_stands_in_the_way() -> None:
    shut = {
        "name": "old",
        "action": "Allow",
        "from": "2020-01-01T00:00",
        "until": "2020-01-02T00:00",
    }
    calendar = {
        "apiVersion": CLUSTER_CALENDAR.api_version,
        "kind": CLUSTER_CALENDAR.name,
        "metadata": {"name": "never"},
        "spec": {"timeZone": "UTC", "windows": [shut]},
    }

    plan = only(forecast(None, storing([*fleet(), calendar]), NOW))

    assert plan.finish.at is None
    assert plan.finish.why.startswith("WindowClosed: not until ClusterCalendar never: ")


@pytest.mark.parametrize("seed", range(16))
def test_clusters_are_touched_in_the_order_that_was_foreseen(seed: int) -> None:
    hub, clock = random_question(seed).hub()
    written = [unstored(obj) for _, obj in hub.everything()]

    found = forecast(None, storing(written), clock.now())
    run = FullRun(hub, clock, parse_scenario(INSTANT))
    run.run()

    for plan in found.workloads:
        for each in plan.placements:
            if not each.selected:
                continue  # an earlier placementRef owns all of its clusters
            track = run.tracks[plan.key, each.placement]
            order = [cluster for stage in each.stages for cluster in stage.added]
            instants = [
                track.standings[cluster][0][1].touched
                for cluster in order
                if cluster in track.standings
            ]
            assert instants == sorted(instants), plan.key


class Bare(MemoryHub):
    """An API server on which some CRDs are not installed."""

    def list(self, kind: Kind, *args: object, **more: object) -> Listing:
        if kind.group.startswith("addon."):
            raise Gone(f"{kind} is not there")
        return super().list(kind)


def test_a_kind_that_the_hub_does_not_know_has_no_objects() -> None:
    hub = Bare(VirtualClock(NOW))
    storing(fleet())(hub)

    found = forecast(hub, storing([cluster("new")]), NOW)

    assert only(found).touches == 13
