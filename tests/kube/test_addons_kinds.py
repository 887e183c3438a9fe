"""Add-ons on a real API server whose kinds come and go: configurations of any kind, no add-ons at all."""

from collections.abc import Callable, Iterator

import pytest

from rollout.clock import SystemClock
from rollout.errors import AlreadyExists, HubError, NotServed
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    ADDON_TEMPLATE,
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    Kind,
    Obj,
    Ref,
)
from rollout.model.spec_hash import spec_hash
from tests.kube.addons import OnServer, Start, desk, refused, start
from tests.kube.cluster import Cluster
from tests.kube.driving import QUICK as AGENTS
from tests.kube.processes import ACCOUNT, FieldAgents
from tests.kube.setting import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CRD,
    crd_objects,
    eventually,
    namespace,
    put,
    watches,
)
from tests.support import addons, make
from tests.support.addons import ALL_DONE, CLUSTERS, Desk, addon, installed_at, refer, said, typed

pytestmark = pytest.mark.kube

__all__ = ["desk", "start"]  # fixtures

TUNINGS = Kind("Tuning", "tunings", "example.org", "v1beta1", namespaced=True, has_status=False)

# -- configurations of any kind -------------------------------------------------------------------


def tuning_crd(*versions: str) -> Obj:
    """A definition of somebody else's, the last version of which is stored."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = [
        {
            "name": version,
            "served": True,
            "storage": version == versions[-1],
            "schema": {"openAPIV3Schema": schema},
        }
        for version in versions
    ]
    naming = {"kind": "Tuning", "listKind": "TuningList", "plural": "tunings", "singular": "tuning"}
    spec = {"group": "example.org", "scope": "Namespaced", "names": naming, "versions": served}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "tunings.example.org"},
        "spec": spec,
    }


@pytest.fixture
def tunings(admin: KubeHub) -> Iterator[Ref]:
    """A kind that nobody has heard of, served as v1alpha1 and v1beta1; nobody may read it yet."""
    ref = Ref(CRD, "tunings.example.org")
    admin.create(ref, tuning_crd("v1alpha1", "v1beta1"))
    yield ref
    for cluster_wide in (Ref(CLUSTER_ROLE, "tunings"), Ref(CLUSTER_ROLE_BINDING, "tunings"), ref):
        try:
            admin.delete(cluster_wide)
        except HubError:
            continue


def permit(hub: KubeHub) -> None:
    """As docs/kubernetes.md says."""
    place, _, name = ACCOUNT.partition("/")
    rule = {
        "apiGroups": ["example.org"],
        "resources": ["tunings"],
        "verbs": ["get", "list", "watch"],
    }
    hub.create(Ref(CLUSTER_ROLE, "tunings"), {"rules": [rule]})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "tunings"}
    subject = {"kind": "ServiceAccount", "namespace": place, "name": name}
    hub.create(Ref(CLUSTER_ROLE_BINDING, "tunings"), {"roleRef": role, "subjects": [subject]})


def tuning(value: int) -> Obj:
    """Its content is not called spec."""
    return {
        "apiVersion": TUNINGS.api_version,
        "kind": "Tuning",
        "metadata": {"name": "t", "namespace": "default"},
        "knobs": {"speed": value, "label": "<ä>"},
    }


def test_a_configuration_of_any_kind_is_watched_from_the_first_reference_to_the_last(
    desk: OnServer, start: Start, tunings: Ref
) -> None:
    process = start()
    desk.until("it is served", lambda: bool(desk.hub.list(TUNINGS).version))
    document = addon(placements=[installed_at("p", refer("t", "tunings", "example.org"))])
    document["spec"]["supportedConfigs"] = [{"group": "example.org", "resource": "tunings"}]
    desk.hub.create(Ref(TUNINGS, "default/t"), tuning(1))
    desk.add(document)
    desk.decide(CLUSTERS)

    def is_said() -> None:
        told = said(desk.progression(), names.ROLLOUT_HALTED)
        assert told[:2] == ("True", "ConfigNotFound")
        assert "tunings.example.org/default/t cannot be read" in told[2]
        assert "forbidden" in told[2]

    desk.until("it is said that it may not be read", is_said)
    permit(desk.hub)
    first, second = spec_hash(tuning(1)), spec_hash(tuning(2))
    desk.rendered(CLUSTERS, first).works_do(CLUSTERS)
    desk.until("it is everywhere", lambda: desk.message() == ALL_DONE)
    desk.until("one watches it", lambda: watches(desk.hub, "tunings") == 1)

    desk.hub.patch(Ref(TUNINGS, "default/t"), {"knobs": {"speed": 2}})
    desk.rendered(CLUSTERS, second).works_do(CLUSTERS)
    desk.until("the edit is everywhere", lambda: desk.hashes() == [(second, second, second)])
    carried = [[("t", second, second, 2)]] * 4
    desk.until("clusters say so", lambda: [desk.carries(c) for c in CLUSTERS] == carried)

    desk.set_addon(addon("default", placements=[installed_at()]))
    desk.until("nobody watches it", lambda: watches(desk.hub, "tunings") == 0)
    assert refused(process) == []


# -- a hub without add-ons ------------------------------------------------------------------------


@pytest.fixture
def without_addons(admin: KubeHub) -> Iterator[Callable[[], None]]:
    """A hub that lacks the definitions of add-ons; called, it gets them."""
    group = CLUSTER_MANAGEMENT_ADDON.group
    missing = [obj for obj in crd_objects() if obj["spec"]["group"] == group]

    kinds = (
        CLUSTER_MANAGEMENT_ADDON,
        MANAGED_CLUSTER_ADDON,
        ADDON_DEPLOYMENT_CONFIG,
        ADDON_TEMPLATE,
    )

    def how_many_are_served() -> int:
        served = 0
        for kind in kinds:
            try:
                admin.list(kind)
            except NotServed:
                continue
            served += 1
        return served

    def bring() -> None:
        for obj in missing:
            try:
                admin.create(Ref(CRD, obj["metadata"]["name"]), obj)
            except AlreadyExists:
                continue
        in_a_row = [0]

        def steadily() -> bool:
            """A server that lost a whole group lately wavers before it serves it again for good."""
            in_a_row[0] = in_a_row[0] + 1 if how_many_are_served() == len(missing) else 0
            return in_a_row[0] > 40

        eventually("they are served", steadily)

    for obj in missing:
        admin.delete(Ref(CRD, obj["metadata"]["name"]))
    eventually("they are gone", lambda: how_many_are_served() == 0)
    yield bring
    bring()


def test_a_hub_without_addons_rolls_workloads_out_and_addons_once_it_has_them(
    admin: KubeHub, server: Cluster, start: Start, without_addons: Callable[[], None]
) -> None:
    namespace(admin, *CLUSTERS)
    for obj in [*addons.fleet(*CLUSTERS), make.workload(rules=())]:
        put(admin, obj)
    process = start()
    agents = FieldAgents(server.kubeconfig, AGENTS)
    Desk.decide(_Hands(admin), CLUSTERS)
    eventually("works are there", lambda: len(admin.list(MANIFEST_WORK).items) == 4)
    said = "is the CustomResourceDefinition installed"
    eventually("it is said what is missing", lambda: said in process.log())

    without_addons()
    desk = OnServer(admin, server)
    try:
        desk.add(typed(), addon("default", placements=[installed_at()]))
        desk.until("it is installed", lambda: desk.installed() == CLUSTERS)
    finally:
        desk.stop()
        agents.stop()


class _Hands(Desk):
    def __init__(self, hub: KubeHub) -> None:
        self.hub, self.clock = hub, SystemClock()
