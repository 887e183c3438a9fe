"""The lines of the benchmark of commands are commands that work, on a state file as a run leaves it."""

from benchmarks.cli import LINES, measured


def test_each_line_is_a_command_that_works() -> None:
    found = {name: seconds for name, seconds, _ in measured(20, times=1)}

    assert found.keys() == {name for name, _, _ in LINES}
    assert min(found.values()) > 0
