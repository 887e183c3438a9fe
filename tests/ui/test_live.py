"""Does a page that is open follow the hub by itself?"""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from rollout.model.kinds import REPLICA_SET, Ref
from rollout.operate import Who, pause
from tests.ui.serving import dashboard_on

pytestmark = pytest.mark.ui

WEB = Ref(REPLICA_SET, "default/web")


def test_a_change_is_on_the_page_without_loading_it_again(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with dashboard_on(browser, path) as (story, _served, page):
        page.evaluate("window.mark = 'the same page'")
        expect(page.locator(".chips a[href*=person] b")).to_have_text("2")

        pause(story.hub, Ref(REPLICA_SET, "default/api"), Who("ann", story.clock.now(), "lunch"))
        story.settle()

        expect(page.locator(".chips a[href*=person] b")).to_have_text("3")
        assert page.evaluate("window.mark") == "the same page"


def test_a_menu_stays_open_and_a_form_keeps_what_is_typed_when_the_page_is_renewed(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "state.db"
    with dashboard_on(browser, path) as (story, served, page):
        page.goto(f"{served.address}/rollouts/mwrs/default/web")
        page.click("details.more summary")
        pause(story.hub, WEB, Who("ann", story.clock.now(), "lunch"))
        story.settle()
        expect(page.locator(".head .state")).to_contain_text("Paused")
        expect(page.locator("#act-hold")).to_be_visible()

        page.goto(f"{served.address}/act/resume?kind=mwrs&namespace=default&workload=web")
        page.fill("#f-reason", "it looks well")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # as coming back
        with page.expect_response("**/healthz"):
            page.evaluate("fetch('/healthz')")
        assert [url for url in asked if "/act/" in url] == []
        expect(page.locator("#f-reason")).to_have_value("it looks well")


def test_what_is_typed_filters_the_list_and_the_address_keeps_it(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "state.db"
    with dashboard_on(browser, path) as (_story, _served, page):
        page.keyboard.press("/")
        page.keyboard.type("we")

        expect(page.locator("a.go")).to_have_count(1)
        expect(page).to_have_url(re.compile(r"/\?q=we$"))
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("web")


def test_a_press_that_a_renewal_falls_into_is_not_lost(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with dashboard_on(browser, path) as (_story, served, page):
        page.goto(f"{served.address}/rollouts/mwrs/default/web")
        page.locator("#act-pause").hover()
        page.mouse.down()
        with page.expect_response("**/rollouts/mwrs/default/web"):
            page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # as coming back
        page.mouse.up()
        expect(page.locator("dialog[open]")).to_contain_text("What it will do")


def test_what_is_typed_into_a_page_stays_when_it_is_renewed(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "state.db"
    with dashboard_on(browser, path) as (story, served, page):
        page.goto(f"{served.address}/rollouts/mwrs/default/web")
        page.locator("#cluster").evaluate(
            "box => { box.oninput = (event) => event.stopPropagation(); }"  # before it is filtered
        )
        page.locator("#cluster").focus()
        page.keyboard.type("c0")
        pause(story.hub, WEB, Who("ann", story.clock.now(), "lunch"))
        story.settle()
        expect(page.locator(".head .state")).to_contain_text("Paused")

        expect(page.locator("#cluster")).to_have_value("c0")
        expect(page.locator("#cluster")).to_be_focused()
        page.keyboard.type("5")
        expect(page.locator("table.list").first.locator("tbody tr")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(page.locator("#cluster")).to_have_value("c05")


def test_what_comes_next_in_a_dialog_has_the_focus(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with dashboard_on(browser, path) as (_story, served, page):
        page.goto(f"{served.address}/rollouts/mwrs/default/web")
        page.click("details.more summary")
        page.click("#act-hold")
        expect(page.locator("#f-clusters")).to_be_focused()
        page.keyboard.type("c05")
        page.keyboard.press("Enter")
        expect(page.locator("#f-reason")).to_be_focused()
        page.keyboard.type("lunch")
        page.keyboard.press("Enter")
        expect(page.locator("dialog a[data-close]")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("dialog[open]")).to_have_count(0)
        expect(page.locator("#more-actions")).to_be_focused()
