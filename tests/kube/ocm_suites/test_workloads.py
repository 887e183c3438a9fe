"""What OCM's integration suite asks of ManifestWorkReplicaSets, in our words, in both profiles.

Decisions are written by the test, as that suite does; and what agents say. Where strict answers otherwise
on purpose, the test names the row of docs/semantics.md.
"""

import time
from itertools import count
from typing import Any

import pytest

from rollout.clock import SystemClock
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.instants import rfc3339
from rollout.model.kinds import MANIFEST_WORK, PLACEMENT, PLACEMENT_DECISION, REPLICA_SET, Obj, Ref
from tests.kube import ocm
from tests.kube.setting import eventually, is_gone, not_before, put
from tests.kube.tenants import Tenant, stays_so
from tests.support import make

pytestmark = pytest.mark.kube

DONE = {"Applied": "True", "Available": "True", "Progressing": "False"}
BROKEN = {"Applied": "True", "Available": "False", "Progressing": "True", "Degraded": "True"}
NUMBERS = ("total", "applied", "available", "degraded", "progressing", "desiredTotal", "updated")
_number = count()


class Suite:
    """A tenant whose placements are decided by the test."""

    def __init__(self, hub: KubeHub, profile: str, clusters: int) -> None:
        self.is_ocm = profile == "ocm"
        self.tenant = Tenant(hub, f"w{next(_number)}-{profile}")
        self.clusters = self.tenant.fleet(clusters)
        self.place("p")

    def place(self, name: str) -> None:
        put(self.tenant.hub, make.placement(name, self.tenant.name, ours=False))
        ocm.decide(self.tenant, ("", self.clusters), placement=name)

    def select(self, clusters: list[str], name: str = "p") -> None:
        page = f"{name}-decision-1"
        told = [{"clusterName": cluster, "reason": ""} for cluster in clusters]
        ref = self.tenant.ref(PLACEMENT_DECISION, page)
        self.tenant.hub.patch_status(ref, {"status": {"decisions": told}})
        status = make.told(("", len(clusters), [page]))
        self.tenant.hub.patch_status(self.tenant.ref(PLACEMENT, name), {"status": status})

    def deploy(self, strategy: Obj | None = None, **more: Any) -> Ref:
        return self.tenant.deploy(strategy=strategy, **more)

    def works_say(
        self, states: dict[str, str], *, stamped: bool = True, since: str = make.SINCE
    ) -> None:
        """Agents say this of every work that there is; ``stamped``: with its generation.

        Strict waits for all that the template's rules can set, Degraded too (row 9).
        """
        if not self.is_ocm:
            states = {"Degraded": "False", **states}
        for work in self.tenant.works().values():
            generation = work["metadata"]["generation"]
            said = [
                make.condition(kind, status, at, since=since)
                for kind, status in states.items()
                for at in [generation if stamped or kind != "Available" else None]
            ]
            ref = Ref(MANIFEST_WORK, f"{work['metadata']['namespace']}/{work['metadata']['name']}")
            self.tenant.hub.patch_status(ref, {"status": {"conditions": said}})

    def has_works(self, number: int) -> None:
        def check() -> None:
            assert len(self.tenant.works()) == number

        eventually(f"{number} works", check)

    def summary(self, **numbers: int) -> None:
        """Wait until the status counts so; what is not named is 0."""

        def check() -> None:
            found = self.tenant.hub.get(self.tenant.ref(REPLICA_SET, "web"))["status"]["summary"]
            wanted = {key: numbers.get(key, 0) for key in NUMBERS}
            if not self.is_ocm:  # row O4
                wanted |= dict.fromkeys(("desiredTotal", "updated"), numbers["total"])
            assert {key: found.get(key, 0) for key in NUMBERS} == wanted

        eventually("the status counts", check)

    @property
    def rolled_out(self) -> str:
        ref = self.tenant.ref(REPLICA_SET, "web")
        return self.tenant.condition(ref, names.PLACEMENT_ROLLED_OUT)[0]

    def is_rolled_out(self, status: str = "True") -> None:
        eventually(f"PlacementRolledOut is {status}", lambda: self.rolled_out == status)


