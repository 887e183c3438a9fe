"""Holds the dashboard on a real hub to what the API server allows each person, and to no more."""

import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

import pytest
import yaml
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from rollout.cli.remote import RemoteHub
from rollout.clock import Clock, SystemClock
from rollout.dashboard.answers import Office
from rollout.dashboard.app import application
from rollout.dashboard.observer import Observer
from rollout.dashboard.reviewed import OwnAccess, ReviewedAuthority
from rollout.dashboard.verbs import VERBS
from rollout.hub.base import EmbeddedHub
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.model import names
from rollout.model.kinds import (
    ANALYSIS_TEMPLATE,
    APPROVAL,
    CLUSTER_ANALYSIS_TEMPLATE,
    KINDS,
    REPLICA_SET,
    Ref,
)
from tests.kube.cluster import Cluster
from tests.kube.processes import kubeconfig_of
from tests.kube.setting import PATIENCE, eventually, put
from tests.kube.visitors import ACCOUNT, ensure, install_dashboard, person
from tests.support import make
from tests.support.shapes import run

pytestmark = pytest.mark.kube

WEB = Ref(REPLICA_SET, "default/web")
FORM = {"kind": "mwrs", "namespace": "default", "workload": "web", "reason": "lunch", "shown": "1"}


@dataclass
class Hosted:
    """A dashboard on the server, with the rights of its manifests alone."""

    admin: KubeHub
    app: ASGIApp

    def client(self, token: str = "") -> TestClient:
        """Somebody's browser, logged in where there is a token."""
        client = TestClient(self.app, base_url="https://dashboard.test")
        client.follow_redirects = False
        if token:
            client.post("/login", data={"token": token})
        return client


@pytest.fixture
def hosted(server: Cluster, admin: KubeHub, tmp_path: Path) -> Iterator[Hosted]:
    install_dashboard(admin)
    for obj in (*make.fleet(3), make.workload("web", annotations={names.GATES: "before:0"})):
        ensure(admin, obj)
    config = str(kubeconfig_of(server, admin, ACCOUNT))

    @contextmanager
    def opened() -> Iterator[tuple[EmbeddedHub, Clock]]:
        with closing(RemoteHub(Access(config))) as hub:
            yield hub, SystemClock()

    @contextmanager
    def opened_as(token: str) -> Iterator[EmbeddedHub]:
        with closing(RemoteHub(Access(config, None, token))) as hub:
            yield hub

    with Observer(opened) as observer, opened() as (hub, _):
        authority = ReviewedAuthority(hub, opened_as, SystemClock())
        office = Office(
            observer, authority, "hub", SystemClock(), options="--context hub", secure=True
        )
        yield Hosted(admin, application(office, (), events=hub))


def test_who_may_only_look_sees_everything_and_presses_nothing(hosted: Hosted) -> None:
    viewer = hosted.client(person(hosted.admin, "viewer", "rollout-viewer"))

    eventually("the workload is on the page", lambda: "web" in viewer.get("/").text)
    page = viewer.get("/rollouts/mwrs/default/web").text
    assert "data-act" not in page
    form = viewer.get("/what-if").text
    forgery = form.partition('name="forgery" value="')[2].partition('"')[0]
    for verb in VERBS:
        assert viewer.get(f"/act/{verb}", params=FORM).status_code == 403, verb
        refused = viewer.post(f"/act/{verb}", data={**FORM, "forgery": forgery})
        assert refused.status_code == 403, verb
    for path in ("/clusters", "/placements", "/consents", "/analyses", "/what-if", "/replay"):
        assert viewer.get(path).status_code == 200, path
    assert viewer.get("/rollouts/mwrs/default/web/outlook").status_code == 200
    assert names.PAUSED not in (hosted.admin.get(WEB)["metadata"].get("annotations") or {})


def test_an_operator_pauses_with_the_own_token_and_approves_nothing(hosted: Hosted) -> None:
    token = person(hosted.admin, "operator", "rollout-viewer", "rollout-operator")
    operator = hosted.client(token)
    eventually(
        "the workload is there",
        lambda: "act-pause" in operator.get("/rollouts/mwrs/default/web").text,
    )

    page = operator.get("/act/pause", params=FORM).text
    token_of_form = page.partition('name="forgery" value="')[2].partition('"')[0]
    done = operator.post("/act/pause", data={**FORM, "forgery": token_of_form})

    assert done.status_code == 200, done.text
    notes = hosted.admin.get(WEB)["metadata"]["annotations"]
    assert notes[names.PAUSED] == "true"
    assert "system:serviceaccount:default:operator" in notes[names.ASKED]
    eventually(
        "the page says so", lambda: "Paused" in operator.get("/rollouts/mwrs/default/web").text
    )
    assert operator.get("/act/approve", params={**FORM, "gate": "before:0"}).status_code == 403
    assert hosted.admin.list(APPROVAL).items == ()


