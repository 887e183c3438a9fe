"""A real browser on a dashboard that a server process of ours serves."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium")
    assert path, "Chromium is not installed: scripts/ui-assets.sh"
    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield found
        found.close()
