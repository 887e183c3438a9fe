"""The package as strangers get it: built, installed without the checkout, used in an empty folder."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Command = Callable[..., "subprocess.CompletedProcess[str]"]


def quietly(*words: str | Path, cwd: Path) -> None:
    """Run a program that must succeed."""
    done = subprocess.run(words, check=False, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that is made of this sdist and nothing else."""
    folder = tmp_path_factory.mktemp("dist")
    quietly(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    (sdist,) = folder.glob("*.tar.gz")
    plain = ("--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    quietly(sys.executable, "-m", "pip", "wheel", *plain, "-w", folder, sdist, cwd=folder)
    return folder


@pytest.fixture(scope="session")
def environment(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment in which the wheel, its dependencies and nothing else are installed."""
    place = tmp_path_factory.mktemp("bare") / "venv"
    (wheel,) = built.glob("*.whl")
    quietly(sys.executable, "-m", "venv", place, cwd=built)
    pip = (place / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check")
    quietly(*pip, "-c", ROOT / "constraints.txt", wheel, cwd=built)
    return place / "bin"


@pytest.fixture
def installed(environment: Path, tmp_path: Path) -> Command:
    """Runs a program of that environment in an empty folder, which sees nothing of the checkout."""

    def run(program: str, *words: str) -> "subprocess.CompletedProcess[str]":
        env = {"PATH": f"{environment}{os.pathsep}/usr/bin{os.pathsep}/bin", "HOME": str(tmp_path)}
        return subprocess.run(
            [environment / program, *words],
            check=False, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    return run
