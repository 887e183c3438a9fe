"""Holds the list of rollouts, and the page of one, to what there is on the hub."""

import re
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rollout.dashboard import observer as watched
from rollout.model import names
from tests.support import make
from tests.support.dashboards import CANARIES, browsing, story_on
from tests.support.story import MIN

NAMES = re.compile(r'class="go" id="w-ManifestWorkReplicaSet-default-(\w+)"')


def named(client: TestClient, query: str = "") -> list[str]:
    answer = client.get(f"/{query}")
    assert answer.status_code == 200
    return NAMES.findall(answer.text)


def test_what_waits_for_a_person_comes_first_and_what_is_done_last(client: TestClient) -> None:
    assert named(client) == ["idle", "web", "api", "cron"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param("?q=WE", ["web"], id="text"),
        pytest.param("?q=paused", ["idle"], id="reason"),
        pytest.param("?state=done", ["cron"], id="state"),
        pytest.param("?labels=team%3Dshop", ["web"], id="labels"),
        pytest.param("?labels=team", ["web", "api"], id="a label that is there"),
        pytest.param("?namespace=other", [], id="namespace"),
        pytest.param("?kind=cma", [], id="kind"),
        pytest.param("?sort=name", ["api", "cron", "idle", "web"], id="sorted by name"),
        pytest.param(
            "?sort=nonsense&page=x&state=y", ["idle", "web", "api", "cron"], id="nonsense"
        ),
    ],
)
def test_the_list_is_filtered_and_sorted_by_the_server(
    client: TestClient, query: str, found: list[str]
) -> None:
    assert named(client, query) == found


def test_a_selector_that_cannot_be_read_is_told_of_and_hides_nothing(client: TestClient) -> None:
    page = client.get("/?labels=a%3D%3D%3D").text

    assert 'class="fault"' in page
    assert len(NAMES.findall(page)) == 4


def test_a_page_says_why_a_rollout_does_not_go_on_in_the_words_of_explain(
    client: TestClient,
) -> None:
    page = client.get("/rollouts/mwrs/default/idle").text

    assert "Paused" in page
    assert "somebody resumes it: `rollout resume`" in page


def test_a_gate_stands_before_its_stage_and_says_who_has_to_act(client: TestClient) -> None:
    page = client.get("/rollouts/mwrs/default/web").text

    gate, stage = page.index("<b>before:rest</b>"), page.index("the rest")
    assert gate < page.index("</h3>", page.index("before:rest</b>"))
    assert "shut, nobody has approved it" in page
    assert stage > 0


@pytest.mark.parametrize(
    "page",
    ["/rollouts/mwrs/default/nobody", "/rollouts/pods/default/web", "/rollouts/mwrs/-/web"],
)
def test_what_is_not_there_is_not_found(client: TestClient, page: str) -> None:
    answer = client.get(page)

    assert answer.status_code == 404
    assert "Not found" in answer.text


@pytest.mark.parametrize("name", ["web", "idle", "api"])
def test_the_list_and_the_page_agree_that_a_rollout_ends_when_somebody_acts(
    client: TestClient, name: str
) -> None:
    (row,) = re.findall(rf'id="w-\w+-default-{name}".*?</tr>', client.get("/").text, re.DOTALL)
    page = client.get(f"/rollouts/mwrs/default/{name}").text

    assert "not by itself" in row
    assert "<dt>Done</dt><dd>not by itself</dd>" in page


@pytest.mark.parametrize("semantics", ["strict", "ocm"])
def test_the_list_and_the_page_agree_on_the_earliest_end_of_what_goes_on(
    tmp_path: Path, semantics: str
) -> None:
    path, notes = tmp_path / "state.db", {names.SEMANTICS: semantics}
    slow = make.workload("slow", strategy=CANARIES, annotations=notes)
    with story_on(path, slow, after=20) as story, browsing(path, story.clock) as client:
        (row,) = re.findall(r'id="w-\w+-default-slow".*?</tr>', client.get("/").text, re.DOTALL)
        page = client.get("/rollouts/mwrs/default/slow").text

    said = (">in ", " at the earliest</span></dd>")
    if semantics == "ocm":
        said = (">not worked out<", "<dt>Done</dt><dd>not worked out in profile ocm</dd>")
    assert said[0] in row
    assert said[1] in page


@pytest.mark.parametrize("gate", ["before:p/rest", "before:rest=analysis/slo", "after:canary"])
def test_each_gate_stands_once_on_its_side_of_its_stage(tmp_path: Path, gate: str) -> None:
    path = tmp_path / "state.db"
    gated = make.workload("gated", strategy=CANARIES, annotations={names.GATES: gate})
    with story_on(path, gated) as story, browsing(path, story.clock) as client:
        page = client.get("/rollouts/mwrs/default/gated").text

    columns = re.findall(r'<li class="(gate|stage) .*?(?:<bdi>|<b>)(.*?)</b', page, re.DOTALL)
    assert columns == [("stage", "canary #0"), ("gate", gate), ("stage", "the rest")]
    approves = re.search(r'class="gate .*?Approve</a>.*?</ol>', page, re.DOTALL)
    assert (approves is None) == ("analysis" in gate)


def test_a_page_that_has_not_changed_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/")
    again = client.get("/", headers={"If-None-Match": first.headers["etag"]})
    other = client.get("/?q=web", headers={"If-None-Match": first.headers["etag"]})

    assert (again.status_code, again.content) == (304, b"")
    assert other.status_code == 200


@pytest.mark.parametrize("page", ["/", "/rollouts/mwrs/default/web", "/clusters", "/consents"])
def test_a_page_that_says_the_same_is_not_sent_again_however_often_the_hub_was_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    monkeypatch.setattr(watched, "LONGEST", timedelta(seconds=0.1))
    path = tmp_path / "state.db"
    with (
        story_on(path, after=1200) as story,
        browsing(path, story.clock) as client,
    ):
        first = client.get(page)
        threading.Event().wait(0.5)
        again = client.get(page, headers={"If-None-Match": first.headers["etag"]})

    assert (again.status_code, again.content) == (304, b"")


def test_a_change_of_another_process_is_on_the_page_soon(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with story_on(path) as story, browsing(path, story.clock) as client:
        before = client.get("/").headers["etag"]
        story.add(make.workload("late"))
        story.on(MIN)
        found = named(client)
        for _ in range(2_400):
            if "late" in found:
                break
            story.hub.poll()
            threading.Event().wait(0.1)
            found = named(client)
        assert "late" in found
        assert client.get("/").headers["etag"] != before
