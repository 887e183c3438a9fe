"""Holds every page to being fit to be looked at: by anybody, on a phone, on paper, whatever others wrote."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.dashboards import Served, logging_decisions, serving, story_on
from tests.support.hostile import spoil
from tests.support.story import Story
from tests.ui import touring
from tests.ui.looks import LOOKS, PAGES, odd
from tests.ui.serving import page_on

pytestmark = pytest.mark.ui

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
AXE = CACHE / "rollout-ui" / "node_modules" / "axe-core" / "axe.min.js"
CUT_OFF = """[...document.querySelectorAll("main *")]
    .filter((each) => !["TEXTAREA", "INPUT"].includes(each.tagName) && each.scrollHeight > each.clientHeight + 1
        && ["auto", "scroll"].includes(getComputedStyle(each).overflowY))
    .map((each) => each.outerHTML.slice(0, 80))"""
WIDER = """Math.max(document.documentElement.scrollWidth - innerWidth,
    ...[...document.querySelectorAll("dialog[open]")].map((each) => each.scrollWidth - each.clientWidth))"""
UNDER_ITS_TITLE = """[...document.querySelectorAll(".list tbody td")].filter((each) => {
    const words = document.createRange();
    words.selectNodeContents(each);
    const left = each.getBoundingClientRect().left + 80;
    return getComputedStyle(each).display === "grid"
        && [...words.getClientRects()].some((box) => box.width > 0 && box.left < left);
}).map((each) => each.outerHTML.slice(0, 80))"""
NOT_AT_REST = (f"{touring.ONE}api", "/placements/default/p")
"""Pages that say something else in the middle of the bad release, or with one cluster more."""


@contextmanager
def _served(folder: Path, after: int, *, spoilt: bool) -> Iterator[tuple[Story, Served]]:
    """A dashboard so many seconds after the begin of a bad release."""
    path, log = folder / "state.db", folder / "decisions"
    with story_on(folder / "logged.db") as logged:
        logging_decisions(logged, log)
    with story_on(path, *odd(), after=after) as story:
        if spoilt:
            spoil(path, story.clock)
        with serving(path, story.clock, decision_log=log) as served:
            yield story, served


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Story, Served]]:
    with _served(tmp_path_factory.mktemp("hub"), 120, spoilt=False) as found:
        yield found


MOMENTS = {"in the middle of the bad release": 20, "at rest": 1200}


@pytest.fixture(scope="module", params=list(MOMENTS.values()), ids=list(MOMENTS))
def looked_at(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Served]:
    """A hub on which everybody has said something hostile."""
    with _served(tmp_path_factory.mktemp("hub"), request.param, spoilt=True) as (_, served):
        yield served


@pytest.fixture
def page(browser: Browser, served: tuple[Story, Served]) -> Iterator[Page]:
    with page_on(browser, served[1], complains=True) as page:
        yield page


def _looks(page: Page, served: Served) -> Iterator[str]:
    """Everything that there is to be looked at, one after the other."""
    for name, look in LOOKS.items():
        look(page, served.address)
        page.wait_for_load_state("load")
        yield name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(
    browser: Browser, looked_at: Served, scheme: str
) -> None:
    found: list[str] = []
    options: dict[str, Any] = {"color_scheme": scheme, "bypass_csp": True}
    with page_on(browser, looked_at, complains=True, **options) as page:
        for name in _looks(page, looked_at):
            page.add_script_tag(path=AXE)
            result = page.evaluate("axe.run({resultTypes: ['violations']})")
            found += [
                f"{name}: {each['id']}: {each['nodes'][0]['target']} {each['nodes'][0]['failureSummary']}"
                for each in result["violations"]
                if each["impact"] in ("serious", "critical")
            ]
    assert found == []


@pytest.mark.parametrize("width", [320, 768, 1360])
def test_no_page_is_wider_than_the_window_and_each_word_stands_beside_its_title(
    browser: Browser, looked_at: Served, width: int
) -> None:
    wide = {}
    size: Any = {"width": width, "height": 700}
    with page_on(browser, looked_at, complains=True, viewport=size) as page:
        for name in _looks(page, looked_at):
            if page.locator("#fleet").count():
                expect(page.locator("#fleet canvas")).to_have_attribute(
                    "style", re.compile("height")
                )
            over = page.evaluate(WIDER)
            if over > 0:
                wide[name] = over
            if under := page.evaluate(UNDER_ITS_TITLE):
                wide[name] = under
    assert wide == {}


def test_the_week_of_a_calendar_is_seen_whole_on_a_phone(
    page: Page, served: tuple[Story, Served]
) -> None:
    page.set_viewport_size({"width": 320, "height": 700})
    page.goto(f"{served[1].address}/consents")

    shown = page.locator(".week svg:visible")
    expect(shown).to_have_count(1)
    assert page.locator(".week").evaluate("week => week.scrollWidth - week.clientWidth") <= 0


def test_without_script_every_page_says_what_it_is_about(
    browser: Browser, served: tuple[Story, Served]
) -> None:
    with page_on(browser, served[1], complains=True, java_script_enabled=False) as page:
        for address, said in touring.PAGES.items():
            page.goto(served[1].address + address)
            if address not in NOT_AT_REST:
                expect(page.locator("body")).to_contain_text(said)
            expect(page.locator("h1").first).to_be_visible()


def test_on_paper_there_are_no_buttons_and_nothing_is_cut_off(
    browser: Browser, looked_at: Served
) -> None:
    cut = {}
    with page_on(browser, looked_at, complains=True) as page:
        for name in _looks(page, looked_at):
            page.emulate_media(media="print")
            for hidden in (".top nav", ".actions", "form.filter", "dialog"):
                for each in page.locator(hidden).all():
                    expect(each).to_be_hidden()
            expect(page.locator("h1").first).to_be_visible()
            cut[name] = page.evaluate(CUT_OFF)
            page.emulate_media(media="screen")
        page.goto(f"{looked_at.address}{touring.ONE}web")
        assert page.pdf()[:5] == b"%PDF-"
    assert {name: each for name, each in cut.items() if each} == {}


def test_what_others_wrote_is_text_on_every_page(browser: Browser, looked_at: Served) -> None:
    with page_on(browser, looked_at, complains=True) as page:
        for name in _looks(page, looked_at):
            assert page.evaluate("window.hacked") is None, name
            assert page.locator("img").count() == 0, name
            assert "\u202e" not in page.content(), name


def test_banners_say_what_is_wrong_and_are_fit_to_be_looked_at(
    browser: Browser, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"bypass_csp": True, "viewport": {"width": 320, "height": 700}}
    with (
        _served(tmp_path, 1200, spoilt=True) as (_, served),
        page_on(browser, served, complains=True, **options) as page,
    ):
        expect(page.locator(".banner.hold")).to_contain_text("The hub is frozen by")
        for each in tmp_path.glob("state.db*"):
            with each.open("r+b") as file:
                file.write(b"this is not a state file " * 4000)
        expect(page.locator(".banner.bad:visible")).to_contain_text("The hub cannot be read: ")
        assert page.evaluate(WIDER) <= 0
        page.add_script_tag(path=AXE)
        result = page.evaluate("axe.run({resultTypes: ['violations']})")
        assert [
            v["id"] for v in result["violations"] if v["impact"] in ("serious", "critical")
        ] == []


def test_the_map_says_which_cluster_is_where_and_leads_to_it(
    page: Page, served: tuple[Story, Served]
) -> None:
    page.goto(f"{served[1].address}/rollouts/mwrs/default/web")
    canvas = page.locator("#fleet canvas")
    expect(canvas).to_have_attribute("style", "height: 88px;")

    canvas.hover(position={"x": 4, "y": 26})
    expect(page.locator("#tip")).to_have_text("c00: soaked")
    canvas.click(position={"x": 4, "y": 26})
    expect(page.locator("h1")).to_have_text("c00")


def test_every_page_is_reached_by_keyboard_and_shows_where_one_is(
    page: Page, served: tuple[Story, Served]
) -> None:
    for address in ("/", "/clusters", "/placements", "/consents"):
        page.goto(served[1].address + address)
        page.keyboard.press("Tab")
        expect(page.locator(".skip")).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"


def test_no_page_asks_anything_of_anybody_else(page: Page, served: tuple[Story, Served]) -> None:
    asked: set[str] = set()
    page.on("request", lambda request: asked.add(request.url))
    for address in PAGES:
        page.goto(served[1].address + address)
        page.wait_for_load_state("load")

    assert {url for url in asked if not url.startswith(served[1].address)} == set()
