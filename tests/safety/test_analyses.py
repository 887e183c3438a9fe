"""Releases that are measured, gated and told: what the contract promises of them holds over random histories."""

import pytest

from tests.safety import gated
from tests.safety.analyses import check
from tests.safety.days import FIXED, fresh_days
from tests.safety.hunting import hunt
from tests.safety.mutants import hunted
from tests.safety.mutants_analyses import ANALYSIS_FAULTS
from tests.safety.mutants_gated import GATED_FAULTS
from tests.safety.mutating import Mutant, name_of
from tests.safety.table import number_in


def test_s25_s26_s27_no_history_breaks_a_promise_and_each_thing_was_met() -> None:
    counts = check(FIXED)

    wanted = {
        "touched": 300,
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


def test_no_promise_is_broken_in_days_that_nobody_has_seen_before() -> None:
    assert check(fresh_days())["touched"] > 0
    assert gated.check(fresh_days())["touched"] > 0


@pytest.mark.parametrize(("mutant", "kind"), hunted(ANALYSIS_FAULTS), ids=name_of)
def test_a_kept_fault_is_noticed(mutant: Mutant, kind: str) -> None:
    assert hunt(mutant, kind, first=number_in(mutant.what, kind)) is not None


def test_no_history_of_gates_breaks_a_promise_and_each_thing_was_met() -> None:
    counts = gated.check(FIXED)

    wanted = {
        "touched": 200,
        "touched in a window": 80,
        "measured outage": 100,
        "measured bad": 20,
        "measured nan": 3,
        "forge": 30,
        "approve": 20,
        "retry": 20,
        "restart": 20,
        "swap": 20,
        "come_back": 20,
        "passed": 20,
        "passed by a person": 2,
        "a canary that is Successful": 20,
        "ended Complete": 20,
        "ended AnalysisFailed": 1,
        "overtake": 15,
        "ended AnalysisInconclusive": 1,
    }
    assert {name for name, least in wanted.items() if counts[name] < least} == set(), counts


@pytest.mark.parametrize(("mutant", "kind"), hunted(GATED_FAULTS), ids=name_of)
def test_a_kept_fault_of_gates_is_noticed(mutant: Mutant, kind: str) -> None:
    assert hunt(mutant, kind, first=number_in(mutant.what, kind)) is not None
