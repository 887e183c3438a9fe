"""What the README and examples/ show is what happens."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        pytest.param(
            "quickstart.py",
            [
                "12:06 touch () - look again at 12:07",
                "12:07 touch ('eu-2', 'eu-3') - passed ('canary/0',)",
            ],
            id="one step",
        ),
        pytest.param(
            "simulate.py",
            [
                "prod-canary-west #0 {'Soaked': 10}",
                "prod-canary-east #1 {'Soaked': 10}",
                "the rest {'Soaked': 290}",
            ],
            id="virtual time",
        ),
        pytest.param(
            "frozen_time.py",
            [
                "00:05:32 placement all-prod: prod-canary-west #0 passed",
                "00:11:04 placement all-prod: prod-canary-east #1 passed",
                "00:33:12 placement all-prod: the rest passed",
            ],
            id="frozen time",
        ),
    ],
)
def test_an_example_prints_what_is_said_of_it(
    name: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")

    printed = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line not in printed] == []


@pytest.mark.parametrize("page", ["README.md", "docs/library.md"])
def test_python_in_a_page_runs_and_prints_what_it_says(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    blocks = re.findall(
        r"```python\n(.*?)```\n+```text\n(.*?)```", (ROOT / page).read_text(), re.DOTALL
    )
    assert blocks
    for source, expected in blocks:
        out: list[str] = []
        scope = {"print": lambda *words, out=out: out.append(" ".join(map(str, words)))}
        exec(compile(source, page, "exec"), scope)

        assert out == expected.strip().splitlines()
