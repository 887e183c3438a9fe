"""Holds what a person does in the browser: with and without script, by keyboard alone."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from rollout.model import names
from rollout.model.kinds import APPROVAL, REPLICA_SET, Ref
from tests.support.dashboards import serving, story_on
from tests.support.operated import notes
from tests.ui.serving import dashboard_on

pytestmark = pytest.mark.ui

WEB = "/rollouts/mwrs/default/web"


def test_a_gate_is_approved_by_keyboard_alone_and_the_page_follows(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "state.db"
    with dashboard_on(browser, path) as (story, _served, page):
        page.keyboard.press("/")
        page.keyboard.type("web")
        expect(page.locator("a.go")).to_have_count(1)
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.locator(".gate")).to_contain_text("shut, nobody has approved it")
        page.wait_for_load_state("load")  # before its script has run, a button is a link to a page
        page.locator(".gate a[data-act]").focus()
        page.keyboard.press("Enter")
        dialog = page.locator("dialog[open]")
        expect(dialog).to_contain_text("clusters written to right away")
        dialog.locator("#f-reason").focus()
        page.keyboard.type("it looks well")
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("gate before:rest of revision")
        page.keyboard.press("Escape")
        expect(page.locator("dialog[open]")).to_have_count(0)

        (found,) = story.hub.list(APPROVAL).items
        assert found["spec"]["reason"] == "it looks well"
        story.settle()
        expect(page.locator(".gate")).to_contain_text("open, approved by ann (unverified)")


def test_without_script_every_page_can_be_read_and_every_form_be_sent(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "state.db"
    with dashboard_on(browser, path, java_script_enabled=False) as (story, _served, page):
        page.fill("#q", "api")
        page.click("form.filter button")
        expect(page.locator("a.go")).to_have_count(1)
        page.click("a.go")
        page.click("#act-pause")
        expect(page.locator("#confirm")).to_contain_text("What it will do")
        page.fill("#f-reason", "no script here")
        page.click("button.main")
        expect(page.locator(".told")).to_contain_text("paused")
        assert notes(story.hub, Ref(REPLICA_SET, "default/api"))[names.PAUSED] == "true"


def test_who_follows_a_link_of_a_file_or_another_site_is_let_in(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        story_on(tmp_path / "state.db") as story,
        serving(tmp_path / "state.db", story.clock) as served,
    ):
        link = tmp_path / "open.html"
        link.write_text(f'<meta http-equiv="refresh" content="0;url={served.entrance}">')
        context = browser.new_context()
        page = context.new_page()
        page.goto(link.as_uri())
        expect(page.locator("h1")).to_have_text("Rollouts")
        context.close()


def test_a_refused_verb_says_why_in_its_dialog(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with dashboard_on(browser, path, complains=True) as (_story, served, page):
        page.goto(f"{served.address}{WEB}")
        page.click("details.more summary")
        page.click("#act-undo")
        page.click("dialog button.main")
        expect(page.locator("dialog .fault")).to_contain_text("there is no earlier revision")
        page.fill("dialog #f-reason", "try")
        page.click("dialog button.main")
        expect(page.locator("dialog .fault")).to_contain_text("there is no earlier revision")


def test_a_button_of_what_is_gone_leads_to_a_page_that_says_so(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "state.db"
    with dashboard_on(browser, path, complains=True) as (_story, served, page):
        page.goto(f"{served.address}{WEB}")
        page.evaluate(
            "document.getElementById('act-pause').href = '/act/pause?kind=mwrs&workload=gone'"
        )
        page.click("#act-pause")
        expect(page.locator("h1")).to_have_text("Not found")
