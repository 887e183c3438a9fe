"""How long does a whole rollout take in virtual time, and how much memory? Progressive, 10 % at a time.

Each size runs in a process of its own, so that its peak memory is its own.
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
from rollout.sim.scenario_file import parse_scenario
from rollout.sim.simulate import Simulation
from rollout.strategies.base import Phase

SIZES = (("1k", 1_000), ("10k", 10_000), ("50k", 50_000), ("100k", 100_000))
TARGETS = {"10k": 5.0, "100k": 60.0}
SCENARIO = """
apiVersion: rollout-engine.io/v1alpha1
kind: AgentScenario
spec:
  seed: 1
  defaults:
    applyAfter: {min: 1s, max: 5s}
    readyAfter: {min: 10s, max: 30s}
"""


def documents(size: int) -> Iterator[dict[str, Any]]:
    """A fleet of ``size``, one placement of all of it, and one workload of about 2 KB."""
    cluster = "cluster.open-cluster-management.io"
    everyone = {"selectorType": "LabelSelector", "labelSelector": {}}
    yield {
        "apiVersion": f"{cluster}/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {"name": "global"},
        "spec": {"clusterSelector": everyone},
    }
    yield {
        "apiVersion": f"{cluster}/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": {"name": "global", "namespace": "default"},
        "spec": {"clusterSet": "global"},
    }
    available = {
        "type": "ManagedClusterConditionAvailable",
        "status": "True",
        "reason": "ManagedClusterAvailable",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    for i in range(size):
        yield {
            "apiVersion": f"{cluster}/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": f"cluster-{i:06d}", "labels": {"region": f"r{i % 7}"}},
            "spec": {"hubAcceptsClient": True},
            "status": {"conditions": [available]},
        }
    yield {
        "apiVersion": f"{cluster}/v1beta1",
        "kind": "Placement",
        "metadata": {"name": "all", "namespace": "default"},
        "spec": {},
    }
    yield _workload()


def _workload() -> dict[str, Any]:
    strategy = {
        "maxConcurrency": "10%",
        "minSuccessTime": "1m",
        "progressDeadline": "10m",
        "maxFailures": "2%",
    }
    reference = {
        "name": "all",
        "rolloutStrategy": {"type": "Progressive", "progressive": strategy},
    }
    return {
        "apiVersion": "work.open-cluster-management.io/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"manifestWorkTemplate": _template(), "placementRefs": [reference]},
    }


def _template() -> dict[str, Any]:
    """One large manifest, whose progress and failure are read from it."""
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "web", "namespace": "default"},
        "data": {"page": "x" * 1_500},
    }
    identifier = {"group": "", "resource": "configmaps", "name": "web", "namespace": "default"}
    rule = {"type": "CEL", "celExpressions": ["object.data.size() > 0"]}
    rules = [{"condition": "Progressing", **rule}, {"condition": "Degraded", **rule}]
    return {
        "workload": {"manifests": [manifest]},
        "manifestConfigs": [{"resourceIdentifier": identifier, "conditionRules": rules}],
    }


def once(size: int) -> dict[str, float]:
    """Run one size in this process."""
    gc.set_threshold(50_000, 20, 100)
    simulation = Simulation(documents(size), parse_scenario(SCENARIO), gather=timedelta(seconds=1))
    began = time.perf_counter()
    last = simulation.run()
    seconds = time.perf_counter() - began
    phases = last.workloads[0].phases
    assert phases == {Phase.SOAKED: size}, phases
    memory = peak_memory()
    return {"seconds": seconds, "memory": memory}


def run() -> Iterator[Figure]:
    found: dict[str, dict[str, float]] = {}
    for label, size in SIZES:
        command = [sys.executable, "-m", "benchmarks.virtual", str(size)]
        runs = [
            json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            for _ in range(1 if size > 10_000 else 3)
        ]
        found[label] = min(runs, key=lambda r: r["seconds"])
        yield Figure(f"virtual.{label}", found[label]["seconds"], "s", TARGETS.get(label))
    yield Figure("virtual.10k.memory", found["10k"]["memory"], "MB", 400.0)
    yield Figure("virtual.100k.memory", found["100k"]["memory"], "MB", 1_000.0)
    growth = found["10k"]["seconds"] / found["1k"]["seconds"]
    yield Figure("virtual.growth", growth, "x", 11.0)


if __name__ == "__main__":
    print(json.dumps(once(int(sys.argv[1]))))
