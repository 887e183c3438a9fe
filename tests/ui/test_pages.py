"""Is every page fit to be looked at: by anybody, on a phone, on paper, whatever others wrote?"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from rollout.model import names
from rollout.model.kinds import APPROVAL, CLUSTER_CALENDAR, FREEZE, Kind, Obj
from tests.support import make
from tests.support.dashboards import Served, logging_decisions, serving, story_on
from tests.support.story import Story
from tests.ui import touring
from tests.ui.serving import page_on

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
    "/analyses",
    "/clusters/odd",
    "/what-if?workload=mwrs/default/web",
    "/replay",
    "/replay/mwrs/default/logged?at=14",
    "/act/approve?kind=mwrs&namespace=default&workload=web&gate=before:rest&shown=1",
    "/act/hold?kind=mwrs&namespace=default&workload=web",
    "/nowhere/else",
)
HOSTILE = '<img src=x onerror="window.hacked=1">\u202e\u0007 שלום ' + "y" * 200


CUT_OFF = """[...document.querySelectorAll("main *")]
    .filter((each) => !["TEXTAREA", "INPUT"].includes(each.tagName) && each.scrollHeight > each.clientHeight + 1
        && ["auto", "scroll"].includes(getComputedStyle(each).overflowY))
    .map((each) => each.outerHTML.slice(0, 80))"""
AT_REST = (f"{touring.ONE}api", "/consents", "/clusters/c05", "/placements/default/p")
"""Pages that say something else in the middle of the bad release, or beside what is hostile."""


def hostile() -> list[Obj]:
    """Whatever people may write, in every field that is shown."""
    said = json.dumps({"pause": {"by": HOSTILE, "at": "2026-01-01T00:00:00Z", "reason": HOSTILE}})
    workload = make.workload(
        LONG, annotations={names.PAUSED: "true", names.ASKED: said}, labels={"a": "b"}
    )
    taint = {"key": LONG, "value": LONG, "effect": "NoSelect"}
    odd = make.cluster("odd", taints=[taint])
    odd["status"]["clusterClaims"] = [{"name": HOSTILE, "value": HOSTILE}]
    who = {"actor": HOSTILE, "reason": HOSTILE}
    decided = {"decision": "Reject", "gate": "*", "revision": "0" * 16, **who}
    noon = {"name": "noon", "action": "Deny", "schedule": "0 12 * * *", "duration": "1h"}
    windows = [{**noon, "reason": HOSTILE}]
    return [
        workload,
        odd,
        owned(APPROVAL, "no", {"workload": {"name": "nobody"}, **decided}, "default"),
        owned(FREEZE, "over", {"until": "2026-01-01T00:00:01Z", **who}),
        owned(CLUSTER_CALENDAR, "noon", {"timeZone": "Europe/Berlin", "windows": windows}),
    ]


def owned(kind: Kind, name: str, spec: Obj, namespace: str = "") -> Obj:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": make.meta(name, namespace),
        "spec": spec,
    }


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Story, Served]]:
    path = tmp_path_factory.mktemp("hub") / "state.db"
    log = path.with_name("decisions")
    with story_on(path.with_name("logged.db")) as logged:
        logging_decisions(logged, log)
    with (
        story_on(path, *hostile()) as story,
        serving(path, story.clock, decision_log=log) as served,
    ):
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
        if page.locator("#fleet").count():
            expect(page.locator("#fleet canvas")).to_have_attribute("style", re.compile("height"))
        over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if over > 0:
            wide[address] = over
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
            if address not in AT_REST:
                expect(page.locator("body")).to_contain_text(said)
            expect(page.locator("h1").first).to_be_visible()


def test_on_paper_there_are_no_buttons_and_nothing_is_cut_off(
    page: Page, served: tuple[Story, Served]
) -> None:
    page.emulate_media(media="print")
    for address in PAGES:
        page.goto(served[1].address + address)
        expect(page.locator(".top nav")).to_be_hidden()
        expect(page.locator("h1").first).to_be_visible()
        cut = page.evaluate(CUT_OFF)
        assert cut == [], address

    page.goto(f"{served[1].address}/rollouts/mwrs/default/web")
    expect(page.locator(".actions")).to_be_hidden()
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
