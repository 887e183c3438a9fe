"""A state file, opened as often as a test wants."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rollout.clock import VirtualClock
from rollout.hub.sqlite import SqliteHub
from tests.support.hubs import Open


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def start(path: Path) -> Iterator[Open]:
    """Opens the file as one more process would."""
    made: list[SqliteHub] = []

    def build(**options: Any) -> SqliteHub:
        made.append(SqliteHub(path, VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)), **options))
        return made[-1]

    yield build
    for hub in made:
        hub.close()
