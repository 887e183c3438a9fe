"""What others put into an object's texts cannot steer the terminal of who reads them."""

import re
from pathlib import Path

import pytest
from rich.text import Text

from rollout.account.words import harmless
from rollout.cli.picture import columns
from tests.support.shapes import condition, placement, run, stored, workload, write

CLI = Path(__file__).parents[3] / "rollout" / "cli"
FORGED = "fine\x1b[2K\x1b[1A\n✔ default/other: RolledOut\r\x07\x9b31m"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("a\nb\r\n", "a␊b␍␊"),
        ("\x9b2K\x7f", "�2K␡"),
        ("a\u202eb\u2028c", "a�b␤c"),
        ("plain, ✔ and\ttabs", "plain, ✔ and\ttabs"),
    ],
)
def test_what_steers_a_terminal_is_shown_sign_for_sign(text: str, shown: str) -> None:
    assert harmless(text) == shown
    assert len(shown) == len(text)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A placement whose message, and a workload whose reasons to pause, are forged."""
    state = tmp_path / "state.db"
    selected = {
        **placement(),
        "status": {"conditions": [condition("PlacementSatisfied", "False", "X", FORGED)]},
    }
    asking = workload()
    asking["metadata"]["labels"] = {"a": "b"}
    path = write(tmp_path / "a.yaml", selected, asking)
    assert run("apply", "-f", path, state=state).exit_code == 0
    said = run("pause", "mwrs", "web", "--reason", FORGED, "--by", "x\x1b]0;pwned\x07", state=state)
    assert said.exit_code == 0
    return state


@pytest.mark.parametrize(
    "words",
    [
        "get placements -o wide",
        "get mwrs",
        "get mwrs web -o tree",
        "describe mwrs web",
        "explain rollout web",
        "explain placement fleet",
        "status mwrs web",
        "list",
        "history mwrs web",
        "pause mwrs web",
    ],
)
def test_no_command_prints_control_characters_of_objects(words: str, state: Path) -> None:
    found = run(*words.split(), state=state)

    assert not STEERING.search(found.output.replace("\n", ""))
    assert not [line for line in found.output.splitlines() if line.startswith("✔ default/other")]


def test_they_are_shown_where_they_stand(state: Path) -> None:
    assert "x␛]0;pwned␇ (unverified)" in run("explain", "rollout", "web", state=state).stdout


def test_json_keeps_them(state: Path) -> None:
    found = stored(state, "placement", "fleet")["status"]["conditions"]

    assert FORGED in [each["message"] for each in found]


def test_a_picture_keeps_its_columns_and_styles() -> None:
    first, second = columns([(Text("a\x1bb", style="red"), "x\ny"), ("abc", "z")])

    assert (first.plain, second.plain) == ("a␛b  x␊y", "abc  z")
    assert "red" in {str(span.style) for span in first.spans}


def test_all_text_is_printed_in_one_place() -> None:
    others = [p.name for p in CLI.glob("*.py") if re.search(r"click\.s?echo\(", p.read_text())]

    assert others == ["text.py"]
