"""Values of single clusters on a real API server, by a controller with no more rights than the manifests give."""

from pathlib import Path

import pytest
import yaml

from rollout.model import names
from rollout.model.kinds import CLUSTER_VALUES, REPLICA_SET, Obj, Ref
from tests.kube.setting import eventually, namespace, put
from tests.kube.tenants import TENANT, Tenant, controller, identities, tenant

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
    tenant.says(ref, names.PROGRESSING, "False", "ValuesMissing")
    assert f"{three}: ClusterValues tiers" in tenant.condition(ref, names.PROGRESSING)[2]

    tenant.relabel(three, tier="b")
    eventually("the third", lambda: carried(tenant).get(three) == "1-b")
    tenant.is_rolled_out([one, two, three])

    before = identities(tenant.works())
    changed = "cluster.labels['tier'] == 'a' ? 'new' : current + '-b'"
    spec = values(tenant, changed)["spec"]
    tenant.hub.patch(Ref(CLUSTER_VALUES, f"{tenant.name}/tiers"), {"spec": spec})
    eventually("the first", lambda: carried(tenant)[one] == "new")
    tenant.is_rolled_out([one, two, three])
    after = identities(tenant.works())
    assert {c for c in after if after[c] != before[c]} == {one}


# -- the example -----------------------------------------------------------------------------------

EXAMPLE = Path(__file__).parents[2] / "examples" / "values"


def deploy_example(tenant: Tenant) -> Ref:
    """The example, with its clusters and its namespace as the tenant's own."""
    namespace(tenant.hub, tenant.name)
    tenant.offer("shops")
    for path in sorted(EXAMPLE.glob("*.yaml")):
        for obj in yaml.safe_load_all(path.read_text()):
            meta = obj["metadata"]
            if obj["kind"] == "ManagedCluster":
                namespace(tenant.hub, meta["name"])
                meta["labels"][TENANT] = tenant.name
            elif obj["kind"].startswith("ManagedClusterSet"):
                continue
            else:
                meta["namespace"] = tenant.name
            put(tenant.hub, obj)
    return tenant.ref(REPLICA_SET, "storefront")


def brought(tenant: Tenant) -> dict[str, tuple[int, str, str]]:
    """Replicas, image and greeting on each cluster."""
    found = {}
    for cluster, work in tenant.works("storefront").items():
        deployment, words = work["spec"]["workload"]["manifests"]
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        replicas = deployment["spec"]["replicas"]
        found[cluster] = (replicas, container["image"], words["data"]["greeting"])
    return found


def test_the_example_brings_three_contents_and_waits_for_the_cluster_that_lacks_a_label(
    tenant: Tenant,
) -> None:
    ref = deploy_example(tenant)
    image = "registry.example/shop/storefront:1.4.0"
    wanted = {
        **dict.fromkeys(["berlin", "lisbon", "vienna"], (3, f"eu.{image}", "Willkommen")),
        **dict.fromkeys(["osaka", "tokyo"], (9, f"asia.{image}", "Welcome")),
        "ohio": (9, f"us.{image}", "Welcome"),
    }

    eventually("all but quito", lambda: brought(tenant) == wanted)
    tenant.says(ref, names.PROGRESSING, "False", "ValuesMissing")
    tenant.relabel("quito", registry="us.registry.example")
    eventually("quito", lambda: brought(tenant).get("quito") == (3, f"us.{image}", "Welcome"))
