"""Does every view of a server say so where no controller leads, and only there?"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web

from rollout.clock import SystemClock
from rollout.hub.memory import MemoryHub
from rollout.model.instants import rfc3339, rfc3339_micro
from rollout.model.kinds import KINDS, LEASE, Obj, ref_of
from rollout.model.names import PROFILE_LABEL
from tests.kube.facade import Facade, serving
from tests.support.shapes import binding, cluster, cluster_set, placement, run, workload

VIEWS = ["status web", "list", "get mwrs", "get web -o tree", "explain web", "describe web"]


def lease(holder: str, renewed: datetime) -> Obj:
    """What a controller leaves on a server, as of the last time that it renewed it."""
    return {
        "apiVersion": LEASE.api_version,
        "kind": "Lease",
        "metadata": {
            "name": "rollout-controller",
            "namespace": "rollout-system",
            "labels": {PROFILE_LABEL: "strict"},
        },
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": 15,
            "renewTime": rfc3339_micro(renewed),
        },
    }


def put(facade: Facade, *objects: Obj) -> None:
    def create(hub: MemoryHub) -> None:
        for obj in objects:
            hub.create(ref_of(KINDS[obj["kind"]], obj), obj)

    facade.do(create)


@pytest.fixture
def facade() -> Iterator[Facade]:
    with serving() as found:
        put(found, cluster_set(), binding(), cluster("c1"), placement(), workload())
        yield found


def shown(facade: Facade, folder: Path, line: str) -> str:
    """All that a command prints, as one line."""
    found = run(*line.split(), "--kubeconfig", str(facade.kubeconfig(folder)))
    assert "web" in found.stdout, found.output
    return " ".join((found.stdout + found.stderr).split())


@pytest.mark.parametrize("line", VIEWS)
@pytest.mark.parametrize("holder", ["pod-1", ""], ids=["dead", "let go"])
def test_a_view_says_since_when_no_controller_leads(
    facade: Facade, tmp_path: Path, line: str, holder: str
) -> None:
    renewed = SystemClock().now() - timedelta(minutes=5)
    put(facade, lease(holder, renewed))

    words = shown(facade, tmp_path, line)

    assert f"runs here since {rfc3339(renewed)} (5m" in words
    assert "nothing moves until one starts" in words


@pytest.mark.parametrize("line", VIEWS)
def test_a_view_says_nothing_of_it_where_one_leads_and_the_clocks_differ_a_little(
    facade: Facade, tmp_path: Path, line: str
) -> None:
    put(facade, lease("pod-1", SystemClock().now() - timedelta(seconds=20)))

    assert "runs here" not in shown(facade, tmp_path, line)


async def _no_leases(request: web.Request) -> web.StreamResponse | None:
    """Refuses lists of Leases, and no other."""
    return web.json_response({"code": 403}, status=403) if "leases" in request.path else None


@pytest.mark.parametrize("line", VIEWS)
def test_a_view_answers_where_leases_may_not_be_read(
    facade: Facade, tmp_path: Path, line: str
) -> None:
    put(facade, lease("pod-1", SystemClock().now() - timedelta(minutes=5)))
    facade.script("list", *[_no_leases] * 100)

    assert "runs here" not in shown(facade, tmp_path, line)
