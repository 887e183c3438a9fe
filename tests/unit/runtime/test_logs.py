"""Is each log line one JSON object, whatever is logged?"""

import json
import logging
import sys

from hypothesis import given
from hypothesis import strategies as st

from rollout.runtime.logs import LOUD, JsonFormatter, start_logging


def record(message: str, *args: object, fault: bool = False) -> logging.LogRecord:
    info = None
    if fault:
        try:
            int("broken")
        except ValueError:
            info = sys.exc_info()
    return logging.LogRecord("rollout.x", logging.WARNING, "f", 1, message, args, info)


def test_a_line_says_when_how_bad_who_and_what() -> None:
    said = json.loads(JsonFormatter().format(record("%s of %d", "some", 3)))
    assert said["time"].endswith("Z")
    assert {k: v for k, v in said.items() if k != "time"} == {
        "level": "warning", "logger": "rollout.x", "message": "some of 3",
    }  # fmt: skip


def test_a_traceback_is_part_of_its_line() -> None:
    line = JsonFormatter().format(record("it failed", fault=True))
    assert "\n" not in line
    assert "ValueError: invalid literal" in json.loads(line)["error"]


@given(st.text())
def test_whatever_is_said_stays_one_line(text: str) -> None:
    line = JsonFormatter().format(record("%s", text))
    assert json.loads(line)["message"] == text
    assert "\n" not in line


def test_logging_is_set_up_once_and_libraries_are_quiet() -> None:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    try:
        start_logging("json", "debug")
        start_logging("json", "info")
        assert len(root.handlers) == 1
        assert root.level == logging.INFO
        assert all(logging.getLogger(name).level == logging.WARNING for name in LOUD)
    finally:
        root.handlers[:], root.level = before, level
