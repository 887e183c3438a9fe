"""What OCM's integration suite asks of its add-on manager, in our words, in both profiles: docs/ocm-suites.md.

Decisions are written by the test, as another scheduler would; the add-on's own manager is simulated, and
the test says how works do. The upgrade is that of the embedded hub, too: tests/unit/planning/test_addons.py.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import count

import pytest

from rollout.errors import Gone
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    ROLLOUT_RECORD,
    Ref,
    ref_of,
)
from rollout.runtime.events import EVENT
from tests.kube.addons import OnServer, refused
from tests.kube.cluster import Cluster
from tests.kube.processes import Process
from tests.kube.setting import eventually, managed_cluster, namespace, put
from tests.support import make
from tests.support.addons import (
    ALL_DONE,
    CMA,
    COMPLETED,
    CONFIGURED,
    NAME,
    NOT_READY,
    TEST,
    TEST1,
    TEST2,
    TEST3,
    WAITING,
    addon,
    cluster_addon,
    going,
    installed_at,
    progressive,
    refer,
    typed,
)

pytestmark = pytest.mark.kube

HOSTING = "addon.open-cluster-management.io/hosting-cluster-name"
LEFT = (MANAGED_CLUSTER_ADDON, MANIFEST_WORK, PLACEMENT, PLACEMENT_DECISION)
_number = count()


class Hands(OnServer):
    """The test's hands on four clusters of its own."""

    def __init__(self, hub: KubeHub, server: Cluster, profile: str) -> None:
        first = next(_number)
        self.is_ocm = profile == "ocm"
        self.clusters = [f"a{first:02d}-{profile}-{n}" for n in range(4)]
        self.first, self.second = self.clusters[:2], self.clusters[2:]
        namespace(hub, "default", *self.clusters)
        for cluster in self.clusters:
            put(hub, managed_cluster(cluster))
        for obj in (make.placement(ours=False), typed()):
            put(hub, obj)
        super().__init__(hub, server)

    def clean(self) -> None:
        """Leave nothing for the next test, which uses the same names."""
        self.stop()
        with suppress(Gone):
            self.hub.delete(CMA)
        eventually("nothing is left", self._is_clean)

    def _is_clean(self) -> bool:
        """The controller may still be at work."""
        kinds = (*LEFT, MANAGED_CLUSTER, ADDON_DEPLOYMENT_CONFIG)
        left = [ref_of(kind, obj) for kind in kinds for obj in self.hub.list(kind).items]
        for ref in left:
            with suppress(Gone):
                self.hub.delete(ref)
        return not left

    def carry(self, clusters: list[str], *wanted: tuple[str, str, int]) -> None:
        """Wait until these are told of such configurations: name, hash, generation."""

        def check() -> None:
            for cluster in clusters:
                told = [(name, wish, seen) for name, wish, _, seen in self.carries(cluster)]
                assert told == list(wanted), cluster

        eventually(f"{clusters} carry {wanted}", check)

    def tells_default(self, wanted: str) -> None:
        """Wait until the add-on tells of it: that is written after what clusters are told."""

        def check() -> None:
            (found,) = self.hub.get(CMA)["status"]["defaultconfigReferences"]
            assert found["desiredConfig"]["specHash"] == wanted

        eventually("the default is told", check)


@pytest.fixture
def desk(hub: KubeHub, server: Cluster, profile: str) -> Iterator[Hands]:
    found = Hands(hub, server, profile)
    yield found
    found.clean()


# -- configurations --------------------------------------------------------------------------------


def test_an_add_on_installed_by_hand_is_told_of_the_default(desk: Hands) -> None:
    cluster = desk.clusters[0]
    desk.add(addon("default"), cluster_addon(cluster))
    desk.carry([cluster], ("default", TEST, 1))
    desk.tells_default(TEST)
    assert not desk.hub.get(CMA)["status"].get("installProgressions")


def test_a_placements_configuration_that_does_not_exist(desk: Hands) -> None:
    """Row O1."""
    desk.add(addon("default", placements=[installed_at("p", refer("another"))]))
    desk.decide(desk.first)
    if not desk.is_ocm:
        desk.until("it is held", lambda: desk.halted() == ("True", "ConfigNotFound"))
        assert not desk.installed()
        return
    desk.carry(desk.first, ("another", "", 0))
    desk.tells_default(TEST)
    desk.until("so it is told", lambda: [wish for wish, *_ in desk.hashes()] == [""])


def test_a_clusters_own_configuration_comes_before_the_default_and_is_followed(desk: Hands) -> None:
    cluster, other = desk.first
    desk.add(typed("own", "test1"), cluster_addon(cluster, refer("own")), addon("default"))
    desk.add(cluster_addon(other))
    desk.carry([cluster], ("own", TEST1, 1))
    desk.carry([other], ("default", TEST, 1))
    desk.tells_default(TEST)
    desk.set_config("test2", "own").carry([cluster], ("own", TEST2, 2))


