"""Holds a page that is open to following the hub by itself, and to leaving alone what stays."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

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


def _renew(page: Page) -> None:
    """Have the page asked for again, as when somebody comes back to its tab."""
    with page.expect_response(page.url.partition("#")[0]):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(600)  # it is put in place, and the next one may be asked for


def test_a_page_that_says_the_same_is_not_put_in_place_again(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "state.db"
    with dashboard_on(browser, path) as (story, served, page):
        page.goto(f"{served.address}/rollouts/mwrs/default/web")
        page.wait_for_load_state("load")
        _renew(page)
        page.evaluate("document.getElementById('live').mark = 'the same'")
        _renew(page)
        assert page.evaluate("document.getElementById('live').mark") == "the same"

        pause(story.hub, WEB, Who("ann", story.clock.now(), "lunch"))
        story.settle()
        expect(page.locator(".head .state")).to_contain_text("Paused")
        assert page.evaluate("document.getElementById('live').mark") is None


def test_who_does_not_see_the_page_is_told_what_has_changed(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "state.db"
    with dashboard_on(browser, path) as (story, served, page):
        page.goto(f"{served.address}/rollouts/mwrs/default/web")
        page.locator("#yaml").focus()
        said = page.get_by_role("status").and_(page.locator("#said"))
        expect(said).to_have_text("")

        pause(story.hub, WEB, Who("ann", story.clock.now(), "lunch"))
        story.settle()

        expect(said).to_contain_text("web: ")
        expect(said).to_contain_text("Paused")
        expect(page.locator("#yaml")).to_be_focused()


def test_a_page_of_a_workload_that_is_deleted_says_so(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with dashboard_on(browser, path, complains=True) as (story, served, page):
        page.goto(f"{served.address}/rollouts/mwrs/default/idle")
        page.wait_for_load_state("load")
        idle = Ref(REPLICA_SET, "default/idle")
        story.hub.delete(idle)
        story.settle()

        expect(page.locator("#live h1")).to_have_text("Not found")
        expect(page.locator("#lost")).to_be_hidden()
        expect(page.locator("[data-act]")).to_have_count(0)


def test_escape_shuts_the_menu_and_the_focus_stays_at_it(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with dashboard_on(browser, path) as (_story, served, page):
        page.goto(f"{served.address}/rollouts/mwrs/default/web")
        page.locator("#more-actions").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(page.locator("details.more[open]")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(page.locator("details.more[open]")).to_have_count(0)
        expect(page.locator("#more-actions")).to_be_focused()


def test_a_dialog_is_called_by_what_it_does(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with dashboard_on(browser, path) as (_story, served, page):
        page.goto(f"{served.address}/rollouts/mwrs/default/web")
        page.click("#act-pause")
        expect(page.get_by_role("dialog", name="Pause · default/web")).to_be_visible()


def test_one_outlook_is_asked_for_at_a_time(browser: Browser, tmp_path: Path) -> None:
    path, asked = tmp_path / "state.db", list[Route]()

    def hold(route: Route) -> None:
        asked.append(route)

    with dashboard_on(browser, path) as (_story, served, page):
        page.clock.install()
        page.route("**/outlook", hold)
        page.goto(f"{served.address}/rollouts/mwrs/default/web")
        page.wait_for_load_state("load")
        page.clock.run_for(130_000)
        assert len(asked) == 1
        for each in asked:
            each.fulfill(json={"ended": True, "p50": [], "p90": []})
