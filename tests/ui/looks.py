"""Everything that can be looked at in a browser: each page, and what stands on one after a press."""

from collections.abc import Callable, Mapping
from functools import partial

from playwright.sync_api import Page, expect

from tests.support.hostile import RUN
from tests.ui.touring import ONE

LONG = "x" * 63
"""The longest name that there is."""
PAGES = (
    "/",
    "/?q=nothing-matches",
    f"{ONE}web",
    f"{ONE}api",
    f"{ONE}{LONG}",
    f"{ONE}web/yaml",
    f"{ONE}web/revisions/1",
    "/clusters",
    "/clusters/c00",
    "/clusters/odd",
    "/placements",
    "/placements/default/p",
    "/consents",
    "/analyses",
    RUN,
    "/what-if?workload=mwrs/default/web",
    "/replay",
    "/replay/mwrs/default/logged?at=14",
    "/act/approve?kind=mwrs&namespace=default&workload=web&gate=before:rest&shown=1",
    "/act/hold?kind=mwrs&namespace=default&workload=web",
    "/login",
    "/login?token=wrong",
    "/nowhere/else",
)


def _menu(page: Page, base: str) -> None:
    page.goto(f"{base}{ONE}web")
    page.wait_for_load_state("load")
    page.click("#more-actions")


def _dialog(page: Page, base: str) -> None:
    page.goto(f"{base}{ONE}web")
    page.wait_for_load_state("load")
    page.click("#act-pause")
    expect(page.locator("dialog[open]")).to_contain_text("What it will do")


def _refused(page: Page, base: str) -> None:
    page.goto(f"{base}{ONE}web")
    page.wait_for_load_state("load")
    page.click("#more-actions")
    page.click("#act-undo")
    page.click("dialog button.main")
    expect(page.locator("dialog .fault")).to_be_visible()


def _answered(page: Page, base: str) -> None:
    page.goto(f"{base}/what-if?workload=mwrs/default/web")
    page.fill("#runs", "3")
    page.fill("#failing", "30")
    page.click("#ask")
    expect(page.locator("main")).to_contain_text("3 runs")
    expect(page.locator(".foreseen").first).to_be_visible()


def _go(path: str, page: Page, base: str) -> None:
    page.goto(base + path)


LOOKS: Mapping[str, Callable[[Page, str], None]] = {
    **{path: partial(_go, path) for path in PAGES},
    "the menu": _menu,
    "a dialog": _dialog,
    "a refusal": _refused,
    "an answer": _answered,
}
"""What is looked at, and how one gets there."""
