"""One controller for each profile, for all that OCM's suites ask."""

from collections.abc import Iterator

import pytest

from rollout.hub.kube import KubeHub
from tests.kube.cluster import Cluster
from tests.kube.processes import LONG_LEASE, Process, install, kubeconfig_of
from tests.kube.setting import connect, wipe


@pytest.fixture(scope="module", params=["ocm", "strict"])
def leader(
    request: pytest.FixtureRequest,
    server: Cluster,
    kube: KubeHub,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Process]:
    """A controller that goes by a profile, and has its name, leads as long as the module lasts."""
    install(kube)
    env = {**LONG_LEASE, "ROLLOUT_QUIET_SECONDS": "0.5", "ROLLOUT_PROFILE": request.param}
    kubeconfig = kubeconfig_of(server, kube)
    process = Process(kubeconfig, tmp_path_factory.mktemp(request.param), request.param, env)
    try:
        yield process.start().wait_until_it_leads()
        assert "Traceback" not in process.log()
    finally:
        process.stop()
        wipe(kube)


@pytest.fixture(scope="module")
def profile(leader: Process) -> str:
    return leader.name


@pytest.fixture(scope="module")
def hub(server: Cluster) -> Iterator[KubeHub]:
    """The hands of the tests; what they leave goes with the module."""
    found = connect(server.kubeconfig)
    yield found
    found.close()
