"""Faults kept in `tests.safety.mutants_processes`: the histories of the safety contract notice each of them."""

import pytest

from tests.safety.hunting import hunt
from tests.safety.mutants import hunted
from tests.safety.mutants_processes import OF_PROCESSES
from tests.safety.mutating import Mutant, name_of
from tests.safety.table import number_in


@pytest.mark.parametrize(("mutant", "kind"), hunted(OF_PROCESSES), ids=name_of)
def test_a_fault_that_breaks_a_promise_is_noticed(mutant: Mutant, kind: str) -> None:
    assert hunt(mutant, kind, first=number_in(mutant.what, kind)) is not None
