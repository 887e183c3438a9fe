"""The story that most pages are looked at in; no test of a page changes it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.support.dashboards import browsing, story_on


@pytest.fixture(scope="package")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    path: Path = tmp_path_factory.mktemp("hub") / "state.db"
    with story_on(path) as story, browsing(path, story.clock) as client:
        yield client
