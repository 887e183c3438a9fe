"""Is every page fit to be looked at: by anybody, on a phone, on paper, whatever others wrote?"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from rollout.model import names
from tests.support import make
from tests.support.dashboards import story_on
from tests.support.story import Story
from tests.ui.serving import Served, page_on, serving

pytestmark = pytest.mark.ui

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
AXE = CACHE / "rollout-ui" / "node_modules" / "axe-core" / "axe.min.js"
LONG = "x" * 63
PAGES = (
    "/",
    "/?q=nothing-matches",
    "/rollouts/mwrs/default/web",
    "/rollouts/mwrs/default/api",
    f"/rollouts/mwrs/default/{LONG}",
    "/rollouts/mwrs/default/web/yaml",
    "/clusters",
    "/clusters/c05",
    "/placements",
    "/placements/default/p",
    "/consents",
    "/act/approve?kind=mwrs&namespace=default&workload=web&gate=before:rest&shown=1",
    "/act/hold?kind=mwrs&namespace=default&workload=web",
    "/nowhere/else",
)
HOSTILE = '<img src=x onerror="window.hacked=1">\u202e\u0007 שלום ' + "y" * 200


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Story, Served]]:
    path = tmp_path_factory.mktemp("hub") / "state.db"
    said = json.dumps({"pause": {"by": HOSTILE, "at": "2026-01-01T00:00:00Z", "reason": HOSTILE}})
    hostile = make.workload(
        LONG, annotations={names.PAUSED: "true", names.ASKED: said}, labels={"a": "b"}
    )
    with story_on(path, hostile) as story, serving(path, story.clock) as served:
        yield story, served


@pytest.fixture
def page(browser: Browser, served: tuple[Story, Served]) -> Iterator[Page]:
    with page_on(browser, served[1], complains=True) as page:
        yield page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(
    browser: Browser, served: tuple[Story, Served], scheme: str
) -> None:
    found: list[str] = []
    options = {"color_scheme": scheme, "bypass_csp": True}
    with page_on(browser, served[1], complains=True, **options) as page:
        for address in PAGES[:-1]:
            page.goto(served[1].address + address)
            page.add_script_tag(path=AXE)
            result = page.evaluate("axe.run({resultTypes: ['violations']})")
            found += [
                f"{address}: {each['id']}: {each['nodes'][0]['target']} {each['nodes'][0]['failureSummary']}"
                for each in result["violations"]
                if each["impact"] in ("serious", "critical")
            ]
    assert found == []


@pytest.mark.parametrize("width", [320, 768, 1360])
def test_no_page_is_wider_than_the_window(
    page: Page, served: tuple[Story, Served], width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    wide = {}
    for address in PAGES:
        page.goto(served[1].address + address)
        over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if over > 0:
            wide[address] = over
    assert wide == {}


def test_on_paper_there_are_no_buttons_and_nothing_is_cut_off(
    page: Page, served: tuple[Story, Served]
) -> None:
    page.goto(f"{served[1].address}/rollouts/mwrs/default/web")
    page.emulate_media(media="print")

    expect(page.locator(".actions")).to_be_hidden()
    expect(page.locator(".top nav")).to_be_hidden()
    expect(page.locator("h1")).to_be_visible()
    assert page.pdf()[:5] == b"%PDF-"


def test_what_others_wrote_is_text_on_every_page(page: Page, served: tuple[Story, Served]) -> None:
    for address in PAGES:
        page.goto(served[1].address + address)
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0
        assert "\u202e" not in page.content()


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
