"""Clusters with values of their own: what the contract promises of them holds over random histories."""

import pytest

from tests.safety.days import noticed
from tests.safety.mutating import Mutant, name_of
from tests.safety.values import VALUE_FAULTS, check


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


@pytest.mark.parametrize("fault", VALUE_FAULTS, ids=name_of)
def test_a_kept_fault_is_noticed(fault: Mutant) -> None:
    assert noticed("tests.safety.values", VALUE_FAULTS.index(fault))
