"""Decisions for readers of SIG Multicluster, on a real API server with definitions of these kinds."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
import yaml

from rollout.errors import Gone
from rollout.hub.kube import KubeHub
from rollout.model.inventory import PUBLISHER
from rollout.model.kinds import (
    CLUSTER_PROFILE,
    MANAGED_CLUSTER,
    PLACEMENT,
    SHARED_DECISION,
    Obj,
    Ref,
)
from tests.kube.cluster import Cluster
from tests.kube.processes import QUICK, Process, install, kind_of, kubeconfig_of
from tests.kube.setting import CRD, CRDS, eventually, install_crds, is_gone
from tests.kube.tenants import Tenant
from tests.support.multicluster import definition

pytestmark = pytest.mark.kube
KINDS = (SHARED_DECISION, CLUSTER_PROFILE)


@pytest.fixture
def publisher(server: Cluster, admin: KubeHub) -> Iterator[Process]:
    """A controller that is to publish, on a server that does not know the kinds yet."""
    install(admin)
    rights = CRDS.parent / "components" / "multicluster" / "rbac.yaml"
    for obj in yaml.safe_load_all(rights.read_text()):
        admin.create(Ref(kind_of(obj), obj["metadata"]["name"]), obj)
    env = {"ROLLOUT_PUBLISH_DECISIONS": "true", "ROLLOUT_PUBLISH_CLUSTERS": "true"}
    process = Process(kubeconfig_of(server, admin), server.folder, "publisher", {**QUICK, **env})
    process.start().wait_until_it_leads()
    yield process
    process.stop()
    for kind in KINDS:
        ref = Ref(CRD, f"{kind.plural}.{kind.group}")
        with suppress(Gone):
            admin.delete(ref)
            eventually(f"{ref} is gone", lambda ref=ref: is_gone(admin, ref))  # type: ignore[misc]  # a lambda with a default


def test_readers_of_sig_multicluster_are_told_who_is_selected(
    publisher: Process, admin: KubeHub
) -> None:
    tenant = Tenant(admin, "readers")
    one, two, three = tenant.fleet(3)
    tenant.place()
    tenant.decides([one, two, three])  # without the definitions everything else goes on
    install_crds(admin, [definition(kind) for kind in KINDS])

    def told() -> list[str]:
        return [
            each["clusterProfileRef"]["name"]
            for obj in admin.list(SHARED_DECISION, tenant.name).items
            for each in obj["decisions"]
        ]

    def pages() -> int:
        return len(admin.list(SHARED_DECISION, tenant.name).items)

    def profiles() -> dict[str, str]:
        return {
            obj["metadata"]["name"]: condition["status"]
            for obj in admin.list(CLUSTER_PROFILE, tenant.name).items
            for condition in obj["status"]["conditions"]
        }

    eventually("all are told", lambda: told() == [one, two, three])
    eventually("each has a profile", lambda: profiles() == dict.fromkeys((one, two, three), "True"))
    (published,) = admin.list(SHARED_DECISION, tenant.name).items
    assert published["schedulerName"] == PUBLISHER

    admin.delete(Ref(MANAGED_CLUSTER, two))
    eventually("who left is not told", lambda: told() == [one, three])
    eventually("nor has a profile", lambda: sorted(profiles()) == [one, three])

    admin.delete(tenant.ref(SHARED_DECISION, published["metadata"]["name"]))
    eventually("it is published again", lambda: told() == [one, three])

    placement = tenant.ref(PLACEMENT, "p")
    one_each: Obj = {"groupStrategy": {"clustersPerDecisionGroup": 1}}
    admin.patch(placement, {"spec": {"decisionStrategy": one_each}})
    eventually("a page for each group", lambda: pages() == 2)
    admin.patch(placement, {"spec": {"decisionStrategy": None}})
    eventually("a page from which all clusters were taken goes", lambda: pages() == 1)
    assert told() == [one, three]

    named = Ref(CLUSTER_PROFILE, f"{tenant.name}/{one}")
    admin.patch(named, {"metadata": {"labels": {"x-k8s.io/cluster-manager": None}}})
    eventually(
        "the label is back",
        lambda: admin.get(named)["metadata"]["labels"]["x-k8s.io/cluster-manager"] == PUBLISHER,
    )
