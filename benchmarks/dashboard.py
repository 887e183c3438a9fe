"""Measures how quick and how large the dashboard is with 1,000 workloads on 10,000 clusters, in a browser.

A rollout of 10,000 clusters is followed beside, while it goes on: how soon its page follows each step, and
how long the page blocks meanwhile.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.figures import Figure
from rollout.clock import VirtualClock
from rollout.dashboard.app import FILES
from rollout.hub.admission import admit
from rollout.hub.memory import MemoryHub
from rollout.hub.sqlite import SqliteHub
from rollout.model import names
from rollout.model.kinds import REPLICA_SET, Obj, Ref
from tests.support import make
from tests.support.story import MIN, SEC, T0, Story
from tests.ui.conftest import ARGUMENTS

WORKLOADS, CLUSTERS = 1_000, 10_000
STEPS, STEP = 3, 11 * MIN
"""So often, and for so long each, the large rollout goes on: a quarter of its clusters soaks for ten minutes."""
TOKEN = "benchmark"
LONGEST = """() => { window.longest = 0; new PerformanceObserver((list) => {
  for (const each of list.getEntries()) window.longest = Math.max(window.longest, each.duration);
}).observe({ type: "longtask", buffered: true }); }"""
PERSONS = ".chips a[href*=person] b"


def run() -> Iterator[Figure]:
    yield Figure("dashboard.script_and_style", _kilobytes(), "KB", 50.0)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        path = shutil.which("chromium")
        assert path, "Chromium is not installed: scripts/ui-assets.sh"
        browser = play.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield from _many(Path(folder) / "many.db", browser)
        yield from _large(Path(folder) / "large.db", browser)


def _kilobytes() -> float:
    """What the page of a rollout loads, as it goes over the wire."""
    return (
        sum(len(file.zipped) for name, file in FILES.items() if name.endswith(("js", "css"))) / 1024
    )


def _many(path: Path, browser: Browser) -> Iterator[Figure]:
    clusters = [make.cluster(f"c{n:05d}", {"part": str(n % WORKLOADS)}) for n in range(CLUSTERS)]
    documents: list[Obj] = [*clusters, make.cluster_set(), make.binding()]
    strategy = make.progressive(maxConcurrency="25%", minSuccessTime="10m")
    for n in range(WORKLOADS):
        documents.append(make.placement(f"p{n}", only={"part": str(n)}))
        documents.append(make.workload(f"web-{n:03d}", placements=(f"p{n}",), strategy=strategy))
    with _story(path, documents, 60) as story, _served(path) as (address, process, took):
        yield Figure("dashboard.first_view_of_1000", took, "s")
        with _page(browser, address) as page:
            yield Figure("dashboard.first_paint_of_1000", _paint(page), "ms", 300.0)
            wanted = str(int(page.locator(PERSONS).inner_text()) + 1)
            began = time.perf_counter()
            _pause(story, "default/web-500")
            page.wait_for_function(
                f"(n) => document.querySelector('{PERSONS}').innerText == n", arg=wanted
            )
            yield Figure("dashboard.update_of_1000", time.perf_counter() - began, "s", 1.0)
            yield Figure("dashboard.memory", _megabytes(process, "VmRSS"), "MB", 250.0)
            began = time.perf_counter()
            page.goto(f"{address}/act/pause?kind=mwrs&namespace=default&workload=web-700&shown=1")
            page.wait_for_selector(".effect")
            yield Figure("dashboard.confirmation_of_1000", time.perf_counter() - began, "s", 8.0)
        yield Figure("dashboard.memory_at_most", _megabytes(process, "VmHWM"), "MB", 250.0)


def _large(path: Path, browser: Browser) -> Iterator[Figure]:
    strategy = make.progressive(maxConcurrency="25%", minSuccessTime="10m")
    documents = [*make.fleet(CLUSTERS), make.workload(strategy=strategy)]
    with (
        _story(path, documents, 5) as story,
        _served(path) as (address, _, _),
        _page(browser, address) as page,
    ):
        page.goto(f"{address}/rollouts/mwrs/default/web")
        page.wait_for_selector("#fleet canvas[style]")
        page.evaluate(LONGEST)
        began = time.perf_counter()
        _pause(story, "default/web")
        page.wait_for_selector(".state.s-person")
        yield Figure("dashboard.update_of_10k_clusters", time.perf_counter() - began, "s", 1.0)
        page.wait_for_timeout(2_000)
        _patch(story, "default/web", {names.PAUSED: None})
        followed = [_follow(story, page) for _ in range(STEPS)]
        yield Figure("dashboard.followed_of_10k_clusters", max(followed), "s", 2.0)
        page.wait_for_timeout(2_000)
        yield Figure("dashboard.page_blocked", float(page.evaluate("longest")), "ms", 100.0)


def _follow(story: Story, page: Page) -> float:
    """Have the rollout go on for a while. Returns: how soon the page says so."""
    shown = page.locator(".summary .line b")
    before = shown.inner_text()
    story.on(STEP)
    began = time.perf_counter()
    page.wait_for_function(
        "(before) => document.querySelector('.summary .line b').innerText != before", arg=before
    )
    return time.perf_counter() - began


@contextmanager
def _story(path: Path, documents: list[Obj], after: int) -> Iterator[Story]:
    clock = VirtualClock(T0)
    with closing(SqliteHub(path, clock, admit=admit)) as file:
        hub = cast("MemoryHub", file)  # a story uses what both have
        with file.batch():
            story = Story(documents, hub=hub, clock=clock)
        story.to(after * SEC)
        yield story
        story.engine.stop()


def _pause(story: Story, key: str) -> None:
    _patch(story, key, {names.PAUSED: "true"})


def _patch(story: Story, key: str, notes: dict[str, str | None]) -> None:
    story.hub.patch(Ref(REPLICA_SET, key), {"metadata": {"annotations": notes}})
    story.settle()


@contextmanager
def _served(path: Path) -> Iterator[tuple[str, "subprocess.Popen[str]", float]]:
    """A dashboard in a process of its own. Gives its address, and how long it took to answer."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "rollout", "dashboard", "--state", str(path)],
        env={**os.environ, "ROLLOUT_DASHBOARD_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1].partition("/login")[0]
        yield address, process, time.perf_counter() - began
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def _page(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(f"{address}/login?token={TOKEN}")
    yield page
    context.close()


def _paint(page: Page) -> float:
    """The first contentful paint of the list, in a browser that has seen it; median of five."""
    entry = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    found: list[float] = []
    for _ in range(5):
        page.reload()
        page.wait_for_function(f"() => {entry.replace('[0].startTime', '.length')}")
        found.append(float(page.evaluate(entry)))
    return sorted(found)[2]


def _megabytes(process: "subprocess.Popen[str]", what: str) -> float:
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(text.partition(f"{what}:")[2].split()[0]) / 1024
