"""Holds the pages of clusters, placements and consents to what they show, and to whom."""

import re
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest
from starlette.testclient import TestClient

from rollout import dashboard
from rollout.account.roster import LOOKED_FOR
from rollout.clock import VirtualClock
from rollout.dashboard import fleet_pages
from rollout.hub.admission import admit
from rollout.hub.memory import MemoryHub
from rollout.hub.sqlite import SqliteHub
from rollout.model import names
from rollout.model.kinds import APPROVAL, MANAGED_CLUSTER, Kind, Obj
from rollout.strategies.base import Phase
from tests.stories.operating import freeze
from tests.support import make
from tests.support.dashboards import browsing, story_on
from tests.support.story import MIN, T0, Story

CALENDAR: Obj = {
    "apiVersion": "rollout-engine.io/v1alpha1",
    "kind": "ClusterCalendar",
    "metadata": {"name": "nights"},
    "spec": {
        "timeZone": "Europe/Berlin",
        "windows": [
            {
                "name": "night",
                "action": "Allow",
                "schedule": "0 22 * * *",
                "duration": "6h",
            }
        ],
    },
}


def test_a_cluster_says_what_it_has_of_every_workload_and_why_it_waits(client: TestClient) -> None:
    page = client.get("/clusters/c05").text

    assert "✔ available" in page
    for workload in ("web", "api", "cron", "idle"):
        assert f"default/{workload}" in page
    assert "placement p" in page
    assert "ring=rest" in page


def test_clusters_are_found_by_name_and_label(client: TestClient) -> None:
    assert client.get("/clusters?q=c03").text.count('class="go"') == 1
    assert client.get("/clusters?labels=ring%3Dcanary").text.count('class="go"') == 2
    assert 'class="fault"' in client.get("/clusters?labels=%3D%3D").text


def test_a_placement_says_who_is_selected_and_how_the_scores_came_about(
    client: TestClient,
) -> None:
    assert "/placements/default/p" in client.get("/placements").text
    page = client.get("/placements/default/p").text

    assert "12 clusters selected of 12 candidates" in page
    assert "canary #0" in page
    assert page.count("✔ selected") == 12
    assert "default/web" in page


