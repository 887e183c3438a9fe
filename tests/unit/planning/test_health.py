from datetime import datetime, timedelta
from typing import Any

import pytest

from rollout.fleet.heartbeats import Heartbeats
from rollout.model.cluster import Cluster, Taint
from rollout.model.kinds import MANAGED_CLUSTER, Obj, Ref
from rollout.planning.health import HealthPlanner, Silence, grace_of, period_of, tainted
from tests.support.placing import T0, World

TICK, PERIOD = timedelta(microseconds=1), timedelta(seconds=60)
GRACE = 5 * PERIOD
UNAVAILABLE = "cluster.open-cluster-management.io/unavailable"
UNREACHABLE = "cluster.open-cluster-management.io/unreachable"


def lease(cluster: str, renewed: str | None) -> Obj:
    meta = {"name": "managed-cluster-lease", "namespace": cluster}
    return {"metadata": meta, "spec": {"renewTime": renewed}}


class Health:
    """Clusters, their leases, and the planner."""

    def __init__(self, count: int, available: str | None = "True") -> None:
        self.world, self.beats = World(), Heartbeats()
        self.blind: datetime | None = None
        for i in range(count):
            self.put(f"c{i}", available)
            self.beats.heard(lease(f"c{i}", "0"), PERIOD, T0)

    def put(self, name: str, available: str | None, **meta: Any) -> None:
        conditions = [{"type": "HubAcceptedManagedCluster", "status": "True"}]
        if available is not None:
            conditions.append({"type": "ManagedClusterConditionAvailable", "status": available})
        self.world.cluster(name, meta=meta, spec={}, status={"conditions": conditions})

    def cluster(self, name: str) -> Cluster | None:
        return self.world.store.cluster(name)

    def heard_at(self, name: str) -> datetime | None:
        return self.beats.heard_at(name)

    def blind_since(self) -> datetime | None:
        return self.blind

    def silence(self, now: datetime, window: timedelta) -> Silence:
        return self.beats.silence(now, window)

    def run(self, name: str, now: datetime) -> tuple[list[str], datetime | None]:
        """Plan and write; returns the reasons of the notes, and when to look again."""
        plan = HealthPlanner().plan(name, self, now)
        for write in plan.writes:
            self.world.write(write)
        return [n.reason for n in plan.notes], plan.recheck_at

    def taints(self, name: str) -> list[str]:
        known = self.cluster(name)
        assert known is not None
        return [taint.key for taint in known.taints]


@pytest.mark.parametrize(
    ("available", "expected"),
    [("True", []), ("False", [UNAVAILABLE]), ("Unknown", [UNREACHABLE]), (None, [UNREACHABLE])],
)
def test_taints_follow_the_available_condition(available: str | None, expected: list[str]) -> None:
    health = Health(10)
    health.put("c0", available)
    health.run("c0", T0)

    assert health.taints("c0") == expected
    assert health.run("c0", T0) == ([], T0 + GRACE)


@pytest.mark.parametrize(
    ("at", "silent"), [(GRACE - TICK, False), (GRACE, True), (GRACE + TICK, True)]
)
def test_a_cluster_is_unknown_at_the_very_end_of_its_grace(at: timedelta, silent: bool) -> None:
    health = Health(10)
    for i in range(1, 10):
        health.beats.heard(lease(f"c{i}", "1"), PERIOD, T0 + at)
    notes, recheck = health.run("c0", T0 + at)

    assert health.taints("c0") == ([UNREACHABLE] if silent else [])
    assert notes == (["AvailableUnknown"] if silent else [])
    assert recheck == (None if silent else T0 + GRACE)


def test_nobody_is_silent_while_renewals_may_be_missed() -> None:
    health = Health(10)
    health.blind = T0 + GRACE - TICK
    later = T0 + 3 * GRACE
    for i in range(1, 10):
        health.beats.heard(lease(f"c{i}", "1"), PERIOD, later)

    assert health.run("c0", later) == ([], later + timedelta(seconds=30))
    assert health.taints("c0") == []

    health.blind = None
    assert health.run("c0", later) == (["AvailableUnknown"], None)


