"""Notifications on a real API server: what is told are objects there, channels are Secrets there."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import REPLICA_SET, ROLLOUT_NOTIFICATION, Ref
from rollout.providers.secrets import SECRET
from tests.kube.cluster import Cluster
from tests.kube.controlled import Controlled
from tests.kube.setting import eventually, managed_cluster, namespace, put
from tests.support import make
from tests.support.receiver import Received, receiver
from tests.support.shapes import run

pytestmark = pytest.mark.kube

CLUSTERS = ("c00", "c01")


@pytest.fixture
def running(server: Cluster, admin: KubeHub, tmp_path: Path) -> Iterator[Controlled]:
    """A controller that may read the Secrets of namespace ``default``."""
    started = Controlled(server, admin, tmp_path, ("secrets",))
    yield started
    started.stop()


@pytest.fixture
def channel(admin: KubeHub) -> Iterator[tuple[str, Received]]:
    with receiver() as (address, got):
        meta = {"name": "team", "namespace": "default"}
        said = {"type": "webhook", "url": address, "key": "s3cr3t"}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": said}
        admin.create(Ref(SECRET, "default/team"), body)
        yield address, got
        admin.delete(Ref(SECRET, "default/team"))


def begin(admin: KubeHub, running: Controlled, notify: str) -> None:
    namespace(admin, *CLUSTERS)
    for name in CLUSTERS:
        put(admin, managed_cluster(name, ""))
    for obj in (make.cluster_set(), make.binding(), make.placement()):
        put(admin, obj)
    strategy = make.progressive(maxConcurrency=1)
    put(admin, make.workload(strategy=strategy, annotations={names.NOTIFY: notify}))
    running.start()


def phases(admin: KubeHub) -> dict[str, str]:
    """By channel and trigger."""
    return {
        f"{each['spec']['channel']} {each['spec']['trigger']}": each["status"]["phase"]
        for each in admin.list(ROLLOUT_NOTIFICATION).items
        if "status" in each
    }


def test_a_rollout_is_told_on_a_channel_and_one_that_fails_holds_up_nothing(
    admin: KubeHub, running: Controlled, channel: tuple[str, Received]
) -> None:
    begin(admin, running, "team; nobody=on-completed")

    def told() -> None:
        assert phases(admin) == {
            "team on-rollout-started": "Delivered",
            "team on-stage-passed": "Delivered",
            "team on-completed": "Delivered",
            "nobody on-completed": "Pending",
        }

    eventually("all is told that can be", told)
    types = [json.loads(body)["type"].rpartition(".")[2] for _, body in channel[1]]
    assert sorted(types) == ["completed", "rollout-started", "stage-passed"]
    assert running.refused == []

    # A channel that is no longer named: what was told on it goes.
    admin.patch(
        Ref(REPLICA_SET, "default/web"), {"metadata": {"annotations": {names.NOTIFY: "nobody"}}}
    )
    eventually(
        "what was told on the team's channel goes",
        lambda: all(key.startswith("nobody ") for key in phases(admin)),
    )


def test_a_channel_is_tried_from_the_command_line(
    admin: KubeHub,
    server: Cluster,
    channel: tuple[str, Received],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ROLLOUT_NOTIFY_HOSTS", "127.0.0.1")
    put(admin, make.workload(annotations={names.NOTIFY: "team=on-halted"}))
    where = ("mwrs", "web", "--kubeconfig", str(server.kubeconfig))

    found = run("notify", "test", *where)
    assert (found.exit_code, found.stdout) == (0, "team: delivered\n")
    assert [json.loads(body)["type"] for _, body in channel[1]] == ["io.rollout-engine.test"]

    missing = run("notify", "test", *where, "--channel", "nobody")
    assert missing.exit_code == 1
    assert "there is no Secret default/nobody" in missing.stdout