def test_works_follow_the_decisions_and_go_with_their_workload(hub: KubeHub, profile: str) -> None:
    suite = Suite(hub, profile, 3)
    ref = suite.deploy(labels={"team": "shop"})
    suite.has_works(3)
    works = suite.tenant.works()
    assert sorted(works) == suite.clusters
    assert all(work["metadata"]["labels"]["team"] == "shop" for work in works.values())
    suite.summary(total=3)
    suite.select(suite.clusters[:2])
    suite.has_works(2)
    suite.summary(total=2)
    hub.delete(ref)
    suite.has_works(0)
    eventually("it is gone", lambda: is_gone(hub, ref))


def test_the_status_follows_what_the_work_says(hub: KubeHub, profile: str) -> None:
    suite = Suite(hub, profile, 1)
    suite.deploy()
    suite.has_works(1)
    suite.is_rolled_out("False")
    suite.works_say(DONE, stamped=suite.is_ocm is False)  # row O5
    suite.summary(total=1, applied=1, available=1)
    suite.is_rolled_out()
    suite.works_say(BROKEN)
    suite.summary(total=1, applied=1, degraded=1, progressing=1)
    if suite.is_ocm:
        suite.is_rolled_out("False")
    else:  # row 11: what has soaked is final
        assert suite.rolled_out == "True"


def test_another_placement_takes_the_works_of_the_first(hub: KubeHub, profile: str) -> None:
    suite = Suite(hub, profile, 2)
    ref = suite.deploy()
    suite.has_works(2)
    suite.place("q")
    hub.patch(ref, {"spec": {"placementRefs": [{"name": "q", "rolloutStrategy": {"type": "All"}}]}})

    def check() -> None:
        owners = [
            work["metadata"]["labels"][names.WORK_PLACEMENT_LABEL]
            for work in suite.tenant.works().values()
        ]
        assert owners == ["q", "q"]

    eventually("the works are of the other placement", check)


def test_as_many_at_once_as_there_are_slots(hub: KubeHub, profile: str) -> None:
    suite = Suite(hub, profile, 6)
    suite.deploy(make.progressive(maxConcurrency=2))
    for number in (2, 4, 6):
        suite.has_works(number)
        suite.is_rolled_out("False")
        suite.works_say(DONE, stamped=suite.is_ocm is False)
    suite.is_rolled_out()


def test_too_many_failures_stop_the_rollout(hub: KubeHub, profile: str) -> None:
    suite = Suite(hub, profile, 3)
    # None may fail: what the works say arrives one by one, and a failure within budget frees its slot.
    suite.deploy(make.progressive(maxConcurrency=2, maxFailures=0))
    suite.has_works(2)
    suite.works_say(BROKEN)
    stays_so("no third work", lambda: len(suite.tenant.works()) == 2, 2)
    suite.is_rolled_out("False")


def test_success_has_to_stand(hub: KubeHub, profile: str) -> None:
    suite = Suite(hub, profile, 2)
    suite.deploy(make.progressive(maxConcurrency=1, minSuccessTime="5s"))
    suite.has_works(1)
    began = time.monotonic()  # noqa: TID251  a test on real time
    # OCM counts from the transition that the agent stamped, in whole seconds: up to one less.
    suite.works_say(DONE, since=rfc3339(SystemClock().now()))
    not_before(began, 4, lambda: len(suite.tenant.works()) == 1)
    suite.has_works(2)


def test_success_of_long_ago_has_stood_already_in_profile_ocm_alone(
    hub: KubeHub, profile: str
) -> None:
    suite = Suite(hub, profile, 2)
    suite.deploy(make.progressive(maxConcurrency=1, minSuccessTime="1h"))
    suite.has_works(1)
    suite.works_say(DONE)
    if suite.is_ocm:
        suite.has_works(2)
    else:  # row 8: it counts from when it is seen
        stays_so("no second work", lambda: len(suite.tenant.works()) == 1, 2)


def test_a_failure_within_budget_lets_the_next_begin_at_its_deadline(
    hub: KubeHub, profile: str
) -> None:
    suite = Suite(hub, profile, 2)
    suite.deploy(make.progressive(maxConcurrency=1, progressDeadline="3s", maxFailures=1))
    # Where the test comes late the deadline is over already, and the second has begun.
    eventually("a work", lambda: len(suite.tenant.works()) >= 1)
    suite.works_say(BROKEN)
    suite.has_works(2)
    suite.is_rolled_out("False")


def test_a_workload_without_clusters_is_complete_in_profile_ocm_alone(
    hub: KubeHub, profile: str
) -> None:
    suite = Suite(hub, profile, 0)
    suite.deploy()
    suite.is_rolled_out("True" if suite.is_ocm else "False")  # row O6
