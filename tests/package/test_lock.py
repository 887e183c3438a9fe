"""Does `make lock` list every package with a hash that pip checks?"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.package.conftest import ROOT

pytestmark = pytest.mark.package


def test_every_package_that_is_installed_is_listed_with_its_hash(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    words = (
        "--dry-run",
        "--ignore-installed",
        "--no-deps",
        "--report",
        report,
        "click==8.5.1",
        "cronsim",
    )
    subprocess.run([*pip, *words], check=True, cwd=ROOT, capture_output=True)

    lock = tmp_path / "requirements.lock"
    with report.open() as source, lock.open("w") as out:
        subprocess.run(
            [sys.executable, ROOT / "scripts" / "lock.py"], check=True, stdin=source, stdout=out
        )
    lines = lock.read_text().splitlines()
    kept = subprocess.run(
        [*pip, "--no-deps", "--require-hashes", "--target", tmp_path / "site", "-r", lock],
        check=False, capture_output=True, text=True,
    )  # fmt: skip

    assert [line.partition("==")[0] for line in lines] == ["click", "cronsim"]
    assert kept.returncode == 0, kept.stderr
    assert "http" not in lock.read_text()