def test_placements_and_approvals_are_paged_and_placements_found_by_name(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    placements = [make.placement(f"q{n:02}") for n in range(60)]
    approvals = [
        {
            "apiVersion": APPROVAL.api_version,
            "kind": APPROVAL.name,
            "metadata": {"name": f"a{n:02}", "namespace": "default"},
            "spec": {"workload": {"name": "web"}, "revision": "0" * 16, "gate": "*", "reason": f"r{n:02}",
                     "decision": "Approve"},
        }
        for n in range(60)
    ]  # fmt: skip
    with story_on(path, *placements, *approvals) as story, browsing(path, story.clock) as client:
        first, last, one, none, given, rest = (
            client.get(where).text
            for where in (
                "/placements",
                "/placements?page=2",
                "/placements?q=q07",
                "/placements?q=nobody",
                "/consents",
                "/consents?approvals-page=2",
            )
        )

    assert [page.count('class="go"') for page in (first, last, one, none)] == [50, 11, 1, 0]
    assert "Nothing matches" in none
    assert [len(re.findall(r">r\d\d<", page)) for page in (given, rest)] == [50, 10]


def test_what_a_link_is_called_by_goes_with_what_it_leads_to(client: TestClient) -> None:
    asked = {
        "/clusters/c05": 'id="w-mwrs/default/web"',
        "/consents": 'id="w-ManifestWorkReplicaSet-default/idle"',
        "/rollouts/mwrs/default/web": 'id="approve-the-rest-before:rest"',
    }

    assert [page for page, name in asked.items() if name not in client.get(page).text] == []


def test_a_page_of_placements_asks_for_each_namespace_once_who_may_see_its_workloads(
    tmp_path: Path,
) -> None:
    path, asked = tmp_path / "state.db", Counter[tuple[str, str, str]]()

    def may(verb: str, kind: Kind, namespace: str) -> bool:
        asked[verb, kind.name, namespace] += 1
        return True

    more = [make.placement(f"q{n:02}") for n in range(40)]
    with story_on(path, *more) as story, browsing(path, story.clock, may=may) as client:
        asked.clear()
        page = client.get("/placements").text

    assert ">web</bdi></a>" in page
    assert asked["list", "ManifestWorkReplicaSet", "default"] == 1


def test_who_is_filtered_out_is_told_with_the_filter(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    tainted = make.cluster("bad", taints=[{"key": "broken", "effect": "NoSelect"}])
    with story_on(path, tainted) as story, browsing(path, story.clock) as client:
        page = client.get("/placements/default/p").text

    assert "Filtered out" in page
    assert "broken" in page


def test_the_list_says_of_a_workload_that_it_is_past_all_calendars(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with story_on(path) as story:
        story.annotate(names.OVERRIDE_CALENDARS, "2026-01-01T02:00:00Z")
        story.on(MIN)
        with browsing(path, story.clock) as client:
            page = client.get("/").text

    until = '<span class="at">2026-01-01T02:00:00Z</span>'  # which stays on one line
    assert page.count(f"<small><span>past all calendars until {until}</span></small>") == 1


def test_calendars_freezes_and_what_waits_for_a_person_are_on_one_page(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    stop = freeze("stop", reason="outage", actor="ben")
    over = freeze("over", until="2026-01-01T00:01:00Z")
    with story_on(path, CALENDAR, stop, over) as story, browsing(path, story.clock) as client:
        page = client.get("/consents").text
        first = client.get("/").text

    assert "nights" in page
    assert "Europe/Berlin" in page
    assert "<svg" in page.partition("Calendars</h2>")[2]
    assert "‖ the hub is frozen" in page
    assert "2026-01-01T00:01:00Z (60s ago)" in page
    assert "End the freeze" in page
    assert "default/idle" in page.partition("Freezes</h2>")[0]
    assert "frozen by ben (unverified): outage" in first


def of_clusters(name: str, expression: str) -> Obj:
    clusters = {"celSelector": {"celExpressions": [expression]}}
    spec = {**CALENDAR["spec"], "clusters": clusters}
    return {**CALENDAR, "metadata": {"name": name}, "spec": spec}


def test_a_cluster_names_the_calendars_that_decide_about_it_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    other = of_clusters("of-another-one", "managedCluster.metadata.name == 'c04'")
    unread = of_clusters("unread", "managedCluster.")
    with story_on(path, CALENDAR, other, unread) as story, browsing(path, story.clock) as client:
        cluster = client.get("/clusters/c05").text
        consents = client.get("/consents").text

    listed = _plain(cluster).partition("<dt>Calendars</dt>")[2].partition("</dd>")[0]
    assert "<bdi>nights</bdi>: Europe/Berlin" in listed
    assert "of-another-one" not in listed
    never = "closed, Misconfigured: it could never be read, so all clusters are closed"
    assert f"<bdi>unread</bdi>: all zones {never}" in listed
    assert never in consents


@pytest.mark.parametrize("page", ["/clusters/nobody", "/placements/default/none"])
def test_what_is_not_there_is_said_not_to_be_there(client: TestClient, page: str) -> None:
    assert client.get(page).status_code == 404


def _no_clusters(verb: str, kind: Kind, namespace: str) -> bool:
    return kind is not MANAGED_CLUSTER


def test_who_may_not_see_clusters_has_no_page_and_no_link_of_them(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with story_on(path) as story, browsing(path, story.clock, may=_no_clusters) as client:
        assert client.get("/clusters").status_code == 403
        assert client.get("/clusters/c05").status_code == 403
        assert "/clusters" not in client.get("/").text
        assert 'href="/clusters' not in client.get("/rollouts/mwrs/default/web").text


def test_the_map_has_a_byte_a_cluster_and_names_them_once(client: TestClient) -> None:
    first = client.get("/rollouts/mwrs/default/web/pictures").json()
    again = client.get(f"/rollouts/mwrs/default/web/pictures?layout={first['layout']}").json()

    assert [stage["title"] for stage in first["stages"]] == ["canary #0", "the rest"]
    assert [len(stage["clusters"]) for stage in first["stages"]] == [2, 10]
    assert all("clusters" not in stage for stage in again["stages"])
    assert first["course"]["members"] == 12
    assert sum(each["counts"][-1] for each in first["course"]["phases"]) == 12


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        pytest.param("?phase=soaked", ["c00", "c01"], id="phase"),
        pytest.param("?cluster=c1", ["c10", "c11"], id="name"),
        pytest.param("?phase=failed", [], id="none"),
    ],
)
def test_the_clusters_of_a_rollout_are_filtered(
    client: TestClient, query: str, shown: list[str]
) -> None:
    page = client.get(f"/rollouts/mwrs/default/web{query}").text

    assert [name for n in range(12) if f'id="c-{(name := f"c{n:02d}")}"' in page] == shown


def test_the_object_is_shown_without_the_data_of_secrets(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "default"},
        "stringData": {"password": "correct horse"},
    }
    hidden = make.workload("hidden", spec={"workload": {"manifests": [secret]}})
    hidden["metadata"]["annotations"] = {names.PAUSED: "true"}
    with story_on(path, hidden, after=0) as story, browsing(path, story.clock) as client:
        page = client.get("/rollouts/mwrs/default/hidden/yaml").text

    assert "kind: Secret" in page
    assert "correct horse" not in page


def test_a_cluster_that_cannot_be_rendered_is_found_and_says_why(tmp_path: Path) -> None:
    path, clock = tmp_path / "state.db", VirtualClock(T0)
    values = {
        "apiVersion": "rollout-engine.io/v1alpha1",
        "kind": "ClusterValues",
        "metadata": {"name": "tiers", "namespace": "default"},
        "spec": {
            "workload": {"name": "web"},
            "rules": [
                {
                    "set": [
                        {
                            "target": {"kind": "ConfigMap"},
                            "path": "/data/tier",
                            "value": "cluster.labels['tier']",
                        }
                    ]
                }
            ],
        },
    }
    fleet = make.fleet(2)
    fleet[0]["metadata"]["labels"]["tier"] = "gold"
    with closing(SqliteHub(path, clock, admit=admit)) as file:
        hub = cast("MemoryHub", file)
        Story([*fleet, values, make.workload()], hub=hub, clock=clock).end().engine.stop()

    with browsing(path, clock) as client:
        one = client.get("/rollouts/mwrs/default/web")
        held, given = client.get("/clusters/c01").text, client.get("/clusters/c00").text

    assert one.status_code == 200
    assert "ValuesMissing" in one.text
    assert "no such key: tier" in held
    assert "ConfigMap app /data/tier = &#34;gold&#34;" in given


def test_every_phase_is_looked_for_and_has_a_colour() -> None:
    sheet = (Path(dashboard.__file__).parent / "static" / "app.css").read_text()

    assert set(LOOKED_FOR) == set(Phase)
    assert all(sheet.count(f"--p-{phase.value.lower()}:") == 2 for phase in Phase)


def test_where_asking_all_would_take_long_one_workload_is_asked_why_it_does_not_select_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_pages, "MOST_DECIDED", 10)
    taint = {"key": "drained", "effect": "NoSelect", "timeAdded": "2026-01-01T00:00:00Z"}
    alone = make.cluster("alone", taints=[taint])
    with (
        story_on(tmp_path / "s.db", alone) as story,
        browsing(tmp_path / "s.db", story.clock) as client,
    ):
        page = client.get("/clusters/alone").text
        assert "4 workloads do not select it" in page
        assert "TaintToleration" not in page
        told = client.get("/clusters/alone?why=mwrs/default/web").text

    assert "3 workloads do not select it" in told
    assert "TaintToleration" in told


def _plain(page: str) -> str:
    """Without what keeps instants on one line."""
    return re.sub("</?span[^>]*>", "", page)


def test_a_cluster_names_the_calendars_that_concern_it_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    spec = CALENDAR["spec"]
    east, canaries = (
        {**CALENDAR, "metadata": {"name": name}, "spec": {**spec, "clusters": chosen}}
        for name, chosen in (
            ("east", {"claimSelector": {"matchExpressions": [{"key": "x", "operator": "Exists"}]}}),
            ("canaries", {"celSelector": {"celExpressions": ["managedCluster.metadata.labels['ring'] == 'canary'"]}}),
        )
    )  # fmt: skip
    with story_on(path, CALENDAR, east, canaries) as story, browsing(path, story.clock) as client:
        told = [_plain(client.get(f"/clusters/{name}").text) for name in ("c00", "c05")]

    named = [re.findall(r"<bdi>(\w+)</bdi>: Europe/Berlin open; closes", page) for page in told]
    assert named == [["canaries", "nights"], ["nights"]]
