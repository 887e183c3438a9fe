"""Does the page Replay show rollouts as they stood at each decision of a log?"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rollout.model.kinds import Kind
from rollout.runtime.decisions import DecisionLine, read_log
from tests.support.dashboards import browsing, logging_decisions, story_on

LOGGED = "/replay/mwrs/default/logged"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("log")
    with story_on(folder / "state.db") as story:
        return logging_decisions(story, folder / "decisions").path


@pytest.fixture
def client(tmp_path: Path, log: Path) -> Iterator[TestClient]:
    path = tmp_path / "state.db"
    with story_on(path) as story, browsing(path, story.clock, decision_log=log) as client:
        yield client


def _logged(log: Path) -> list[DecisionLine]:
    lines = [line for _, line in read_log(log) if line.workload.endswith("/logged")]
    return [line for line in lines if line.what != "snapshot"]


def test_each_decision_shows_the_rollout_as_it_was_then(client: TestClient, log: Path) -> None:
    decisions = _logged(log)
    for i, line in enumerate(decisions):
        page = client.get(f"{LOGGED}?at={i}").text

        assert f"decision {i + 1} of {len(decisions)}" in page
        assert "The installed version decides the same" in page
        assert line.step is not None
        for report in line.step.stages:
            column = page.partition(f"<bdi>{report.title}</bdi></h3>")[2].partition("</li>")[0]
            shown = dict(re.findall(r"</i>(\d+) (\w+)</span>", column))
            assert {int(n): word for n, word in shown.items()} == {
                count: phase.value.lower() for phase, count in report.phases.items()
            } or len(set(report.phases.values())) < len(report.phases)


def test_the_map_and_the_curve_are_as_of_then(client: TestClient, log: Path) -> None:
    first = client.get(f"{LOGGED}/pictures?at=0").json()
    last = client.get(f"{LOGGED}/pictures").json()

    assert sum(len(stage["clusters"]) for stage in first["stages"]) == 12
    assert first["stages"] != last["stages"]
    assert last["course"]["at"][-1] == _logged(log)[-1].at.timestamp()


def test_decisions_say_in_words_what_was_done(client: TestClient) -> None:
    page = client.get(f"{LOGGED}?at=0").text

    assert "touch c00, c01" in page


def test_a_decision_that_would_be_another_one_now_says_so(tmp_path: Path, log: Path) -> None:
    lines = log.read_text().splitlines()
    at = next(n for n, text in enumerate(lines) if '"touch":["c00"' in text and "/logged" in text)
    lines[at] = lines[at].replace('"touch":["c00"', '"touch":["c07"')
    other = tmp_path / "tampered"
    other.write_text("\n".join(lines) + "\n")
    path = tmp_path / "state.db"
    with story_on(path) as story, browsing(path, story.clock, decision_log=other) as client:
        pages = [client.get(f"{LOGGED}?at={i}").text for i in range(3)]

    assert sum("decides otherwise" in page for page in pages) == 1


def test_a_log_that_goes_on_is_read_on_and_a_broken_one_says_where(
    tmp_path: Path, log: Path
) -> None:
    growing, path = tmp_path / "growing", tmp_path / "state.db"
    lines = log.read_bytes().splitlines(keepends=True)
    growing.write_bytes(b"".join(lines[:-2]))
    with story_on(path) as story, browsing(path, story.clock, decision_log=growing) as client:
        before = client.get(LOGGED).text
        growing.write_bytes(b"".join(lines))
        after = client.get(LOGGED).text
        growing.write_bytes(b"".join(lines) + b"no line\n")
        broken = client.get(LOGGED)

    assert before != after
    assert broken.status_code == 404
    assert f"growing:{len(lines) + 1}: is not a line of a decision log" in broken.text


def test_only_what_somebody_may_see_is_replayed(tmp_path: Path, log: Path) -> None:
    def may(verb: str, kind: Kind, namespace: str) -> bool:
        return kind.name != "ManifestWorkReplicaSet"

    path = tmp_path / "state.db"
    with (
        story_on(path) as story,
        browsing(path, story.clock, may=may, decision_log=log) as client,
    ):
        assert "default/logged" not in client.get("/replay").text
        assert client.get(LOGGED).status_code == 403
        assert client.get(f"{LOGGED}/pictures").status_code == 403


def test_without_a_log_the_page_says_how_to_get_one(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with story_on(path) as story, browsing(path, story.clock) as client:
        assert "--decision-log FILE" in client.get("/replay").text
        assert client.get(LOGGED).status_code == 404


def test_the_list_has_what_the_log_has(client: TestClient, log: Path) -> None:
    known = {json.loads(text)["workload"] for text in log.read_text().splitlines()}

    page = client.get("/replay").text

    assert all(word.rpartition(" ")[2] in page for word in known)
