"""One controller for each profile, for all that OCM's suites ask."""

from collections.abc import Iterator

import pytest

from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from tests.kube.cluster import Cluster
from tests.kube.processes import QUICK, Process, install, kubeconfig_of
from tests.kube.setting import wipe


@pytest.fixture(scope="module", params=["ocm", "strict"])
def profile(
    request: pytest.FixtureRequest,
    server: Cluster,
    kube: KubeHub,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """A controller that goes by this profile leads, as long as the module lasts."""
    install(kube)
    env = {**QUICK, "ROLLOUT_QUIET_SECONDS": "0.5", "ROLLOUT_PROFILE": request.param}
    kubeconfig = kubeconfig_of(server, kube)
    process = Process(kubeconfig, tmp_path_factory.mktemp(request.param), request.param, env)
    try:
        process.start().wait_until_it_leads()
        yield request.param
        assert "Traceback" not in process.log()
    finally:
        process.stop()
        wipe(kube)


@pytest.fixture(scope="module")
def hub(server: Cluster) -> Iterator[KubeHub]:
    """The hands of the tests; what they leave goes with the module."""
    found = KubeHub(Access(str(server.kubeconfig)))
    yield found
    found.close()
