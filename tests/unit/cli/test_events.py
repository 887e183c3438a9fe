"""`rollout events` on a state file."""

import json
from pathlib import Path

import pytest

from tests.support import make
from tests.support.shapes import run, write


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two workloads are rolled out to four clusters, two of them canaries, by two processes."""
    place = tmp_path_factory.mktemp("events")
    state, strategy = place / "s.db", make.progressive(maxConcurrency=1)
    first = write(place / "a.yaml", *make.fleet(4, canary=2), make.workload(strategy=strategy))
    second = write(place / "b.yaml", make.workload("other"))
    for path in (first, second):
        assert run("run", "-f", path, "--clock", "virtual", state=state).exit_code == 0
    return state


def test_what_happened_outlives_the_process_and_is_told_in_its_order(state: Path) -> None:
    found = json.loads(run("events", "-o", "json", state=state).stdout)

    of_web = [each["reason"] for each in found if each["key"] == "default/web"]
    assert of_web[0] == "RolloutStarted"
    assert of_web[-1] == "RolloutCompleted"
    assert [each["at"] for each in found] == sorted(each["at"] for each in found)


def test_one_workload_can_be_asked_about(state: Path) -> None:
    lines = run("events", "other", state=state).stdout.splitlines()

    assert lines[0].split() == ["TIME", "OBJECT", "REASON", "MESSAGE"]
    assert {line.split()[1] for line in lines[1:]} == {"default/other"}


def test_a_message_as_long_as_the_fleet_is_shortened_in_text_alone(tmp_path: Path) -> None:
    state = tmp_path / "s.db"
    path = write(tmp_path / "a.yaml", *make.fleet(80), make.workload())
    run("run", "-f", path, "--clock", "virtual", state=state)

    told = json.loads(run("events", "-o", "json", state=state).stdout)
    lines = run("events", state=state).stdout.splitlines()

    assert max(len(each["message"]) for each in told) > 350
    assert max(map(len, lines)) < 400
    assert any(line.endswith(" characters more)") for line in lines)


def test_nothing_has_happened_where_no_run_was(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", make.workload())
    run("apply", "-f", path, state=tmp_path / "s.db")

    assert run("events", "-o", "json", state=tmp_path / "s.db").stdout == "[]\n"
