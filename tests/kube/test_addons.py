"""Add-ons on a real API server: the tables of upgrade and install, with the controller as it is installed.

Decisions are written by the test, as another scheduler would; the add-on's own manager is simulated,
and the test says how works do. The tables are those of the embedded hub (tests/unit/planning/test_addons.py).
"""

import signal
import time
from collections.abc import Callable, Mapping

import pytest

from rollout import operate
from rollout.model import names
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    ROLLOUT_RECORD,
    Ref,
)
from rollout.runtime.events import EVENT
from tests.kube.addons import OnServer, Start, desk, refused, start
from tests.support.addons import (
    ALL_DONE,
    CLUSTERS,
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
    going,
    installed_at,
    progressive,
    refer,
    typed,
)

pytestmark = pytest.mark.kube

__all__ = ["desk", "start"]  # fixtures

FIRST, SECOND = CLUSTERS[:2], CLUSTERS[2:]
HOSTING = "addon.open-cluster-management.io/hosting-cluster-name"

# -- the upgrade table ----------------------------------------------------------------------------


def all_carry(desk: OnServer, name: str, spec_hash: str, generation: int) -> Callable[[], None]:
    def check() -> None:
        for cluster in CLUSTERS:
            assert desk.carries(cluster) == [(name, spec_hash, spec_hash, generation)]
            assert desk.says(cluster, names.PROGRESSING) == COMPLETED
            assert desk.says(cluster, names.CONFIGURED) == CONFIGURED
        assert desk.hashes() == [(spec_hash, spec_hash, spec_hash)]
        assert desk.message() == ALL_DONE

    return check


def one_group(
    desk: OnServer, new: tuple[str, str, str, int], old: tuple[str, str, str, int]
) -> None:
    """The first two are told something new, the others wait with what they have."""
    for cluster in CLUSTERS[:2]:
        assert desk.carries(cluster) == [new]
        assert desk.says(cluster, names.PROGRESSING) == NOT_READY
        assert desk.says(cluster, names.CONFIGURED) == CONFIGURED
    for cluster in CLUSTERS[2:]:
        assert desk.carries(cluster) == [old]
        assert desk.says(cluster, names.PROGRESSING) == COMPLETED
        assert desk.says(cluster, names.CONFIGURED) == WAITING
    assert desk.message() == going(2)


def elapsed(since: float) -> float:
    return time.monotonic() - since  # noqa: TID251  the controller is another process


def another_object_two_at_a_time(desk: OnServer) -> None:
    """At most one failure, five seconds."""
    strategy = progressive(maxConcurrency=2, progressDeadline="5s", maxFailures=1)
    began = time.monotonic()  # noqa: TID251
    desk.set_addon(
        addon("default", placements=[installed_at("p", refer("update"), strategy=strategy)])
    )
    desk.rendered(FIRST, TEST2).works_do(FIRST, ready=False)
    carried = ("default", TEST1, TEST1, 2)
    desk.until("two are told", lambda: one_group(desk, ("update", TEST2, "", 1), carried))
    assert desk.hashes() == [(TEST2, "", "")]
    desk.until("both are late", lambda: desk.message() == going(0, late=2))
    assert elapsed(began) >= 5
    assert desk.halted() == ("True", "MaxFailuresExceeded")
    assert [desk.carries(cluster) for cluster in SECOND] == [[carried]] * 2

    # They recover: it goes on to its end.
    desk.works_do(FIRST).rendered(SECOND, TEST2).works_do(SECOND, ready=False)
    desk.until("all are told", lambda: desk.message() == going(4))
    assert desk.says(FIRST[0], names.PROGRESSING) == COMPLETED
    desk.works_do(SECOND)
    desk.until("the other is everywhere", all_carry(desk, "update", TEST2, 1))


def an_edit_group_by_group(desk: OnServer) -> None:
    """Each well for three seconds."""
    strategy = {"type": "ProgressivePerGroup", "progressivePerGroup": {"minSuccessTime": "3s"}}
    desk.set_addon(
        addon("default", placements=[installed_at("p", refer("update"), strategy=strategy)])
    )
    desk.until("the strategy is known", lambda: desk.halted() == ("False", "Complete"))
    desk.set_config("test3", "update").rendered(FIRST, TEST3).works_do(FIRST, ready=False)
    carried = ("update", TEST2, TEST2, 2)
    desk.until("one group is told", lambda: one_group(desk, ("update", TEST3, TEST2, 2), carried))
    assert desk.hashes() == [(TEST3, TEST2, TEST2)]

    began = time.monotonic()  # noqa: TID251
    desk.works_do(FIRST).rendered(SECOND, TEST3)
    assert elapsed(began) >= 3
    desk.works_do(SECOND, ready=False)
    desk.until("all are told", lambda: desk.message() == going(4))
    assert desk.hashes() == [(TEST3, TEST2, TEST2)]
    began = time.monotonic()  # noqa: TID251
    desk.works_do(SECOND)
    desk.until("it is everywhere", all_carry(desk, "update", TEST3, 2))
    assert elapsed(began) >= 3


