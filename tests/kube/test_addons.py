"""Add-ons on a real API server, with the controller as it is installed: what follows it, what is tried again.

Decisions are written by the test, as another scheduler would; the add-on's own manager is simulated,
and the test says how works do. Upgrade and installation: tests/kube/ocm_suites/test_addons.py.
"""

import signal

import pytest

from rollout import operate
from rollout.model import names
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON
from tests.kube.addons import OnServer, Start, desk, refused, start
from tests.kube.contract import Ear
from tests.support.addons import (
    CLUSTERS,
    CMA,
    TEST,
    addon,
    installed_at,
    progressive,
    said,
    typed,
)

pytestmark = pytest.mark.kube

__all__ = ["desk", "start"]  # fixtures


def test_a_controller_that_is_followed_by_another_leaves_nothing_to_do_again(
    desk: OnServer, start: Start
) -> None:
    strategy = progressive(maxConcurrency=2, minSuccessTime="1h")
    desk.add(typed(), addon("default", placements=[installed_at("p", strategy=strategy)]))
    first = start()
    desk.decide(CLUSTERS[:2], CLUSTERS[2:]).rendered(CLUSTERS[:2], TEST).works_do(CLUSTERS[:2])
    carried = [("default", TEST, TEST, 1)]
    desk.until("two have it", lambda: [desk.carries(c) for c in CLUSTERS[:2]] == [carried] * 2)

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
    heard = Ear()
    end = desk.hub.watch(
        CLUSTER_MANAGEMENT_ADDON, desk.hub.list(CLUSTER_MANAGEMENT_ADDON).version, heard
    )

    operate.retry(desk.hub, CMA, operate.Who("ann", desk.clock.now(), "again"))

    def failed_again() -> None:
        states = [
            said(progression, names.ROLLOUT_HALTED)[:2]
            for event in heard.events
            for progression in event.obj["status"]["installProgressions"]
        ]
        assert ("False", "RollingOut") in states
        assert states[-1] == failed

    desk.until("it is tried again, and has failed again", failed_again)
    end()

    assert desk.cluster("c0")["metadata"]["resourceVersion"] == version
    assert refused(process) == []


def _observed(desk: OnServer) -> int:
    found: list[int] = [c.get("observedGeneration", 0) for c in desk.progression()["conditions"]]
    return max(found)
