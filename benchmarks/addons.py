"""How long does a change take over 5,000 add-ons, in virtual time, and how much memory? And over 5,000 works?

A whole rollout of a second configuration, 10 % at a time, add-on manager and agents included; beside it
that of a second template of a ManifestWorkReplicaSet over the same fleet. Each runs in a process of its
own, so that its peak memory is its own. ``growth`` is the time of 5,000 add-ons by that of 500.
"""

import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from benchmarks.figures import Figure
from benchmarks.machine import peak_memory
from benchmarks.virtual import SCENARIO, documents
from rollout.sim.scenario_file import parse_scenario
from rollout.sim.simulate import Simulation
from rollout.strategies.base import Phase

SIZE, SMALL = 5_000, 500
GROUP = "addon.open-cluster-management.io"
EDITS = {
    "addons": """
  fleetEvents:
  - at: 6h
    patch:
      kind: AddOnDeploymentConfig
      namespace: default
      name: deploy-config
      patch: {spec: {customizedVariables: [{name: IMAGE, value: "example.com/agent:2"}]}}
""",
    "works": """
  fleetEvents:
  - at: 6h
    patch:
      kind: ManifestWorkReplicaSet
      namespace: default
      name: web
      patch:
        spec:
          manifestWorkTemplate:
            workload:
              manifests:
              - {apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: default}, data: {page: new}}
""",
}


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


def by_hand() -> dict[str, Any]:
    """An add-on that goes nowhere: a run with one waits for edits that are still to come."""
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "ClusterManagementAddOn",
        "metadata": {"name": "by-hand"},
        "spec": {"installStrategy": {"type": "Manual"}},
    }


def once(subject: str, size: int) -> dict[str, float]:
    """Install on ``size`` clusters, then roll the edit out; times of both, and the peak memory."""
    gc.set_threshold(50_000, 20, 100)
    fleet = documents(size)
    if subject == "addons":
        fleet = (d for d in fleet if d["kind"] != "ManifestWorkReplicaSet")
    more = addons() if subject == "addons" else [by_hand()]
    scenario = parse_scenario(SCENARIO + EDITS[subject])
    simulation = Simulation([*fleet, *more], scenario, gather=timedelta(seconds=1))
    began = [time.perf_counter()]

    def look(snapshot: Any) -> None:
        hours = (snapshot.now - snapshot.started).total_seconds() / 3600
        if len(began) == 1 and hours >= 6:
            began.append(time.perf_counter())

    last = simulation.run(look)
    ended = time.perf_counter()
    phases = last.workloads[0].phases
    assert phases == {Phase.SOAKED: size}, phases
    memory = peak_memory()
    return {"install": began[1] - began[0], "seconds": ended - began[1], "memory": memory}


def _apart(subject: str, size: int) -> dict[str, float]:
    """`once`, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.addons", subject, str(size)]
    found: dict[str, float] = json.loads(
        subprocess.run(command, check=True, capture_output=True).stdout
    )
    return found


def run() -> Iterator[Figure]:
    found = {subject: _apart(subject, SIZE) for subject in EDITS}
    for name, unit in (("install", "s"), ("seconds", "s"), ("memory", "MB")):
        for subject in EDITS:
            yield Figure(f"change.5k.{subject}.{name}", found[subject][name], unit)
    small = _apart("addons", SMALL)["seconds"]
    yield Figure("change.5k.addons.growth", found["addons"]["seconds"] / small, "x", 13.0)


if __name__ == "__main__":
    print(json.dumps(once(sys.argv[1], int(sys.argv[2]))))