@pytest.mark.usefixtures("templates_of_others")
def test_the_dashboard_reads_templates_of_another_tool_that_gates_name(hosted: Hosted) -> None:
    viewer = hosted.client(person(hosted.admin, "viewer", "rollout-viewer"))
    named = {
        "api": (ANALYSIS_TEMPLATE, "theirs"),
        "cron": (CLUSTER_ANALYSIS_TEMPLATE, "everybodys"),
    }
    for obj in (make.placement("fixed", ours=False), make.decision(["c00"], "fixed")):
        ensure(hosted.admin, obj)  # no controller runs that would decide the other placement
    for name, (_, template) in named.items():
        gates = {names.GATES: f"before:0=analysis/{template}"}
        ensure(hosted.admin, make.workload(name, placements=["fixed"], annotations=gates))
    lacking = "there is no RolloutAnalysis or AnalysisTemplate of that name"

    def told(name: str) -> str:
        return viewer.get(f"/rollouts/mwrs/default/{name}").text

    for name in named:
        eventually(f"{name} lacks its template", lambda name=name: lacking in told(name))  # type: ignore[misc]  # a lambda with a default
    metric = {"name": "ok", "provider": {"web": {"url": "https://metrics.test"}}}
    for kind, template in named.values():
        meta = {"name": template, **({"namespace": "default"} if kind.namespaced else {})}
        body = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": meta}
        put(hosted.admin, {**body, "spec": {"metrics": [metric]}})

    for name in named:
        eventually(f"{name} has its template", lambda name=name: lacking not in told(name))  # type: ignore[misc]  # a lambda with a default


def test_a_stranger_sees_nothing_and_a_forged_token_opens_nothing(hosted: Hosted) -> None:
    stranger = hosted.client(person(hosted.admin, "stranger"))
    assert stranger.get("/").status_code == 200
    assert "/rollouts/" not in stranger.get("/").text.partition("<main")[2]
    assert stranger.get("/rollouts/mwrs/default/web").status_code == 403
    assert stranger.get("/clusters").status_code == 403

    for forged in ("forged", "a.b.c", "x" * 5000):
        client = hosted.client()
        assert client.post("/login", data={"token": forged}).status_code == 403
        assert client.get("/").status_code == 303


def test_the_dashboards_own_account_writes_nothing(hosted: Hosted, server: Cluster) -> None:
    config = str(kubeconfig_of(server, hosted.admin, ACCOUNT))
    with closing(RemoteHub(Access(config))) as hub:
        access = OwnAccess(hub, SystemClock())
        assert access.may("list", REPLICA_SET, "")
        for verb in ("create", "update", "patch", "delete"):
            for kind in KINDS.values():
                assert not access.may(verb, kind, "default"), f"{verb} {kind}"


def test_who_may_only_look_can_plan_and_simulate_in_a_terminal(
    hosted: Hosted, server: Cluster, tmp_path: Path
) -> None:
    person(hosted.admin, "viewer", "rollout-viewer")
    config = str(kubeconfig_of(server, hosted.admin, "default/viewer"))
    file = tmp_path / "late.yaml"
    file.write_text(yaml.safe_dump(make.workload("late")))

    planned = run("plan", "-f", str(file), "--kubeconfig", config)
    assert planned.exit_code == 10, planned.output
    assert "ManifestWorkReplicaSet default/late: new" in planned.output
    simulated = run("simulate", "-f", str(file), "--kubeconfig", config)
    assert "3 of 3 clusters touched" in simulated.output, simulated.output


@contextmanager
def _own(config: Path) -> Iterator[tuple[urllib.request.OpenerDirector, str]]:
    """Somebody's own dashboard, on the context of their kubeconfig, as they start it. Gives its address."""
    context = yaml.safe_load(config.read_text())["current-context"]
    words = ["dashboard", "--kubeconfig", str(config), "--context", context, "--by", "ann"]
    process = subprocess.Popen(
        [sys.executable, "-m", "rollout", *words],
        env={k: v for k, v in os.environ.items() if not k.startswith("ROLLOUT_")},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        entrance = process.stdout.readline().split()[-1]
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        with browser.open(entrance, timeout=PATIENCE):
            pass
        yield browser, entrance.partition("/login")[0]
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def test_ones_own_dashboard_on_a_context_has_the_rights_of_that_kubeconfig(
    hosted: Hosted, server: Cluster
) -> None:
    person(hosted.admin, "viewer", "rollout-viewer")
    person(hosted.admin, "operator", "rollout-viewer", "rollout-operator")
    page, form = "/rollouts/mwrs/default/web", urlencode(FORM)

    with _own(kubeconfig_of(server, hosted.admin, "default/viewer")) as (viewer, base):
        seen = viewer.open(base + page, timeout=PATIENCE).read().decode()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            viewer.open(f"{base}/act/pause?{form}", timeout=PATIENCE)
    assert "<h1><bdi>web</bdi></h1>" in seen
    assert "data-act" not in seen

    config = kubeconfig_of(server, hosted.admin, "default/operator")
    with _own(config) as (operator, base):
        confirmed = operator.open(f"{base}/act/pause?{form}", timeout=PATIENCE).read().decode()
        forgery = confirmed.partition('name="forgery" value="')[2].partition('"')[0]
        sent = urlencode({**FORM, "forgery": forgery}).encode()
        pressed = operator.open(f"{base}/act/pause", sent, PATIENCE).read().decode()
    assert f"--kubeconfig {config}" in confirmed
    assert "paused" in pressed
    notes = hosted.admin.get(WEB)["metadata"]["annotations"]
    assert notes[names.PAUSED] == "true"
    assert '"ann"' in notes[names.ASKED]