def test_a_lease_is_timed_by_the_hubs_clock_whatever_the_agent_wrote() -> None:
    health = Health(10)
    ref = Ref(MANAGED_CLUSTER, "c0")
    late = T0 + GRACE - TICK

    assert health.beats.heard(lease("c0", "1970-01-01T00:00:00Z"), PERIOD, late) == set()
    assert health.beats.heard_at("c0") == late
    health.beats.heard(lease("c0", "1970-01-01T00:00:00Z"), PERIOD, late + GRACE)
    assert health.beats.heard_at("c0") == late
    assert health.beats.heard(lease("c0", "later"), PERIOD, late + GRACE) == {ref}


def test_a_null_renewal_and_a_foreign_lease_do_no_harm() -> None:
    beats = Heartbeats()

    assert beats.heard(lease("c0", None), PERIOD, T0) == {Ref(MANAGED_CLUSTER, "c0")}
    assert beats.heard({"metadata": {"name": "other", "namespace": "c0"}}, PERIOD, T0) == set()
    assert beats.heard({}, PERIOD, T0) == set()
    assert beats.silence(T0 + 2 * PERIOD, PERIOD) == Silence(1, 1, 1)
    assert beats.silence(T0 + 3 * PERIOD, PERIOD) == Silence(1, 0, 1)
    beats.forget("c0")
    beats.forget("c0")
    assert beats.silence(T0 + GRACE, PERIOD) == Silence(0, 0, 0)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [(None, 60), (0, 60), (-5, 1), (30, 30), (2**31 - 1, 86_400), ("x", 60), (True, 60)],
)
def test_a_lease_period_is_from_a_second_to_a_day(written: object, seconds: int) -> None:
    cluster = Cluster("c", raw={"spec": {"leaseDurationSeconds": written}})

    assert period_of(cluster) == seconds
    assert grace_of(cluster) == timedelta(seconds=5 * seconds)


@pytest.mark.parametrize(("silent", "braked"), [(5, False), (6, True), (10, True)])
def test_when_most_of_the_fleet_falls_silent_nothing_is_tainted(silent: int, braked: bool) -> None:
    health = Health(10)
    now = T0 + GRACE
    for i in range(silent, 10):
        health.beats.heard(lease(f"c{i}", "1"), PERIOD, now)
    found = [health.run(f"c{i}", now) for i in range(silent)]

    if braked:
        assert {(tuple(n), r) for n, r in found} == {
            (("HealthBrake",), now + timedelta(seconds=30))
        }
        assert [health.taints(f"c{i}") for i in range(silent)] == [[]] * silent
    else:
        assert [health.taints(f"c{i}") for i in range(silent)] == [[UNREACHABLE]] * silent


def test_two_clusters_are_too_few_for_a_brake() -> None:
    health = Health(2)
    health.run("c0", T0 + GRACE)

    assert health.taints("c0") == [UNREACHABLE]


def test_after_an_outage_every_grace_begins_anew() -> None:
    health = Health(10)
    back = T0 + timedelta(hours=1)
    health.beats.restart(back)

    assert health.silence(back, PERIOD) == Silence(0, 0, 10)
    assert health.run("c0", back) == ([], back + GRACE)
    assert health.silence(back + GRACE, PERIOD) == Silence(10, 0, 10)


def test_a_cluster_that_was_never_accepted_or_is_going_is_not_judged_by_its_lease() -> None:
    health = Health(3)
    health.world.cluster(
        "new",
        spec={},
        status={"conditions": [{"type": "ManagedClusterConditionAvailable", "status": "True"}]},
    )
    health.beats.heard(lease("new", "0"), timedelta(0), T0)
    health.put("c0", "True", deletionTimestamp="2026-01-01T00:00:00Z")

    assert health.run("new", T0)[0] == []
    assert health.taints("new") == []
    assert health.run("c0", T0 + GRACE) == ([], None)
    assert health.run("unknown", T0) == ([], None)


def test_taints_of_others_stay_and_ours_are_added_at_the_end_once() -> None:
    other = Taint("maintenance", "v", "NoSelect", T0)
    old = Taint(UNAVAILABLE, added=T0)
    found = tainted((old, other), "Unknown", T0)

    assert found == (other, Taint(UNREACHABLE, added=T0))
    assert tainted(found, "Unknown", T0 + GRACE) == found
    assert tainted(found, "True", T0) == (other,)
