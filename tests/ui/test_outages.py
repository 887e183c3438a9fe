"""Does a page say when nobody answers, and go on by itself afterwards?"""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.kube.cluster import free_port
from tests.support import make
from tests.support.dashboards import serving, story_on
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
