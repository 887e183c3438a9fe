"""Holds the dashboard of a hub to asking the API server who somebody is, seldom and for nobody else."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rollout.clock import SystemClock, VirtualClock
from rollout.dashboard import reviewed
from rollout.dashboard.answers import Office
from rollout.dashboard.app import application
from rollout.dashboard.observer import Observer
from rollout.dashboard.people import Person
from rollout.dashboard.reviewed import OwnAccess, ReviewedAuthority
from rollout.model import names
from rollout.model.kinds import REPLICA_SET, Obj, Ref
from tests.support.dashboards import HOST, comes_true, opening, story_on
from tests.support.operated import asked, notes
from tests.support.story import T0, Story


class ApiServer:
    """Knows whoever has a token ``good-NAME``, and allows everything in single namespaces."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.revoked: set[str] = set()
        self.is_heard = threading.Event()

    def create(self, _: Ref, obj: Obj) -> Obj:
        self.asked[obj["kind"]] += 1
        if obj["kind"] == "TokenReview":
            token = obj["spec"]["token"]
            good = token.startswith("good-") and token not in self.revoked
            return {
                "status": {"authenticated": good, "user": {"username": token[5:].split("/")[0]}}
            }
        return {"status": {"allowed": bool(obj["spec"]["resourceAttributes"].get("namespace"))}}


@pytest.fixture
def server() -> ApiServer:
    return ApiServer()


def _authority(server: ApiServer) -> ReviewedAuthority:
    return ReviewedAuthority(server, _nobody, VirtualClock(T0))  # type: ignore[arg-type]  # it only creates


def _nobody(token: str) -> None:
    raise AssertionError(token)


def _person(authority: ReviewedAuthority, token: str) -> tuple[str, Person]:
    session = authority.login(token)
    assert session is not None
    person = authority.person(session)
    assert person is not None
    return session, person


def test_a_page_with_a_thousand_namespaces_asks_for_each_right_once(server: ApiServer) -> None:
    authority = _authority(server)
    _, ann = _person(authority, "good-ann")
    for _ in range(3):
        for n in range(1_000):
            assert authority.may(ann, "list", REPLICA_SET, f"ns-{n}")

    assert server.asked == {"TokenReview": 1, "SubjectAccessReview": 1_001}


def test_the_person_of_a_kubeconfig_is_asked_about_once_and_not_for_ever(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reviewed, "MOST_ANSWERS", 10)
    access = OwnAccess(server, VirtualClock(T0))  # type: ignore[arg-type]  # as above
    for n in (*range(11), 10, 0):
        access.may("list", REPLICA_SET, f"ns-{n}")

    assert server.asked["SelfSubjectAccessReview"] == 12  # the first one had made way


def test_forged_tokens_displace_nobodys_answers(server: ApiServer) -> None:
    authority = _authority(server)
    session, ann = _person(authority, "good-ann")
    authority.may(ann, "list", REPLICA_SET, "default")
    for n in range(10_000):
        assert authority.login(f"forged-{n}") is None
    before = dict(server.asked)

    assert authority.person(session) == ann
    assert authority.may(ann, "list", REPLICA_SET, "default")
    assert dict(server.asked) == before


def test_who_logs_in_again_and_again_ends_the_own_sessions_alone(server: ApiServer) -> None:
    authority = _authority(server)
    ann, _ = _person(authority, "good-ann")
    sessions = [authority.login(f"good-stranger/{n}") for n in range(2_500)]

    assert authority.person(ann) is not None
    kept = [each for each in sessions if each and authority.person(each)]
    assert kept == sessions[-16:]


class _Heard(Observer):
    """Tells when somebody listens."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.heard = threading.Event()

    def listen(self, listener: Any) -> Callable[[], None]:
        self.heard.set()
        return super().listen(listener)


@contextmanager
def _served(path: Path, server: ApiServer) -> Iterator[tuple[Story, Callable[[], TestClient]]]:
    """A dashboard of many, and what makes a browser of somebody."""
    with story_on(path) as story, _Heard(opening(path, story.clock)) as observer:
        server.is_heard = observer.heard

        @contextmanager
        def opened_as(token: str) -> Iterator[object]:
            with opening(path, story.clock)() as (hub, _):
                yield hub

        authority = ReviewedAuthority(server, opened_as, SystemClock())  # type: ignore[arg-type]  # as above
        office = Office(observer, authority, "hub", SystemClock(), secure=True)
        app = application(office, {HOST})
        with TestClient(app, f"https://{HOST}", follow_redirects=False) as first:
            yield story, lambda: _browser(first)


def _browser(first: TestClient) -> TestClient:
    found = TestClient(first.app, f"https://{HOST}", follow_redirects=False)
    found.portal = first.portal
    return found


FORM = {"kind": "mwrs", "namespace": "default", "workload": "web", "reason": "x", "shown": "1"}


def test_a_proxy_that_passes_a_token_on_lets_its_user_in_without_a_session(
    tmp_path: Path, server: ApiServer
) -> None:
    with _served(tmp_path / "state.db", server) as (story, browser):
        client = browser()
        client.headers["Authorization"] = "Bearer good-ann"
        page = client.get("/").text
        forgery = client.get("/act/pause", params=FORM).text.partition('name="forgery" value="')[2]
        forged = client.post("/act/pause", data={**FORM, "forgery": "0" * 64})
        pressed = client.post("/act/pause", data={**FORM, "forgery": forgery.partition('"')[0]})
        client.headers["Authorization"] = "Bearer good-ben"
        of_another = client.post("/act/pause", data={**FORM, "forgery": forgery.partition('"')[0]})
        client.headers["Authorization"] = "Bearer forged"
        refused = client.get("/")
        web = Ref(REPLICA_SET, "default/web")
        done, said = notes(story.hub, web), asked(story.hub, web)

    assert ">ann</span>" in page
    assert "Log out" not in page
    assert (forged.status_code, pressed.status_code, of_another.status_code) == (403, 200, 403)
    assert done[names.PAUSED] == "true"
    assert "ann x" in said.values()
    assert refused.status_code == 401


def test_the_token_that_a_proxy_passes_on_counts_before_a_session(
    tmp_path: Path, server: ApiServer
) -> None:
    with _served(tmp_path / "state.db", server) as (_, browser):
        client = browser()
        client.post("/login", data={"token": "good-ben"})
        assert ">ben</span>" in client.get("/").text
        assert ">ann</span>" in client.get("/", headers={"Authorization": "Bearer good-ann"}).text


@pytest.mark.parametrize("ends", ["logout", "revocation"])
def test_a_stream_of_events_ends_with_its_session(
    tmp_path: Path, server: ApiServer, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    monkeypatch.setattr("rollout.runtime.reviews.REMEMBERED", timedelta(seconds=0.2))
    if ends == "revocation":
        monkeypatch.setattr("rollout.dashboard.stream.ALIVE_SECONDS", 0.2)
    with _served(tmp_path / "state.db", server) as (_, browser):
        client, other = browser(), browser()
        client.post("/login", data={"token": "good-ann"})
        page = client.get("/").text
        told: list[str] = []
        listening = threading.Thread(target=lambda: told.append(client.get("/events").text))
        listening.start()
        assert server.is_heard.wait(60)
        if ends == "logout":
            forgery = page.partition('name="forgery" value="')[2].partition('"')[0]
            client.post("/logout", data={"forgery": forgery})
        else:
            server.revoked.add("good-ann")
        ended = comes_true(lambda: bool(told))
        assert other.get("/events").status_code == 401

    listening.join()
    assert ended
    assert "event: view" in told[0]
