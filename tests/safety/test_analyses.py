"""Releases that are measured and told: what the contract promises of them holds over random histories."""

import pytest

from tests.safety.analyses import check
from tests.safety.hunting import hunt
from tests.safety.mutants import hunted
from tests.safety.mutants_analyses import ANALYSIS_FAULTS
from tests.safety.mutating import Mutant, name_of
from tests.safety.table import number_in


def test_no_history_breaks_a_promise_and_each_thing_was_met() -> None:
    counts = check()

    wanted = {
        "touched": 500,
        "Successful": 1000,
        "Failed": 100,
        "Inconclusive": 100,
        "Error": 10,
        "measured outage": 50,
        "killed": 20,
        "restart": 20,
        "come_back": 20,
        "fixed after RolledBack": 5,
        "fixed after MaxFailuresExceeded": 5,
        "given back": 10,
        "not delivered": 50,
        "ended RolledBack": 3,
        "ended MaxFailuresExceeded": 3,
    }
    assert {name for name, least in wanted.items() if counts[name] < least} == set(), counts


@pytest.mark.parametrize(("mutant", "kind"), hunted(ANALYSIS_FAULTS), ids=name_of)
def test_a_fault_that_breaks_a_promise_is_noticed(mutant: Mutant, kind: str) -> None:
    assert hunt(mutant, kind, first=number_in(mutant.what, kind)) is not None
