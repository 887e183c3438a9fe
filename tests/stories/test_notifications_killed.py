"""Processes that are killed again and again lose no notification, and tell each under one id."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.stories.told import run

DIES_WITH = ("11", "12", "13", "14") * 20
"""Which commit each process dies with. A start takes about ten, so that each of them gets a little further."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    path = tmp_path_factory.mktemp("undisturbed") / "fleet.db"
    run(path)
    return told(path)


def told(path: Path) -> list[str]:
    """Each attempt: id, trigger, revision."""
    return path.with_suffix(".told").read_text().splitlines()


@pytest.mark.parametrize("side", ["before", "after"])
def test_fifty_kills_lose_nothing_that_is_told(
    side: str, tmp_path: Path, undisturbed: list[str]
) -> None:
    path = tmp_path / "fleet.db"
    command = [
        sys.executable,
        "-m",
        "tests.stories.told",
        str(path),
        side,
        *DIES_WITH,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.split().count("killed") >= 50
    assert sorted(set(told(path))) == sorted(undisturbed)
    assert len(set(undisturbed)) == len(undisturbed) == 8
    if side == "before":  # it died between an attempt and what says that it was made
        assert len(told(path)) > len(undisturbed)
