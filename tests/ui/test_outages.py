"""Holds a page to saying when nobody answers, and to going on by itself afterwards."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from rollout.clock import VirtualClock
from tests.kube.cluster import free_port
from tests.support import make
from tests.support.dashboards import serving, story_on
from tests.support.story import SEC, T0
from tests.ui.serving import page_on

pytestmark = pytest.mark.ui


def test_a_page_says_that_the_dashboard_is_gone_and_goes_on_when_it_is_back(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "state.db"
    port = free_port()  # one that nobody is given while the dashboard is away
    with (
        story_on(path) as story,
        serving(path, story.clock, port) as served,
        page_on(browser, served, complains=True) as page,
    ):
        expect(page.locator("a.go")).to_have_count(4)
        served.stop()
        expect(page.locator("#lost")).to_be_visible()
        story.add(make.workload("late"))
        story.settle()
        with serving(path, story.clock, port):
            expect(page.locator("a.go")).to_have_count(5)
            expect(page.locator("#lost")).to_be_hidden()


def test_a_page_says_that_the_hub_was_never_read_and_shows_it_once_it_is(
    browser: Browser, tmp_path: Path
) -> None:
    clock = VirtualClock(T0 + 120 * SEC)
    with story_on(tmp_path / "elsewhere.db"):
        pass
    with (
        serving(tmp_path / "state.db", clock) as served,
        page_on(browser, served, complains=True) as page,
    ):
        expect(page.locator("h1")).to_have_text("The hub cannot be read")
        expect(page.locator("#lost")).to_be_hidden()
        shutil.copy(tmp_path / "elsewhere.db", tmp_path / "state.db")
        expect(page.locator("a.go")).to_have_count(4)
        expect(page.locator("#lost")).to_be_hidden()
