"""Can the day and the night of docs/operating.md be gone through in the browser alone, by keyboard alone?

Git applies the releases and an engine runs, as on that page; all that a person asks and does is done here.
"""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.dashboards import process_on
from tests.ui.serving import NIGHT, PATIENCE, ROOT, rollout

pytestmark = pytest.mark.ui

RELEASES = ROOT / "examples" / "operate"
MOST_TABS = 150


def _reach(page: Page, name: str) -> None:
    """Tab until the element with this id has the focus."""
    for _ in range(MOST_TABS):
        if page.evaluate("document.activeElement.id") == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{name} cannot be reached by Tab")


def _press(page: Page, name: str) -> None:
    _reach(page, name)
    page.keyboard.press("Enter")


def _follow(page: Page, word: str) -> None:
    """Open a page of the navigation."""
    for _ in range(MOST_TABS):
        if page.evaluate("document.activeElement.textContent.trim()") == word:
            page.keyboard.press("Enter")
            expect(page.locator(".top nav a[aria-current]")).to_have_text(word)
            expect(page.locator(".tools h1")).to_be_visible()  # none is on the page before
            page.wait_for_load_state("load")
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{word} cannot be reached by Tab")


def _find(page: Page, name: str) -> None:
    """Filter the list that is open, and open its only row."""
    page.keyboard.press("/")
    page.keyboard.type(name)
    expect(page.locator("a.go")).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(name)
    page.wait_for_load_state("load")  # before its script has run, a button is a link to a page


def _open(page: Page, row: Locator, title: str) -> None:
    """Go down the list to this row, and open it."""
    expect(row).to_have_count(1)
    for _ in range(MOST_TABS):
        if row.evaluate("row => row === document.activeElement"):
            page.keyboard.press("Enter")
            expect(page.locator(".head h1")).to_have_text(title)
            page.wait_for_load_state("load")
            return
        page.keyboard.press("j")
    raise AssertionError(f"the row of {title} cannot be reached by j")


def _act(page: Page, button: str, reason: str, said: str) -> None:
    """Press a button, say why, and close what it says."""
    page.wait_for_load_state("load")  # before its script has run, a button is a link to a page
    _press(page, button)
    dialog = page.locator("dialog[open]")
    expect(dialog).to_contain_text("What it will do")
    _reach(page, "f-reason")
    page.keyboard.type(reason)
    page.keyboard.press("Enter")
    expect(dialog.locator(".told")).to_contain_text(said)
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)


def test_the_day_of_the_operating_page_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    state = tmp_path / "day.db"
    bad, good = (RELEASES / f"storefront-1.5.{n}.yaml" for n in (0, 1))
    agents = ("--agents", str(RELEASES / "agents.yaml"))
    rollout(state, "run", "-f", "examples/canary", *agents, "--clock", "virtual")
    with process_on(state) as entrance:
        context = browser.new_context()
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        page.goto(entrance)

        # What would it do?
        _find(page, "storefront")
        _press(page, "what-if")
        expect(page.locator("h1")).to_have_text("What if")
        _reach(page, "a")
        page.keyboard.insert_text(bad.read_text())
        _reach(page, "runs")
        page.keyboard.press("Control+A")
        page.keyboard.type("3")
        _press(page, "ask")
        expect(page.locator("main")).to_contain_text("10 clusters written to right away")
        expect(page.locator("main")).to_contain_text("gate before:rest")

        # It fails wherever it is started: why, where, and what becomes of it?
        rollout(state, "apply", "-f", str(bad))
        rollout(state, "run", "--clock", "virtual", "--for", "3m")
        _follow(page, "Rollouts")
        _find(page, "storefront")
        expect(page.locator(".head .state")).to_contain_text("RollingBack")
        expect(page.locator(".summary")).to_contain_text("7 failing")
        _follow(page, "Clusters")
        _find(page, "prod-us-west-10")
        expect(page.locator("main")).to_contain_text("its turn comes to go back")
        rollout(state, "run", "--clock", "virtual")
        _follow(page, "Rollouts")
        _find(page, "storefront")
        expect(page.locator(".head .state")).to_contain_text("RolledBack")
        expect(page.locator("main")).to_contain_text("barred")
        _press(page, "diff-2")
        expect(page.locator(".diff .plus").first).to_contain_text("+")

        # The fix: she looks for herself, lets it go on, approves, and sees it done.
        rollout(state, "apply", "-f", str(good))
        rollout(state, "run", "--clock", "virtual", "--for", "4m")
        _press(page, "crumb")
        expect(page.locator(".summary")).to_contain_text("10")
        _act(page, "act-pause", "looking at the dashboards", "paused")
        rollout(state, "run", "--clock", "virtual")
        expect(page.locator(".head .state")).to_contain_text("Paused")
        expect(page.locator(".lead")).to_contain_text("by ann (unverified)")
        _act(page, "act-resume", "it looks well", "resumed")
        rollout(state, "run", "--clock", "virtual")
        expect(page.locator(".head .state")).to_contain_text("ApprovalNeeded")
        _act(page, "approve-the-rest-before:rest", "canaries look well", "is approved")
        rollout(state, "run", "--clock", "virtual")
        expect(page.locator(".head .state")).to_contain_text("done")
        expect(page.locator(".timeline")).to_contain_text("RolloutCompleted")
        context.close()


