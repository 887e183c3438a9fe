"""One tenant never stops another (contract L6), on a real server. Loose: `make kube-bench` measures it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from rollout.hub.kube import KubeHub
from rollout.model.kinds import REPLICA_SET, Ref
from tests.kube.setting import eventually, put
from tests.kube.tenants import Tenant, controller, tenant
from tests.support import make

pytestmark = pytest.mark.kube

__all__ = ["controller", "tenant"]  # fixtures

MANY = 100
SECONDS = 15.0
"""Far more than a reaction takes, far less than all the writes of the other tenant."""


def owners(tenant: Tenant) -> set[str]:
    """The tenant's workloads that are there."""
    return {obj["metadata"]["name"] for obj in tenant.hub.list(REPLICA_SET, tenant.name).items}


def test_l6_a_workload_reacts_while_another_namespace_edits_and_deletes_a_hundred(
    tenant: Tenant, kube: KubeHub
) -> None:
    busy = Tenant(kube, f"{tenant.name}-busy")
    clusters = busy.fleet(2)
    busy.place()
    mine = tenant.fleet(2)
    tenant.place()
    tenant.deploy()
    tenant.is_rolled_out(mine)
    names = [f"w{n:03d}" for n in range(MANY)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: put(kube, make.workload(n, busy.name)), names))
        busy.runs_on(clusters, 120, names[-1])
        changes = {"spec": {"manifestWorkTemplate": make.template("2")}}
        list(pool.map(lambda n: kube.patch(Ref(REPLICA_SET, f"{busy.name}/{n}"), changes), names))
        list(pool.map(lambda n: kube.delete(Ref(REPLICA_SET, f"{busy.name}/{n}")), names))

    before = {cluster: work["metadata"]["generation"] for cluster, work in tenant.works().items()}
    kube.patch(tenant.ref(REPLICA_SET, "web"), changes)
    tenant.place("q")

    def is_changed() -> None:
        now = tenant.works()
        assert any(now[c]["metadata"]["generation"] > before[c] for c in mine)

    eventually("the edit is written", is_changed, SECONDS)
    tenant.decides(mine, "q", SECONDS)
    eventually("the others are gone", lambda: not owners(busy), 120)
    busy.runs_on([], 60, names[0])
