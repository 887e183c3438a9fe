"""The examples are what their README says, and fit together."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rollout.api.load import load
from rollout.api.validation import validate
from rollout.clock import VirtualClock
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import KINDS, MANAGED_CLUSTER, MANIFEST_WORK, Obj, Ref
from rollout.sim.agents import Agents
from rollout.sim.members import Members, selects
from rollout.sim.scenario import KIND
from rollout.sim.scenario_file import load_scenario

EXAMPLES = Path(__file__).parents[3] / "examples"
CANARY = EXAMPLES / "canary"
SCENARIOS = [CANARY / "agents.yaml", *sorted((EXAMPLES / "scenarios").glob("*.yaml"))]
T0 = datetime(2026, 1, 1, tzinfo=UTC)
GROUP = "example.com/rollout-group"


def objects(kind: str) -> list[Obj]:
    loaded = load([CANARY])
    assert loaded.errors == ()
    return [obj for obj in loaded.objects if obj["kind"] == kind]


def test_there_are_310_clusters_of_which_ten_each_are_canaries() -> None:
    clusters = objects("ManagedCluster")
    groups = Counter(obj["metadata"]["labels"].get(GROUP) for obj in clusters)

    assert groups == {"prod-canary-west": 10, "prod-canary-east": 10, None: 290}
    assert len({obj["metadata"]["name"] for obj in clusters}) == 310
    for obj in clusters:
        statuses = {c["type"]: c["status"] for c in obj["status"]["conditions"]}
        assert statuses == dict.fromkeys(
            (
                "HubAcceptedManagedCluster",
                "ManagedClusterJoined",
                "ManagedClusterConditionAvailable",
            ),
            "True",
        )


def test_the_rollout_is_the_one_that_is_told() -> None:
    (workload,) = objects("ManifestWorkReplicaSet")
    (placement,) = objects("Placement")
    strategy = workload["spec"]["placementRefs"][0]["rolloutStrategy"]
    groups = placement["spec"]["decisionStrategy"]["groupStrategy"]

    assert strategy == {
        "type": "Progressive",
        "progressive": {
            "mandatoryDecisionGroups": [
                {"groupName": "prod-canary-west"},
                {"groupName": "prod-canary-east"},
            ],
            "maxConcurrency": "25%",
            "minSuccessTime": "5m",
            "progressDeadline": "10m",
            "maxFailures": 2,
        },
    }
    assert groups["clustersPerDecisionGroup"] == 150
    assert [group["groupName"] for group in groups["decisionGroups"]] == [
        "prod-canary-west",
        "prod-canary-east",
    ]


def test_every_object_of_the_canary_is_valid() -> None:
    loaded = load([CANARY])

    assert [
        (document.source, str(problem))
        for document in loaded.documents
        if document.obj["kind"] != KIND
        for problem in validate(document.obj)
    ] == []


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: str(path.name))
def test_a_scenario_is_read_and_every_rule_of_it_meets_a_cluster(path: Path) -> None:
    scenario = load_scenario(path)
    clusters = objects("ManagedCluster")
    wanted = [rule.clusters for rule in scenario.spec.rules]
    for event in scenario.spec.fleet_events:
        wanted += [c for c in (event.delete_clusters, event.relabel_clusters) if c is not None]

    for selector in wanted:
        assert any(
            selects(selector, obj["metadata"]["name"], obj["metadata"]["labels"])
            for obj in clusters
        ), selector


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: str(path.name))
def test_the_objects_that_a_scenario_touches_are_there(path: Path) -> None:
    there = {
        (obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        for obj in load([CANARY]).objects
    }

    for event in load_scenario(path).spec.fleet_events:
        for target in (event.patch, event.delete):
            assert target is None or (target.kind.name, target.namespace, target.name) in there


def test_the_bad_release_changes_the_image_that_its_rule_is_about() -> None:
    scenario = load_scenario(EXAMPLES / "scenarios" / "bad-release.yaml")
    (rule,), (event,) = scenario.spec.rules, scenario.spec.fleet_events
    (workload,) = objects("ManifestWorkReplicaSet")
    assert event.patch is not None
    clock = VirtualClock(T0)
    hub = MemoryHub(clock)
    ref = Ref(event.patch.kind, "default/storefront")
    good = hub.create(ref, workload)
    bad = hub.patch(ref, event.patch.patch)
    roster = Members(scenario, T0)
    agents = Agents(hub, clock, scenario)
    member = roster.of("prod-us-west-01")

    outcomes = [
        roster.behaviour(
            member, agents._templates.of(obj["spec"]["manifestWorkTemplate"]), ""
        ).outcome.value
        for obj in (good, bad)
    ]

    assert outcomes == ["success", "fail"]
    assert rule.is_conditional


def test_all_of_the_canary_becomes_healthy_under_its_agents() -> None:
    """Every cluster at once, without the engine: none may fail for good."""
    clock = VirtualClock(T0)
    hub = MemoryHub(clock)
    loaded = load([CANARY])
    (workload,) = objects("ManifestWorkReplicaSet")
    for obj in objects("ManagedCluster"):
        hub.create(Ref(KINDS[obj["kind"]], obj["metadata"]["name"]), obj)
    agents = Agents(hub, clock, load_scenario(CANARY / "agents.yaml"))
    agents.start()
    for obj in hub.list(MANAGED_CLUSTER).items:
        ref = Ref(MANIFEST_WORK, f"{obj['metadata']['name']}/storefront")
        hub.create(ref, {"spec": workload["spec"]["manifestWorkTemplate"]})

    while (at := agents.next_at()) is not None:
        clock.advance(at - clock.now())
        agents.run_due()

    said = {
        tuple(sorted((c["type"], c["status"]) for c in work["status"]["conditions"]))
        for work in hub.list(MANIFEST_WORK).items
    }
    assert said == {
        (
            ("Applied", "True"),
            ("Available", "True"),
            ("Degraded", "False"),
            ("Progressing", "False"),
        )
    }
    assert len(loaded.objects) == 315
