"""Everything that can be looked at in a browser: each page, and what stands on one after a press."""

from collections.abc import Callable, Mapping
from functools import partial

from playwright.sync_api import Page, expect

from rollout.model import names
from rollout.model.intents import AskedBy, asked_text
from rollout.model.kinds import CLUSTER_CALENDAR, CLUSTER_VALUES, Kind, Obj
from tests.support import make
from tests.support.hostile import RUN
from tests.support.story import T0
from tests.ui.touring import ONE

LONG = "x" * 63
"""The longest name that there is."""


def odd() -> list[Obj]:
    """What has long names and many words: a workload past all calendars with values, a cluster, a calendar."""
    taint = {"key": LONG, "value": LONG, "effect": "NoSelect"}
    noon = {"name": "noon", "action": "Deny", "schedule": "0 12 * * *", "duration": "1h"}
    week = {"timeZone": "Europe/Berlin", "windows": [{**noon, "reason": "lunch"}]}
    said = asked_text({"override": AskedBy("ben", T0, "the shop is down")}, ["override"])
    asked = {
        names.PAUSED: "true",
        names.OVERRIDE_CALENDARS: "2026-01-01T12:00:00Z",
        names.ASKED: said,
    }
    long = {"target": {"kind": "ConfigMap"}, "path": f"/data/{LONG}", "literal": LONG * 3}
    rules = {"workload": {"name": LONG}, "rules": [{"set": [long]}]}
    return [
        make.workload(LONG, annotations=asked, labels={"a": "b"}),
        make.cluster("odd", taints=[taint]),
        _own(CLUSTER_CALENDAR, make.meta("noon", ""), week),
        _own(CLUSTER_VALUES, {"name": LONG, "namespace": "default"}, rules),
    ]


def _own(kind: Kind, meta: Obj, spec: Obj) -> Obj:
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": meta, "spec": spec}


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
