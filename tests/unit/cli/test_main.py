import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from rollout.cli.main import _COMMANDS, cli
from rollout.cli.options import Options
from tests.support.shapes import placement, run, write


def told_by(*words: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """What a process of its own has said when it has ended."""
    path = {"PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run(words, env={**path, **env}, capture_output=True, text=True, check=False)


def test_help_lists_every_command_in_the_order_one_needs_them() -> None:
    told = run("--help").stdout

    listed = re.findall(r"^  (\w+) {2,}\S", told.partition("Commands:")[2], re.MULTILINE)
    assert listed == [
        "demo",
        "run",
        "validate",
        "diff",
        "plan",
        "simulate",
        "apply",
        "get",
        "status",
        "list",
        "explain",
        "describe",
        "render",
        "history",
        "dashboard",
        "events",
        "pause",
        "resume",
        "abort",
        "retry",
        "undo",
        "approve",
        "reject",
        "skip",
        "hold",
        "release",
        "freeze",
        "unfreeze",
        "override",
        "calendar",
        "notify",
        "replay",
        "delete",
        "controller",
        "agents",
        "doctor",
        "migrate",
        "crds",
        "manifests",
        "completion",
        "version",
    ]


@pytest.mark.parametrize(
    "command", ["demo", "run", "plan", "apply", "get", "status", "delete", "dashboard"]
)
def test_every_command_explains_itself(command: str) -> None:
    result = run(command, "--help")

    assert result.exit_code == 0
    assert "--state FILE" in result.stdout


def test_no_command_at_all_prints_the_help() -> None:
    result = run()

    assert result.exit_code == 2
    assert result.stdout.startswith("Usage: rollout")


@pytest.mark.parametrize(
    ("words", "said"),
    [(["bogus"], "no such command 'bogus'"), (["get", "--bogus"], "no such option '--bogus'")],
)
def test_what_is_typed_wrongly_is_one_line_with_the_way_to_help(
    words: list[str], said: str
) -> None:
    result = run(*words)

    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {said}")
    assert "--help)" in result.stderr
    assert result.stderr.count("\n") == 1


def test_shared_options_may_stand_before_or_after_the_command(tmp_path: Path) -> None:
    state, path = str(tmp_path / "s.db"), write(tmp_path / "a.yaml", placement())

    before = run("--state", state, "apply", "-f", path)
    after = run("apply", "-f", path, "--state", state)

    assert before.stdout.endswith("created\n")
    assert after.stdout.endswith("unchanged\n")


@pytest.mark.parametrize(
    "command", ["validate", "replay", "crds", "manifests", "completion", "version"]
)
def test_the_help_of_a_command_that_needs_no_hub_offers_none(command: str) -> None:
    told = run(command, "--help").stdout

    assert [name for name in ("--state", "--context", "--kubeconfig") if name in told] == []
    assert "--verbose" in told


def test_an_option_after_the_command_wins_over_the_environment(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", placement())

    run("apply", "-f", path, "--state", str(tmp_path / "asked.db"), state=tmp_path / "env.db")

    assert (tmp_path / "asked.db").exists()
    assert not (tmp_path / "env.db").exists()


def test_version_says_which_program_this_is() -> None:
    assert re.match(r"rollout \S+ \(Python 3\.", run("version").stdout)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell: str) -> None:
    assert "_ROLLOUT_COMPLETE" in run("completion", shell).stdout


def test_kinds_are_completed() -> None:
    env = {"_ROLLOUT_COMPLETE": "bash_complete", "COMP_WORDS": "rollout get mw", "COMP_CWORD": "2"}

    told = told_by(sys.executable, "-c", "from rollout.cli.main import main; main()", **env)

    assert told.stdout.split() == ["plain,mwrs"]


def test_interrupting_a_watch_is_quiet_and_exits_like_any_interrupted_program(
    tmp_path: Path,
) -> None:
    state = str(tmp_path / "s.db")
    run("apply", "-f", write(tmp_path / "a.yaml", placement()), "--state", state)

    with subprocess.Popen(
        [sys.executable, "-u", "-m", "rollout", "get", "placement", "-w", "--state", state],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watch:
        assert watch.stdout is not None
        assert watch.stdout.readline().startswith("NAME")
        watch.send_signal(signal.SIGINT)
        _, said = watch.communicate(timeout=30)

    assert watch.returncode == 130
    assert said.strip() == ""


def test_colours_are_off_where_no_color_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Options().color
    assert not Options(no_color=True).color
    monkeypatch.setenv("NO_COLOR", "1")
    assert not Options().color


def test_nothing_is_redrawn_where_output_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert Options().live
    assert not Options(verbose=1).live  # a log would run through the picture
    monkeypatch.setenv("TERM", "dumb")
    assert not Options().live
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    assert not Options().live


def test_light_commands_load_neither_pydantic_nor_rich() -> None:
    loaded = loaded_by(
        "from click.testing import CliRunner; from rollout.cli.main import cli;"
        " CliRunner().invoke(cli, ['version'])"
    )

    assert not loaded & {"pydantic", "rich", "yaml", "msgspec"}


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("statsu", "error: no such command 'statsu': did you mean status? (see rollout --help)"),
        ("rollback", "error: no such command 'rollback': did you mean undo? (see rollout --help)"),
        ("xyzzy", "error: no such command 'xyzzy' (see rollout --help)"),
    ],
)
def test_a_misspelt_command_is_answered_with_the_one_that_was_meant(typed: str, told: str) -> None:
    found = run(typed)

    assert found.exit_code == 2
    assert found.stderr.strip() == told


def test_a_process_without_stdout_runs_to_its_end_and_writes_into_no_other_file(
    tmp_path: Path,
) -> None:
    """The state file would be opened as file 1, and whatever is printed written into it."""
    path = write(tmp_path / "a.yaml", placement())
    line = f"{sys.executable} -m rollout apply -f {path} --state {tmp_path / 'state.db'} >&-"

    told = told_by("/bin/sh", "-c", line)

    assert (told.returncode, told.stderr) == (0, "")
    assert run("get", "placements", "fleet", state=tmp_path / "state.db").exit_code == 0


def test_the_demo_runs_without_stdout(tmp_path: Path) -> None:
    told = told_by("/bin/sh", "-c", f"{sys.executable} -m rollout demo >&-")

    assert (told.returncode, told.stderr) == (0, "")


def loaded_by(code: str) -> set[str]:
    """The modules that a new interpreter has after this code."""
    told = told_by(sys.executable, "-c", f"import sys; {code}; print(*sys.modules)")
    assert told.returncode == 0, told.stderr
    return set(told.stdout.split())


def test_the_help_of_all_commands_loads_none_of_them() -> None:
    """It takes no longer than it takes to print it."""
    loaded = loaded_by(
        "from rollout.cli.main import cli; import click; cli.get_help(click.Context(cli))"
    )

    assert not loaded & {place.partition(":")[0] for place, _ in _COMMANDS.values()}
    assert not loaded & {"pydantic", "yaml", "rich", "rollout.api", "rollout.fleet.fleet"}


def test_the_help_of_a_command_waits_for_no_client_and_no_server() -> None:
    places = sorted({place.partition(":")[0] for place, _ in _COMMANDS.values()})

    loaded = loaded_by("; ".join(f"import {place}" for place in places))
    assert not loaded & {"kubernetes", "aiohttp", "prometheus_client"}


@pytest.mark.parametrize("name", _COMMANDS)
def test_the_list_of_commands_says_of_each_what_its_own_help_begins_with(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.get_short_help_str(limit=1000) == _COMMANDS[name][1]
