"""One API server for all tests here; after each test, nothing is left of it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from rollout.hub.kube import KubeHub
from rollout.model.kinds import TEMPLATES_OF_OTHERS, Ref
from tests.kube import rights
from tests.kube.cluster import Cluster, Missing, assets
from tests.kube.setting import CRD, connect, crd_of, install_crds, wipe

REQUIRED = "ROLLOUT_KUBE_REQUIRED"


def lacking(what: str) -> NoReturn:
    """Something is not installed: a skip, and a failure where it is required."""
    if os.environ.get(REQUIRED):
        pytest.fail(what)
    pytest.skip(what)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What needs a real server runs only where it is asked for: ``-m kube``."""
    if "kube" in str(config.option.markexpr):
        return
    left_out = [item for item in items if item.get_closest_marker("kube")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("kube")]


@pytest.fixture(scope="session")
def binaries() -> Path:
    """Where the programs are."""
    try:
        return assets()
    except Missing as missing:
        lacking(str(missing))


@pytest.fixture(scope="session")
def server(binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An API server that has our kinds, and lets only those set owners who may look after these."""
    enforce = ("--enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
    folder = tmp_path_factory.mktemp("kube")
    cluster = Cluster(folder, binaries, (*enforce, *rights.flags(folder)))
    try:
        cluster.start()
        hub = connect(cluster.kubeconfig)
        install_crds(hub)
        hub.close()
        yield cluster
    finally:
        cluster.stop()
        rights.keep(folder)


@pytest.fixture(scope="session")
def kube(server: Cluster) -> Iterator[KubeHub]:
    """A hub that may do everything, for tests that leave nothing behind."""
    hub = connect(server.kubeconfig)
    yield hub
    hub.close()


@pytest.fixture
def admin(kube: KubeHub) -> Iterator[KubeHub]:
    """A hub that may do everything. What the test leaves behind is removed."""
    yield kube
    wipe(kube)


@pytest.fixture
def templates_of_others(admin: KubeHub) -> Iterator[None]:
    """The kinds of another tool are on the hub."""
    crds = [crd_of(kind) for kind in TEMPLATES_OF_OTHERS]
    install_crds(admin, crds)
    yield
    for crd in crds:
        admin.delete(Ref(CRD, crd["metadata"]["name"]))
