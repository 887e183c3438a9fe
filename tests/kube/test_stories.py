"""One controller, many users: what happens on a real server when the fleet, or what people ask of it, changes?

The controller is a process with the rights of its manifests; agents are simulated and speak HTTP. Each
story has a namespace, clusters and a set of its own. There is no kube-controller-manager, so the tests
do what it would: `collect_garbage` removes what has lost its owner, `end_namespace` ends a namespace.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from rollout.hub.kube import KubeHub
from rollout.hub.kube_objects import path_of
from rollout.model import names
from rollout.model.instants import rfc3339
from rollout.model.kinds import (
    CONFIG_MAP,
    CONTROLLER_REVISION,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    SCORE,
    Obj,
    Ref,
    ref_of,
)
from rollout.runtime.events import EVENT
from rollout.sim.agents import FINALIZER as AGENT_FINALIZER
from tests import make
from tests.kube.cluster import Cluster
from tests.kube.contract import Ear
from tests.kube.processes import FieldAgents, Process, install, kubeconfig_of
from tests.kube.setting import NAMESPACE, eventually, is_gone, namespace, put, wipe
from tests.kube.tenants import Tenant, identities, stays_so

pytestmark = pytest.mark.kube

AGENTS = """
apiVersion: rollout-engine.io/v1alpha1
kind: AgentScenario
spec:
  seed: 3
  defaults:
    applyAfter: {min: 10ms, max: 50ms}
    readyAfter: {min: 20ms, max: 100ms}
    deleteAfter: {min: 300ms, max: 900ms}
