"""Clusters with values of their own: what the contract promises of them holds over random histories."""

import pytest

from tests.safety.days import FIXED, fresh_days
from tests.safety.hunting import hunt
from tests.safety.mutants import hunted
from tests.safety.mutants_values import VALUE_FAULTS
from tests.safety.mutating import Mutant, name_of
from tests.safety.table import number_in
from tests.safety.values import check


def test_s22_s23_s24_no_history_breaks_a_promise_and_each_thing_was_met() -> None:
    counts = check(FIXED)

    wanted = {
        "touched": 300,
        "waited": 10,
        "read late": 1,
        "held": 50,
        "half": 5,
        "taken back": 20,
        "as OCM": 50,
        "relabel": 20,
        "reclaim": 10,
        "upgrade": 10,
        "change_rule": 20,
        "change_both": 10,
        "change_template": 10,
        "break_rules": 10,
        "delete": 10,
        "quarrel": 10,
        "restart": 10,
        "drift": 10,
    }
    assert {name for name, least in wanted.items() if counts[name] < least} == set(), counts


def test_no_promise_is_broken_in_days_that_nobody_has_seen_before() -> None:
    assert check(fresh_days())["touched"] > 0


@pytest.mark.parametrize(("mutant", "kind"), hunted(VALUE_FAULTS), ids=name_of)
def test_a_kept_fault_is_noticed(mutant: Mutant, kind: str) -> None:
    assert hunt(mutant, kind, first=number_in(mutant.what, kind)) is not None