def test_the_night_of_the_operating_page_by_keyboard_alone(
    browser: Browser, tmp_path: Path
) -> None:
    state = tmp_path / "night.db"
    rollout(state, "run", "-f", str(NIGHT), "--clock", "virtual")
    with process_on(state) as entrance:
        context = browser.new_context()
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        page.goto(entrance)

        # Every agent says that all is well: who found out, by what, and who was told?
        rollout(state, "apply", "-f", str(NIGHT / "releases" / "shop-2.yaml"))
        rollout(state, "run", "--clock", "virtual", "--for", "55m")
        _find(page, "shop")
        expect(page.locator(".head .state")).to_contain_text("RolledBack")
        expect(page.locator(".timeline")).to_contain_text("canary-3 (AnalysisFailed) failed")
        expect(page.locator("#channels + .wide")).to_contain_text("team")
        _follow(page, "Analyses")
        failed = page.locator("tr", has_text="canary-3").filter(has_text="Failed")
        _open(page, failed.locator("a.go"), "in-time")
        expect(page.locator(".head .state").first).to_contain_text("Failed")
        expect(page.locator("main")).to_contain_text("failure: ")
        expect(page.locator(".mini")).to_contain_text("Failed")
        expect(page.locator(".chart")).to_have_count(0)  # one measurement is no curve

        # The fix waits for the night of each region; in Berlin's nobody can measure.
        rollout(state, "apply", "-f", str(NIGHT / "releases" / "shop-3.yaml"))
        rollout(state, "run", "--clock", "virtual", "--for", "7h10m")
        _follow(page, "Consents")
        expect(page.locator(".share h3")).to_contain_text("nights")
        expect(page.locator(".share")).to_contain_text("Europe/Berlin · open")
        expect(page.locator(".share")).to_contain_text("02:00 America/Los_Angeles (10:00Z)")
        expect(page.locator(".week").first).to_be_visible()
        _follow(page, "Clusters")
        _find(page, "shop-berlin")
        expect(page.locator("main")).to_contain_text("MetricUnreachable")
        expect(page.locator("main")).to_contain_text("the provider of the metric answers again")
        expect(page.locator(".share > .button")).to_have_text("Approve")
        _follow(page, "Rollouts")
        _find(page, "shop")
        expect(page.locator(".summary")).to_contain_text("MetricUnreachable of shop-berlin")
        expect(page.locator(".timeline")).to_contain_text("02:00 Europe/Berlin (01:00Z)")
        rollout(state, "run", "--clock", "virtual")
        expect(page.locator(".head .state")).to_contain_text("done")
        expect(page.locator(".timeline")).to_contain_text("RolloutCompleted")
        context.close()