"""
OWNED = (CONFIG_MAP, CONTROLLER_REVISION, PLACEMENT_DECISION)


@pytest.fixture(scope="module")
def controller(
    server: Cluster, kube: KubeHub, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Process]:
    """The controller of all stories, and their agents."""
    install(kube)
    folder = tmp_path_factory.mktemp("stories")
    process = Process(kubeconfig_of(server, kube), folder, "pod-0").start()
    agents = FieldAgents(server.kubeconfig, AGENTS)
    yield process.wait_until_it_leads()
    process.stop()
    agents.stop()
    wipe(kube)


@pytest.fixture
def tenant(request: pytest.FixtureRequest, kube: KubeHub, controller: Process) -> Iterator[Tenant]:
    """A user that nobody has seen before. The controller survives what befalls it."""
    number = sorted(item.name for item in request.session.items).index(request.node.name)
    yield Tenant(kube, f"t{number}")
    assert controller.process.poll() is None
    assert "Traceback" not in controller.log()


def collect_garbage(hub: KubeHub, namespace: str) -> None:
    """What the garbage collector would do: remove objects whose owners are all gone."""
    alive = {
        obj["metadata"]["uid"]
        for kind in (PLACEMENT, REPLICA_SET)
        for obj in hub.list(kind, namespace).items
    }
    for kind in OWNED:
        for obj in hub.list(kind, namespace).items:
            owners = obj["metadata"].get("ownerReferences")
            if owners and not any(owner["uid"] in alive for owner in owners):
                hub.delete(ref_of(kind, obj))


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
    told = [obj["note"] for obj in tenant.hub.list(EVENT, tenant.name).items]
    assert any(clusters[0] in note and "WriteRejected" in note for note in told)

    end_namespace(tenant.hub, clusters[0])
    eventually("the namespace is gone", lambda: is_gone(tenant.hub, Ref(NAMESPACE, clusters[0])))
    namespace(tenant.hub, clusters[0])

    tenant.runs_on(clusters, 60)
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
    groups = tenant.hub.get(placement)["status"]["decisionGroups"]
    assert [(g["decisionGroupName"], g["clusterCount"]) for g in groups] == [("canary", 1), ("", 4)]
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
    added = datetime.now(UTC).replace(microsecond=0)  # noqa: TID251  as whoever taints says it
    taint = {"key": "disk-full", "effect": "NoSelect", "timeAdded": rfc3339(added)}

    tenant.hub.patch(Ref(MANAGED_CLUSTER, clusters[0]), {"spec": {"taints": [taint]}})
    left = (added + timedelta(seconds=seconds) - datetime.now(UTC)).total_seconds()  # noqa: TID251
    stays_so("it is tolerated", lambda: tenant.decided() == clusters, left - 0.2)

    tenant.decides(clusters[1:], seconds=5)
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
    tenant.runs_on(tenant.decided()[:2])
    assert len(tenant.decided()) == 2
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
    works = tenant.works()
    assert identities(works)[shared] == before
    assert {w["metadata"]["labels"][names.WORK_PLACEMENT_LABEL] for w in works.values()} == {"q"}


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


# -- the end of workloads --------------------------------------------------------------------------


@pytest.mark.parametrize("cascade", ["Background", "Foreground"])
def test_a_deleted_workload_goes_before_or_after_its_works_as_it_asks(
    tenant: Tenant, cascade: str
) -> None:
    clusters = tenant.fleet(4)
    tenant.place()
    workload = tenant.deploy(cascade=cascade)
    tenant.is_rolled_out(clusters)
    works = tenant.works().values()
    assert all(AGENT_FINALIZER in work["metadata"]["finalizers"] for work in works)
    ears = {kind: Ear() for kind in (REPLICA_SET, MANIFEST_WORK)}
    ends = [tenant.hub.watch(k, tenant.hub.list(k).version, ear) for k, ear in ears.items()]

    tenant.hub.delete(workload)

    eventually("it is gone", lambda: is_gone(tenant.hub, workload))
    tenant.runs_on([])

    def gone_at(ear: Ear) -> list[int]:
        mine = (ref_of(REPLICA_SET, {"metadata": {"namespace": tenant.name, "name": "web"}}).key,)
        keys = mine if ear is ears[REPLICA_SET] else tuple(f"{c}/" for c in clusters)
        return [
            event.version
            for event in ear.events
            if event.change.value == "DELETED" and event.ref.key.startswith(keys)
        ]

    eventually("the deletions are told", lambda: len(gone_at(ears[MANIFEST_WORK])) == len(clusters))
    eventually("and that of the workload", lambda: len(gone_at(ears[REPLICA_SET])) == 1)
    (at,), others = gone_at(ears[REPLICA_SET]), gone_at(ears[MANIFEST_WORK])
    assert at < max(others) if cascade == "Background" else at > max(others)
    for end in ends:
        end()
    collect_garbage(tenant.hub, tenant.name)
    for kind in (CONFIG_MAP, CONTROLLER_REVISION):
        assert [o["metadata"]["name"] for o in tenant.hub.list(kind, tenant.name).items] == []


def test_a_workload_made_anew_before_its_garbage_is_collected_is_rolled_out_at_once(
    tenant: Tenant,
) -> None:
    """No collector runs: whoever waited for it would wait for ever."""
    clusters = tenant.fleet(3)
    tenant.place()
    workload = tenant.deploy()
    tenant.is_rolled_out(clusters)
    tenant.hub.delete(workload)
    eventually("it is gone", lambda: is_gone(tenant.hub, workload))
    tenant.runs_on([])
    assert tenant.hub.list(CONFIG_MAP, tenant.name).items

    tenant.deploy()

    tenant.is_rolled_out(clusters)
    stays_so("it is there, and nothing else wakes it", lambda: not is_gone(tenant.hub, workload), 3)
    collect_garbage(tenant.hub, tenant.name)
    uid = tenant.hub.get(workload)["metadata"]["uid"]

    def is_kept() -> None:
        for kind in (CONFIG_MAP, CONTROLLER_REVISION):
            kept = tenant.hub.list(kind, tenant.name).items
            assert {o["metadata"]["ownerReferences"][0]["uid"] for o in kept} == {uid}, kind

    eventually("its record and its template are kept", is_kept)


def test_a_workload_waits_for_a_work_that_will_not_go_only_in_the_foreground(
    tenant: Tenant,
) -> None:
    clusters = tenant.fleet(3)
    tenant.place()
    workload = tenant.deploy(cascade="Foreground")
    tenant.is_rolled_out(clusters)
    held = tenant.works()[clusters[1]]
    ref = ref_of(MANIFEST_WORK, held)
    finalizers = [*held["metadata"]["finalizers"], "example.com/look-first"]
    tenant.hub.patch(ref, {"metadata": {"finalizers": finalizers}})

    tenant.hub.delete(workload)

    tenant.runs_on(clusters[1:2])
    stays_so("it waits", lambda: not is_gone(tenant.hub, workload), 1)

    left = [name for name in tenant.hub.get(ref)["metadata"]["finalizers"] if "look" not in name]
    tenant.hub.patch(ref, {"metadata": {"finalizers": left or None}})

    eventually("it is gone", lambda: is_gone(tenant.hub, workload))
    tenant.runs_on([])


def test_a_deletion_that_waits_for_dependents_leaves_that_to_the_garbage_collector(
    tenant: Tenant,
) -> None:
    """`kubectl delete --cascade=foreground` adds a finalizer of the server's own."""
    clusters = tenant.fleet(3)
    tenant.place()
    workload = tenant.deploy()
    tenant.is_rolled_out(clusters)
    options: Obj = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Foreground",
    }
    tenant.hub.send("DELETE", path_of(REPLICA_SET, tenant.name, "web"), options)

    tenant.runs_on([])

    def left() -> None:
        assert tenant.hub.get(workload)["metadata"]["finalizers"] == ["foregroundDeletion"]

    eventually("our finalizer is gone", left)
    tenant.hub.patch(workload, {"metadata": {"finalizers": None}})
    assert is_gone(tenant.hub, workload)
