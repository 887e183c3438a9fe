"""What does `rollout controller` understand? Its options, and how it ends; the rest needs a server."""

import json
from pathlib import Path

import pytest
import yaml

from rollout.settings import Settings
from tests.support.shapes import placement, run, write

NOWHERE = "https://127.0.0.1:9"


def kubeconfig(folder: Path, server: str = NOWHERE) -> str:
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "c", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }  # fmt: skip
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)


def test_every_setting_is_an_option_with_its_variable() -> None:
    said = run("controller", "--help").stdout
    for name in Settings.model_fields:
        assert f"--{name.replace('_', '-')}" in said
        assert f"ROLLOUT_{name.upper()}" in " ".join(said.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--profile", "lax"], "'lax' is not one of"),
        (["--retry-seconds", "x"], "'x' is not a valid float"),
        (["--retry-seconds", "60"], "must grow in this order"),
        (["--debug-listen", ":8081"], "tokens would travel in the open"),
        (["--state", "f.db"], "--state is for `rollout run`"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(words: list[str], said: str, tmp_path: Path) -> None:
    result = run("controller", "--kubeconfig", kubeconfig(tmp_path), *words)
    assert result.exit_code in (1, 2)
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_kubeconfig_that_is_not_there_is_told(tmp_path: Path) -> None:
    result = run("controller", "--kubeconfig", str(tmp_path / "none"))
    assert result.exit_code == 1
    assert "none" in result.stderr


def test_an_address_that_is_taken_ends_it_with_one_line(tmp_path: Path) -> None:
    import socket  # noqa: PLC0415

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        result = run(
            "controller", "--kubeconfig", kubeconfig(tmp_path), "--debug-listen", "",
            "--health-listen", "", "--listen", place,
        )  # fmt: skip
    assert result.exit_code == 1
    assert f"listen on {place}" in result.stderr


@pytest.mark.parametrize(
    "words",
    [["get", "mwrs"], ["status", "mwrs", "web"], ["delete", "mwrs", "web"]],
    ids=lambda words: words[0],
)
def test_other_commands_go_to_the_server_that_is_named(words: list[str], tmp_path: Path) -> None:
    result = run(*words, "--kubeconfig", kubeconfig(tmp_path))
    assert result.exit_code == 1
    assert "127.0.0.1:9" in result.stderr or "ManifestWorkReplicaSet" in result.stderr


def test_a_server_and_a_state_file_at_once_is_a_mistake(tmp_path: Path) -> None:
    result = run("get", "mwrs", "--kubeconfig", kubeconfig(tmp_path), "--state", "f.db")
    assert (result.exit_code, "not both" in result.stderr) == (2, True)


def test_a_server_that_is_named_wins_over_the_variable_of_a_state_file(tmp_path: Path) -> None:
    result = run("get", "mwrs", "--kubeconfig", kubeconfig(tmp_path), state=tmp_path / "f.db")
    assert "no state file" not in result.stderr
    assert result.exit_code == 1


def test_nobody_simulates_on_a_server(tmp_path: Path) -> None:
    files = write(tmp_path / "a.yaml", placement())
    result = run("run", "-f", files, "--kubeconfig", kubeconfig(tmp_path))
    assert result.exit_code == 2
    assert "rollout controller" in result.stderr


def test_a_server_that_is_away_is_a_problem_for_the_doctor(tmp_path: Path) -> None:
    result = run("doctor", "--kubeconfig", kubeconfig(tmp_path), "-o", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["problems"] == 1
