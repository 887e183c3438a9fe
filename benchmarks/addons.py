"""How long does a change of one configuration take over 5,000 add-ons, in virtual time, and how much memory?

A whole rollout, 10 % at a time, add-on manager and agents included. It runs in a process of its own,
so that its peak memory is its own; `virtual` has the same for ManifestWorkReplicaSets.
"""

import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from benchmarks.figures import Figure
from benchmarks.virtual import SCENARIO, documents
from rollout.sim.scenario_file import parse_scenario
from rollout.sim.simulate import Simulation

SIZE = 5_000
GROUP = "addon.open-cluster-management.io"
EDIT = """
  fleetEvents:
  - at: 6h
    patch:
      kind: AddOnDeploymentConfig
      namespace: default
      name: deploy-config
      patch: {spec: {customizedVariables: [{name: IMAGE, value: "example.com/agent:2"}]}}
"""


def addons() -> Iterator[dict[str, Any]]:
    """One add-on over the placement ``all``, and what configures it."""
    config = {"group": GROUP, "resource": "addondeploymentconfigs"}
    yield {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "AddOnDeploymentConfig",
        "metadata": {"name": "deploy-config", "namespace": "default"},
        "spec": {"customizedVariables": [{"name": "IMAGE", "value": "example.com/agent:1"}]},
    }
    strategy = {
        "type": "Progressive",
        "progressive": {
            "maxConcurrency": "10%",
            "minSuccessTime": "1m",
            "progressDeadline": "10m",
            "maxFailures": "2%",
        },
    }
    place = {
        "name": "all",
        "namespace": "default",
        "configs": [{**config, "namespace": "default", "name": "deploy-config"}],
        "rolloutStrategy": strategy,
    }
    yield {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "ClusterManagementAddOn",
        "metadata": {"name": "agent"},
        "spec": {
            "supportedConfigs": [config],
            "installStrategy": {"type": "Placements", "placements": [place]},
        },
    }


def once(size: int) -> dict[str, float]:
    """Install on ``size`` clusters and roll a second configuration out; the second is measured."""
    gc.set_threshold(50_000, 20, 100)
    fleet = [d for d in documents(size) if d["kind"] != "ManifestWorkReplicaSet"]
    gather = timedelta(seconds=1)
    simulation = Simulation([*fleet, *addons()], parse_scenario(SCENARIO + EDIT), gather=gather)
    began = [time.perf_counter()]

    def look(snapshot: Any) -> None:
        hours = (snapshot.now - snapshot.started).total_seconds() / 3600
        if len(began) == 1 and hours >= 6:
            began.append(time.perf_counter())

    last = simulation.run(look)
    ended = time.perf_counter()
    phases = last.rollouts[0].stages[0].phases
    assert phases == {"Soaked": size}, phases
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"install": began[1] - began[0], "seconds": ended - began[1], "memory": memory}


def run() -> Iterator[Figure]:
    command = [sys.executable, "-m", "benchmarks.addons", str(SIZE)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    yield Figure("addons.5k.install", found["install"], "s")
    yield Figure("addons.5k", found["seconds"], "s")
    yield Figure("addons.5k.memory", found["memory"], "MB")


if __name__ == "__main__":
    print(json.dumps(once(int(sys.argv[1]))))
