"""Holds the dashboard to whom it answers, and to what it tells them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rollout.clock import VirtualClock
from rollout.model.kinds import FREEZE, Kind
from tests.stories.operating import freeze
from tests.support.dashboards import TOKEN, browsing, story_on
from tests.support.story import T0

PAGES = ("/", "/rollouts/mwrs/default/web", "/events")


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    path = tmp_path_factory.mktemp("hub") / "state.db"
    with story_on(path) as story, browsing(path, story.clock, logged_in=False) as client:
        client.follow_redirects = False
        yield client


@pytest.mark.parametrize("page", PAGES)
def test_nobody_without_a_session_sees_a_page(outside: TestClient, page: str) -> None:
    answer = outside.get(page)

    assert answer.status_code in (303, 401)
    assert "web" not in answer.text


@pytest.mark.parametrize("page", PAGES)
def test_a_forged_session_is_none(outside: TestClient, page: str) -> None:
    answer = outside.get(page, headers={"Cookie": "rollout-session=0123456789abcdef"})

    assert answer.status_code in (303, 401)


def test_a_wrong_token_opens_no_session(outside: TestClient) -> None:
    answer = outside.get("/login?token=guessed")

    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_site_can_use(
    outside: TestClient,
) -> None:
    answer = outside.get(f"/login?token={TOKEN}")
    outside.cookies.clear()

    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie


@pytest.mark.parametrize("back", ["https://evil.test/", "//evil.test", "/\\evil.test", "evil"])
def test_logging_in_leads_to_no_other_site(outside: TestClient, back: str) -> None:
    answer = outside.get("/login", params={"token": TOKEN, "back": back})
    outside.cookies.clear()

    assert answer.headers["location"] == "/"


@pytest.mark.parametrize("host", ["evil.test", "dashboard.test.evil.test", "127.0.0.1", ""])
def test_another_host_is_not_served(outside: TestClient, host: str) -> None:
    answer = outside.get("/", headers={"Host": host})

    assert answer.status_code == 421


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_no_other_method_is_answered(outside: TestClient, method: str) -> None:
    assert outside.request(method, "/").status_code == 405


def test_a_body_that_is_too_large_is_not_read(outside: TestClient) -> None:
    assert outside.post("/login", content=b"x" * 300_000).status_code == 413


@pytest.mark.parametrize("name", ["../app.py", "..%2fapp.py", "vendor", "/etc/passwd"])
def test_no_file_but_ours_is_served(outside: TestClient, name: str) -> None:
    assert outside.get(f"/static/{name}").status_code == 404


@pytest.mark.parametrize("page", ["/", "/login", "/static/app.js", "/nowhere"])
def test_every_answer_forbids_scripts_frames_and_requests_to_anywhere_else(
    outside: TestClient, page: str
) -> None:
    policy = outside.get(page).headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_who_may_not_see_workloads_is_not_told_which_there_are(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with story_on(path) as story, browsing(path, story.clock, may=lambda *_: False) as stranger:
        pages = [f"/rollouts/mwrs/default/{name}{page}" for name in ("web", "nobody")
                 for page in ("", "/yaml", "/pictures", "/outlook", "/revisions/1")]  # fmt: skip
        pages += [f"/act/pause?kind=mwrs&workload={n}&namespace=default" for n in ("web", "nobody")]
        found = {page: stranger.get(page).status_code for page in pages}

    assert set(found.values()) == {403}, found


@pytest.mark.parametrize("may_list", [True, False])
def test_who_froze_the_hub_and_why_is_told_to_who_may_list_freezes(
    tmp_path: Path, may_list: bool
) -> None:
    def may(verb: str, kind: Kind, namespace: str) -> bool:
        return kind is not FREEZE or may_list

    path, stop = tmp_path / "state.db", freeze("stop", reason="an incident", actor="boss")
    with story_on(path, stop) as story, browsing(path, story.clock, may=may) as client:
        page = client.get("/").text

    assert "The hub is frozen" in page
    banner = page.partition('class="banner hold"')[2].partition("</div>")[0]
    assert ("boss" in banner, "an incident" in banner) == (may_list, may_list)


@pytest.mark.parametrize(
    "page", ["/", "/rollouts/mwrs/default/web", "/clusters", "/what-if", "/act/pause?kind=mwrs"]
)
def test_where_the_hub_was_never_read_every_page_says_so(tmp_path: Path, page: str) -> None:
    with browsing(tmp_path / "nowhere.db", VirtualClock(T0)) as client:
        answer = client.get(page)

    assert answer.status_code == 503
    assert "The hub cannot be read" in answer.text
    assert "nowhere.db" in answer.text
    assert "No workload yet" not in answer.text
