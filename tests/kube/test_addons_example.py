"""The example of an add-on on a real API server: canary groups first, and a bad release goes no further."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from rollout.api.load import load
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER_ADDON,
    Obj,
    Ref,
)
from rollout.model.spec_hash import spec_hash
from tests.kube.addons import OnServer, Start, refused, start
from tests.kube.cluster import Cluster
from tests.kube.driving import QUICK as AGENTS
from tests.kube.processes import FieldAgents
from tests.kube.setting import ROOT, namespace, put
from tests.support.addons import said

pytestmark = pytest.mark.kube

__all__ = ["start"]  # fixtures

HELLO = Ref(CLUSTER_MANAGEMENT_ADDON, "helloworld")
CONFIG = Ref(ADDON_DEPLOYMENT_CONFIG, "default/deploy-config")

WEST = {f"aws-west-{n}" for n in range(1, 5)}
EAST = {f"aws-east-{n}" for n in range(1, 5)}
REST = {f"aws-prod-{n:02d}" for n in range(1, 33)}
BAD_RELEASE = (
    AGENTS
    + """
  rules:
  - manifests: {kind: Deployment, image: "quay.io/example/helloworld:1.2"}
    behaviour:
      outcome: fail
"""
)


def example() -> list[Obj]:
    """The example's objects, with a soak that a test can wait for."""
    loaded = load([ROOT / "examples" / "addon-canary"])
    assert not loaded.errors
    found = copy.deepcopy([obj for obj in loaded.objects if obj["kind"] != "AgentScenario"])
    (document,) = [obj for obj in found if obj["kind"] == CLUSTER_MANAGEMENT_ADDON.name]
    (placed,) = document["spec"]["installStrategy"]["placements"]
    placed["rolloutStrategy"]["progressive"]["minSuccessTime"] = "1s"
    return found


def edit(hub: KubeHub, release: str) -> Obj:
    image = {"name": "IMAGE", "value": f"quay.io/example/helloworld:{release}"}
    return hub.patch(CONFIG, {"spec": {"customizedVariables": [image]}})


class Told:
    """The order in which clusters are told of a release, by the hash of its configuration."""

    def __init__(self, hub: KubeHub) -> None:
        self.order: dict[str, list[str]] = {}
        self.end = hub.watch(MANAGED_CLUSTER_ADDON, hub.list(MANAGED_CLUSTER_ADDON).version, self)

    def __call__(self, event: Any) -> None:
        for reference in (event.obj.get("status") or {}).get("configReferences") or []:
            order = self.order.setdefault(reference["desiredConfig"]["specHash"], [])
            if event.ref.namespace not in order:
                order.append(event.ref.namespace)

    def of(self, config: Obj) -> list[str]:
        return self.order.get(spec_hash(config), [])


def test_the_example_reaches_canary_groups_first_and_a_bad_release_stops_at_the_first(
    admin: KubeHub, server: Cluster, start: Start
) -> None:
    documents = example()
    kinds = [obj["kind"] for obj in documents]
    namespace(admin, *(o["metadata"]["name"] for o in documents if o["kind"] == "ManagedCluster"))
    for obj in sorted(documents, key=lambda obj: kinds.index(obj["kind"])):
        put(admin, obj)
    told, desk = Told(admin), OnServer(admin, server)
    agents = FieldAgents(server.kubeconfig, BAD_RELEASE)
    process = start()

    def halted() -> tuple[str, str]:
        (progression,) = admin.get(HELLO)["status"]["installProgressions"]
        return said(progression, names.ROLLOUT_HALTED)[:2]

    def done(release: Obj) -> Callable[[], None]:
        def check() -> None:
            assert set(told.of(release)) == WEST | EAST | REST
            assert halted() == ("False", "Complete")

        return check

    try:
        desk.until("the first release is everywhere", done(admin.get(CONFIG)))
        good = edit(admin, "1.1")
        desk.until("the second release is everywhere", done(good))
        bad = edit(admin, "1.2")
        stopped = ("True", "MaxFailuresExceeded")
        desk.until("the bad release stops", lambda: halted() == stopped)
        desk.until("it is heard", lambda: set(told.of(bad)) >= WEST)
    finally:
        told.end()
        agents.stop()
        desk.stop()
    order = told.of(good)
    assert (set(order[:4]), set(order[4:8])) == (WEST, EAST)
    assert set(told.of(bad)) == WEST
    assert refused(process) == []
