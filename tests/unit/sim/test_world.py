"""What else happens in a scenario: availability at the edges of offline windows, and fleet events."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rollout.clock import VirtualClock
from rollout.errors import Conflict, Gone
from rollout.hub.memory import MemoryHub
from rollout.model.events import Change, Event
from rollout.model.kinds import MANAGED_CLUSTER, MANIFEST_WORK, PLACEMENT, Obj, Ref
from rollout.sim.agents import Agents
from rollout.sim.members import FOREVER, Members
from rollout.sim.scenario import Scenario

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
WORK = Ref(MANIFEST_WORK, "c1/web")
SPEC: Obj = {"workload": {"manifests": [{"kind": "ConfigMap", "metadata": {"name": "x"}}]}}


class Stage:
    """A hub with clusters c1, c2 and d1, and a trace of what happens to objects of one kind."""

    def __init__(self, kind: Any = MANAGED_CLUSTER, **spec: Any) -> None:
        self.clock = VirtualClock(T0)
        self.hub = MemoryHub(self.clock)
        for name in ("c1", "c2", "d1"):
            labels = {"region": name[0], "old": "yes"}
            self.hub.create(Ref(MANAGED_CLUSTER, name), {"metadata": {"labels": labels}})
        self.agents = Agents(
            self.hub, self.clock, Scenario.model_validate({"spec": {"finalizers": False, **spec}})
        )
        self.trace: list[tuple[int, str, str]] = []
        self.hub.watch(kind, self.hub.list(kind).version, self._heard)
        self.agents.start()

    def _heard(self, event: Event) -> None:
        shown = event.change.value
        if event.change is not Change.DELETED:
            conditions = event.obj.get("status", {}).get("conditions", [])
            shown = ",".join(f"{c['status']}/{c['reason']}" for c in conditions) or shown
        self.trace.append(((self.clock.now() - T0) // SECOND, event.ref.key, shown))

    def play(self, until: int = 3600) -> list[tuple[int, str, str]]:
        end = T0 + until * SECOND
        while (at := self.agents.next_at()) is not None and at <= end:
            self.clock.advance(max(at - self.clock.now(), timedelta(0)))
            self.agents.run_due()
        self.clock.advance(end - self.clock.now())
        return self.trace

    def cluster(self, name: str) -> Obj:
        return self.hub.get(Ref(MANAGED_CLUSTER, name))


WELL = "True/ManagedClusterAvailable"
UNKNOWN = "Unknown/ManagedClusterLeaseUpdateStopped"
DOWN = "False/ManagedClusterKubeAPIServerUnavailable"


@pytest.mark.parametrize(("status", "shown"), [("Unknown", UNKNOWN), ("False", DOWN)])
def test_availability_is_written_at_the_edges_of_a_window(status: str, shown: str) -> None:
    window = {"from": "1m", "to": "2m"}
    stage = Stage(
        rules=[
            {
                "clusters": {"names": ["c1"]},
                "behaviour": {"offline": [window], "availability": status},
            }
        ]
    )

    assert stage.play() == [(0, "c1", WELL), (60, "c1", shown), (120, "c1", WELL)]
    (condition,) = stage.cluster("c1")["status"]["conditions"]
    assert condition["lastTransitionTime"] == "2026-01-01T00:02:00Z"


def test_a_cluster_that_never_comes_back_stays_unknown() -> None:
    stage = Stage(defaults={"offline": [{"from": "1m"}], "availability": "Unknown"})

    assert [entry for entry in stage.play() if entry[1] == "d1"] == [
        (0, "d1", WELL),
        (60, "d1", UNKNOWN),
    ]
    assert stage.agents.next_at() is None


def test_a_cluster_that_joins_inside_its_window_is_unknown_at_once() -> None:
    stage = Stage(
        rules=[
            {
                "clusters": {"names": ["late"]},
                "behaviour": {
                    "offline": [{"from": "10s", "to": "2m"}],
                    "availability": "Unknown",
                },
            }
        ]
    )
    stage.play(60)
    stage.hub.create(Ref(MANAGED_CLUSTER, "late"), {})

    assert stage.play()[1:] == [(60, "late", UNKNOWN), (120, "late", WELL)]


def test_other_conditions_of_a_cluster_are_kept() -> None:
    stage = Stage(defaults={"offline": [{"from": "1m", "to": "2m"}], "availability": "Unknown"})
    joined = {"type": "ManagedClusterJoined", "status": "True", "reason": "ManagedClusterJoined"}
    stage.hub.patch_status(Ref(MANAGED_CLUSTER, "c1"), {"status": {"conditions": [joined]}})
    stage.play()

    assert [c["type"] for c in stage.cluster("c1")["status"]["conditions"]] == [
        "ManagedClusterJoined",
        "ManagedClusterConditionAvailable",
    ]


def test_without_availability_nothing_is_written_to_clusters() -> None:
    assert Stage(defaults={"offline": [{"from": "1m", "to": "2m"}]}).play() == []


def test_clusters_are_deleted_relabelled_and_created_at_their_instants() -> None:
    new = {
        "kind": "ManagedCluster",
        "metadata": {"name": "e1"},
        "status": {"conditions": [{"type": "x", "status": "True", "reason": "New"}]},
    }
    stage = Stage(
        fleetEvents=[
            {"at": "30s", "create": new},
            {"at": "10s", "deleteClusters": {"names": ["c*"]}},
            {
                "at": "20s",
                "relabelClusters": {
                    "matchLabels": {"region": "d"},
                    "labels": {"old": None, "a": "b"},
                },
            },
        ]
    )

    assert stage.play() == [
        (10, "c1", "DELETED"),
        (10, "c2", "DELETED"),
        (20, "d1", "MODIFIED"),
        (30, "e1", "ADDED"),
        (30, "e1", "True/New"),
    ]
    assert stage.cluster("d1")["metadata"]["labels"] == {"region": "d", "a": "b"}


def test_any_object_is_patched_and_deleted() -> None:
    stage = Stage(
        PLACEMENT,
        fleetEvents=[
            {
                "at": "10s",
                "patch": {
                    "kind": "Placement",
                    "namespace": "default",
                    "name": "all",
                    "patch": {"spec": {"numberOfClusters": 3}},
                },
            },
            {"at": "20s", "delete": {"kind": "placement", "namespace": "default", "name": "all"}},
        ],
    )
    ref = Ref(PLACEMENT, "default/all")
    stage.hub.create(ref, {"spec": {}})
    stage.play(15)
    assert stage.hub.get(ref)["spec"] == {"numberOfClusters": 3}

    stage.play(25)
    with pytest.raises(Gone):
        stage.hub.get(ref)


def test_an_event_without_its_object_is_noted_and_done() -> None:
    event = {"at": "10s", "delete": {"kind": "placement", "namespace": "default", "name": "none"}}
    stage = Stage(fleetEvents=[event])
    stage.play()

    assert len(stage.agents.notes) == 1
    assert "default/none" in stage.agents.notes[0]
    assert stage.agents.next_at() is None


def test_an_agent_whose_cluster_was_deleted_reports_no_more_but_still_cleans_up() -> None:
    stage = Stage(
        MANIFEST_WORK,
        finalizers=True,
        defaults={"applyAfter": "1s", "readyAfter": "20s", "deleteAfter": "0s"},
        fleetEvents=[{"at": "10s", "deleteClusters": {"names": ["c1"]}}],
    )
    stage.hub.create(WORK, {"spec": SPEC})
    stage.play(60)
    stage.hub.delete(WORK)

    assert [(at, shown) for at, _, shown in stage.play()][-3:] == [
        (1, "True/AppliedManifestWorkComplete"),
        (60, "True/AppliedManifestWorkComplete"),
        (60, "DELETED"),
    ]


def test_a_cluster_that_joins_again_goes_on_with_its_works() -> None:
    stage = Stage(MANIFEST_WORK, defaults={"applyAfter": "1s", "readyAfter": "20s"})
    stage.hub.create(WORK, {"spec": SPEC})
    stage.play(10)
    stage.hub.delete(Ref(MANAGED_CLUSTER, "c1"))
    stage.play(60)
    stage.hub.create(Ref(MANAGED_CLUSTER, "c1"), {})

    assert [(at, shown) for at, _, shown in stage.play()][-1] == (
        60,
        "True/AppliedManifestWorkComplete,True/ResourcesAvailable",
    )


def test_a_relabelled_cluster_behaves_as_its_new_labels_say_from_the_next_revision_on() -> None:
    stage = Stage(
        MANIFEST_WORK,
        defaults={"applyAfter": "1s", "readyAfter": "1s"},
        rules=[
            {"clusters": {"matchLabels": {"bad": "yes"}}, "behaviour": {"outcome": "failApply"}}
        ],
        fleetEvents=[{"at": "10s", "relabelClusters": {"names": ["c1"], "labels": {"bad": "yes"}}}],
    )
    stage.hub.create(WORK, {"spec": SPEC})
    stage.play(20)
    stage.hub.patch(WORK, {"spec": {"more": 1}})

    assert stage.play()[-1][2] == ("False/AppliedManifestWorkFailed,True/ResourcesAvailable")


def test_a_conflict_about_a_cluster_is_read_again() -> None:
    stage = Stage(defaults={"offline": [{"from": "1m", "to": "2m"}], "availability": "Unknown"})
    stage.play(30)
    patch = stage.hub.patch_status
    tries: list[Ref] = []

    def contended(ref: Ref, changes: Any, version: int | None = None) -> Obj:
        tries.append(ref)
        if len(tries) == 1:
            stage.hub.patch(ref, {"metadata": {"labels": {"new": "yes"}}})
        return patch(ref, changes, version)

    stage.hub.patch_status = contended  # type: ignore[method-assign]  # another writer in between
    stage.play(90)

    assert len(tries) == 4  # three clusters, one of them twice
    assert stage.cluster("c1")["metadata"]["labels"]["new"] == "yes"
    assert stage.cluster("c1")["status"]["conditions"][0]["status"] == "Unknown"


def test_a_cluster_contended_without_end_is_tried_again_later() -> None:
    stage = Stage(defaults={"offline": [{"from": "1m", "to": "2m"}], "availability": "Unknown"})
    stage.play(30)
    patch = stage.hub.patch_status

    def refused(ref: Ref, changes: Any, version: int | None = None) -> Obj:
        if stage.clock.now() < T0 + 62 * SECOND:
            raise Conflict("someone else")
        return patch(ref, changes, version)

    stage.hub.patch_status = refused  # type: ignore[method-assign]  # another writer, all the time
    trace = stage.play()

    assert {entry for entry in trace if entry[1] == "c1"} == {
        (0, "c1", WELL),
        (62, "c1", UNKNOWN),
        (120, "c1", WELL),
    }


@pytest.mark.parametrize(
    ("second", "back"),
    [(9, None), (10, 20), (19, 20), (20, None), (30, 50), (45, 50), (50, None), (60, -1), (99, -1)],
)
def test_windows_include_their_first_instant_and_not_their_last(
    second: int, back: int | None
) -> None:
    windows = [
        {"from": "60s"},
        {"from": "40s", "to": "50s"},
        {"from": "30s", "to": "41s"},
        {"from": "10s", "to": "20s"},
    ]
    scenario = Scenario.model_validate({"spec": {"defaults": {"offline": windows}}})
    member = Members(scenario, T0).of("c1")

    expected = FOREVER if back == -1 else T0 + back * SECOND if back is not None else None

    assert member.back_at(T0 + second * SECOND) == expected
