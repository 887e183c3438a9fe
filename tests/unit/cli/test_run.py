"""What does `rollout run` do? From files to the end of a rollout, on with a state, and when it stops."""

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rollout.cli.clocks import START, ClockMode
from rollout.cli.documents import read_documents
from rollout.cli.options import Options, Stop
from rollout.cli.run import execute
from rollout.cli.scenarios import ScenarioChoice
from rollout.clock import VirtualClock
from rollout.model.kinds import Obj
from tests.support.shapes import (
    DONE,
    PROGRESSIVE,
    ROLLING,
    T0,
    Fake,
    account,
    condition,
    fleet,
    placement,
    run,
    shot,
    standing,
    stored,
    write,
)

ROOT = Path(__file__).parents[3]


def test_a_rollout_runs_to_its_end_on_virtual_time_without_any_file_of_state(
    tmp_path: Path,
) -> None:
    path = fleet(tmp_path / "a.yaml", strategy=PROGRESSIVE)

    result = run("run", "-f", path, "--clock", "virtual")

    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[-1].split()[:6] == ["default/web", "✔", "done,", "HealthUnverified", "3", "3"]
    assert [line for line in lines if line.endswith("the rest: 3/3 soaked, passed")]
    assert [file.name for file in tmp_path.iterdir()] == ["a.yaml"]


def test_semantics_decide_where_objects_do_not_say(tmp_path: Path) -> None:
    """Without a Progressing rule OCM never sees a cluster finish; strict takes applied for done."""
    path = fleet(tmp_path / "a.yaml")

    strict = run("run", "-f", path, "--clock", "virtual")
    as_ocm = run("run", "-f", path, "--clock", "virtual", "--semantics", "ocm")

    assert (strict.exit_code, as_ocm.exit_code) == (0, 3)


def test_with_a_state_file_the_objects_are_there_to_look_at(tmp_path: Path) -> None:
    state, path = tmp_path / "s.db", fleet(tmp_path / "a.yaml")

    run("run", "-f", path, "--clock", "virtual", state=state)

    assert stored(state, "mwrs", "web")["status"]["summary"]["available"] == 3
    assert run("status", "mwrs", "web", state=state).exit_code == 0
    assert run("get", "mwrs", state=state).stdout.splitlines()[1].split()[1:] == [
        "AsExpected",
        "True",
        "AsExpected",
        "True",
    ]


def test_a_killed_run_goes_on_and_ends_as_if_nothing_had_been(tmp_path: Path) -> None:
    state, path = tmp_path / "s.db", fleet(tmp_path / "a.yaml", strategy=PROGRESSIVE)
    command = [sys.executable, "-u", "-m", "rollout", "run", "--state", str(state)]

    with subprocess.Popen(
        [*command, "-f", path, "--clock", "x20"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as killed:
        assert killed.stdout is not None
        while "progressing" not in killed.stdout.readline():
            pass
        killed.send_signal(signal.SIGKILL)
    again = run("run", "--clock", "virtual", state=state)

    assert again.exit_code == 0
    done = ["default/web", "✔", "done,", "HealthUnverified", "3", "3"]
    assert again.stdout.splitlines()[-1].split()[:6] == done


def test_a_second_run_on_the_same_state_is_refused_while_the_first_one_runs(
    tmp_path: Path,
) -> None:
    state, path = tmp_path / "s.db", fleet(tmp_path / "a.yaml", strategy=PROGRESSIVE)
    command = [sys.executable, "-u", "-m", "rollout", "run", "-f", path, "--state", str(state)]

    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        first.stdout.readline()
        second = run("run", "-f", path, state=state)
        first.send_signal(signal.SIGINT)
        told, _ = first.communicate(timeout=30)

    assert (second.exit_code, second.stderr.count("\n")) == (1, 1)
    assert "another runner has it" in second.stderr
    assert first.returncode == 130
    assert "not done" in told


def test_the_demo_leaves_the_state_file_of_the_environment_alone(tmp_path: Path) -> None:
    result = run("demo", state=tmp_path / "mine.db")

    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].split()[1:5] == ["✔", "done", "310", "310"]
    assert not (tmp_path / "mine.db").exists()


@pytest.mark.parametrize("words", [("-v", "run"), ("run", "-v")])
def test_warnings_of_the_engine_are_logged_only_on_demand(
    tmp_path: Path, words: tuple[str, str]
) -> None:
    misspelt: Obj = {
        "type": "Progressive",
        "progressive": {"mandatoryDecisionGroups": [{"groupName": "misspelt"}]},
    }
    rest = ("-f", fleet(tmp_path / "a.yaml", strategy=misspelt), "--clock", "virtual")

    quiet = _program("run", *rest)
    loud = _program(*words, *rest)

    assert (quiet.returncode, quiet.stderr) == (4, "")
    assert "UnknownDecisionGroup" in quiet.stdout
    assert loud.stderr.startswith(("WARNING ", "INFO "))


def _program(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rollout", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_is_run_where_a_document_is_bad(tmp_path: Path) -> None:
    path = fleet(tmp_path / "a.yaml", 1, placement("other", numberOfClusters=-1))

    result = run("run", "-f", path, "--clock", "virtual", state=tmp_path / "s.db")

    assert result.exit_code == 1
    assert "spec.numberOfClusters" in result.stderr
    assert "nothing was run" in result.stderr
    assert not (tmp_path / "s.db").exists()


def test_a_run_without_a_workload_is_an_error(tmp_path: Path) -> None:
    result = run("run", "-f", write(tmp_path / "a.yaml", placement()), "--clock", "virtual")

    assert result.exit_code == 1
    assert (
        "there is no ManifestWorkReplicaSet and no ClusterManagementAddOn to roll out"
        in result.stderr
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give -f PATH, or --state FILE"),
        (["-f", "x", "--clock", "fast"], "'fast' is not real, virtual, or xN"),
        (["-f", "x", "--agents", "nope.yaml"], "'nope.yaml' does not exist"),
    ],
)
def test_run_typed_wrongly_is_exit_code_2(words: Sequence[str], said: str) -> None:
    result = run("run", *words)

    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize(
    ("obj", "interrupted", "code"),
    [
        (DONE, False, 0),
        (standing(condition("Progressing", "False", "MaxFailuresExceeded")), False, 1),
        (ROLLING, False, 3),
        (standing(condition("Progressing", "False", "Paused")), False, 4),
        (standing(condition("Ready", "True", "RolledOutWithFailures")), False, 5),
        (ROLLING, True, 130),
    ],
)
def test_the_exit_code_of_a_run_is_that_of_its_workloads(
    tmp_path: Path, obj: Obj, interrupted: bool, code: int
) -> None:
    documents = read_documents([fleet(tmp_path / "a.yaml")])

    found = execute(
        Options(),
        documents,
        ClockMode(None),
        ScenarioChoice(),
        lambda *_: Fake([shot(T0, account(obj))], interrupted).run,
    )

    assert found == code


def test_the_engine_gets_the_scenario_and_a_clock_at_the_start_of_virtual_time(
    tmp_path: Path,
) -> None:
    seen: list[object] = []

    def engine(hub: object, clock: VirtualClock, speed: float | None, found: object) -> Any:
        seen.extend((clock.now(), speed, found))
        return Fake([shot(T0, account(DONE))]).run

    documents = read_documents([fleet(tmp_path / "a.yaml")])
    execute(Options(), documents, ClockMode(None), ScenarioChoice(seed=7), engine)  # type: ignore[arg-type]  # it knows which clock it gets

    now, speed, found = seen
    assert (now, speed) == (START, None)
    assert found == ScenarioChoice(seed=7).scenario()


def test_in_a_terminal_the_picture_is_drawn_and_the_summary_stays(tmp_path: Path) -> None:
    path = fleet(tmp_path / "a.yaml", strategy=PROGRESSIVE)
    ours, theirs = pty.openpty()

    with subprocess.Popen(
        [sys.executable, "-m", "rollout", "run", "-f", path, "--clock", "virtual"],
        cwd=ROOT,
        stdout=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "NO_COLOR": "1"},
    ) as process:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
        process.wait(30)
    os.close(ours)

    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r", "")
    assert process.returncode == 0
    assert "Status:    ✔ RolledOut" in text
    assert "└──□ the rest  ✔ Passed     3/3" in text
    assert text.rstrip().splitlines()[-1].startswith("default/web   ✔ done")
    assert "\x1b[3" not in shown.decode()  # no colours


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # how Linux says that the other side is closed
        return b""


