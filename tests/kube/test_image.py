"""Do the steps of the Containerfile make a controller that starts? Run in a fresh environment.

There need not be an engine for containers: the steps are plain commands, and what they copy is few.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kube.setting import ROOT

pytestmark = pytest.mark.kube

TARGET = "/opt/rollout"


def steps() -> tuple[list[str], list[str]]:
    """What the first stage copies, and what it runs."""
    stage = (ROOT / "Containerfile").read_text().split("\nFROM ")[1]
    lines = [line.strip() for line in stage.splitlines()]
    copied = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    return copied, [line.removeprefix("RUN ") for line in lines if line.startswith("RUN ")]


def test_the_steps_of_the_image_make_a_controller_that_starts(tmp_path: Path) -> None:
    source, target = tmp_path / "src", tmp_path / "opt"
    source.mkdir()
    copied, commands = steps()
    assert len(commands) >= 3
    for name in copied:
        if (ROOT / name).is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, ignore=ignore)
        else:
            shutil.copy(ROOT / name, source / name)
    binary = tmp_path / "bin"
    binary.mkdir()
    base = Path(sys.base_prefix) / "bin" / "python3"
    (binary / "python").symlink_to(base)
    env = {**os.environ, "PATH": f"{binary}:{os.environ['PATH']}", "PYTHONPATH": ""}
    for command in commands:
        done = subprocess.run(
            command.replace(TARGET, str(target)),
            check=False, shell=True, cwd=source, env=env, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    program = target / "bin" / "rollout"
    for words, said in ((["version"], "0.1.0"), (["controller", "--help"], "--lease-name")):
        done = subprocess.run(
            [program, *words], check=False, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert said in done.stdout, done.stderr
    # It came from the wheel, not from the folder that was copied.
    assert list((source / "dist").glob("rollout-*.whl"))
    assert not list((target / "lib").rglob("__editable__*"))
    # It starts, and says what it lacks: there is no server here.
    done = subprocess.run(
        [program, "controller"], check=False, cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: there is no kubeconfig")
    assert "Traceback" not in done.stderr


def test_the_base_of_the_image_can_be_pinned() -> None:
    lines = (ROOT / "Containerfile").read_text().splitlines()
    base = [line for line in lines if line.startswith("ARG BASE=")]

    assert len(base) == 1
    assert [line for line in lines if line.startswith("FROM")] == [
        "FROM ${BASE} AS build",
        "FROM ${BASE}",
    ]
