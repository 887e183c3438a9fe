"""One controller, many users: what happens on a real server when the fleet, or its placements, change?

The controller is a process with the rights of its manifests; agents are simulated and speak HTTP. Each
story has a namespace, clusters and a set of its own. There is no kube-controller-manager, so the tests
do what it would: `collect_garbage` removes what has lost its owner, `end_namespace` ends a namespace.
"""

import json
import time
from datetime import UTC, datetime

import pytest

from rollout.hub.kube import KubeHub
from rollout.hub.kube_objects import path_of
from rollout.model import names
from rollout.model.instants import rfc3339
from rollout.model.kinds import MANAGED_CLUSTER, REPLICA_SET, SCORE, Ref
from rollout.runtime.events import EVENT
from tests.kube.setting import NAMESPACE, eventually, is_gone, namespace, not_before, put
from tests.kube.tenants import Tenant, collect_garbage, controller, identities, stays_so, tenant
from tests.support import make

pytestmark = pytest.mark.kube

__all__ = ["controller", "tenant"]  # fixtures


def end_namespace(hub: KubeHub, name: str) -> None:
    """What the namespace controller would do with a namespace that was deleted and is empty."""
    stored = json.loads(hub.send("GET", path_of(NAMESPACE, None, name)))
    hub.send("PUT", path_of(NAMESPACE, None, name, "finalize"), {**stored, "spec": {}})


# -- sets and bindings -----------------------------------------------------------------------------


def test_a_deleted_set_takes_its_clusters_out_and_leaves_those_of_other_sets(
    tenant: Tenant,
) -> None:
    clusters = tenant.fleet(0) + [f"{tenant.name}-{n}" for n in "abcd"]
    tenant.join(*clusters[:2], zone="east")
    tenant.join(*clusters[2:], zone="west")
    east, west = (f"{tenant.name}-{zone}" for zone in ("east", "west"))
    tenant.offer(east, zone="east")
    tenant.offer(west, zone="west")
    placement = tenant.place(clusterSets=[east, west])
    tenant.deploy()
    tenant.is_rolled_out(clusters)
    before = identities(tenant.works())

    tenant.hub.delete(tenant.cluster_set(east))

    tenant.runs_on(clusters[2:])
    tenant.decides(clusters[2:])
    tenant.says(tenant.binding(east), names.BOUND, "False", "ClusterSetNotFound")
    tenant.says(tenant.binding(west), names.BOUND, "True", "ClusterSetBound")
    kept = identities(tenant.works())
    assert kept == {cluster: before[cluster] for cluster in clusters[2:]}

    tenant.hub.delete(tenant.cluster_set(west))

    tenant.runs_on([])
    tenant.says(placement, names.PLACEMENT_SATISFIED, "False", "NoIntersection")


def test_a_deleted_binding_ends_the_selection_and_a_new_one_begins_it_again(
    tenant: Tenant,
) -> None:
    clusters = tenant.fleet(4)
    placement = tenant.place()
    tenant.deploy()
    tenant.is_rolled_out(clusters)

    tenant.hub.delete(tenant.binding(tenant.name))

    tenant.decides([])
    tenant.runs_on([])
    reason = "NoManagedClusterSetBindings"
    tenant.says(placement, names.PLACEMENT_SATISFIED, "False", reason)
    tenant.says(tenant.ref(REPLICA_SET, "web"), names.READY, "False", "NoTargets")

    put(tenant.hub, make.binding(tenant.name, tenant.name))

    tenant.decides(clusters)
    tenant.is_rolled_out(clusters)


# -- clusters --------------------------------------------------------------------------------------


def test_a_deleted_cluster_is_taken_out_and_comes_back_as_a_new_one(tenant: Tenant) -> None:
    clusters = tenant.fleet(5)
    tenant.place()
    tenant.deploy()
    tenant.is_rolled_out(clusters)
    before = identities(tenant.works())

    tenant.hub.delete(Ref(MANAGED_CLUSTER, clusters[0]))

    tenant.decides(clusters[1:])
    tenant.runs_on(clusters[1:])
    tenant.is_rolled_out(clusters[1:])

    tenant.join(clusters[0])

    tenant.decides(clusters)
    tenant.is_rolled_out(clusters)
    after = identities(tenant.works())
    assert after[clusters[0]][0] != before[clusters[0]][0]
    assert {c: after[c] for c in clusters[1:]} == {c: before[c] for c in clusters[1:]}