# -- scenarios


def test_a_run_stops_after_the_time_it_was_given_and_goes_on_from_there(tmp_path: Path) -> None:
    """The same instants, in one run or in three: nothing is lost between them."""
    path = fleet(tmp_path / "a.yaml", strategy=PROGRESSIVE)
    words = ("run", "-f", path, "--clock", "virtual")
    whole, parts = tmp_path / "whole.db", tmp_path / "parts.db"
    assert run(*words, state=whole).exit_code == 0

    first = run(*words, "--for", "2m", state=parts)
    assert first.exit_code == 3, first.output
    assert "◌ not done: RollingOut" in first.stdout
    assert stored(parts, "mwrs", "web")["status"]["summary"]["applied"] == 1
    second = run("run", "--clock", "virtual", "--for", "90s", state=parts)
    assert second.exit_code == 3
    third = run("run", "--clock", "virtual", "--for", "1h", state=parts)

    assert third.exit_code == 0
    assert stored(parts, "mwrs", "web")["status"] == stored(whole, "mwrs", "web")["status"]


def test_time_stands_where_a_run_was_stopped_though_nothing_happened_then(tmp_path: Path) -> None:
    state = tmp_path / "a.db"
    run("run", "-f", fleet(tmp_path / "a.yaml", strategy=PROGRESSIVE), "--clock", "virtual",
        "--for", "2m34s", state=state)  # fmt: skip

    assert "  2m34s" in run("list", state=state).stdout


def test_a_run_that_ends_before_its_time_does_not_wait_for_it(tmp_path: Path) -> None:
    path = fleet(tmp_path / "a.yaml", strategy=PROGRESSIVE)

    result = run("run", "-f", path, "--clock", "x1000000", "--for", "999h")

    assert result.exit_code == 0


def test_a_run_on_fast_time_is_stopped_too(tmp_path: Path) -> None:
    path = fleet(tmp_path / "a.yaml", strategy=PROGRESSIVE)

    result = run("run", "-f", path, "--clock", "x100", "--for", "30s")

    assert result.exit_code == 3
    assert "◌ not done: RollingOut" in result.stdout


@pytest.mark.parametrize("span", ["0", "0s", "soon", "-1m", "10"])
def test_a_span_to_run_for_is_a_duration_above_zero(span: str, tmp_path: Path) -> None:
    result = run("run", "-f", fleet(tmp_path / "a.yaml"), "--for", span)

    assert result.exit_code == 2
    assert "'10m'" in result.stderr or '"10m"' in result.stderr


def test_stop_carries_its_code_and_lines() -> None:
    stop = Stop(4, "one", "two")

    assert (stop.code, stop.args) == (4, ("one", "two"))
