"""A controller with the rights of its manifests, and a test's hands on add-ons on a real API server.

Decisions are written by the test, as another scheduler would; the add-on's own manager is simulated,
and the test says how works do.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rollout.clock import SteadyClock, SystemClock
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, Ref
from rollout.sim.addon_agents import AddOnManager
from tests.kube.cluster import Cluster
from tests.kube.processes import QUICK, Process, install, kubeconfig_of
from tests.kube.setting import PATIENCE, connect, eventually, namespace, put
from tests.support import addons
from tests.support.addons import CLUSTERS, NAME, Desk

Start = Callable[..., Process]


class OnServer(Desk):
    """The test's hands on an API server, and the add-on's manager on a thread of its own."""

    hub: KubeHub

    def __init__(self, hub: KubeHub, server: Cluster) -> None:
        self.hub, self.clock = hub, SystemClock()
        self._own = connect(server.kubeconfig)
        self._manager = AddOnManager(self._own, SteadyClock())
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._drive, name="add-on manager", daemon=True)
        self._thread.start()

    def _drive(self) -> None:
        self._manager.start()
        while not self._ended.wait(0.01):
            self._manager.run_due()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join(PATIENCE)
        self._manager.close()
        self._own.close()

    def rendered(self, clusters: list[str], spec_hash: str) -> "OnServer":
        """Wait until works are made from a configuration."""

        def check() -> None:
            for cluster in clusters:
                work = self.hub.get(Ref(MANIFEST_WORK, f"{cluster}/addon-{NAME}-deploy-0"))
                told = work["metadata"]["annotations"][names.CONFIG_SPEC_HASH]
                assert list(json.loads(told).values()) == [spec_hash], cluster

        eventually(f"works of {clusters} are rendered", check)
        return self

    def until(self, what: str, check: Callable[[], object]) -> "OnServer":
        eventually(what, check)
        return self


@pytest.fixture
def start(server: Cluster, admin: KubeHub, tmp_path: Path) -> Iterator[Start]:
    """The manifests are applied. Starts controllers with them; all end with the test."""
    install(admin)
    kubeconfig = kubeconfig_of(server, admin)
    started: list[Process] = []

    def begin(**env: str) -> Process:
        env = {**QUICK, "ROLLOUT_QUIET_SECONDS": "0.5", **env}
        process = Process(kubeconfig, tmp_path, f"pod-{len(started)}", env)
        started.append(process.start())
        return process.wait_until_it_leads()

    yield begin
    for process in started:
        process.stop()


@pytest.fixture
def desk(server: Cluster, admin: KubeHub) -> Iterator[OnServer]:
    """A fleet of four, a placement that the test decides, and the add-on's manager."""
    namespace(admin, *CLUSTERS)
    for obj in addons.fleet(*CLUSTERS):
        put(admin, obj)
    found = OnServer(admin, server)
    yield found
    found.stop()


def refused(process: Process) -> list[str]:
    """Series of writes that the server would not have, and plans that raised."""
    status, text = process.fetch("/metrics")
    assert (status, "rollout_writes_total" in text) == (200, True)
    return [
        line
        for line in text.splitlines()
        if re.match(r'rollout_writes_total\{.*result="refused"|rollout_plan_failures_total', line)
    ]
