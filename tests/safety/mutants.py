"""Would the suite notice? Small faults, one or more for each promise, that it must catch.

Each is a change in the text of the engine, by (module, old text, new text); where the code moves on, its
text here moves along. This module imports nothing of the engine.
"""

from collections.abc import Sequence

from tests.safety.mutants_addons import OF_ADDONS
from tests.safety.mutants_decisions import OF_DECISIONS
from tests.safety.mutants_memory import OF_MEMORY
from tests.safety.mutants_people import OF_PEOPLE
from tests.safety.mutants_writes import OF_WRITES
from tests.safety.mutating import Mutant, each

MUTANTS: tuple[Mutant, ...] = (*OF_DECISIONS, *OF_MEMORY, *OF_WRITES, *OF_PEOPLE, *OF_ADDONS)

UNNOTICED: frozenset[tuple[str, str]] = frozenset(
    {
        ("what nobody wrote down has not been touched", "replicaset"),
        ("what nobody wrote down has not been touched", "addon"),
        ("what is found succeeding may have timed out", "addon"),
        ("a gate that has opened shuts when its approval ends", "addon"),
        ("who lacked something flies", "addon"),
        ("what was applied once is deployed", "addon"),
        ("what is missing is a revision while reads are torn", "addon"),
        ("what changed nothing wakes nobody", "addon"),
        ("the paused are told to change", "addon"),
        ("a kind that is wanted again is not read", "addon"),
        ("a restart forgets what was removed lately", "addon"),
        ("one edit lifts the brake for good", "addon"),
        ("what is taken back in one placement goes on in another", "replicaset"),
    }
)
"""Faults with a kind of workload that no history has shown so far: nothing is claimed of them."""


def hunted(mutants: Sequence[Mutant]) -> list[tuple[Mutant, str]]:
    """Those of these that some history shows, with every kind of workload that they concern."""
    return [case for case in each(mutants) if (case[0].what, case[1]) not in UNNOTICED]


def cases() -> list[tuple[Mutant, str]]:
    """Every mutant with every kind of workload that it concerns."""
    return each(MUTANTS)
