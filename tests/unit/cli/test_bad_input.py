"""Bad input by the kind: each row of bad_input.yaml is answered with line, field, value, what is accepted, exit code.

A row of ``files`` spoils a line of good_input.yaml: it writes something ``instead``, and ``#!`` marks the line
that is to be named. A row of ``commands`` is a command line.
"""

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from rollout.api.file_objects import file_objects
from rollout.api.load import load
from tests.support.shapes import run

HERE = Path(__file__).parent
GOOD = (HERE / "good_input.yaml").read_text()
TABLE: dict[str, list[dict[str, Any]]] = yaml.safe_load((HERE / "bad_input.yaml").read_text())
MARK = "#!"


def test_the_good_input_has_nothing_wrong() -> None:
    result = run("validate", "-f", str(HERE / "good_input.yaml"))

    assert (result.exit_code, result.stdout) == (0, "13 objects: 0 errors, 0 warnings\n")


@pytest.mark.parametrize("row", TABLE["files"], ids=lambda row: row["write"].strip().split("\n")[0])
def test_what_is_wrong_in_a_file_is_told_with_its_line(row: dict[str, Any], tmp_path: Path) -> None:
    assert GOOD.count(row["instead"]) == 1
    path = tmp_path / "bad.yaml"
    path.write_text(GOOD.replace(row["instead"], row["write"]))
    (line,) = (n for n, text in enumerate(path.read_text().splitlines(), 1) if MARK in text)

    result = run("validate", "-f", str(path))

    assert f"{path}:{line}: {row['says']}" in result.stdout.splitlines()
    assert result.exit_code == row["exit"]
    assert run("validate", "--strict", "-f", str(path)).exit_code == 1


@pytest.mark.parametrize("row", TABLE["files"], ids=lambda row: row["write"].strip().split("\n")[0])
def test_who_applies_a_file_is_told_the_same_line(row: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(GOOD.replace(row["instead"], row["write"]))
    (line,) = (n for n, text in enumerate(path.read_text().splitlines(), 1) if MARK in text)

    told = [each for found in file_objects(load(path)) for each in found.complaints]

    assert not told or f"{path}:{line}" in {each.split(": ")[0] for each in told}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that are no input, and a state file in which the good input is."""
    place = tmp_path_factory.mktemp("bad")
    (place / "good.yaml").write_text(GOOD)
    (place / "empty.yaml").write_text("# nothing\n")
    (place / "latin.yaml").write_bytes(b"kind: \xff")
    (place / "broken.json").write_text('{"kind": }')
    (place / "scenario.yaml").write_text(
        "apiVersion: rollout-engine.io/v1alpha1\nkind: AgentScenario\nspec:\n  rules:\n  - behavior: {}\n"
    )
    (place / "README.md").write_text("# no database\n")
    (place / "folder").mkdir()
    applied = run("apply", "-f", str(place / "good.yaml"), "--state", str(place / "s.db"))
    assert applied.exit_code == 0
    return place


@pytest.mark.parametrize("row", TABLE["commands"], ids=lambda row: row["type"])
def test_what_is_wrong_in_a_command_is_told(
    row: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    before = {path.name for path in folder.iterdir()}

    result = run(*shlex.split(row["type"]))

    assert row["says"] in (result.stderr + result.stdout).splitlines()
    assert result.exit_code == row["exit"]
    assert {path.name for path in folder.iterdir()} == before
