"""Values of single clusters on a real API server, by a controller with no more rights than the manifests give."""

import pytest

from rollout.model import names
from rollout.model.kinds import CLUSTER_VALUES, Obj, Ref
from tests.kube.setting import eventually, put
from tests.kube.tenants import Tenant, controller, identities, tenant

__all__ = ["controller", "tenant"]  # fixtures
pytestmark = pytest.mark.kube


def values(tenant: Tenant, expression: str) -> Obj:
    setting = {"target": {"kind": "ConfigMap"}, "path": "/data/version", "value": expression}
    return {
        "apiVersion": CLUSTER_VALUES.api_version,
        "kind": CLUSTER_VALUES.name,
        "metadata": {"name": "tiers", "namespace": tenant.name},
        "spec": {"workload": {"name": "web"}, "rules": [{"set": [setting]}]},
    }


def carried(tenant: Tenant) -> dict[str, str]:
    works = tenant.works().items()
    return {c: w["spec"]["workload"]["manifests"][0]["data"]["version"] for c, w in works}


def test_each_cluster_gets_its_values_and_a_changed_rule_goes_to_those_that_it_changes(
    tenant: Tenant,
) -> None:
    one, two, three = tenant.fleet(3)
    tenant.relabel(one, tier="a")
    tenant.relabel(two, tier="b")
    tenant.place()
    put(tenant.hub, values(tenant, "current + '-' + cluster.labels['tier']"))
    ref = tenant.deploy()

    eventually("those who can be rendered", lambda: carried(tenant) == {one: "1-a", two: "1-b"})
    tenant.says(ref, names.PROGRESSING, "False", "ValuesMissing", 60)
    assert f"{three}: ClusterValues tiers" in tenant.condition(ref, names.PROGRESSING)[2]

    tenant.relabel(three, tier="b")
    eventually("the third", lambda: carried(tenant).get(three) == "1-b", 90)
    tenant.is_rolled_out([one, two, three])

    before = identities(tenant.works())
    changed = "cluster.labels['tier'] == 'a' ? 'new' : current + '-b'"
    spec = values(tenant, changed)["spec"]
    tenant.hub.patch(Ref(CLUSTER_VALUES, f"{tenant.name}/tiers"), {"spec": spec})
    eventually("the first", lambda: carried(tenant)[one] == "new")
    tenant.is_rolled_out([one, two, three])
    after = identities(tenant.works())
    assert {c for c in after if after[c] != before[c]} == {one}
