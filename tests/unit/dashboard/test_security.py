"""Holds the dashboard to whom it answers, and to what it tells them."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from rollout.clock import VirtualClock
from rollout.dashboard.app import application
from rollout.dashboard.people import Person
from rollout.dashboard.security import Guard, cookie_name
from rollout.dashboard.verbs import VERBS
from rollout.model.kinds import FREEZE, Kind
from tests.stories.operating import freeze
from tests.support.dashboards import HOST, TOKEN, browsing, office_on, story_on
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
    answer = outside.get(page, headers={"Cookie": "rollout-session-80=0123456789abcdef"})

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


def test_probes_are_answered_by_whatever_name_they_ask(outside: TestClient) -> None:
    assert outside.get("/healthz", headers={"Host": "10.1.2.3:8080"}).status_code == 200


@pytest.mark.parametrize("port", ["80", "443"])
def test_a_port_that_browsers_leave_out_may_be_left_out(port: str) -> None:
    asked = {"host": "dashboard.test"}
    guarded = TestClient(Guard(PlainTextResponse("inside"), {f"dashboard.test:{port}"}))

    assert guarded.get("/", headers=asked).text == "inside"
    assert guarded.get("/", headers={"host": "dashboard.test:8080"}).status_code == 421


@pytest.mark.parametrize(
    ("host", "secure", "name"),
    [
        ("127.0.0.1:8080", False, "rollout-session-8080"),
        ("127.0.0.1:9090", False, "rollout-session-9090"),
        ("localhost", False, "rollout-session-80"),
        ("[::1]:8080", True, "rollout-session-8080"),
        ("[::1]", True, "rollout-session-80"),
        ("localhost:x=y;", True, "rollout-session-80"),
        ("hub.example.com", True, "__Host-rollout-session"),
        ("hub.example.com:8443", True, "__Host-rollout-session"),
    ],
)
def test_dashboards_on_one_name_do_not_share_a_session(host: str, secure: bool, name: str) -> None:
    assert cookie_name(Headers({"host": host}), secure=secure) == name


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


@pytest.mark.parametrize("page", ["/login", "/logout", "/what-if", "/act/pause"])
def test_a_form_of_too_many_fields_is_refused_in_words(client: TestClient, page: str) -> None:
    answer = client.post(page, data={f"f{n}": "x" for n in range(150)})

    assert answer.status_code == 400
    assert "a form has at most 100 fields" in answer.text


@pytest.mark.parametrize("text", ["9" * 5_000, "\x00%-1e999", "٣" * 300])
def test_nothing_that_is_sent_makes_a_page_fail(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.db"
    with story_on(path) as story, browsing(path, story.clock) as client:
        codes = _codes(client, text)

    assert codes <= {200, 400, 404, 409}


def _codes(client: TestClient, text: str) -> set[int]:
    """What is answered where this is filled in everywhere; fails where a page does."""
    names = ("clusters", "gate", "number", "until", "name", "revision", "seen", "reason")
    form = {"kind": "mwrs", "namespace": "default", "workload": "web", "shown": "1"}
    token = re.search(r'name="forgery" value="(\w+)"', client.get("/act/pause", params=form).text)
    assert token is not None
    sent = dict.fromkeys(names, text) | {"forgery": token[1], "reason": "x"}
    pages = ("/", "/clusters", "/placements", "/consents", "/analyses", "/replay", "/what-if")
    asked = dict.fromkeys(("page", "sort", "q", "labels", "state", "phase", "cluster", "run"), text)
    codes = {client.get(page, params=asked).status_code for page in pages}
    codes |= {client.get("/rollouts/mwrs/default/web", params=asked).status_code}
    codes |= {client.get(f"/rollouts/mwrs/default/web/revisions/{quote(text)}").status_code}
    for verb in VERBS:
        codes.add(client.post(f"/act/{verb}", data={**form, **sent}).status_code)
    for verb in ("undo", "freeze"):
        fields = {**form, **dict.fromkeys(names, text)}
        codes.add(client.get(f"/act/{verb}", params=fields).status_code)
    for name in ("runs", "failing", "workload", "a"):
        fields = {"forgery": token[1], "runs": "1", "workload": "mwrs/default/web", name: text}
        codes.add(client.post("/what-if", data=fields).status_code)
    return codes


class _Failing:
    """Lets nobody in: each request fails, or waits until the test is over."""

    def __init__(self, over: threading.Event | None = None) -> None:
        self.over = over

    def person(self, session: str) -> Person | None:
        if self.over is None:
            raise RuntimeError("this is broken")
        self.over.wait(60)
        return None

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


@contextmanager
def _broken(path: Path, over: threading.Event | None = None) -> Iterator[TestClient]:
    with story_on(path) as story, office_on(path, story.clock) as (office, _):
        office.authority = _Failing(over)
        app = application(office, {HOST})
        headers = {"Cookie": "rollout-session-80=x"}
        with TestClient(
            app, f"http://{HOST}", raise_server_exceptions=False, headers=headers
        ) as client:
            yield client


def test_a_page_that_fails_has_the_same_headers_as_every_other(tmp_path: Path) -> None:
    with _broken(tmp_path / "state.db") as client:
        answer = client.get("/")

    assert answer.status_code == 500
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"


def test_probes_and_files_are_answered_while_every_thread_is_busy(tmp_path: Path) -> None:
    over = threading.Event()
    with _broken(tmp_path / "state.db", over) as client:
        busy = [threading.Thread(target=client.get, args=("/",)) for _ in range(60)]
        for each in busy:
            each.start()
        found: list[int] = []
        paths = ("/healthz", "/static/app.css", "/static/app.js")
        asking = threading.Thread(
            target=lambda: found.extend(client.get(path).status_code for path in paths)
        )
        asking.start()
        asking.join(30)
        early = list(found)
        over.set()
        for each in (*busy, asking):
            each.join()

    assert early == [200, 200, 200]


def test_script_and_style_of_a_rollout_are_small_over_the_wire(client: TestClient) -> None:
    page = client.get("/rollouts/mwrs/default/web").text
    loaded = re.findall(r'(?:src|href)="(/static/[^"]+\.(?:js|css))"', page)
    sent = {name: client.get(name, headers={"Accept-Encoding": "gzip"}) for name in loaded}

    assert len(sent) == 6
    assert {each.headers["content-encoding"] for each in sent.values()} == {"gzip"}
    assert sum(int(each.headers["content-length"]) for each in sent.values()) <= 50 * 1024


def test_a_file_that_a_browser_has_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/static/app.css")
    again = client.get("/static/app.css", headers={"If-None-Match": first.headers["etag"]})

    assert first.headers["content-encoding"] == "gzip"
    assert "--ink" in first.text
    assert (again.status_code, again.content) == (304, b"")
