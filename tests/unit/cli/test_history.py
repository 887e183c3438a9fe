"""`history` and `list`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from rollout.analysis.histories import History, RevisionAccount, Role
from rollout.cli.describe import history_lines
from rollout.cli.status import list_lines
from rollout.model.kinds import REPLICA_SET
from tests.support import make
from tests.support.halted import HEALTHY, STRATEGY, ran
from tests.support.shapes import MIN, ROLLING, T0, account, run, stage, workload, write


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Revision 1 is rolled out everywhere; revision 2 has halted after four clusters."""
    place = tmp_path_factory.mktemp("history")
    state = ran(place, HEALTHY)
    again = write(place / "two.yaml", workload(strategy=STRATEGY, value="2"))
    agents = write(place / "agents.yaml", {
        **HEALTHY, "spec": {"defaults": {"outcome": "silent"}}})  # fmt: skip
    words = ("run", "-f", again, "--agents", agents, "--clock", "virtual")
    assert run(*words, state=state).exit_code == 1
    return state


def test_history_shows_which_revision_is_rolling_and_which_the_fleet_is_on(state: Path) -> None:
    found = run("history", "mwrs", "web", state=state)

    assert [line.split() for line in found.stdout.splitlines()] == [
        ["NUMBER", "REVISION", "STATE", "CLUSTERS", "AGE"],
        ["2", "e003e2c1bbda84f0", "rolling", "3", "10m"],
        ["1", "845b837f637ed182", "current", "3", "20m"],
    ]


def test_history_has_a_json_form(state: Path) -> None:
    found = json.loads(run("history", "mwrs/web", "-o", "json", state=state).stdout)

    assert [each["role"] for each in found["revisions"]] == ["rolling", "current"]
    assert found["unknown"] == 0


def test_a_revision_that_no_engine_has_seen_yet_has_no_number(state: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.db"
    own.write_bytes(state.read_bytes())
    run("apply", "-f", write(tmp_path / "a.yaml", workload(value="3")), state=own)

    lines = run("history", "mwrs", "web", state=own).stdout.splitlines()

    assert lines[1].split()[0] == "-"
    assert lines[1].split()[2:] == ["rolling", "0"]


def test_what_carries_no_revision_that_is_kept_is_counted() -> None:
    revision = RevisionAccount(number=1, revision="abc", role=Role.CURRENT, clusters=3, created=T0)

    assert history_lines(
        History(
            kind=REPLICA_SET.name,
            key="default/web",
            now=T0 + 5 * MIN,
            revisions=(revision,),
            unknown=2,
        )
    ) == [
        "NUMBER   REVISION   STATE     CLUSTERS   AGE",
        "1        abc        current   3          5m",
        "2 clusters carry something that is not a revision of default/web",
    ]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ((), "name one workload: NAME, NAMESPACE/NAME, mwrs NAME, or cma NAME"),
        (("mwrs",), "name one workload: NAME, NAMESPACE/NAME, mwrs NAME, or cma NAME"),
        (
            ("placements", "a"),
            "a Placement is not a workload: name a ManifestWorkReplicaSet or a ClusterManagementAddOn",
        ),
    ],
)
def test_history_is_asked_of_one_workload(state: Path, words: tuple[str, ...], fault: str) -> None:
    found = run("history", *words, state=state)

    assert found.exit_code == 2
    assert fault in found.stderr


def test_the_history_of_what_is_not_there_is_an_error(state: Path) -> None:
    found = run("history", "mwrs", "nope", state=state)

    assert (found.exit_code, "not found in any namespace" in found.stderr) == (1, True)


def test_list_has_a_line_for_each_workload(state: Path) -> None:
    assert run("list", state=state).stdout == (
        """\
KIND   NAME   RESULT                          STAGE      UPDATED   FAILED   BUDGET   AGE
mwrs   web    ✖ failed: MaxFailuresExceeded   the rest   3/6       3        1        20m
"""
    )


def test_list_of_all_namespaces_has_the_namespace(state: Path) -> None:
    lines = run("list", "-A", state=state).stdout.splitlines()

    assert lines[0].startswith("NAMESPACE   KIND   NAME")
    assert lines[1].startswith("default     mwrs   web")


def test_list_says_where_it_found_nothing_and_what_makes_a_workload(state: Path) -> None:
    found = run("list", "-n", "elsewhere", state=state)

    assert (found.exit_code, found.stdout) == (0, "")
    assert "there is no workload in namespace elsewhere; `rollout apply" in found.stderr


def test_list_has_a_json_form(state: Path) -> None:
    (line,) = json.loads(run("list", "-o", "json", state=state).stdout)

    assert (line["reason"], line["updated"], line["members"]) == ("MaxFailuresExceeded", 3, 6)


def test_what_is_not_bounded_may_fail_anywhere() -> None:
    every = stage("all clusters", 2, {"Progressing": 2}, budget=None)
    line = replace(account(ROLLING, every, now=T0 + MIN), created=T0, updated=1)

    assert list_lines([line]) == [
        "KIND   NAME   RESULT                   STAGE          UPDATED   FAILED   BUDGET   AGE",
        "mwrs   web    ◌ not done: RollingOut   all clusters   1/2       0        any      60s",
    ]


def test_a_revision_is_shown_with_its_template_and_why_it_was_made(tmp_path: Path) -> None:
    state = tmp_path / "s.db"
    why = {"kubernetes.io/change-cause": "a greeting"}
    first = make.workload(version="1", annotations=why)
    secret = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "hunter2!"},
    }  # fmt: skip
    first["spec"]["manifestWorkTemplate"]["workload"]["manifests"].append(secret)
    path = write(tmp_path / "a.yaml", *make.fleet(2), first)
    assert run("run", "-f", path, "--clock", "virtual", state=state).exit_code == 0
    path = write(tmp_path / "b.yaml", make.workload(version="2"))
    assert run("run", "-f", path, "--clock", "virtual", state=state).exit_code == 0

    table = run("history", "web", state=state).stdout.splitlines()
    shown = run("history", "web", "--revision", "1", state=state)

    assert table[0].split()[-1] == "CAUSE"
    assert table[2].endswith("a greeting")
    kept = yaml.safe_load(shown.stdout)
    assert (kept["number"], kept["cause"]) == (1, "a greeting")
    assert kept["template"]["workload"]["manifests"][0]["kind"]
    assert "hunter2!" not in shown.stdout
    assert (
        "hunter2!" in run("history", "web", "--revision", "1", "--show-secrets", state=state).stdout
    )
    absent = run("history", "web", "--revision", "7", state=state)
    assert (absent.exit_code, absent.stderr) == (
        1,
        "error: no revision 7 of default/web is kept; `rollout history` lists them\n",
    )
