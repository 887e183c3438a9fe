"""Does a page that is open follow the hub by itself?"""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from rollout.model.kinds import REPLICA_SET, Ref
from rollout.operate import Who, pause
from tests.support.dashboards import story_on
from tests.ui.serving import page_on, serving

pytestmark = pytest.mark.ui


def test_a_change_is_on_the_page_without_loading_it_again(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with (
        story_on(path) as story,
        serving(path, story.clock) as served,
        page_on(browser, served) as page,
    ):
        page.evaluate("window.mark = 'the same page'")
        expect(page.locator(".chips a[href*=person] b")).to_have_text("2")

        pause(story.hub, Ref(REPLICA_SET, "default/api"), Who("ann", story.clock.now(), "lunch"))
        story.settle()

        expect(page.locator(".chips a[href*=person] b")).to_have_text("3")
        assert page.evaluate("window.mark") == "the same page"


def test_what_is_typed_filters_the_list_and_the_address_keeps_it(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "state.db"
    with (
        story_on(path) as story,
        serving(path, story.clock) as served,
        page_on(browser, served) as page,
    ):
        page.keyboard.press("/")
        page.keyboard.type("we")

        expect(page.locator("a.go")).to_have_count(1)
        assert page.url.endswith("/?q=we")
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("web")
