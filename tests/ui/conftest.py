"""A real browser on a dashboard that a server process of ours serves."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.ui.serving import PATIENCE

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
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield found
        found.close()
