"""Holds every table of the dashboard to how it is filtered, sorted and paged."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rollout.hub.base import StateKey
from rollout.model.kinds import (
    APPROVAL,
    CALENDAR,
    FREEZE,
    REPLICA_SET,
    ROLLOUT_ANALYSIS_RUN,
    Kind,
    Obj,
    Ref,
)
from rollout.model.ownership import owned_by
from tests.support import make
from tests.support.dashboards import browsing, logging_decisions, story_on

WEB = "/rollouts/mwrs/default/web"
MANY = 60
CLUSTERS = [
    each
    for each in make.fleet(40, canary=2)
    if each["kind"] == "ManagedCluster" and each["metadata"]["name"] > "c11"
]
"""So many that a rollout's page has more than one page of them."""


def _object(kind: Kind, name: str, spec: Obj, **more: Obj) -> Obj:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": make.meta(name, "default" if kind.namespaced else ""),
        "spec": spec,
        **more,
    }


def _documents() -> Iterator[Obj]:
    yield make.cluster("odd", taints=[{"key": "drained", "effect": "NoSelect"}], available="False")
    night = {"name": "night", "action": "Allow", "schedule": "0 22 * * *", "duration": "6h"}
    for n in range(MANY):
        yield make.placement(f"q{n:02}", only={"ring": "canary"} if n == 7 else {"ring": "none"})
        said = {"reason": f"r{n:02}", "actor": f"Person-{n:02}", "decision": "Approve"}
        about = {"workload": {"name": "web"}, "revision": "0" * 16, "gate": "*"}
        yield _object(APPROVAL, f"a{n:02}", {**about, **said})
        ended = {"until": f"2026-01-01T00:00:{n % 60:02}Z", "reason": "x"}
        yield _object(FREEZE, f"f{n:02}", ended)
        yield _object(CALENDAR, f"cal{n:02}", {"timeZone": "UTC", "windows": [night]})


def _runs(web: Obj) -> Iterator[Obj]:
    """Analyses of web that have ended, as their own measurements say."""
    for n in range(MANY):
        at = f"2026-01-01T00:00:{n % 60:02}Z"
        phase = "Failed" if n == 3 else "Successful"
        measured = {"phase": phase, "value": "1", "startedAt": at, "finishedAt": at}
        result = {"phase": phase, "startedAt": at, "finishedAt": at,
                  "metrics": [{"name": "m", "phase": phase, "measurements": [measured]}]}  # fmt: skip
        metric = {"name": "m", "provider": {"web": {"url": "http://x"}}, "successCondition": "true"}
        asked = {"workload": {"kind": "ManifestWorkReplicaSet", "name": "web"}, "revision": "r",
                 "template": f"Analysis-{n:02}", "metrics": [metric], "placement": "p",
                 "attempt": "1"}  # fmt: skip
        run = _object(ROLLOUT_ANALYSIS_RUN, f"run{n:02}", asked, status=result)
        owner = owned_by(Ref(REPLICA_SET, "default/web"), web["metadata"]["uid"])
        run["metadata"]["ownerReferences"] = [owner]
        yield run


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    path = tmp_path_factory.mktemp("hub") / "state.db"
    log = path.with_name("decisions")
    with story_on(path.with_name("logged.db"), *CLUSTERS) as logged:
        logging_decisions(logged, log)
    with story_on(path, *_documents(), *CLUSTERS) as story:
        told = [
            [
                f"2026-01-01T00:00:{n % 60:02}Z",
                "ManifestWorkReplicaSet",
                "default/web",
                f"Event{n}",
                "x",
            ]
            for n in range(MANY)
        ]
        for run in _runs(story.mwrs()):
            story.add(run)
        forged = _object(ROLLOUT_ANALYSIS_RUN, "forged", {**run["spec"], "template": "forged"})
        story.add({**forged, "status": run["status"]})
        story.hub.put_state(StateKey.TOLD, json.dumps(told).encode())
        with browsing(path, story.clock, decision_log=log) as client:
            yield client


def _rows(client: TestClient, address: str, pattern: str) -> list[str]:
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    return re.findall(pattern, answer.text)


CLUSTER = r'class="go" id="c-([\w-]+)"'
PLACEMENT = r'class="go" id="p-default-(\w+)"'
FREEZES = r'data-title="Freeze"><bdi>(f\d\d)<'
BY = r'data-title="By"><bdi>Person-(\d\d)<'
RUN = r'id="run-default/run(\d\d)"'
EVENT = r"<b>Event(\d+)</b>"


