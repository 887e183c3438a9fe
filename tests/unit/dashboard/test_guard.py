"""Who is answered, and with what?"""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.support.dashboards import TOKEN, browsing, story_on

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
