"""What docs/tutorial.md shows is what happens, typed in an empty folder beside the installed package."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.package.conftest import ROOT

pytestmark = pytest.mark.package

PAGE = (ROOT / "docs" / "tutorial.md").read_text()


def commands() -> list[tuple[str, list[str]]]:
    """Each command of the page with the lines that it is said to print."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.startswith("> "):
                command, shown = found[-1]
                found[-1] = (f"{command}\n{line[2:]}", shown)
            else:
                found[-1][1].append(line)
    return found


def fits(shown: list[str], printed: list[str]) -> bool:
    """Whether the lines are the same; ``...`` stands for any number of them, or the rest of a line."""
    pattern = "\n".join(
        r"(?:.*\n)*?.*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*")
        for line in shown
    )
    return re.fullmatch(pattern, "\n".join(printed)) is not None


def test_every_command_of_the_tutorial_prints_what_it_shows(
    environment: Path, tmp_path: Path
) -> None:
    env = {
        "PATH": f"{environment}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "HOME": str(tmp_path), "COLUMNS": "100", "LANG": "C.UTF-8",
    }  # fmt: skip
    for command, shown in commands():
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            env[name] = value
            continue
        done = subprocess.run(
            ["/bin/bash", "-c", command],
            check=False, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120,
        )  # fmt: skip

        assert "Traceback" not in done.stderr, done.stderr
        assert not re.search(r"^error:", done.stderr, re.MULTILINE), f"{command}\n{done.stderr}"
        assert fits(shown, done.stdout.splitlines()), f"{command}\n{done.stdout}"
