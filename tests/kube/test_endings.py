"""How does a workload end on a real server? Before or after its works, as whoever deletes it asks.

There is no kube-controller-manager, so the tests do what it would: `collect_garbage` removes what has
lost its owner.
"""

import pytest

from rollout.hub.kube_objects import path_of
from rollout.model.kinds import (
    MANIFEST_WORK,
    REPLICA_SET,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Obj,
    Ref,
    ref_of,
)
from rollout.sim.agents import FINALIZER as AGENT_FINALIZER
from tests.kube.contract import Ear
from tests.kube.setting import eventually, is_gone
from tests.kube.tenants import Tenant, collect_garbage, controller, stays_so, tenant

pytestmark = pytest.mark.kube

__all__ = ["controller", "tenant"]  # fixtures


HOLDS = "example.com/look-first"
"""A finalizer of somebody who wants to look at a work before it goes."""


def hold(tenant: Tenant, work: Obj) -> Ref:
    """Keep a work from going, whatever its agent does."""
    ref = ref_of(MANIFEST_WORK, work)
    finalizers = [*work["metadata"]["finalizers"], HOLDS]
    tenant.hub.patch(ref, {"metadata": {"finalizers": finalizers}})
    return ref


def release(tenant: Tenant, ref: Ref) -> None:
    """Let it go; its agent may take its own finalizer away in between."""

    def is_released() -> None:
        meta = tenant.hub.get(ref)["metadata"]
        left = [name for name in meta["finalizers"] if name != HOLDS]
        tenant.hub.patch(
            ref, {"metadata": {"finalizers": left or None}}, int(meta["resourceVersion"])
        )

    eventually("it is let go", is_released)


@pytest.mark.parametrize("cascade", ["Background", "Foreground"])
def test_a_deleted_workload_goes_before_or_after_its_works_as_it_asks(
    tenant: Tenant, cascade: str
) -> None:
    clusters = tenant.fleet(4)
    tenant.place()
    workload = tenant.deploy(cascade=cascade)
    tenant.is_rolled_out(clusters)
    works = tenant.works()
    assert all(AGENT_FINALIZER in work["metadata"]["finalizers"] for work in works.values())
    ears = {kind: Ear() for kind in (REPLICA_SET, MANIFEST_WORK)}
    ends = [tenant.hub.watch(k, tenant.hub.list(k).version, ear) for k, ear in ears.items()]
    held = hold(tenant, works[clusters[0]])

    tenant.hub.delete(workload)

    tenant.runs_on(clusters[:1])
    if cascade == "Background":
        eventually("it is gone", lambda: is_gone(tenant.hub, workload))
    release(tenant, held)
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

    def nothing_is_left() -> None:
        collect_garbage(tenant.hub, tenant.name)
        for kind in (ROLLOUT_RECORD, ROLLOUT_REVISION):
            assert [o["metadata"]["name"] for o in tenant.hub.list(kind, tenant.name).items] == []

    eventually("nothing is left", nothing_is_left)


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
    assert tenant.hub.list(ROLLOUT_RECORD, tenant.name).items

    tenant.deploy()

    tenant.is_rolled_out(clusters)
    stays_so("it is there, and nothing else wakes it", lambda: not is_gone(tenant.hub, workload), 3)
    collect_garbage(tenant.hub, tenant.name)
    uid = tenant.hub.get(workload)["metadata"]["uid"]

    def is_kept() -> None:
        for kind in (ROLLOUT_RECORD, ROLLOUT_REVISION):
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
    held = hold(tenant, tenant.works()[clusters[1]])

    tenant.hub.delete(workload)

    tenant.runs_on(clusters[1:2])
    stays_so("it waits", lambda: not is_gone(tenant.hub, workload), 1)

    release(tenant, held)
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
