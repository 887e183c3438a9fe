"""Would the suite notice? Small faults, one or more for each promise, that it must catch.

Each is a change in the text of the engine, by (module, old text, new text); where the code moves on, its
text here moves along. This module imports nothing of the engine.
"""

from tests.safety.mutants_addons import OF_ADDONS
from tests.safety.mutants_decisions import OF_DECISIONS
from tests.safety.mutants_memory import OF_MEMORY
from tests.safety.mutants_people import OF_PEOPLE
from tests.safety.mutants_writes import OF_WRITES
from tests.safety.mutating import Mutant, each

MUTANTS: tuple[Mutant, ...] = (*OF_DECISIONS, *OF_MEMORY, *OF_WRITES, *OF_PEOPLE, *OF_ADDONS)

UNNOTICED: frozenset[tuple[str, str]] = frozenset()
"""Faults with a kind of workload that no history has shown so far: nothing is claimed of them."""


def cases() -> list[tuple[Mutant, str]]:
    """Every mutant with every kind of workload that it concerns."""
    return each(MUTANTS)