def test_a_cluster_whose_namespace_is_going_fails_alone_until_it_has_one_again(
    tenant: Tenant,
) -> None:
    clusters = tenant.fleet(4)
    tenant.place()
    tenant.hub.delete(Ref(NAMESPACE, clusters[0]))
    workload = tenant.deploy()

    tenant.runs_on(clusters[1:])

    tenant.says(workload, names.READY, "True", "RolledOutWithFailures")
    assert "1 failed" in tenant.condition(workload, names.READY)[2]

    def is_told() -> bool:
        told = [obj["note"] for obj in tenant.hub.list(EVENT, tenant.name).items]
        return any(clusters[0] in note and "WriteRejected" in note for note in told)

    eventually("it is told", is_told)

    end_namespace(tenant.hub, clusters[0])
    eventually("the namespace is gone", lambda: is_gone(tenant.hub, Ref(NAMESPACE, clusters[0])))
    namespace(tenant.hub, clusters[0])

    tenant.runs_on(clusters)
    tenant.is_rolled_out(clusters)


def test_labels_bring_clusters_in_and_out_and_from_group_to_group(tenant: Tenant) -> None:
    clusters = tenant.fleet(6, stage="live")
    canary = {"groupName": "canary", "groupClusterSelector": {
        "labelSelector": {"matchLabels": {make.GROUP: "canary"}}}}  # fmt: skip
    selector = {"labelSelector": {"matchLabels": {"stage": "live"}}}
    placement = tenant.place(
        predicates=[{"requiredClusterSelector": selector}],
        decisionStrategy={"groupStrategy": {"decisionGroups": [canary]}},
    )
    tenant.deploy()
    tenant.is_rolled_out(clusters)
    before = identities(tenant.works())

    tenant.relabel(clusters[0], stage="test")
    tenant.relabel(clusters[5], ring="canary")

    tenant.decides(clusters[1:])
    tenant.runs_on(clusters[1:])
    eventually("the canary goes first", lambda: tenant.decided()[:1] == [clusters[5]])

    def groups() -> list[tuple[str, int]]:
        found = tenant.hub.get(placement)["status"]["decisionGroups"]
        return [(g["decisionGroupName"], g["clusterCount"]) for g in found]

    eventually("there are two groups", lambda: groups() == [("canary", 1), ("", 4)])
    assert identities(tenant.works()) == {c: before[c] for c in clusters[1:]}

    tenant.relabel(clusters[0], stage="live")
    tenant.relabel(clusters[5], ring=None)

    tenant.is_rolled_out()
    tenant.runs_on(clusters)
    eventually("all are one group", lambda: tenant.decided() == clusters)


def test_a_score_decides_who_is_selected_and_in_which_order(tenant: Tenant) -> None:
    clusters = tenant.fleet(3)

    def score(cluster: str, value: int) -> None:
        tenant.hub.patch_status(
            Ref(SCORE, f"{cluster}/capacity"),
            {"status": {"scores": [{"name": "free", "value": value}]}},
        )

    for cluster, value in zip(clusters, (10, 60, 90), strict=True):
        tenant.hub.create(Ref(SCORE, f"{cluster}/capacity"), {})
        score(cluster, value)
    coordinate = {"type": "AddOn", "addOn": {"resourceName": "capacity", "scoreName": "free"}}
    tenant.place(
        numberOfClusters=2, sortBy="Score", scoreRateLimit="1s",
        prioritizerPolicy={"mode": "Exact", "configurations": [
            {"scoreCoordinate": coordinate, "weight": 1}]},
    )  # fmt: skip
    tenant.deploy()
    tenant.is_rolled_out(clusters[1:])
    eventually("the best is first", lambda: tenant.decided() == [clusters[2], clusters[1]])

    score(clusters[2], 20)

    eventually("the order changes", lambda: tenant.decided() == [clusters[1], clusters[2]])
    assert set(tenant.works()) == set(clusters[1:])

    score(clusters[0], 70)

    eventually("the better one comes in", lambda: tenant.decided() == [clusters[0], clusters[1]])
    tenant.runs_on(clusters[:2])
    tenant.is_rolled_out(clusters[:2])


