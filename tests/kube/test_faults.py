"""A rollout on a server that fails: nothing is lost, nothing is done twice, and it comes to its end."""

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue

import pytest

from rollout.errors import Gone
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import MANAGED_CLUSTER, MANIFEST_WORK, ROLLOUT_RECORD, Obj, Ref, ref_of
from rollout.model.writes import Patch, PatchStatus
from rollout.planning.plan import Write
from rollout.runtime.io import WriteOutcome, WriteResult
from rollout.runtime.kube_io import KubeIo
from tests.kube.cluster import Cluster
from tests.kube.history import History
from tests.kube.proxy import Asked, Rates, proxied
from tests.kube.setting import PATIENCE, eventually
from tests.kube.test_engine import CLUSTERS, Run, canary, images, release, rolled_out, run

pytestmark = pytest.mark.kube

__all__ = ["canary", "run"]  # fixtures

WILD = Rates(conflict=4, throttled=2, error=3, unavailable=3, reset=3, lost=4, late=3, cut=5)


@pytest.fixture
def repaired(server: Cluster) -> Iterator[Cluster]:
    """The server; whatever a test did to its processes, it runs again afterwards."""
    yield server
    server.signal("etcd", signal.SIGCONT)


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
    eventually("it is half way", half_way(canary))

    repaired.end("kube-apiserver")
    threading.Event().wait(2)
    repaired.start_apiserver()

    eventually("the rollout is done", rolled_out(canary))
    each_cluster_got_one_work_once(canary, history)
    history.close()


def test_a_store_that_stands_still_for_ten_seconds_delays_and_changes_nothing(
    repaired: Cluster, canary: KubeHub, run: Run
) -> None:
    history = History(canary)
    run()
    eventually("it is half way", half_way(canary))

    repaired.signal("etcd", signal.SIGSTOP)
    threading.Event().wait(10)
    repaired.signal("etcd", signal.SIGCONT)

    eventually("the rollout is done", rolled_out(canary))
    each_cluster_got_one_work_once(canary, history)
    history.close()


@pytest.mark.parametrize("seed", range(3))
def test_a_network_that_fails_at_random_delays_and_changes_nothing(
    server: Cluster, canary: KubeHub, run: Run, tmp_path: Path, seed: int
) -> None:
    history = History(canary)
    with proxied(server, WILD, seed) as proxy:
        running = run(kubeconfig=proxy.kubeconfig(tmp_path))
        eventually("the rollout is done", rolled_out(canary))
        running.stop()

        assert sum(proxy.happened[name] for name in ("lost", "reset", "error", "cut")) >= 10
    each_cluster_got_one_work_once(canary, history)
    history.close()


def test_ten_thousand_events_missed_while_out_of_touch_are_made_up_for_with_few_requests(
    server: Cluster, canary: KubeHub, run: Run, tmp_path: Path
) -> None:
    with proxied(server) as proxy:
        running = run(kubeconfig=proxy.kubeconfig(tmp_path))
        eventually("the rollout is done", rolled_out(canary))
        noise = Ref(ROLLOUT_RECORD, "default/noise")
        canary.create(noise, {"metadata": {"labels": {names.RECORD_LABEL: "noise"}}})
        eventually("it is known", lambda: running.engine.fleet.versions.exists(noise))
        watches = sum(asked.watching for asked in proxy.asked)

        proxy.shut()
        began = time.monotonic()  # noqa: TID251  a test measures
        _stir(canary, 10_000)
        canary.delete(noise)
        _take_out(canary, deleted_on=CLUSTERS[-1], leaver=CLUSTERS[-2])
        release(canary, "1.5.0")
        out = time.monotonic() - began  # noqa: TID251
        before, refused = len(proxy.asked), proxy.happened["shut"]
        proxy.open()

        wanted = dict.fromkeys(CLUSTERS, "1.5.0")
        del wanted[CLUSTERS[-2]]
        eventually("the end is right", lambda: images(canary) == wanted)
        eventually("it is said", rolled_out(canary))
        known = running.engine.fleet.versions
        eventually("what was deleted is known", lambda: not known.exists(noise))
        running.stop()
        asked = proxy.asked[before:]

    # Each watch tries again after a pause that doubles up to 5 s, less up to half; and the HTTP client
    # asks a second time where a connection breaks.
    assert refused <= 2 * watches * (8 + out / 2.5)
    reads = [a for a in asked if a.method == "GET"]
    assert sum(a.watching for a in reads) <= 3 * watches
    # Perhaps a list. Who is planned before the works are heard of writes over versions of before the
    # 10,000 events: those are read back, each once.
    assert sum(not a.watching for a in reads) <= 2 * (watches + len(CLUSTERS))
    touched = _touched(asked)
    assert len(touched) <= len(wanted) + 1  # what was deleted is put back, then brought up to date
    assert len(set(touched)) == len(wanted)
    # The release takes many passes, each with a record and a status; what was missed adds none.
    # A machine that is busy takes more of them: agents are heard of one by one.
    assert len([a for a in asked if a.writes]) <= 15 * len(CLUSTERS)


def _touched(asked: Iterable[Asked]) -> list[str]:
    """The works whose spec was written."""
    return [
        a.key for a in asked if a.kind is MANIFEST_WORK and "spec" in a.body and 0 < a.status < 300
    ]


def _take_out(hub: KubeHub, *, deleted_on: str, leaver: str) -> None:
    """A work is deleted for good; a cluster is in another set from now on."""
    (stray,) = hub.list(MANIFEST_WORK, deleted_on).items
    _delete_for_good(hub, stray)
    hub.patch(
        Ref(MANAGED_CLUSTER, leaver), {"metadata": {"labels": {names.CLUSTER_SET_LABEL: "other"}}}
    )


def _stir(hub: KubeHub, events: int) -> None:
    """Agents report and labels change that nobody selects by, over and over again."""
    works = hub.list(MANIFEST_WORK).items
    clusters = [ref_of(MANAGED_CLUSTER, obj) for obj in hub.list(MANAGED_CLUSTER).items]
    done = 0
    while done < events:
        n = str(done)
        writes: list[Write] = [
            Patch(ref, {"metadata": {"labels": {"example.com/counter": n}}}) for ref in clusters
        ]
        if done % 3 == 0:
            writes = [_report(work, n) for work in works]
        _carry(hub, writes)
        done += len(writes)


def _report(work: Obj, words: str) -> Write:
    said = [{**condition, "message": words} for condition in work["status"]["conditions"]]
    return PatchStatus(ref_of(MANIFEST_WORK, work), {"conditions": said})


def _carry(hub: KubeHub, writes: list[Write]) -> None:
    """All of them; again where the server was too slow."""
    while writes:
        back: SimpleQueue[tuple[Write, WriteOutcome]] = SimpleQueue()
        KubeIo(hub).send(writes, lambda *answer: back.put(answer))  # noqa: B023  called before the next
        answers = [back.get(timeout=PATIENCE) for _ in writes]
        writes = [write for write, outcome in answers if outcome.result is not WriteResult.LANDED]


def _delete_for_good(hub: KubeHub, obj: Obj) -> None:
    meta = obj["metadata"]
    ref = Ref(MANIFEST_WORK, f"{meta['namespace']}/{meta['name']}")
    hub.delete(ref)
    if meta.get("finalizers"):
        with suppress(Gone):  # its agent was quicker
            hub.patch(ref, {"metadata": {"finalizers": None}})