def test_a_clusters_own_configuration_of_an_unknown_kind(desk: Hands) -> None:
    """Row O2."""
    cluster, other = desk.first
    own = cluster_addon(cluster, refer("x", "unknowns", "example.org"))
    desk.add(own, addon("default", placements=[installed_at("p")]))
    desk.decide(desk.first).carry([other], ("default", TEST, 1))
    both = (("default", TEST, 1), ("x", "", 0))
    desk.carry([cluster], *(both if desk.is_ocm else ()))


def test_configurations_of_one_kind_stay_in_their_order(desk: Hands) -> None:
    desk.add(typed("first", "test1"), typed("second", "test2"))
    desk.add(addon("default", placements=[installed_at("p", refer("first"), refer("second"))]))
    desk.decide(desk.first).carry(desk.first, ("first", TEST1, 1), ("second", TEST2, 1))
    desk.until("so it is told", lambda: [wish for wish, *_ in desk.hashes()] == [TEST1, TEST2])


def test_a_kind_that_only_a_placement_names(desk: Hands) -> None:
    desk.add(addon("", supported=(), placements=[installed_at("p", refer("default"))]))
    desk.decide(desk.first).carry(desk.first, ("default", TEST, 1))
    for cluster in desk.first:
        told = lambda cluster=cluster: desk.says(cluster, names.CONFIGURED) == CONFIGURED  # noqa: E731
        desk.until("it is configured", told)


# -- installation ----------------------------------------------------------------------------------


def test_it_is_installed_where_the_placement_selects_and_again_where_it_is_deleted(
    desk: Hands, leader: Process
) -> None:
    one, two, three, _ = desk.clusters
    desk.add(addon("default", placements=[installed_at()]))
    desk.decide([one, two]).until("both", lambda: desk.installed() == [one, two])
    (owner,) = desk.cluster(one)["metadata"]["ownerReferences"]
    assert owner["uid"] == desk.hub.get(CMA)["metadata"]["uid"]

    desk.decide([two, three]).until("one moved", lambda: desk.installed() == [two, three])

    uid = desk.cluster(two)["metadata"]["uid"]
    desk.hub.delete(Ref(MANAGED_CLUSTER_ADDON, f"{two}/{NAME}"))
    desk.until("it is back", lambda: desk.cluster(two)["metadata"]["uid"] != uid)
    assert refused(leader) == []


def test_the_annotation_of_a_hosting_cluster_follows_to_its_add_on_alone(desk: Hands) -> None:
    hosted, other = desk.first
    desk.add(addon("default", placements=[installed_at()]))
    desk.decide(desk.first).until("both", lambda: desk.installed() == desk.first)
    notes: Callable[[str], Mapping[str, str]] = lambda c: desk.cluster(c)["metadata"]["annotations"]  # noqa: E731
    cluster = Ref(MANAGED_CLUSTER, hosted)
    desk.hub.patch(cluster, {"metadata": {"annotations": {HOSTING: "h"}}})
    desk.until("it is mirrored", lambda: notes(hosted).get(HOSTING) == "h")
    assert HOSTING not in notes(other)
    desk.hub.patch(cluster, {"metadata": {"annotations": {HOSTING: None}}})
    desk.until("it is gone", lambda: HOSTING not in notes(hosted))


# -- the upgrade table ----------------------------------------------------------------------------


def all_carry(desk: Hands, name: str, spec_hash: str, generation: int) -> Callable[[], None]:
    def check() -> None:
        for cluster in desk.clusters:
            assert desk.carries(cluster) == [(name, spec_hash, spec_hash, generation)]
            assert desk.says(cluster, names.PROGRESSING) == COMPLETED
            assert desk.says(cluster, names.CONFIGURED) == CONFIGURED
        assert desk.hashes() == [(spec_hash, spec_hash, spec_hash)]
        assert desk.message() == ALL_DONE

    return check


def one_group(desk: Hands, new: tuple[str, str, str, int], old: tuple[str, str, str, int]) -> None:
    """The first two are told something new, the others wait with what they have.

    How many are late by now is not asked: that depends on how soon one looks.
    """
    for cluster in desk.first:
        assert desk.carries(cluster) == [new]
        assert desk.says(cluster, names.PROGRESSING) == NOT_READY
        assert desk.says(cluster, names.CONFIGURED) == CONFIGURED
    for cluster in desk.second:
        assert desk.carries(cluster) == [old]
        assert desk.says(cluster, names.PROGRESSING) == COMPLETED
        assert desk.says(cluster, names.CONFIGURED) == WAITING
    assert desk.message() in (going(2), going(0, late=2))


def has_lasted(desk: Hands, began: float, seconds: float) -> bool:
    """In profile ocm a second less: OCM reads the instant from a condition, which has whole seconds."""
    return time.monotonic() - began + desk.is_ocm >= seconds  # noqa: TID251  another process


