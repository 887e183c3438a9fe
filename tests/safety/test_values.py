"""Clusters with values of their own: what the contract promises of them holds over random histories."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.safety.mutating import Mutant, name_of
from tests.safety.values import VALUE_FAULTS, check

ROOT = Path(__file__).parents[2]


def test_no_history_breaks_a_promise_and_each_thing_was_met() -> None:
    counts = check(range(60))

    wanted = (
        "touched",
        "held",
        "taken back",
        "relabel",
        "change_rule",
        "quarrel",
        "restart",
        "drift",
    )
    assert {name for name in wanted if counts[name] < 20} == set(), counts


@pytest.mark.parametrize("fault", VALUE_FAULTS, ids=name_of)
def test_a_kept_fault_is_noticed(fault: Mutant) -> None:
    number = str(VALUE_FAULTS.index(fault))
    command = [sys.executable, "-m", "tests.safety.values", number]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert found.returncode == 1, found.stdout + found.stderr
