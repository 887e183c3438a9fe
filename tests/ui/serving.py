"""A story on a state file, a dashboard of its own on a free port, and pages of a browser on it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from tests.support.dashboards import Served, serving, story_on
from tests.support.story import Story

ROOT = Path(__file__).parents[2]
NIGHT = ROOT / "examples" / "slow-release"
PATIENCE = 240
"""Seconds until a test gives up waiting: a machine may be slow, or busy with something else."""


def rollout(state: Path, *words: str) -> str:
    """Run a command on a state file. Returns: what it printed."""
    command = [sys.executable, "-m", "rollout", *words, "--state", str(state)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, timeout=600)
    return done.stdout.decode()


@contextmanager
def page_on(
    browser: Browser, served: Served, *, complains: bool = False, **options: Any
) -> Iterator[Page]:
    """A page of a fresh browser profile that is logged in. Fails for any complaint of the browser.

    Args:
        complains: requests that are refused are expected.
    """
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.goto(served.entrance)
    try:
        yield page
    finally:
        context.close()
    assert complains or complaints == []


@contextmanager
def dashboard_on(
    browser: Browser, path: Path, *, complains: bool = False, **options: Any
) -> Iterator[tuple[Story, Served, Page]]:
    """A story on a new state file, its dashboard, and a page that is logged in there."""
    with (
        story_on(path) as story,
        serving(path, story.clock) as served,
        page_on(browser, served, complains=complains, **options) as page,
    ):
        yield story, served, page
