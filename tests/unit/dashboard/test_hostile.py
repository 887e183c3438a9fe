"""Holds every page to showing what others wrote as text, wherever they can write."""

import html
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rollout.dashboard.app import application
from rollout.dashboard.people import OwnAuthority
from tests.support.dashboards import HOST, TOKEN, office_on, story_on
from tests.support.hostile import FIELDS, said, spoil

MARK = "%3Cimg%20src=x%3E%E2%80%AE"
PAGES = (
    *dict.fromkeys(FIELDS.values()),
    "/placements",
    "/replay",
    "/rollouts/mwrs/default/web/yaml",
    "/rollouts/mwrs/default/web/revisions/1",
    "/what-if?workload=mwrs/default/web",
    "/act/resume?kind=mwrs&namespace=default&workload=idle",
    "/act/approve?kind=mwrs&namespace=default&workload=web&gate=before:rest&shown=1",
    f"/?q={MARK}&labels={MARK}&namespace={MARK}&kind={MARK}&sort={MARK}&page={MARK}",
    f"/clusters?q={MARK}&labels={MARK}",
    f"/placements/default/p?q={MARK}&sort={MARK}",
    f"/consents?approvals-q={MARK}&freezes-sort={MARK}",
    f"/analyses?q={MARK}",
    f"/rollouts/mwrs/default/web?cluster={MARK}&phase={MARK}",
    f"/what-if?workload={MARK}",
    f"/{MARK}",
    f"/rollouts/{MARK}/{MARK}/{MARK}",
    f"/act/{MARK}",
    f"/act/hold?kind=mwrs&namespace=default&workload=web&clusters={MARK}",
    f"/login?back=/%22%3E{MARK}",
    f"/login?token={MARK}",
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    path: Path = tmp_path_factory.mktemp("hub") / "state.db"
    with story_on(path, after=1200) as story:
        clock = story.clock
    spoil(path, clock)
    with office_on(path, clock) as (office, observer):
        office.place = said("hub")
        office.authority = OwnAuthority(TOKEN, said("person"), observer)
        with TestClient(application(office, {HOST}), base_url=f"http://{HOST}") as client:
            client.get(f"/login?token={TOKEN}")
            yield client


@pytest.mark.parametrize("page", PAGES)
def test_what_others_wrote_acts_on_no_page(client: TestClient, page: str) -> None:
    answer = client.get(page)

    assert answer.status_code < 500
    for bad in ("<img", "\u202e", "\x07", "\x1b", ">49<"):
        assert bad not in answer.text, bad


@pytest.mark.parametrize(("field", "page"), [*FIELDS.items(), ("hub", "/"), ("person", "/")])
def test_what_others_wrote_is_shown_as_text(client: TestClient, field: str, page: str) -> None:
    assert html.escape(f"<img src=x id={field} ") in client.get(page).text


@pytest.mark.parametrize(
    "page", ["/rollouts/mwrs/default/web/pictures", "/rollouts/mwrs/default/web/outlook"]
)
def test_what_scripts_ask_for_is_no_page(client: TestClient, page: str) -> None:
    assert client.get(page).headers["content-type"] == "application/json"
