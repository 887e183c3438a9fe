"""Clusters with values of their own: what the contract promises of them holds over random histories."""

import pytest

from tests.safety.hunting import hunt
from tests.safety.mutants import hunted
from tests.safety.mutants_values import VALUE_FAULTS
from tests.safety.mutating import Mutant, name_of
from tests.safety.table import number_in
from tests.safety.values import check


def test_no_history_breaks_a_promise_and_each_thing_was_met() -> None:
    counts = check()

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


@pytest.mark.parametrize(("mutant", "kind"), hunted(VALUE_FAULTS), ids=name_of)
def test_a_fault_that_breaks_a_promise_is_noticed(mutant: Mutant, kind: str) -> None:
    assert hunt(mutant, kind, first=number_in(mutant.what, kind)) is not None
