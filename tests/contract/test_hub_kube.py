"""The hub contract over HTTP on loopback, and of the hub in memory that is behind it there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rollout.clock import SystemClock
from rollout.hub.admission import admit
from rollout.hub.base import Hub
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.hub.memory import MemoryHub
from tests.kube.contract import HubContract
from tests.kube.facade import serving


class TestOverHttp(HubContract):
    @pytest.fixture
    def hub(self, tmp_path: Path) -> Iterator[Hub]:
        with serving() as facade:
            hub = KubeHub(Access(str(facade.kubeconfig(tmp_path))))
            yield hub
            hub.close()


class TestInMemory(HubContract):
    @pytest.fixture
    def hub(self) -> Iterator[Hub]:
        hub = MemoryHub(SystemClock(), admit=admit)
        yield hub
        hub.close()