@pytest.mark.parametrize(
    ("address", "pattern", "first"),
    [
        pytest.param("/?sort=name", r'id="w-\w+-default-(\w+)"', ["api", "cron"], id="rollouts"),
        pytest.param("/?sort=-name", r'id="w-\w+-default-(\w+)"', ["web", "idle"], id="turned"),
        pytest.param("/clusters?sort=cluster", CLUSTER, ["c00", "c01"], id="clusters"),
        pytest.param("/clusters?sort=-cluster", CLUSTER, ["odd", "c39"], id="clusters turned"),
        pytest.param("/clusters?sort=-available", CLUSTER, ["odd"], id="not available first"),
        pytest.param("/clusters?q=ODD", CLUSTER, ["odd"], id="clusters, whatever their case"),
        pytest.param("/placements?sort=-clusters", PLACEMENT, ["p", "q07"], id="placements"),
        pytest.param("/placements?q=Q59", PLACEMENT, ["q59"], id="a placement"),
        pytest.param("/placements/default/p?sort=-cluster", CLUSTER, ["odd", "c39"], id="candidates"),
        pytest.param("/placements/default/p?sort=-verdict", CLUSTER, ["odd"], id="refused first"),
        pytest.param("/placements/default/p?q=odd", CLUSTER, ["odd"], id="a candidate"),
        pytest.param(f"{WEB}?sort=-cluster", CLUSTER, ["c39", "c38"], id="members"),
        pytest.param(f"{WEB}?sort=stage", CLUSTER, ["c00", "c01"], id="members by stage"),
        pytest.param(f"{WEB}?cluster=C05", CLUSTER, ["c05"], id="a member, whatever its case"),
        pytest.param(f"{WEB}?page=2&sort=cluster", CLUSTER, ["c25"], id="the next members"),
        pytest.param(f"{WEB}?page=99&sort=cluster", CLUSTER, ["c25"], id="the last members"),
        pytest.param("/analyses?sort=-begun", RUN, ["00", "01"], id="analyses, oldest first"),
        pytest.param("/analyses?sort=begun", RUN, ["59", "58"], id="analyses, newest first"),
        pytest.param("/analyses?q=analysis-07", RUN, ["07"], id="an analysis"),
        pytest.param("/analyses?q=failed", RUN, ["03"], id="by verdict"),
        pytest.param("/consents?approvals-sort=-by", BY, ["59", "58"], id="approvals"),
        pytest.param("/consents?approvals-q=person-08", BY, ["08"], id="an approval"),
        pytest.param("/consents?freezes-page=2", FREEZES, ["f50"], id="freezes"),
        pytest.param("/consents?freezes-sort=-until", FREEZES, ["f59"], id="freezes by their end"),
        pytest.param("/consents?calendars-page=6", r"<h3><bdi>default/(\w+)<", ["cal50"], id="calendars"),
        pytest.param(f"{WEB}?timeline-page=2", EVENT, ["9", "8"], id="timeline"),
        pytest.param("/replay/mwrs/default/logged?page=2&sort=cluster", r"<bdi>(c\d\d)</bdi></th>", ["c25"], id="replay"),
        pytest.param("/replay/mwrs/default/logged?q=C3", r"<bdi>(c\d\d)</bdi></th>", ["c30"], id="replayed"),
    ],
)  # fmt: skip
def test_a_table_is_filtered_sorted_and_paged_by_the_server(
    client: TestClient, address: str, pattern: str, first: list[str]
) -> None:
    assert _rows(client, address, pattern)[: len(first)] == first


@pytest.mark.parametrize(
    ("address", "column", "order", "turns_to"),
    [
        ("/", "sort-state", "ascending", "?sort=-state"),
        ("/?sort=-failed", "sort-failed", "descending", "?sort=failed"),
        ("/?sort=age", "sort-age", "ascending", "?sort=-age"),
        ("/clusters?sort=-cluster", "sort-cluster", "descending", "?sort=cluster"),
        ("/consents?approvals-sort=by", "approvals-sort-by", "ascending", "?approvals-sort=-by"),
        (f"{WEB}?sort=phase", "sort-phase", "ascending", "?sort=-phase"),
        (f"{WEB}?revisions-sort=-number", "revisions-sort-number", "descending", "?revisions-sort=number"),
    ],
)  # fmt: skip
def test_the_head_says_how_a_table_is_sorted_and_turns_that_round(
    client: TestClient, address: str, column: str, order: str, turns_to: str
) -> None:
    heads = re.findall(
        r'aria-sort="(\w+)"><a id="([\w-]+)" href="([^"]+)"', client.get(address).text
    )

    assert (order, column, turns_to) in heads


def test_a_column_of_which_the_most_is_wanted_first_falls_first(client: TestClient) -> None:
    assert 'id="sort-failed" href="?sort=-failed"' in client.get("/").text
    assert 'id="sort-clusters" href="?sort=-clusters"' in client.get("/placements").text


def test_the_pages_of_two_tables_do_not_get_in_each_others_way(client: TestClient) -> None:
    page = client.get("/consents?approvals-page=2&freezes-page=2").text

    assert (
        'id="freezes-before" rel="prev" href="?approvals-page=2&amp;freezes-page=1#freezes"' in page
    )
    assert re.findall(BY, page) == [f"{n}" for n in range(50, MANY)]


def test_a_rollout_shows_the_newest_of_its_analyses_and_leads_to_all_of_them(
    client: TestClient,
) -> None:
    page = client.get(WEB).text

    assert re.findall(RUN, page) == [f"{n}" for n in range(59, 49, -1)]
    assert 'And 50 more: <a id="all-analyses" href="/analyses?q=default/web">' in page


def test_a_run_that_its_workload_does_not_own_is_on_no_page(client: TestClient) -> None:
    assert _rows(client, "/analyses?q=forged", 'id="run-') == []
    assert "forged" not in client.get(WEB).text
    assert client.get("/analyses/default/forged").status_code == 404


def test_decisions_stand_in_the_timeline_and_lead_to_their_replay(
    tmp_path: Path, client: TestClient
) -> None:
    path, log = tmp_path / "state.db", tmp_path / "decisions"
    with story_on(path) as story:
        logging_decisions(story, log)
        with browsing(path, story.clock, decision_log=log) as logged:
            pages = [
                logged.get(f"/rollouts/mwrs/default/logged?timeline-page={n}").text for n in (1, 2)
            ]
    timeline = "".join(
        page.partition('id="timeline"')[2].partition("<h2>Conditions")[0] for page in pages
    )

    assert 'href="/replay/mwrs/default/logged?at=0">decision 1</a>' in timeline
    assert "touch c00, c01" in timeline
    assert "--decision-log" not in timeline


def test_a_page_without_decisions_says_how_to_get_them(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with story_on(path) as story, browsing(path, story.clock) as client:
        assert "<code>--decision-log FILE</code>" in client.get(WEB).text
