"""A command that takes long says so on a terminal, and on nothing else."""

import io
import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path
from subprocess import PIPE

import pytest

from rollout.cli.patience import Patience
from tests.support.shapes import cluster, placement, workload, write


class Terminal(io.StringIO):
    """Lets the test go on after so many lines."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times, self.seen = times, threading.Event()

    def wait_for(self, times: int) -> bool:
        """Wait for so many more lines, of which the last was written after this call began."""
        self.times = times
        self.seen.clear()
        return self.seen.wait(30)

    def flush(self) -> None:
        self.times -= 1
        if self.times <= 0:
            self.seen.set()


def test_the_line_counts_and_is_taken_away_again() -> None:
    out = Terminal(3)
    patience = Patience("plan", out, second=0.001)
    assert out.seen.wait(30)
    patience.end()
    patience.end()

    told = out.getvalue().split("\r\x1b[K")
    assert told[:3] == ["", "rollout plan: working (1 s)", "rollout plan: working (2 s)"]
    assert told[-1] == ""
    assert out.getvalue().count("\r\x1b[K") == len(told) - 1


def test_the_line_says_how_far_the_command_is() -> None:
    out = Terminal(1)
    patience = Patience("simulate", out, second=0.001)
    patience.reached = "at 00:20:11"
    assert out.wait_for(3)
    patience.end()

    assert re.search(r"rollout simulate: working \(\d+ s, at 00:20:11\)", out.getvalue())


def test_what_ends_at_once_says_nothing() -> None:
    out = io.StringIO()
    Patience("status", out).end()

    assert out.getvalue() == ""


@pytest.mark.parametrize(
    ("command", "code"), [("plan", 10), ("run --clock virtual", 4), ("simulate", 0)]
)
def test_what_takes_long_says_within_about_a_second_that_it_works_and_prints_the_same(
    tmp_path: Path, command: str, code: int
) -> None:
    """It takes as long as its standard input, which ends once a line has been seen."""
    path = Path(write(tmp_path / "a.yaml", placement(), workload(), cluster("c1")))
    words = [sys.executable, "-m", "rollout", *command.split(), "-f", "-"]
    leader, follower = pty.openpty()

    with subprocess.Popen(words, stdin=PIPE, stdout=PIPE, stderr=follower) as process:
        os.close(follower)
        told = os.read(leader, 1 << 10).decode()
        planned, _ = process.communicate(path.read_bytes(), timeout=60)
    told += os.read(leader, 1 << 16).decode()
    piped = subprocess.run(
        words, input=path.read_bytes(), check=False, capture_output=True, timeout=60
    )

    assert (process.returncode, piped.returncode) == (code, code)
    assert told.startswith(f"\r\x1b[Krollout {command.split(maxsplit=1)[0]}: working (1 s)")
    assert told.endswith("\r\x1b[K")
    assert piped.stderr == b""
    assert planned.splitlines()[0] == piped.stdout.splitlines()[0]
