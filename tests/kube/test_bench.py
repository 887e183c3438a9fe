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
    (run,) = measure(binaries, tmp_path, "--only", "works,rolled")["runs"]
    values = {figure["name"]: figure["value"] for figure in run["figures"]}
    assert values.keys() >= {
        "calibration", f"{SIZE}.works.of-bare", f"{SIZE}.status.cpu", f"{SIZE}.rolled.seconds",
        f"{SIZE}.rolled.of-others-cpu",
    }  # fmt: skip
    assert all(value > 0 for name, value in values.items() if not name.endswith("cpu"))
    assert not any(name.endswith(("placements.seconds", "idle.cpu")) for name in values)
    asked = run["requests"]
    assert asked["works"]["create manifestworks"] == SIZE
    assert asked["rolled"]["create manifestworks"] == SIZE
    assert asked["rolled"]["patch manifestworkreplicasets/status"] > 0


def test_two_controllers_are_measured_by_turns_each_on_a_server_of_its_own(
    binaries: Path, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    command = "sh -c 'echo \"{} $KUBECONFIG\" >> {}; exec {} -m rollout controller'"
    sides = {name: command.format(name, told, sys.executable) for name in ("CONTROLLER", "AGAINST")}
    found = measure(binaries, tmp_path, "--only", "restart", **sides)

    started = [line.split() for line in told.read_text().splitlines()]
    in_turn = [name for i, (name, at) in enumerate(started) if at not in str(started[:i])]
    assert in_turn == ["CONTROLLER", "AGAINST", "AGAINST", "CONTROLLER"]
    assert [run["side"] for run in found["runs"]] == ["A", "B", "B", "A"]
    assert {each["name"] for each in found["ratios"]} >= {
        f"{SIZE}.restart.caches", f"{SIZE}.restart.decided", f"{SIZE}.memory",
    }  # fmt: skip
    assert found["versions"]["kube-apiserver"]
    assert found["sides"] == {"A": sides["CONTROLLER"], "B": sides["AGAINST"]}
