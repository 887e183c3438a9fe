"""Connections to a real API server, with TLS: whatever was under way, they are closed with the hub."""

import asyncio
import gc
import signal
import socket
import ssl
import warnings
from collections.abc import Iterator

import pytest

from rollout.errors import Unavailable
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.model.kinds import KINDS
from tests.kube.cluster import Cluster
from tests.kube.contract import Ear
from tests.kube.setting import PATIENCE, crd_objects, eventually

pytestmark = pytest.mark.kube

SERVED = [KINDS[crd["spec"]["names"]["kind"]] for crd in crd_objects()]


@pytest.fixture
def thawed(server: Cluster) -> Iterator[Cluster]:
    yield server
    server.signal("kube-apiserver", signal.SIGCONT)


@pytest.fixture
def told() -> Iterator[list[warnings.WarningMessage]]:
    """What Python says of connections that nobody closed; those of earlier tests are gone before."""
    gc.collect()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ResourceWarning)
        yield found


def busy(server: Cluster) -> KubeHub:
    """A hub with a watch of each kind, and idle connections."""
    hub = KubeHub(Access(str(server.kubeconfig)))
    for kind in SERVED:
        hub.watch(kind, hub.list(kind).version, Ear())
    eventually("all are watched", hub.is_watching)
    return hub


def test_no_connection_outlives_its_hub(
    server: Cluster, told: list[warnings.WarningMessage]
) -> None:
    for _ in range(10):
        busy(server).close()

    gc.collect()
    assert [str(warning.message) for warning in told] == []


def test_nor_one_whose_watch_has_just_been_ended(
    server: Cluster, told: list[warnings.WarningMessage]
) -> None:
    for _ in range(10):
        hub = KubeHub(Access(str(server.kubeconfig)))
        ends = [hub.watch(kind, hub.list(kind).version, Ear()) for kind in SERVED]
        for end in ends:
            end()
        hub.close()

    gc.collect()
    assert [str(warning.message) for warning in told] == []


def test_a_server_that_stands_still_holds_up_no_closing(
    thawed: Cluster, told: list[warnings.WarningMessage], caplog: pytest.LogCaptureFixture
) -> None:
    hub = busy(thawed)
    since = hub.list(SERVED[0]).version
    ends = [hub.watch(SERVED[0], since, Ear()) for _ in range(10)]
    thawed.signal("kube-apiserver", signal.SIGSTOP)

    for end in ends:  # none of them has an answer yet
        end()
    hub.close()

    given_up = [said for said in caplog.messages if "closing the connection" in said]
    assert given_up == []
    gc.collect()
    assert [str(warning.message) for warning in told] == []


def test_nor_one_whose_handshake_is_done_as_its_wait_is_cancelled(
    thawed: Cluster, told: list[warnings.WarningMessage]
) -> None:
    hub = KubeHub(Access(str(thawed.kubeconfig)))
    context = ssl.create_default_context(cafile=str(thawed.folder / "pki" / "ca.crt"))

    async def connect(connected: socket.socket) -> None:
        task = asyncio.current_task()
        assert task is not None
        give_up = task.cancel

        class GivenUp(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                thawed.signal("kube-apiserver", signal.SIGSTOP)
                give_up()

        loop = asyncio.get_running_loop()
        await loop.sock_connect(connected, ("127.0.0.1", thawed.port))
        await loop.create_connection(
            GivenUp, sock=connected, ssl=context, server_hostname="127.0.0.1"
        )

    with socket.socket() as connected:
        connected.setblocking(False)
        with pytest.raises(Unavailable):
            hub.session.run(connect(connected), PATIENCE)
        hub.close()  # the connection is open until then, or closed already: who gave up may be done
        assert connected.fileno() == -1

    gc.collect()
    assert [str(warning.message) for warning in told] == []
