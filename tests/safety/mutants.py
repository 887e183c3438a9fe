"""Would the suite notice? Small faults, one or more for each promise, that it must catch.

Each is a change in the text of the engine, by (module, old text, new text); where the code moves on, its
text here moves along. This module imports nothing of the engine.
"""

from collections.abc import Mapping, Sequence

from tests.safety.mutants_addons import OF_ADDONS
from tests.safety.mutants_decisions import OF_DECISIONS
from tests.safety.mutants_memory import OF_MEMORY
from tests.safety.mutants_people import OF_PEOPLE
from tests.safety.mutants_windows import OF_WINDOWS
from tests.safety.mutants_writes import OF_WRITES
from tests.safety.mutating import Mutant, each

MUTANTS: tuple[Mutant, ...] = (
    *OF_DECISIONS,
    *OF_WINDOWS,
    *OF_MEMORY,
    *OF_WRITES,
    *OF_PEOPLE,
    *OF_ADDONS,
)

_RESTARTS = "tests/unit/rollouts/test_live_restarts.py"
_REMOVALS = "tests/unit/planning/test_removals.py"
_ADDONS = "tests/unit/fleet/test_addons.py"
_OUTAGES = "tests/unit/rollouts/test_outages.py"
BY_TESTS: Mapping[tuple[str, str], str] = {
    ("what nobody wrote down has not been touched", "replicaset"): _RESTARTS,
    ("what nobody wrote down has not been touched", "addon"): _RESTARTS,
    ("what is found succeeding may have timed out", "addon"): _RESTARTS,
    ("who lacked something flies", "addon"): _RESTARTS,
    ("a gate that has opened shuts when its approval ends", "addon"): "tests/unit/strategies/test_gates.py",
    ("what was applied once is deployed", "addon"): "tests/unit/rollouts/test_addon_configs.py",
    ("what changed nothing wakes nobody", "addon"): "tests/unit/runtime/test_engine_writes.py",
    ("the paused are told to change", "addon"): "tests/unit/planning/test_addons_install.py",
    ("a restart forgets what was removed lately", "addon"): _REMOVALS,
    ("one edit lifts the brake for good", "addon"): _REMOVALS,
    ("what is missing is a revision while reads are torn", "addon"): _ADDONS,
    ("a kind that is wanted again is not read", "addon"): _ADDONS,
    ("a long outage begins with a short one that ended before", "replicaset"): _OUTAGES,
    ("a long outage begins with a short one that ended before", "addon"): _OUTAGES,
    ("nobody looks when a window opens", "replicaset"): "tests/stories/test_calendars.py",
    ("what is taken back in one placement goes on in another", "replicaset"): "tests/stories/test_operations_rollback.py",
}  # fmt: skip
"""Faults with a kind of workload that no history has shown so far, and a test that notices each: the
states that they need are too rare to be drawn, or one that histories look for first hides them.
"""


def hunted(mutants: Sequence[Mutant]) -> list[tuple[Mutant, str]]:
    """Those of these, with every kind of workload that they concern."""
    return each(mutants)


def cases() -> list[tuple[Mutant, str]]:
    """Every mutant with every kind of workload that it concerns."""
    return each(MUTANTS)
