"""A rollout on a server that fails: nothing is lost, nothing is done twice, and it comes to its end."""

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import CONFIG_MAP, MANIFEST_WORK, Obj, Ref, ref_of
from rollout.planning.plan import Patch, Write
from rollout.runtime.io import Outcome
from rollout.runtime.kube_io import KubeIo
from tests.kube.cluster import Cluster
from tests.kube.contract import Ear
from tests.kube.proxy import Rates, proxied
from tests.kube.setting import eventually
from tests.kube.test_engine import CLUSTERS, Run, canary, images, rolled_out, run

pytestmark = pytest.mark.kube

__all__ = ["canary", "run"]  # fixtures

WILD = Rates(conflict=4, throttled=2, error=3, unavailable=3, reset=3, lost=4, late=3, cut=5)


@pytest.fixture
def repaired(server: Cluster) -> Iterator[Cluster]:
    """The server; whatever a test did to its processes, it runs again afterwards."""
    yield server
    server.signal("etcd", signal.SIGCONT)


class History:
    """Everything that happened to works, as a watch of its own saw it.

    An API server that was restarted has forgotten the past: then the list is read again.
    """

    def __init__(self, hub: KubeHub) -> None:
        self._hub, self._ear = hub, Ear()
        self._end = hub.watch(
            MANIFEST_WORK, hub.list(MANIFEST_WORK).version, self._ear, self._ear.expired.set
        )

    def catch_up(self) -> None:
        """Call now and then, on the test's thread."""
        if self._ear.expired.is_set():
            self._ear.expired.clear()
            listing = self._hub.list(MANIFEST_WORK)
            for obj in listing.items:
                version = int(obj["metadata"]["resourceVersion"])
                self._ear(Event(ref_of(MANIFEST_WORK, obj), Change.MODIFIED, obj, version))
            self._end = self._hub.watch(
                MANIFEST_WORK, listing.version, self._ear, self._ear.expired.set
            )

    def contents(self) -> dict[str, list[str]]:
        """Cluster to the revisions that its works brought, one after the other."""
        found: dict[str, list[str]] = {}
        for event in self._ear.events:
            meta = event.obj["metadata"]
            revision = meta["annotations"][names.REVISION]
            said = found.setdefault(meta["namespace"], [])
            if not said or said[-1] != revision:
                said.append(revision)
        return found

    def generations(self) -> set[int]:
        return {event.obj["metadata"]["generation"] for event in self._ear.events}

    def uids(self) -> set[str]:
        return {event.obj["metadata"]["uid"] for event in self._ear.events}

    def close(self) -> None:
        self._end()


def each_cluster_got_one_work_once(hub: KubeHub, history: History) -> None:
    def complete() -> None:
        history.catch_up()
        assert set(history.contents()) == set(CLUSTERS)

    eventually("the history is told", complete)
    assert images(hub) == dict.fromkeys(CLUSTERS, "1.4.0")
    assert {len(revisions) for revisions in history.contents().values()} == {1}
    assert history.generations() == {1}
    assert len(history.uids()) == len(CLUSTERS)


def half_way(hub: KubeHub) -> Callable[[], bool]:
    return lambda: len(hub.list(MANIFEST_WORK).items) >= 12


def test_a_restart_of_the_api_server_delays_and_changes_nothing(
    repaired: Cluster, canary: KubeHub, run: Run
) -> None:
    history = History(canary)
    run()
    eventually("it is half way", half_way(canary), 60)

    repaired.end("kube-apiserver")
    threading.Event().wait(2)
    repaired.start_apiserver()

    eventually("the rollout is done", rolled_out(canary), 120)
    each_cluster_got_one_work_once(canary, history)
    history.close()


def test_a_store_that_stands_still_for_ten_seconds_delays_and_changes_nothing(
    repaired: Cluster, canary: KubeHub, run: Run
) -> None:
    history = History(canary)
    run()
    eventually("it is half way", half_way(canary), 60)

    repaired.signal("etcd", signal.SIGSTOP)
    threading.Event().wait(10)
    repaired.signal("etcd", signal.SIGCONT)

    eventually("the rollout is done", rolled_out(canary), 120)
    each_cluster_got_one_work_once(canary, history)
    history.close()


@pytest.mark.parametrize("seed", range(3))
def test_a_network_that_fails_at_random_delays_and_changes_nothing(
    server: Cluster, canary: KubeHub, run: Run, tmp_path: Path, seed: int
) -> None:
    history = History(canary)
    with proxied(server, WILD, seed) as proxy:
        running = run(kubeconfig=proxy.kubeconfig(tmp_path))
        eventually("the rollout is done", rolled_out(canary), 180)
        running.stop()

        assert sum(proxy.happened[name] for name in ("lost", "reset", "error", "cut")) >= 10
    each_cluster_got_one_work_once(canary, history)
    history.close()


def test_events_missed_while_out_of_touch_are_made_up_for(
    server: Cluster, canary: KubeHub, run: Run, tmp_path: Path
) -> None:
    with proxied(server) as proxy:
        running = run(kubeconfig=proxy.kubeconfig(tmp_path))
        eventually("the rollout is done", rolled_out(canary), 90)
        noise = Ref(CONFIG_MAP, "default/noise")
        canary.create(noise, {"metadata": {"labels": {names.RECORD_LABEL: "noise"}}})
        eventually("it is known", lambda: running.engine.fleet.exists(noise))

        proxy.shut()
        _patch_many(canary, noise, 1_500)
        canary.delete(noise)
        (stray,) = (o for o in canary.list(MANIFEST_WORK, "prod-eu-west-30").items)
        _delete_for_good(canary, stray)
        proxy.open()

        eventually("the deletion is known", lambda: not running.engine.fleet.exists(noise), 60)
        eventually("the work is back", lambda: set(images(canary)) == set(CLUSTERS), 60)
        running.stop()


def _patch_many(hub: KubeHub, ref: Ref, times: int) -> None:
    back, left = threading.Event(), [times]

    def done(write: Write, outcome: Outcome) -> None:
        left[0] -= 1
        if not left[0]:
            back.set()

    patches = [Patch(ref, {"data": {"n": str(n)}}) for n in range(times)]
    KubeIo(hub).send(patches, done)
    assert back.wait(120)


def _delete_for_good(hub: KubeHub, obj: Obj) -> None:
    meta = obj["metadata"]
    ref = Ref(MANIFEST_WORK, f"{meta['namespace']}/{meta['name']}")
    hub.delete(ref)
    if meta.get("finalizers"):
        hub.patch(ref, {"metadata": {"finalizers": None}})