def test_the_upgrade_table(desk: OnServer, start: Start) -> None:
    """Rows 1 to 11 of the add-on manager's upgrade test, in one story."""
    process = start()
    desk.add(typed(), typed("update", "test2"), addon("default", placements=[installed_at()]))

    desk.decide(FIRST, SECOND).rendered(CLUSTERS, TEST).works_do(CLUSTERS)
    desk.until("the first is everywhere", all_carry(desk, "default", TEST, 1))

    desk.set_config("test1").rendered(CLUSTERS, TEST1).works_do(CLUSTERS)
    desk.until("the edit is everywhere", all_carry(desk, "default", TEST1, 2))

    another_object_two_at_a_time(desk)
    an_edit_group_by_group(desk)

    assert refused(process) == []
    told = {o["reason"] for o in desk.hub.list(EVENT).items if o["regarding"]["name"] == NAME}
    assert {"BudgetExhausted", "StagePassed", "RolloutCompleted"} <= told
    pages = [o for o in desk.hub.list(ROLLOUT_RECORD).items if o["metadata"].get("ownerReferences")]
    assert {page["metadata"]["namespace"] for page in pages} == {"rollout-system"}
    assert {page["metadata"]["ownerReferences"][0]["kind"] for page in pages} == {
        CLUSTER_MANAGEMENT_ADDON.name
    }


def test_a_controller_that_is_followed_by_another_leaves_nothing_to_do_again(
    desk: OnServer, start: Start
) -> None:
    strategy = progressive(maxConcurrency=2, minSuccessTime="1h")
    desk.add(typed(), addon("default", placements=[installed_at("p", strategy=strategy)]))
    first = start()
    desk.decide(CLUSTERS[:2], CLUSTERS[2:]).rendered(CLUSTERS[:2], TEST).works_do(CLUSTERS[:2])
    desk.until("two have it", lambda: desk.carries("c1") == [("default", TEST, TEST, 1)])

    first.signal(signal.SIGTERM)
    assert first.ended() == 0
    before = {c: desk.cluster(c)["status"]["configReferences"] for c in CLUSTERS[:2]}
    second = start()
    desk.hub.patch(CMA, {"spec": {"addOnMeta": {"displayName": "Hello"}}})
    desk.until("it has looked", lambda: _observed(desk) == 2)

    assert {c: desk.cluster(c)["status"]["configReferences"] for c in CLUSTERS[:2]} == before
    assert [desk.references(c) for c in CLUSTERS[2:]] == [[], []]
    assert refused(second) == []


def test_what_is_tried_again_without_any_news_of_it_fails_again(
    desk: OnServer, start: Start
) -> None:
    """The touch changes nothing on the server, so that no watch tells of it."""
    process = start(ROLLOUT_FAILURE_GRACE_SECONDS="4")
    desk.add(typed(), addon("default", placements=[installed_at()]))
    desk.decide(CLUSTERS).rendered(CLUSTERS, TEST).works_do(CLUSTERS[1:])
    desk.works_do(CLUSTERS[:1], applied=False)
    failed = ("False", "CompleteWithFailures")
    desk.until("it has failed", lambda: desk.halted() == failed)
    version = desk.cluster("c0")["metadata"]["resourceVersion"]

    operate.retry(desk.hub, CMA, operate.Who("ann", desk.clock.now(), "again"))
    desk.until("it is tried again", lambda: desk.halted() == ("False", "RollingOut"))
    desk.until("it has failed again", lambda: desk.halted() == failed)

    assert desk.cluster("c0")["metadata"]["resourceVersion"] == version
    assert refused(process) == []


def _observed(desk: OnServer) -> int:
    found: list[int] = [c.get("observedGeneration", 0) for c in desk.progression()["conditions"]]
    return max(found)


# -- the install table ----------------------------------------------------------------------------


def test_the_install_table(desk: OnServer, start: Start) -> None:
    process = start()
    desk.add(typed(), addon("default", placements=[installed_at()]))
    desk.decide(["c0", "c1"]).until("both", lambda: desk.installed() == ["c0", "c1"])
    (owner,) = desk.cluster("c0")["metadata"]["ownerReferences"]
    assert owner["uid"] == desk.hub.get(CMA)["metadata"]["uid"]

    desk.decide(["c1", "c2"]).until("one moved", lambda: desk.installed() == ["c1", "c2"])

    uid = desk.cluster("c1")["metadata"]["uid"]
    desk.hub.delete(Ref(MANAGED_CLUSTER_ADDON, f"c1/{NAME}"))
    desk.until("it is back", lambda: desk.cluster("c1")["metadata"]["uid"] != uid)

    desk.hub.patch(Ref(MANAGED_CLUSTER, "c2"), {"metadata": {"annotations": {HOSTING: "h"}}})
    notes: Callable[[str], Mapping[str, str]] = lambda c: desk.cluster(c)["metadata"]["annotations"]  # noqa: E731
    desk.until("it is mirrored", lambda: notes("c2").get(HOSTING) == "h")
    assert HOSTING not in notes("c1")
    desk.hub.patch(Ref(MANAGED_CLUSTER, "c2"), {"metadata": {"annotations": {HOSTING: None}}})
    desk.until("it is gone", lambda: HOSTING not in notes("c2"))
    assert refused(process) == []
