"""``python -m tests.ui.screenshots FOLDER``: every page, light and dark, wide and 320 pixels, to be looked at.

Pages of two hubs: that of a bad release among others, and the night of docs/operating.md, where a metric
cannot be measured.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from rollout import operate
from rollout.model import names
from rollout.model.kinds import REPLICA_SET, Ref
from rollout.operate import Who
from tests.stories.operating import freeze
from tests.support import make
from tests.support.dashboards import CANARIES, logging_decisions, process_on, serving, story_on
from tests.support.story import HOUR, MIN, Story
from tests.ui.conftest import ARGUMENTS
from tests.ui.looks import LONG, odd
from tests.ui.serving import NIGHT, ROOT, rollout

PAGES = {
    "rollouts": "/",
    "nothing": "/?q=nothing-matches",
    "rollout": "/rollouts/mwrs/default/web",
    "slow": "/rollouts/mwrs/default/slow",
    "failed": "/rollouts/mwrs/default/api",
    "long": f"/rollouts/mwrs/default/{LONG}",
    "yaml": "/rollouts/mwrs/default/web/yaml",
    "clusters": "/clusters",
    "cluster": "/clusters/c05",
    "odd": "/clusters/odd",
    "placements": "/placements",
    "placement": "/placements/default/p",
    "consents": "/consents",
    "analyses": "/analyses",
    "what-if": "/what-if?workload=mwrs/default/web",
    "answered": "/what-if?workload=mwrs/default/slow",
    "replays": "/replay",
    "replay": "/replay/mwrs/default/logged?at=14",
    "approve": "/act/approve?kind=mwrs&namespace=default&workload=web&gate=before:rest&shown=1",
    "hold": "/act/hold?kind=mwrs&namespace=default&workload=web",
    "dialog": "/rollouts/mwrs/default/slow",
    "not-found": "/rollouts/mwrs/default/nobody",
    "login": "/login",
}
NIGHT_PAGES = {
    "night-rollouts": "/",
    "night-rollout": "/rollouts/mwrs/default/shop",
    "night-revision": "/rollouts/mwrs/default/shop/revisions/2",
    "night-cluster": "/clusters/shop-berlin",
    "night-consents": "/consents",
    "night-analyses": "/analyses",
    "night-analysis": "/analyses",
}
WIDTHS = (1360, 320)
SHOWN = ("rollouts", "replay", "night-rollout")
"""What docs/dashboard.md shows: the upper part, light and wide."""
PICTURES = ROOT / "docs" / "pictures"


def _ask(page: Page) -> None:
    page.fill("#failing", "20")
    page.click("#ask")
    page.wait_for_selector(".foreseen .chart")


def _press(page: Page) -> None:
    page.click("#act-abort")
    page.wait_for_selector("dialog[open] .effect")


def _draw(page: Page) -> None:
    page.wait_for_timeout(300)


def _foreseen(page: Page) -> None:
    expect(page.locator("#course .u-legend")).to_contain_text("p90", timeout=60_000)


def _failed(page: Page) -> None:
    page.click("tr.s-failed a.go")
    page.wait_for_selector(".foreseen")


FIRST: Mapping[str, Callable[[Page], object]] = {
    "answered": _ask,
    "dialog": _press,
    "night-analysis": _failed,
    "slow": _foreseen,
}
"""What is done on a page before it is looked at."""


def _consent(story: Story, ref: Ref) -> None:
    """Approve the gate of a workload, and let it past all calendars."""
    ben = Who("ben", story.clock.now(), "the shop is down without it")
    operate.approve(story.hub, ref, ben)
    operate.override_calendars(story.hub, ref, ben.at + 2 * HOUR, ben)


@contextmanager
def _bad_release(folder: Path) -> Iterator[str]:
    """Gives the address that lets one in."""
    log = folder / "decisions"
    with story_on(folder / "logged.db") as other:
        logging_decisions(other, log)
    stop = freeze("weekend", reason="nobody is here", until="2026-01-01T00:01:00Z")
    gated = {names.GATES: "before:rest"}
    soon = make.workload("slow", strategy=CANARIES, version="3", annotations=gated)
    path = folder / "state.db"
    with story_on(path, stop, *odd(), after=1200) as story:
        story.add(soon)
        _consent(story.settle(), Ref(REPLICA_SET, "default/slow"))
        story.on(3 * MIN)
        with serving(path, story.clock, decision_log=log) as served:
            yield served.entrance


@contextmanager
def _night(folder: Path) -> Iterator[str]:
    """Gives the address that lets one in."""
    state = folder / "night.db"
    rollout(state, "run", "-f", str(NIGHT), "--clock", "virtual")
    for release, span in (("shop-2", "55m"), ("shop-3", "7h10m")):
        rollout(state, "apply", "-f", str(NIGHT / "releases" / f"{release}.yaml"))
        rollout(state, "run", "--clock", "virtual", "--for", span)
    with process_on(state) as entrance:
        yield entrance


def _take(browser: Browser, entrance: str, pages: Mapping[str, str], folder: Path) -> None:
    address = entrance.partition("/login")[0]
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto(entrance)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 860})
            for name, where in pages.items():
                page.goto(address + where)
                FIRST.get(name, _draw)(page)
                if name in SHOWN and (scheme, width) == ("light", WIDTHS[0]):
                    page.screenshot(path=PICTURES / f"dashboard-{name}.png")
                whole = name != "dialog"
                page.screenshot(path=folder / f"{name}-{scheme}-{width}.png", full_page=whole)
        context.close()


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        play = stack.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        _take(browser, stack.enter_context(_bad_release(place)), PAGES, folder)
        _take(browser, stack.enter_context(_night(place)), NIGHT_PAGES, folder)
    print(f"{(len(PAGES) + len(NIGHT_PAGES)) * 4} screenshots in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