def test_a_toleration_runs_out_by_time_alone(tenant: Tenant) -> None:
    clusters = tenant.fleet(3)
    seconds = 4
    tenant.place(
        tolerations=[{"key": "disk-full", "operator": "Exists", "tolerationSeconds": seconds}]
    )
    tenant.deploy()
    tenant.is_rolled_out(clusters)
    began = time.monotonic()  # noqa: TID251  a test on real time
    now = datetime.now(UTC)  # noqa: TID251
    added = now.replace(microsecond=0)
    began -= (now - added).total_seconds()
    taint = {"key": "disk-full", "effect": "NoSelect", "timeAdded": rfc3339(added)}

    tenant.hub.patch(Ref(MANAGED_CLUSTER, clusters[0]), {"spec": {"taints": [taint]}})
    not_before(began, seconds, lambda: tenant.decided() == clusters)

    tenant.decides(clusters[1:])
    tenant.runs_on(clusters[1:])

    tenant.hub.patch(Ref(MANAGED_CLUSTER, clusters[0]), {"spec": {"taints": None}})
    tenant.decides(clusters)
    tenant.is_rolled_out(clusters)


# -- placements ------------------------------------------------------------------------------------


def test_a_placement_that_is_edited_moves_the_workload_and_rewrites_nothing(
    tenant: Tenant,
) -> None:
    clusters = tenant.fleet(6)
    for cluster in clusters[:3]:
        tenant.relabel(cluster, zone="east")
    placement = tenant.place()
    tenant.deploy()
    tenant.is_rolled_out(clusters)
    before = identities(tenant.works())
    east = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"zone": "east"}}}}

    tenant.hub.patch(placement, {"spec": {"predicates": [east]}})
    tenant.decides(clusters[:3])
    tenant.runs_on(clusters[:3])
    tenant.hub.patch(placement, {"spec": {"numberOfClusters": 2}})
    eventually("there are two", lambda: len(tenant.decided()) == 2)
    tenant.runs_on(tenant.decided())
    tenant.hub.patch(placement, {"spec": {"predicates": None, "numberOfClusters": 4}})

    eventually("there are four", lambda: len(tenant.works()) == 4)
    tenant.is_rolled_out(tenant.decided())
    after = identities(tenant.works())
    kept = set(clusters[:2]) & set(after)
    assert {c: after[c] for c in kept} == {c: before[c] for c in kept}
    assert {generation for _, generation in after.values()} == {1}


def test_another_placement_takes_the_works_over_where_both_select(tenant: Tenant) -> None:
    clusters = tenant.fleet(5)
    for cluster in clusters[:3]:
        tenant.relabel(cluster, zone="east")
    for cluster in clusters[2:]:
        tenant.relabel(cluster, side="right")
    for name, labels in (("p", {"zone": "east"}), ("q", {"side": "right"})):
        selector = {"labelSelector": {"matchLabels": labels}}
        tenant.place(name, predicates=[{"requiredClusterSelector": selector}])
    workload = tenant.deploy()
    tenant.is_rolled_out(clusters[:3])
    shared = clusters[2]
    before = identities(tenant.works())[shared]
    ref = {"name": "q", "rolloutStrategy": make.everywhere()}

    tenant.hub.patch(workload, {"spec": {"placementRefs": [ref]}})

    tenant.runs_on(clusters[2:])
    tenant.is_rolled_out(clusters[2:])

    def placements() -> set[str]:
        works = tenant.works().values()
        return {work["metadata"]["labels"][names.WORK_PLACEMENT_LABEL] for work in works}

    eventually("all are of the other one", lambda: placements() == {"q"})
    assert identities(tenant.works())[shared] == before


def test_a_placement_that_goes_takes_nothing_along_and_another_of_its_name_goes_on(
    tenant: Tenant,
) -> None:
    clusters = tenant.fleet(4)
    placement = tenant.place()
    workload = tenant.deploy()
    tenant.is_rolled_out(clusters)
    before = identities(tenant.works())

    tenant.hub.delete(placement)
    reason = "PlacementDecisionNotFound"
    tenant.says(workload, names.PLACEMENT_VERIFIED, "False", reason)
    collect_garbage(tenant.hub, tenant.name)
    assert tenant.decided() == []
    stays_so("the works are there", lambda: identities(tenant.works()) == before, 1.5)

    tenant.place()
    tenant.is_rolled_out(clusters)
    assert identities(tenant.works()) == before
