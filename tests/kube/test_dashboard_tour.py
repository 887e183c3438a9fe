"""Does every page show, and every button do, what it says, on a real hub? And where the hub is away?

Chromium on `rollout dashboard --listen`, which has the rights of its manifests; whoever presses has the
roles of the examples. An engine and agents run beside it, on real time.
"""

import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from rollout.account.states import Code, state_of
from rollout.hub.kube import KubeHub
from rollout.model.kinds import REPLICA_SET, ROLLOUT_REVISION, Ref
from tests.kube.cluster import Cluster, free_port
from tests.kube.conftest import lacking
from tests.kube.driving import QUICK, Running
from tests.kube.processes import kubeconfig_of, token_of
from tests.kube.proxy import proxied
from tests.kube.setting import PATIENCE, ROOT, eventually, namespace
from tests.kube.visitors import ACCOUNT, ensure, install_dashboard, person
from tests.support import make
from tests.support.dashboards import documents
from tests.ui.conftest import browser
from tests.ui.touring import Tour, ask_what_if, look_at_every_page, press_every_button

pytestmark = [pytest.mark.kube, pytest.mark.usefixtures("chromium")]

__all__ = ["browser"]  # a fixture

NAME = "ann"
ROLES = ("rollout-viewer", "rollout-operator", "rollout-approver", "rollout-freezer")
AGENTS = f"""{QUICK}
  rules:
  - manifests: {{path: data.version, equals: "2"}}
    behaviour: {{outcome: fail}}
"""


@pytest.fixture(scope="session")
def chromium() -> None:
    if shutil.which("chromium") is None:
        lacking("Chromium is not installed: scripts/ui-assets.sh")


@contextmanager
def _dashboard(kubeconfig: Path) -> Iterator[str]:
    """The dashboard in a process of its own. Gives its address."""
    address = f"127.0.0.1:{free_port()}"
    probed = f"127.0.0.1:{free_port()}"
    words = ["dashboard", "--listen", address, "--health-listen", probed]
    words += ["--kubeconfig", str(kubeconfig)]
    process = subprocess.Popen(
        [sys.executable, "-m", "rollout", *words],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("ROLLOUT_")},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert address in process.stdout.readline()
        for name in ("healthz", "readyz"):
            with urllib.request.urlopen(f"http://{probed}/{name}") as answer:
                assert answer.status == 200
        yield f"http://{address}"
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


@contextmanager
def _page(browser: Browser, address: str, token: str) -> Iterator[Page]:
    """A page of somebody who has logged in by typing a token."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    page.goto(address)
    page.fill("#token", token)
    page.click("button")
    expect(page.locator("h1")).to_have_text("Rollouts")
    try:
        yield page
    finally:
        context.close()


@pytest.fixture
def engine(server: Cluster, admin: KubeHub) -> Iterator[Running]:
    """The fleet and the workloads of a bad release, all at rest."""
    install_dashboard(admin)
    for obj in documents(soak="1s"):
        if obj["kind"] == "ManagedCluster":
            namespace(admin, obj["metadata"]["name"])
        ensure(admin, obj)
    running = Running(server.kubeconfig, server.kubeconfig, AGENTS).start()
    try:
        for name, code in (
            ("web", Code.PERSON),
            ("api", Code.FAILED),
            ("cron", Code.DONE),
            ("idle", Code.PERSON),
        ):
            eventually(f"{name} is at rest", lambda n=name, c=code: _code(admin, n) is c)  # type: ignore[misc]  # a lambda with defaults
        spec = make.workload("cron", strategy=make.everywhere(), version="3")["spec"]
        admin.patch(Ref(REPLICA_SET, "default/cron"), {"spec": spec})
        eventually("cron has two revisions", lambda: _revisions(admin) == 2)
        eventually("cron is done again", lambda: _code(admin, "cron") is Code.DONE)
        yield running
    finally:
        running.stop()


def _code(admin: KubeHub, name: str) -> Code:
    return state_of(admin.get(Ref(REPLICA_SET, f"default/{name}"))).code


def _revisions(admin: KubeHub) -> int:
    found = admin.list(ROLLOUT_REVISION).items
    owners = [obj["metadata"]["ownerReferences"][0]["name"] for obj in found]
    return owners.count("cron")


def test_every_page_shows_and_every_button_does_what_it_says(
    browser: Browser, server: Cluster, admin: KubeHub, engine: Running
) -> None:
    token = person(admin, NAME, *ROLES)
    config = kubeconfig_of(server, admin, ACCOUNT)
    with _dashboard(config) as address, _page(browser, address, token) as page:
        name = f"system:serviceaccount:default:{NAME}"
        tour = Tour(page=page, address=address, hub=admin, name=name)
        look_at_every_page(tour)
        ask_what_if(tour)
        press_every_button(tour)


def test_a_page_says_that_the_hub_is_away_and_follows_it_again_when_it_is_back(
    browser: Browser, server: Cluster, admin: KubeHub, tmp_path: Path
) -> None:
    install_dashboard(admin)
    for obj in (*make.fleet(3), make.workload("web")):
        ensure(admin, obj)
    token = person(admin, NAME, *ROLES)
    with proxied(server) as proxy:
        config = proxy.kubeconfig(tmp_path, token_of(admin, ACCOUNT))
        with _dashboard(config) as address, _page(browser, address, token) as page:
            expect(page.locator("a.go")).to_have_text(["web"])
            proxy.shut()
            away = page.locator(".banner.bad[role=status]:visible")
            expect(away).to_contain_text("The hub cannot be read", timeout=PATIENCE * 1000)
            expect(page.locator("a.go")).to_have_text(["web"])
            ensure(admin, make.workload("late"))
            proxy.open()
            expect(away).to_have_count(0, timeout=PATIENCE * 1000)
            expect(page.locator("a.go")).to_have_text(["late", "web"], timeout=PATIENCE * 1000)
