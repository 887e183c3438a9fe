"""What OCM's integration suite asks of Placements where the profiles differ, and what both answer alike."""

from itertools import count

import pytest

from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import PLACEMENT_DECISION, Obj
from tests.kube.setting import eventually
from tests.kube.tenants import Tenant
from tests.support import make

pytestmark = pytest.mark.kube

_number = count()
WITH_A_VALUE: Obj = {"key": "k", "operator": "Exists", "value": "v"}


def tenant(hub: KubeHub, profile: str, clusters: int) -> tuple[Tenant, list[str]]:
    found = Tenant(hub, f"s{next(_number)}-{profile}")
    return found, found.fleet(clusters)


def pages(found: Tenant) -> list[list[str]]:
    listed = found.hub.list(PLACEMENT_DECISION, found.name, {names.PLACEMENT_LABEL: "p"}).items
    return [
        [each["clusterName"] for each in (page.get("status") or {}).get("decisions") or []]
        for page in listed
    ]


def test_labels_and_expressions_select_anew_when_clusters_change(
    hub: KubeHub, profile: str
) -> None:
    found, clusters = tenant(hub, profile, 3)
    cel = {"celExpressions": ['managedCluster.metadata.labels["vendor"] == "x"']}
    found.place(predicates=[{"requiredClusterSelector": {"celSelector": cel}}])
    found.relabel(clusters[0], vendor="x")
    found.decides(clusters[:1])
    found.relabel(clusters[2], vendor="x")
    found.decides([clusters[0], clusters[2]])


def test_a_number_of_clusters_is_kept_to(hub: KubeHub, profile: str) -> None:
    found, clusters = tenant(hub, profile, 4)
    ref = found.place(numberOfClusters=2)
    found.decides(clusters[:2])
    hub.patch(ref, {"spec": {"numberOfClusters": 6}})
    found.decides(clusters)
    found.says(ref, names.PLACEMENT_SATISFIED, "False", "NotAllDecisionsScheduled")


def test_decision_groups_have_pages_of_their_own(hub: KubeHub, profile: str) -> None:
    found, clusters = tenant(hub, profile, 3)
    found.relabel(clusters[2], **{make.GROUP: "canary"})
    selector = {"labelSelector": {"matchLabels": {make.GROUP: "canary"}}}
    group = {"groupName": "canary", "groupClusterSelector": selector}
    found.place(decisionStrategy={"groupStrategy": {"decisionGroups": [group]}})
    eventually("two pages", lambda: sorted(pages(found)) == [clusters[:2], clusters[2:]])


def test_a_placement_that_is_born_wrong_is_decided_once_it_is_right(
    hub: KubeHub, profile: str
) -> None:
    """OCM writes an empty page for it; strict keeps to the last good decisions, of which there are none."""
    found, clusters = tenant(hub, profile, 2)
    ref = found.place(tolerations=[WITH_A_VALUE])
    found.says(ref, names.PLACEMENT_MISCONFIGURED, "True", "Misconfigured")
    wanted: list[list[str]] = [[]] if profile == "ocm" else []
    eventually("the pages of a mistake", lambda: pages(found) == wanted)
    hub.patch(ref, {"spec": {"tolerations": None}})
    found.decides(clusters)
    found.says(ref, names.PLACEMENT_MISCONFIGURED, "False", "Succeedconfigured")
