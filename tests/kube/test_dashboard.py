"""Does the dashboard on a real hub show and do what the API server allows each person, and no more?"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from starlette.applications import Starlette
from starlette.testclient import TestClient

from rollout.cli.remote import RemoteHub
from rollout.clock import Clock, SystemClock
from rollout.dashboard.answers import Office
from rollout.dashboard.app import application
from rollout.dashboard.observer import Observer
from rollout.dashboard.reviewed import OwnAccess, ReviewedAuthority
from rollout.errors import AlreadyExists
from rollout.hub.base import EmbeddedHub
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.model import names
from rollout.model.kinds import APPROVAL, KINDS, REPLICA_SET, Obj, Ref, key_of, ref_of
from tests.kube.cluster import Cluster
from tests.kube.processes import SYSTEM, kind_of, kubeconfig_of, token_of
from tests.kube.setting import ROOT, eventually
from tests.support import make
from tests.unit.project.test_manifests import documents

pytestmark = pytest.mark.kube

ACCOUNT = f"{SYSTEM}/rollout-dashboard"
WEB = Ref(REPLICA_SET, "default/web")
FORM = {"kind": "mwrs", "namespace": "default", "workload": "web", "reason": "lunch", "shown": "1"}


@dataclass
class Hosted:
    """A dashboard on the server, with the rights of its manifests alone."""

    admin: KubeHub
    app: Starlette

    def client(self, token: str = "") -> TestClient:
        """Somebody's browser, logged in where there is a token."""
        client = TestClient(self.app, base_url="https://dashboard.test")
        client.follow_redirects = False
        if token:
            client.post("/login", data={"token": token})
        return client


def _person(admin: KubeHub, person: str, *roles: str) -> str:
    """A service account with roles of the examples. Returns: its token."""
    _create(
        admin,
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"namespace": "default", "name": person},
        },
    )
    for role in roles:
        _bind(admin, person, role)
    return token_of(admin, f"default/{person}")


def _bind(admin: KubeHub, person: str, role: str) -> None:
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{person}-{role}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": person}],
    }
    _create(admin, binding)


def _create(admin: KubeHub, obj: Obj) -> None:
    kind, meta = KINDS.get(obj["kind"]) or kind_of(obj), obj["metadata"]
    ref = Ref(kind, key_of(meta.get("namespace", ""), meta["name"]))
    stored = admin.create(ref, {k: v for k, v in obj.items() if k != "status"})
    if obj.get("status") and kind.has_status:
        admin.patch_status(ref_of(kind, stored), {"status": obj["status"]})


@pytest.fixture
def hosted(server: Cluster, admin: KubeHub, tmp_path: Path) -> Iterator[Hosted]:
    for folder in (
        "base/namespace.yaml",
        "components/dashboard/serviceaccount.yaml",
        "components/dashboard/rbac.yaml",
    ):
        for obj in documents(ROOT / "manifests" / folder):
            _ensure(admin, obj)
    for obj in yaml.safe_load_all((ROOT / "examples" / "operate" / "roles.yaml").read_text()):
        if obj["kind"] == "ClusterRole":
            _ensure(admin, obj)
    for obj in (*make.fleet(3), make.workload("web", annotations={names.GATES: "before:0"})):
        _ensure(admin, obj)
    config = str(kubeconfig_of(server, admin, ACCOUNT))

    @contextmanager
    def opened() -> Iterator[tuple[EmbeddedHub, Clock]]:
        with closing(RemoteHub(Access(config))) as hub:
            yield hub, SystemClock()

    @contextmanager
    def opened_as(token: str) -> Iterator[EmbeddedHub]:
        with closing(RemoteHub(Access(config, None, token))) as hub:
            yield hub

    observer = Observer(opened).start()
    with opened() as (hub, _):
        authority = ReviewedAuthority(hub, opened_as, SystemClock())
        office = Office(observer, authority, "hub", SystemClock(), "--context hub")
        try:
            yield Hosted(admin, application(office, (), secure=True))
        finally:
            observer.close()


def _ensure(admin: KubeHub, obj: Obj) -> None:
    try:
        _create(admin, obj)
    except AlreadyExists:
        return


def test_who_may_only_look_sees_everything_and_presses_nothing(hosted: Hosted) -> None:
    viewer = hosted.client(_person(hosted.admin, "viewer", "rollout-viewer"))

    eventually("the workload is on the page", lambda: "web" in viewer.get("/").text)
    page = viewer.get("/rollouts/mwrs/default/web").text
    assert "data-act" not in page
    assert viewer.get("/act/pause", params=FORM).status_code == 403
    refused = viewer.post("/act/pause", data={**FORM, "forgery": "x"})
    assert refused.status_code == 403
    assert names.PAUSED not in (hosted.admin.get(WEB)["metadata"].get("annotations") or {})


def test_an_operator_pauses_with_the_own_token_and_approves_nothing(hosted: Hosted) -> None:
    token = _person(hosted.admin, "operator", "rollout-viewer", "rollout-operator")
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


def test_a_stranger_sees_nothing_and_a_forged_token_opens_nothing(hosted: Hosted) -> None:
    stranger = hosted.client(_person(hosted.admin, "stranger"))
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
