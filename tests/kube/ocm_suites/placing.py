"""The hands of the tests on Placements: clusters, sets and scores of one case, and what it selects."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import count
from typing import Any

from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.instants import rfc3339
from rollout.model.kinds import MANAGED_CLUSTER, PLACEMENT, PLACEMENT_DECISION, SCORE, Obj, Ref
from tests.kube.setting import eventually, namespace, put
from tests.kube.tenants import Tenant
from tests.support import make

_number, _clusters = count(), count()
"""Of cases, and of clusters, whose names are in the order in which they join."""


class Case(Tenant):
    """A tenant whose clusters join one by one, in sets of all kinds."""

    def __init__(self, hub: KubeHub, profile: str) -> None:
        super().__init__(hub, f"s{next(_number)}-{profile}")
        namespace(hub, self.name)

    # -- what there is -------------------------------------------------------------------------

    def clusters(
        self, total: int, cluster_set: str = "", labels: Mapping[str, str] | None = None
    ) -> list[str]:
        """That many more clusters, in an exclusive set where one is named. Returns: them."""
        mine = {names.CLUSTER_SET_LABEL: cluster_set} if cluster_set else {}
        found = [f"{self.name}-{next(_clusters):04d}" for _ in range(total)]

        def one(name: str) -> None:
            put(self.hub, make.cluster(name, {"tenant": self.name, **mine, **(labels or {})}))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(one, found))
        return found

    def set_of(
        self,
        suffix: str = "set",
        labels: Mapping[str, str] | None = None,
        *,
        is_bound: bool = True,
    ) -> str:
        """A cluster set: by labels, or, without any, an exclusive one. Returns: its name."""
        name = f"{self.name}-{suffix}"
        selector: Obj = {"selectorType": "ExclusiveClusterSetLabel"}
        if labels:
            chosen = {"matchLabels": {"tenant": self.name, **labels}}
            selector = {"selectorType": "LabelSelector", "labelSelector": chosen}
        put(self.hub, {**make.cluster_set(name), "spec": {"clusterSelector": selector}})
        if is_bound:
            self.bind(name)
        return name

    def bind(self, cluster_set: str) -> None:
        put(self.hub, make.binding(self.name, cluster_set))

    def has_resources(self, cluster: str, cpu: int, memory: int) -> None:
        found = {"cpu": str(cpu), "memory": str(memory)}
        self.status(Ref(MANAGED_CLUSTER, cluster), {"allocatable": found, "capacity": found})

    def has_score(self, cluster: str, value: int) -> None:
        """Of the add-on ``demo``, under the name ``demo``."""
        ref = Ref(SCORE, f"{cluster}/demo")
        namespace(self.hub, cluster)
        if not any(
            found["metadata"]["namespace"] == cluster for found in self.hub.list(SCORE).items
        ):
            self.hub.create(ref, {"apiVersion": SCORE.api_version, "kind": SCORE.name})
        self.status(ref, {"scores": [{"name": "demo", "value": value}]})

    def others_select(self, cluster: str, times: int = 9) -> None:
        """Decisions of somebody else, far more of this cluster than any case makes of one."""
        for number in range(times):
            page = make.decision([cluster], f"other-{number}", self.name)
            put(self.hub, page)

    def status(self, ref: Ref, status: Obj) -> None:
        self.hub.patch_status(ref, {"status": status})

    def taint(self, cluster: str, *taints: Obj) -> None:
        self.hub.patch(Ref(MANAGED_CLUSTER, cluster), {"spec": {"taints": list(taints)}})

    def edit(self, **spec: Any) -> None:
        self.hub.patch(self.ref(PLACEMENT, "p"), {"spec": spec})

    # -- what became of it ---------------------------------------------------------------------

    def pages(self) -> list[Obj]:
        """The decisions of the placement, in the order of groups and pages."""
        found = self.hub.list(PLACEMENT_DECISION, self.name, {names.PLACEMENT_LABEL: "p"}).items
        return sorted(found, key=lambda page: int(page["metadata"]["name"].rpartition("-")[2]))

    def page_sizes(self, *wanted: int) -> None:
        def check() -> None:
            sizes = [
                len((page.get("status") or {}).get("decisions") or []) for page in self.pages()
            ]
            assert sizes == list(wanted)

        eventually(f"pages of {wanted} clusters", check)

    def groups(self, *wanted: tuple[str, int]) -> None:
        """Wait until the status, and the pages' labels, tell of these groups and numbers."""

        def check() -> None:
            told = self.hub.get(self.ref(PLACEMENT, "p"))["status"]["decisionGroups"]
            assert [(g["decisionGroupName"], g["clusterCount"]) for g in told] == list(wanted)
            listed = {name for group in told for name in group["decisions"]}
            pages = self.pages()
            assert {page["metadata"]["name"] for page in pages} == listed
            labels = [page["metadata"]["labels"][names.GROUP_NAME_LABEL] for page in pages]
            assert labels == [name for name, _ in wanted]

        eventually(f"groups {wanted}", check)

    def is_satisfied(self, reason: str = "AllDecisionsScheduled") -> None:
        status = "True" if reason == "AllDecisionsScheduled" else "False"
        self.says(self.ref(PLACEMENT, "p"), names.PLACEMENT_SATISFIED, status, reason)

    def is_wrong(self) -> None:
        says = (names.PLACEMENT_MISCONFIGURED, "True", "Misconfigured")
        self.says(self.ref(PLACEMENT, "p"), *says)

    def is_right(self) -> None:
        says = (names.PLACEMENT_MISCONFIGURED, "False", "Succeedconfigured")
        self.says(self.ref(PLACEMENT, "p"), *says)


# -- parts of a Placement ------------------------------------------------------------------------


def labelled(**labels: str) -> list[Obj]:
    return [{"requiredClusterSelector": {"labelSelector": {"matchLabels": labels}}}]


def by_claim(value: str) -> list[Obj]:
    asked = {"key": "vendor", "operator": "In", "values": [value]}
    return [{"requiredClusterSelector": {"claimSelector": {"matchExpressions": [asked]}}}]


def by_expression(expression: str) -> list[Obj]:
    return [{"requiredClusterSelector": {"celSelector": {"celExpressions": [expression]}}}]


def taint(key: str, effect: str = "NoSelect", since: datetime | None = None, **more: str) -> Obj:
    found: Obj = {"key": key, "effect": effect, **more}
    return found if since is None else {**found, "timeAdded": rfc3339(since)}


def tolerated(key: str, **more: object) -> Obj:
    return {"key": key, "operator": "Exists", **more}


def ranked(weights: Mapping[str, int], mode: str = "Exact") -> Obj:
    """A prioritizer policy; ``demo`` is the score of an add-on."""
    demo = {"type": "AddOn", "addOn": {"resourceName": "demo", "scoreName": "demo"}}
    found = [
        {
            "scoreCoordinate": demo if name == "demo" else {"type": "BuiltIn", "builtIn": name},
            "weight": weight,
        }
        for name, weight in weights.items()
    ]
    return {"mode": mode, "configurations": found}
