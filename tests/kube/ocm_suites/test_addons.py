"""What OCM's integration suite asks of configurations of add-ons, where the profiles differ or did.

Upgrade and installation as a whole: tests/kube/test_addons.py.
"""

from collections.abc import Iterator
from itertools import count

import pytest

from rollout.clock import SystemClock
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import KINDS, MANAGED_CLUSTER_ADDON, Obj, Ref, ref_of
from tests.kube.setting import eventually, is_gone, managed_cluster, namespace, put
from tests.support import addons, make
from tests.support.addons import (
    CMA,
    CONFIGURED,
    NAME,
    Desk,
    addon,
    cluster_addon,
    installed_at,
    refer,
)

pytestmark = pytest.mark.kube

_number = count()


class Hands(Desk):
    """The tests' hands on a real server; nobody renders anything."""

    hub: KubeHub

    def __init__(self, hub: KubeHub, clusters: list[str]) -> None:
        self.hub, self.clock, self.clusters = hub, SystemClock(), clusters

    def begin(self, *documents: Obj) -> None:
        for document in documents:
            put(self.hub, document)
        self.decide(self.clusters)


@pytest.fixture
def hands(hub: KubeHub, profile: str) -> Iterator[Hands]:
    clusters = [f"a{next(_number)}-{profile}" for _ in range(2)]
    namespace(hub, "default", *clusters)
    for cluster in clusters:
        put(hub, managed_cluster(cluster))
    made = [put(hub, obj) for obj in (make.placement(ours=False), addons.typed())]
    found = Hands(hub, clusters)
    yield found
    hub.delete(CMA)
    for cluster in clusters:
        ref = Ref(MANAGED_CLUSTER_ADDON, f"{cluster}/{NAME}")
        if not is_gone(hub, ref):
            hub.delete(ref)
    for obj in made:
        hub.delete(ref_of(KINDS[obj["kind"]], obj))


def carries(hands: Hands, cluster: str, wanted: list[tuple[str, str]]) -> None:
    def check() -> None:
        assert not is_gone(hands.hub, Ref(MANAGED_CLUSTER_ADDON, f"{cluster}/{NAME}"))
        assert [each[:2] for each in hands.carries(cluster)] == wanted

    eventually(f"{cluster} carries {wanted}", check)


def test_a_placements_configuration_that_does_not_exist(hands: Hands, profile: str) -> None:
    """Row O1."""
    hands.begin(addon("default", placements=[installed_at("p", refer("another"))]))
    if profile == "ocm":
        for cluster in hands.clusters:
            carries(hands, cluster, [("another", "")])
        return
    eventually("it is held", lambda: hands.halted() == ("True", "ConfigNotFound"))
    assert not set(hands.clusters) & set(hands.installed())


def test_a_clusters_own_configuration_of_an_unknown_kind(hands: Hands, profile: str) -> None:
    """Row O2."""
    own = cluster_addon(hands.clusters[0], refer("x", "unknowns", "example.org"))
    hands.begin(own, addon("default", placements=[installed_at("p")]))
    carries(hands, hands.clusters[1], [("default", addons.TEST)])
    both = [("default", addons.TEST), ("x", "")]
    carries(hands, hands.clusters[0], both if profile == "ocm" else [])


def test_a_kind_that_only_a_placement_names(hands: Hands) -> None:
    hands.begin(addon("", supported=(), placements=[installed_at("p", refer("default"))]))
    for cluster in hands.clusters:
        carries(hands, cluster, [("default", addons.TEST)])
        told = lambda cluster=cluster: hands.says(cluster, names.CONFIGURED) == CONFIGURED  # noqa: E731
        eventually("it is configured", told)
