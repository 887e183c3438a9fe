"""One of many users of a hub: a namespace, clusters and a cluster set of its own, and what became of them.

Clusters and sets of one tenant carry its name, so that several can be on a server, and in the care of
one controller, without a word to each other.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from rollout.errors import Gone
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from tests.kube.cluster import Cluster
from tests.kube.processes import LONG_LEASE, FieldAgents, Process, install, kubeconfig_of
from tests.kube.setting import eventually, namespace, put, wipe
from tests.support import make

TENANT = "tenant"
"""The label of a tenant's clusters."""


@dataclass(frozen=True)
class Tenant:
    """Works in the namespace ``name``. Its workload is ``web``, its placement ``p``."""

    hub: KubeHub
    name: str

    def join(self, *clusters: str, **labels: str) -> None:
        """Clusters that join, in the group (`tests.support.make.GROUP`) and with the labels given."""
        namespace(self.hub, *clusters)
        for cluster in clusters:
            put(self.hub, make.cluster(cluster, {TENANT: self.name, **labels}))

    def fleet(self, count: int, **labels: str) -> list[str]:
        """That many clusters, a set of them all, and its binding. Returns: the clusters."""
        namespace(self.hub, self.name)
        clusters = [f"{self.name}-{n:03d}" for n in range(count)]
        self.join(*clusters, **labels)
        self.offer(self.name)
        return clusters

    def offer(self, name: str, **labels: str) -> None:
        """A set of the tenant's clusters that have these labels, and its binding."""
        found = make.cluster_set(name)
        selector = {"matchLabels": {TENANT: self.name, **labels}}
        found["spec"]["clusterSelector"]["labelSelector"] = selector
        put(self.hub, found)
        put(self.hub, make.binding(self.name, name))

    def place(self, name: str = "p", **spec: Any) -> Ref:
        obj = make.placement(name, self.name)
        obj["spec"] = spec
        put(self.hub, obj)
        return self.ref(PLACEMENT, name)

    def deploy(self, **fields: Any) -> Ref:
        """A workload whose removals nobody holds, though its fleet is small (row 16)."""
        fields.setdefault("annotations", {names.RELEASE_REMOVALS: "2099-01-01T00:00:00Z"})
        put(self.hub, make.workload(namespace=self.name, **fields))
        return self.ref(REPLICA_SET, "web")

    # -- what can be pointed at ----------------------------------------------------------------

    def ref(self, kind: Kind, name: str) -> Ref:
        return Ref(kind, f"{self.name}/{name}" if kind.namespaced else name)

    def binding(self, name: str) -> Ref:
        return self.ref(CLUSTER_SET_BINDING, name)

    def cluster_set(self, name: str) -> Ref:
        return self.ref(CLUSTER_SET, name)

    def relabel(self, cluster: str, **labels: str | None) -> None:
        self.hub.patch(Ref(MANAGED_CLUSTER, cluster), {"metadata": {"labels": labels}})

    # -- what became of it ---------------------------------------------------------------------

    def decided(self, placement: str = "p") -> list[str]:
        """The clusters that the placement's decisions name, in their order."""
        pages = self.hub.list(
            PLACEMENT_DECISION, self.name, {names.PLACEMENT_LABEL: placement}
        ).items
        return [
            decision["clusterName"]
            for page in sorted(pages, key=_group_and_name)
            for decision in (page.get("status") or {}).get("decisions") or []
        ]

    def works(self, name: str = "web") -> dict[str, Obj]:
        """The workload's works by cluster; two for one cluster are an error."""
        label = {names.WORK_OWNER_LABEL: f"{self.name}.{name}"}
        found: dict[str, Obj] = {}
        for work in self.hub.list(MANIFEST_WORK, None, label).items:
            cluster = work["metadata"]["namespace"]
            assert cluster not in found, f"two works on {cluster}"
            found[cluster] = work
        return found

    def condition(self, ref: Ref, kind: str) -> tuple[str, str, str]:
        """Status, reason, and message, as long as they are about the present spec; else blanks."""
        obj = self.hub.get(ref)
        for each in (obj.get("status") or {}).get("conditions") or []:
            if each["type"] == kind:
                if each.get("observedGeneration") not in (None, obj["metadata"]["generation"]):
                    break
                return each["status"], each["reason"], each["message"]
        return "", "", ""

    def says(self, ref: Ref, kind: str, status: str, reason: str) -> None:
        """Wait until it does."""

        def check() -> None:
            assert self.condition(ref, kind)[:2] == (status, reason)

        eventually(f"{ref} says {kind} {status} {reason}", check)

    def decides(self, clusters: Iterable[str], placement: str = "p") -> None:
        """Wait until the placement selects these and no others."""
        wanted = sorted(clusters)

        def check() -> None:
            assert sorted(self.decided(placement)) == wanted

        eventually("the placement decides", check)

    def runs_on(self, clusters: Iterable[str], name: str = "web") -> None:
        """Wait until the workload has a work on each of these and on no other."""
        wanted = set(clusters)

        def check() -> None:
            assert set(self.works(name)) == wanted

        eventually("the works follow", check)

    def is_rolled_out(self, clusters: Iterable[str] | None = None, name: str = "web") -> None:
        """Wait until the workload says that it is, on these clusters where they are given.

        The works come first: until a second after the decisions have changed, a workload may still
        say what was so before.
        """
        if clusters is not None:
            self.runs_on(clusters, name)
        self.says(self.ref(REPLICA_SET, name), names.READY, "True", "RolledOut")


def _group_and_name(page: Obj) -> tuple[int, str]:
    meta = page["metadata"]
    return int(meta["labels"].get(names.GROUP_INDEX_LABEL, "0")), meta["name"]


def identities(works: Mapping[str, Obj]) -> dict[str, tuple[str, int]]:
    """Which objects they are, and how often their specs were written: cluster to uid and generation."""
    return {
        cluster: (work["metadata"]["uid"], work["metadata"]["generation"])
        for cluster, work in works.items()
    }


def stays_so(what: str, check: Any, seconds: float) -> None:
    """Look again and again for so long: it must hold each time."""
    end = time.monotonic() + seconds  # noqa: TID251  a test watches another process
    while time.monotonic() < end:  # noqa: TID251
        assert check() is not False, f"{what} no longer"
        time.sleep(0.1)  # noqa: TID251


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
OWNED = (ROLLOUT_RECORD, ROLLOUT_REVISION, PLACEMENT_DECISION)


@pytest.fixture(scope="module")
def controller(
    server: Cluster, kube: KubeHub, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Process]:
    """The controller of all stories of a module, and their agents."""
    install(kube)
    folder = tmp_path_factory.mktemp("stories")
    process = Process(kubeconfig_of(server, kube), folder, "pod-0", dict(LONG_LEASE)).start()
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
                with suppress(Gone):  # the controller was quicker
                    hub.delete(ref_of(kind, obj))
