"""How spans are told, and that no text of an object can steer the terminal of who reads it."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from rich.text import Text

from rollout.account.words import age, brief, harmless, stopwatch
from rollout.cli.picture import columns
from tests.support.shapes import condition, placement, run, stored, workload, write

CLI = Path(__file__).parents[3] / "rollout" / "cli"
FORGED = "fine\x1b[2K\x1b[1A\n✔ default/other: RolledOut\r\x07\x9b31m"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
S, M, H, D = 1, 60, 3600, 86_400
Y = 365 * D


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (4 * M + 30, "4m30s"),
        (10 * M - 1, "9m59s"),
        (10 * M, "10m"),
        (10 * M + 59, "10m"),
        (3 * H - 1, "179m"),
        (3 * H, "3h"),
        (3 * H + 5 * M, "3h5m"),
        (8 * H - 1, "7h59m"),
        (8 * H, "8h"),
        (2 * D - 1, "47h"),
        (2 * D, "2d"),
        (2 * D + 4 * H, "2d4h"),
        (8 * D - 1, "7d23h"),
        (8 * D, "8d"),
        (2 * Y - 1, "729d"),
        (2 * Y, "2y"),
        (3 * Y + 12 * D, "3y12d"),
        (8 * Y, "8y"),
        (30 * Y, "30y"),
    ],
)
def test_an_age_is_shown_as_kubectl_shows_it(seconds: int, shown: str) -> None:
    assert age(timedelta(seconds=seconds)) == shown


@pytest.mark.parametrize(
    ("span", "shown"),
    [
        (timedelta(0), "00:00:00"),
        (timedelta(seconds=3725, milliseconds=999), "01:02:05"),
        (timedelta(hours=123), "123:00:00"),
        (timedelta(seconds=-5), "00:00:00"),
    ],
)
def test_a_stopwatch_counts_whole_seconds_and_never_below_zero(span: timedelta, shown: str) -> None:
    assert stopwatch(span) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.0, "0s"), (0.4124, "0.412s"), (7.06, "7.1s"), (60, "60s")]
)
def test_a_short_duration_is_shown_finer_than_an_age(seconds: float, shown: str) -> None:
    assert brief(timedelta(seconds=seconds)) == shown


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


def test_control_characters_are_shown_where_they_stand(state: Path) -> None:
    assert "x␛]0;pwned␇ (unverified)" in run("explain", "rollout", "web", state=state).stdout


def test_json_keeps_control_characters(state: Path) -> None:
    found = stored(state, "placement", "fleet")["status"]["conditions"]

    assert FORGED in [each["message"] for each in found]


def test_a_picture_keeps_its_columns_and_styles() -> None:
    first, second = columns([(Text("a\x1bb", style="red"), "x\ny"), ("abc", "z")])

    assert (first.plain, second.plain) == ("a␛b  x␊y", "abc  z")
    assert "red" in {str(span.style) for span in first.spans}


def test_all_text_is_printed_in_one_place() -> None:
    others = [p.name for p in CLI.glob("*.py") if re.search(r"click\.s?echo\(", p.read_text())]

    assert others == ["text.py"]
