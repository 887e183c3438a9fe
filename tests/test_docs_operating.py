"""What docs/operating.md and docs/addons.md show is what happens."""

import re
from pathlib import Path

import pytest

from tests.cli.shapes import run

ROOT = Path(__file__).parents[1]
ELLIPSIS = "..."


def commands(page: str) -> list[tuple[str, list[str]]]:
    """Each command of a page with the lines that it is said to print."""
    text = (ROOT / "docs" / page).read_text()
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ rollout "):
                found.append((line.removeprefix("$ rollout "), []))
            else:
                found[-1][1].append(line)
    return found


def matches(shown: list[str], printed: list[str]) -> bool:
    """Whether the lines are the same; ``...`` stands for any number of them."""
    pattern = "\n".join(".*?" if line == ELLIPSIS else re.escape(line) for line in shown)
    return (
        re.fullmatch(pattern.rstrip("\n"), "\n".join(printed).rstrip("\n"), re.DOTALL) is not None
    )


@pytest.mark.parametrize("page", ["operating.md", "addons.md"])
def test_every_command_prints_what_the_page_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    for words, shown in commands(page):
        found = run(*words.replace("fleet.db", str(tmp_path / "fleet.db")).split())

        assert found.exit_code in (0, 1, 10), found.output
        assert matches(shown, found.stdout.splitlines()), f"{words}\n{found.output}"


def test_the_page_shows_every_verb_that_only_asks() -> None:
    verbs = {words.split()[0] for words, _ in commands("operating.md")}

    assert verbs >= {"plan", "simulate", "explain", "history", "list"}
