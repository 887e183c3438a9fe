"""Is every kind of object that the controller writes read back where the answer to a write was lost?

A controller with all components, behind a proxy that loses the answer to the first write of each kind: what it
may not read it cannot read back. On the way it looks after a silent cluster, calendars, and a spoilt set.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from rollout.errors import Gone
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.inventory import CLUSTER_NAME
from rollout.model.kinds import (
    CLUSTER_PROFILE,
    CLUSTER_SET,
    KINDS,
    LEASE,
    MANAGED_CLUSTER,
    SHARED_DECISION,
    Kind,
    Obj,
    Ref,
)
from rollout.runtime.permissions import needed
from rollout.settings import Settings
from tests.kube.cluster import Cluster
from tests.kube.driving import QUICK as AGENTS
from tests.kube.processes import (
    ACCOUNT,
    LONG_LEASE,
    FieldAgents,
    Process,
    install,
    kind_of,
    token_of,
)
from tests.kube.proxy import Asked, Proxy, proxied
from tests.kube.rights import Right, excuse
from tests.kube.setting import CRD, CRDS, eventually, install_crds, is_gone, namespace, put
from tests.kube.test_safety_writes import hasty
from tests.stories.test_analyses import template
from tests.support import addons, make
from tests.support.multicluster import definition

pytestmark = pytest.mark.kube

COMPONENTS = ("health", "multicluster")
ALL = ("watch_health", "publish_decisions", "publish_clusters")
SILENT = "c3"
EVERY = (*KINDS.values(), SHARED_DECISION, CLUSTER_PROFILE)


def read_back() -> set[Kind]:
    """The kinds that the controller may read because it writes them, and that a test can have it write."""
    kinds = {(kind.group, kind.plural): kind for kind in EVERY}
    return {
        kinds[permission.group, permission.resource]
        for permission in needed(Settings.model_validate(dict.fromkeys(ALL, True)))
        if "get" in permission.verbs
        and permission.resource not in (LEASE.plural, "events")
        and not excuse(Right(permission.group, permission.resource, "get"))
    }


class Loses:
    """Names the fault of the first write of each kind: it is done, and nobody hears of it."""

    def __init__(self) -> None:
        self.lost: set[Kind] = set()

    def __call__(self, asked: Asked) -> str:
        if (
            not asked.writes
            or asked.kind is None
            or asked.method == "DELETE"
            or asked.kind in self.lost
        ):
            return ""
        self.lost.add(asked.kind)
        return "lost"


def calendar(kind: str, namespace: str = "") -> Obj:
    """It closes nothing, and says so in its status."""
    meta = {"name": "never", **({"namespace": namespace} if namespace else {})}
    window = {
        "name": "past", "action": "Deny", "from": "2020-01-01T00:00:00Z", "until": "2020-01-02T00:00:00Z",
    }  # fmt: skip
    return {
        "apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": meta,
        "spec": {"windows": [window]},
    }  # fmt: skip


def renewed(cluster: str) -> Obj:
    """What an agent renews, and this one does no more."""
    return {
        "apiVersion": LEASE.api_version,
        "kind": LEASE.name,
        "metadata": {
            "name": "managed-cluster-lease",
            "namespace": cluster,
            "labels": {CLUSTER_NAME: cluster},
        },
        "spec": {"renewTime": "2026-01-01T00:00:00.000000Z", "leaseDurationSeconds": 1},
    }


@pytest.fixture
def hub(admin: KubeHub) -> Iterator[KubeHub]:
    """All components are installed, and there are a fleet, a workload, an add-on and calendars."""
    install(admin)
    for component in COMPONENTS:
        for obj in yaml.safe_load_all(
            (CRDS.parent / "components" / component / "rbac.yaml").read_text()
        ):
            admin.create(Ref(kind_of(obj), obj["metadata"]["name"]), obj)
    install_crds(admin, [definition(kind) for kind in (SHARED_DECISION, CLUSTER_PROFILE)])
    namespace(admin, *(f"c{n}" for n in range(4)))
    for obj in (
        *(make.cluster(f"c{n}") for n in range(4)), make.cluster_set(), make.binding(), make.placement(),
        make.workload(rules=(), annotations={names.ANALYSIS: "slo", names.NOTIFY: "team=on-rollout-started"}),
        template(), addons.config(),
        addons.addon("default", placements=[addons.installed_at()]),
        calendar("Calendar", "default"), calendar("ClusterCalendar"),
    ):  # fmt: skip
        put(admin, obj)
    yield admin
    for kind in (SHARED_DECISION, CLUSTER_PROFILE):
        ref = Ref(CRD, f"{kind.plural}.{kind.group}")
        with suppress(Gone):
            admin.delete(ref)
            eventually(f"{ref} is gone", lambda ref=ref: is_gone(admin, ref))  # type: ignore[misc]  # a lambda with a default


@pytest.fixture
def proxy(server: Cluster) -> Iterator[Proxy]:
    with proxied(server) as found:
        found.breaks = Loses()
        yield found


@pytest.fixture
def controller(hub: KubeHub, proxy: Proxy, server: Cluster, tmp_path: Path) -> Iterator[Process]:
    agents = FieldAgents(server.kubeconfig, AGENTS)
    config = proxy.kubeconfig(tmp_path, token_of(hub, ACCOUNT))
    env = {**LONG_LEASE, **{f"ROLLOUT_{name.upper()}": "true" for name in ALL}}
    process = Process(config, tmp_path, "pod-0", env).start()
    yield process.wait_until_it_leads()
    process.stop()
    agents.stop()


def read(proxy: Proxy) -> set[Kind]:
    """The kinds of which single objects were read."""
    singly = (
        a for a in proxy.asked if a.method == "GET" and not a.watching and not a.key.endswith("/")
    )
    return {asked.kind for asked in singly if asked.kind is not None and asked.key}


def test_each_kind_is_read_back_where_the_answer_to_a_write_was_lost(
    controller: Process, hub: KubeHub, proxy: Proxy
) -> None:
    hub.patch(Ref(MANAGED_CLUSTER, SILENT), {"spec": {"leaseDurationSeconds": 1}})
    accepted = [
        make.condition(kind, "True") for kind in (names.CLUSTER_ACCEPTED, names.CLUSTER_AVAILABLE)
    ]
    hub.patch_status(Ref(MANAGED_CLUSTER, SILENT), {"status": {"conditions": accepted}})
    put(hub, renewed(SILENT))

    def is_all_read() -> None:
        assert read_back() - read(proxy) == set()

    eventually("each kind was read back", is_all_read)
    eventually("the silent cluster is tainted", lambda: tainted(hub) == {SILENT})
    assert hasty(proxy.asked, proxy.happened) == []

    hub.patch(
        Ref(CLUSTER_SET, "default"),
        {"spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}},
    )
    eventually("the set is put right", lambda: selector(hub) == "ExclusiveClusterSetLabel")


def tainted(hub: KubeHub) -> set[str]:
    return {
        obj["metadata"]["name"]
        for obj in hub.list(MANAGED_CLUSTER).items
        if obj["spec"].get("taints")
    }


def selector(hub: KubeHub) -> str:
    return str(hub.get(Ref(CLUSTER_SET, "default"))["spec"]["clusterSelector"]["selectorType"])
