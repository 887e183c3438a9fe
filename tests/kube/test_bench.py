"""The benchmark on a small fleet: it measures what it says it does, however long that takes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kube.setting import ROOT

pytestmark = pytest.mark.kube

SIZE = 20


def measure(binaries: Path, folder: Path, *words: str, **env: str) -> dict[str, Any]:
    results = folder / "results.json"
    command = [sys.executable, "-m", "benchmarks.kube", "--clusters", str(SIZE), "--repeat", "1"]
    ran = subprocess.run(
        [*command, "--results", str(results), "--idle-seconds", "1", *words],
        cwd=ROOT,
        env={**os.environ, "KUBEBUILDER_ASSETS": str(binaries), **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(results.read_text())
    return found


def test_works_and_a_rollout_are_measured_on_a_small_fleet(binaries: Path, tmp_path: Path) -> None:
    found = measure(binaries, tmp_path, "--only", "works,rolled")
    values = {figure["name"]: figure["value"] for figure in found["figures"]}
    assert values.keys() >= {
        "calibration", f"{SIZE}.works.of-bare", f"{SIZE}.status.cpu", f"{SIZE}.rolled.seconds",
    }  # fmt: skip
    assert all(value > 0 for name, value in values.items() if not name.endswith(".cpu"))
    assert not any(name.endswith(("placements.seconds", "idle.cpu")) for name in values)
    asked = found["requests"][str(SIZE)]
    assert asked["create manifestworks"] == 2 * SIZE
    assert asked["patch manifestworkreplicasets/status"] > 0


def test_another_controller_is_measured_in_place_of_ours(binaries: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    command = f"sh -c 'echo \"$KUBECONFIG\" > {told}; exec {sys.executable} -m rollout controller'"
    found = measure(binaries, tmp_path, "--only", "restart", CONTROLLER=command)
    names = {figure["name"] for figure in found["figures"]}
    assert {f"{SIZE}.restart.caches", f"{SIZE}.restart.decided", f"{SIZE}.memory"} <= names
    assert told.read_text().strip().endswith("controller.kubeconfig")