def another_object_two_at_a_time(desk: Hands) -> None:
    """At most one failure, five seconds."""
    strategy = progressive(maxConcurrency=2, progressDeadline="5s", maxFailures=1)
    began = time.monotonic()  # noqa: TID251
    desk.set_addon(
        addon("default", placements=[installed_at("p", refer("update"), strategy=strategy)])
    )
    desk.rendered(desk.first, TEST2).works_do(desk.first, ready=False)
    carried = ("default", TEST1, TEST1, 2)
    desk.until("two are told", lambda: one_group(desk, ("update", TEST2, "", 1), carried))
    assert desk.hashes() == [(TEST2, "", "")]
    desk.until("both are late", lambda: desk.message() == going(0, late=2))
    assert has_lasted(desk, began, 5)
    assert desk.halted() == ("True", "MaxFailuresExceeded")
    assert [desk.carries(cluster) for cluster in desk.second] == [[carried]] * 2

    # They recover: it goes on to its end.
    desk.works_do(desk.first).rendered(desk.second, TEST2).works_do(desk.second, ready=False)
    told = (going(4), going(2, late=2))
    desk.until("all are told", lambda: desk.message() in told)
    well = lambda: desk.says(desk.first[0], names.PROGRESSING) == COMPLETED  # noqa: E731
    desk.until("the first is well again", well)
    desk.works_do(desk.second)
    desk.until("the other is everywhere", all_carry(desk, "update", TEST2, 1))


def an_edit_group_by_group(desk: Hands) -> None:
    """Each well for three seconds."""
    strategy = {"type": "ProgressivePerGroup", "progressivePerGroup": {"minSuccessTime": "3s"}}
    desk.set_addon(
        addon("default", placements=[installed_at("p", refer("update"), strategy=strategy)])
    )
    generation = desk.hub.get(CMA)["metadata"]["generation"]
    desk.until("the strategy is known", lambda: _observed(desk) == generation)
    done = ("False", "Complete")
    if desk.is_ocm:  # what is done soaks anew on new terms; in strict it stays done (row 11)
        desk.until("it has stood for three seconds", lambda: desk.halted() == done)
    assert desk.halted() == done
    desk.set_config("test3", "update").rendered(desk.first, TEST3).works_do(desk.first, ready=False)
    carried = ("update", TEST2, TEST2, 2)
    desk.until("one group is told", lambda: one_group(desk, ("update", TEST3, TEST2, 2), carried))
    assert desk.hashes() == [(TEST3, TEST2, TEST2)]

    began = time.monotonic()  # noqa: TID251
    desk.works_do(desk.first).rendered(desk.second, TEST3)
    assert has_lasted(desk, began, 3)
    desk.works_do(desk.second, ready=False)
    desk.until("all are told", lambda: desk.message() == going(4))
    assert desk.hashes() == [(TEST3, TEST2, TEST2)]
    began = time.monotonic()  # noqa: TID251
    desk.works_do(desk.second)
    desk.until("it is everywhere", all_carry(desk, "update", TEST3, 2))
    assert has_lasted(desk, began, 3)


def test_an_upgrade_goes_as_ocms_own_test_asks(desk: Hands, leader: Process) -> None:
    """Rows 1 to 11 of the add-on manager's upgrade test, in one story."""
    desk.add(typed("update", "test2"), addon("default", placements=[installed_at()]))

    desk.decide(desk.first, desk.second).rendered(desk.clusters, TEST).works_do(desk.clusters)
    desk.until("the first is everywhere", all_carry(desk, "default", TEST, 1))

    desk.set_config("test1").rendered(desk.clusters, TEST1).works_do(desk.clusters)
    desk.until("the edit is everywhere", all_carry(desk, "default", TEST1, 2))

    another_object_two_at_a_time(desk)
    an_edit_group_by_group(desk)

    assert refused(leader) == []

    wanted = {"BudgetExhausted", "RolloutCompleted"}
    if not desk.is_ocm:  # OCM's answer is of one stage
        wanted.add("StagePassed")

    def is_told() -> None:
        events = desk.hub.list(EVENT).items
        assert {o["reason"] for o in events if o["regarding"]["name"] == NAME} >= wanted

    desk.until("it is told", is_told)
    pages = [o for o in desk.hub.list(ROLLOUT_RECORD).items if o["metadata"].get("ownerReferences")]
    assert {page["metadata"]["namespace"] for page in pages} == {"rollout-system"}
    assert {page["metadata"]["ownerReferences"][0]["kind"] for page in pages} == {
        CLUSTER_MANAGEMENT_ADDON.name
    }


def _observed(desk: Hands) -> int:
    found: list[int] = [c.get("observedGeneration", 0) for c in desk.progression()["conditions"]]
    return max(found)
