"""One walk over every page and every button of the dashboard, whatever hub is behind it.

The hub has the workloads of `tests.support.dashboards.documents`, all at rest: ``web`` waits at its gate,
``api`` has failed, ``cron`` is done with its second revision, ``idle`` is paused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as NotInTime

from rollout.dashboard.verbs import VERBS
from rollout.hub.base import Hub
from rollout.model import names
from rollout.model.intents import read_asked
from rollout.model.kinds import APPROVAL, FREEZE, REPLICA_SET, Obj, Ref
from tests.ui.serving import PATIENCE

REASON = "whoever walks here wants to know"
TRIES = 8
ONE = "/rollouts/mwrs/default/"
PAGES: Mapping[str, str] = {
    "/": "web",
    "/?q=nothing-matches": "Nothing matches",
    f"{ONE}web": "shut, nobody has approved it",
    f"{ONE}api": "MaxFailuresExceeded",
    f"{ONE}web/yaml": "kind: ManifestWorkReplicaSet",
    f"{ONE}web/revisions/1": "revision 1",
    "/clusters": "c11",
    "/clusters/c05": "default/web",
    "/placements": "default",
    "/placements/default/p": "12 clusters selected of 12 candidates",
    "/consents": "Nobody has frozen the hub",
    "/analyses": "Nothing is measured yet",
    "/what-if?workload=mwrs/default/web": "Nothing asked yet",
    "/replay": "Replay",
    "/act/approve?kind=mwrs&namespace=default&workload=web&gate=before:rest&shown=1": "Why",
    "/act/hold?kind=mwrs&namespace=default&workload=web": "Show what it will do",
    "/nowhere/else": "there is no page /nowhere/else",
}
"""Every page, and something that stands on it."""


@dataclass(frozen=True, kw_only=True)
class Tour:
    """Somebody called ``name`` who is logged in, and the hub as whoever looks after it sees it.

    ``settle`` has an engine do what it would do by itself in a while.
    """

    page: Page
    address: str
    hub: Hub
    name: str
    settle: Callable[[], object] = lambda: None

    def go(self, where: str) -> None:
        self.page.goto(self.address + where)
        self.page.wait_for_load_state("load")  # before its script has run, a button is a link

    def notes(self, workload: str) -> dict[str, str]:
        meta = self.hub.get(Ref(REPLICA_SET, f"default/{workload}"))["metadata"]
        return dict(meta.get("annotations") or {})

    def approvals(self, workload: str) -> list[Obj]:
        found = [obj["spec"] for obj in self.hub.list(APPROVAL).items]
        return [spec for spec in found if spec["workload"]["name"] == workload]


Holds = Callable[[Tour], Any]


@dataclass(frozen=True, kw_only=True)
class Press:
    """A verb that is pressed on a page, what is filled in, and what is true of the hub afterwards.

    ``shows`` is what the page says once it has followed; ``on`` is the workload, "" for the hub.
    """

    verb: str
    on: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    holds: Holds
    shows: str = ""
    button: str = ""

    @property
    def where(self) -> str:
        return f"{ONE}{self.on}" if self.on else "/consents"


def _noted(name: str, begins: str, workload: str = "web") -> Holds:
    return lambda tour: tour.notes(workload).get(name, "?").startswith(begins)


def _unnoted(name: str, workload: str = "web") -> Holds:
    return lambda tour: name not in tour.notes(workload)


def _decided(decision: str, workload: str) -> Holds:
    return lambda tour: (
        [(spec["decision"], spec["actor"], spec["reason"]) for spec in tour.approvals(workload)]
        == [(decision, tour.name, REASON)]
    )


def _freezes(tour: Tour) -> list[Obj]:
    return [obj["spec"] for obj in tour.hub.list(FREEZE).items]


PRESSES = (
    Press(verb="pause", on="web", holds=_noted(names.PAUSED, "true"), shows="Paused"),
    Press(verb="resume", on="web", holds=_unnoted(names.PAUSED), shows="ApprovalNeeded"),
    Press(
        verb="hold", on="web", fields={"clusters": "c05, c06"}, holds=_noted(names.HOLD, "c05,c06")
    ),
    Press(verb="release", on="web", holds=_unnoted(names.HOLD)),
    Press(verb="skip", on="web", fields={"clusters": "c07"}, holds=_noted(names.SKIP, "c07@")),
    Press(verb="unskip", on="web", holds=_unnoted(names.SKIP)),
    Press(
        verb="override",
        on="web",
        fields={"until": "1h"},
        holds=_noted(names.OVERRIDE_CALENDARS, "20"),
    ),
    Press(
        verb="approve",
        on="web",
        button=".gate a[data-act]",
        holds=_decided("Approve", "web"),
        shows="open, approved by",
    ),
    Press(verb="abort", on="idle", holds=lambda tour: tour.notes("idle").get(names.ABORT)),
    Press(verb="retry", on="idle", holds=_unnoted(names.ABORT, "idle")),
    Press(verb="reject", on="idle", holds=_decided("Reject", "idle")),
    Press(
        verb="undo", on="cron", holds=lambda tour: tour.notes("cron").get(names.UNDO), shows="Roll"
    ),
    Press(
        verb="freeze",
        fields={"until": "2h"},
        holds=lambda tour: [spec["reason"] for spec in _freezes(tour)] == [REASON],
        shows="frozen by",
    ),
    Press(verb="unfreeze", holds=lambda tour: len(_freezes(tour)) == 1, shows="ended"),
)
"""Every verb, each once and in an order in which each of them can be asked for."""


def look_at_every_page(tour: Tour) -> None:
    """Open each page, and find on it what it is about."""
    for where, said in PAGES.items():
        tour.go(where)
        expect(tour.page.locator("h1").first).to_be_visible()
        expect(tour.page.locator("body")).to_contain_text(said)


def ask_what_if(tour: Tour) -> None:
    """Have a workload foreseen as it stands."""
    tour.go("/what-if?workload=mwrs/default/web")
    tour.page.fill("#runs", "5")
    tour.page.click("#ask")
    expect(tour.page.locator("main")).to_contain_text("5 runs")
    expect(tour.page.locator("main")).to_contain_text("Chance of halting")


def press_every_button(tour: Tour) -> None:
    """Press the button of each verb, with a reason, and look at the hub after each."""
    assert {each.verb for each in PRESSES} == set(VERBS)
    for each in PRESSES:
        tour.go(each.where)
        _press(tour, each)
        assert each.holds(tour), each.verb
        if each.on and each.verb not in ("approve", "reject"):
            said = read_asked(tour.notes(each.on)).values()
            assert (tour.name, REASON) in {(word.by, word.reason) for word in said}, each.verb
        tour.settle()
        expect(tour.page.locator("main")).to_contain_text(each.shows)


def _press(tour: Tour, each: Press) -> None:
    dialog = _opened(tour.page, tour.page.locator(each.button or f"#act-{each.verb}"))
    if VERBS[each.verb].asks and not each.button:
        for name, value in each.fields.items():
            dialog.locator(f"#f-{name}").fill(value)
        dialog.locator("button.main").click()
    expect(dialog).to_contain_text("What it will do")
    dialog.locator("details.same summary").click()
    expect(dialog).to_contain_text("rollout ")
    expect(dialog).to_contain_text("kubectl ")
    dialog.locator("#f-reason").fill(REASON)
    dialog.locator("button.main").click()
    expect(dialog.locator(".told")).to_contain_text("✔")
    dialog.locator("a[data-close]").click()
    expect(dialog).to_have_count(0)


def _opened(page: Page, button: Locator) -> Locator:
    """The dialog of a button, which may stand in the menu."""
    dialog = page.locator("dialog[open]")
    expect(button).to_be_attached()
    for _ in range(TRIES):
        if not button.is_visible():
            page.locator("details.more summary").click()
        try:
            button.click(timeout=1000 * PATIENCE / TRIES)
        except NotInTime:  # a page that follows the hub has moved it into the menu meanwhile
            continue
        break
    expect(dialog).to_be_visible()
    return dialog
