"""Would the suite notice? Small faults, one or more for each promise, that it must catch.

Each is a change in the text of the engine, by (module, old text, new text); where the code moves on, its
text here moves along. This module imports nothing of the engine.
"""

from collections.abc import Mapping, Sequence

from tests.safety.mutants_addons import OF_ADDONS
from tests.safety.mutants_analyses import ANALYSIS_FAULTS
from tests.safety.mutants_chosen import OF_THE_CHOSEN
from tests.safety.mutants_decisions import OF_DECISIONS
from tests.safety.mutants_gated import GATED_FAULTS
from tests.safety.mutants_memory import OF_MEMORY
from tests.safety.mutants_people import OF_PEOPLE
from tests.safety.mutants_processes import OF_PROCESSES
from tests.safety.mutants_values import VALUE_FAULTS
from tests.safety.mutants_windows import OF_WINDOWS
from tests.safety.mutants_writes import OF_WRITES
from tests.safety.mutating import Mutant, each
from tests.safety.seeds import commit, fresh_from

SECTIONS: Mapping[str, Sequence[Mutant]] = {
    "Who is touched when": OF_DECISIONS,
    "Calendars": OF_WINDOWS,
    "What is known and remembered": OF_MEMORY,
    "What is written": OF_WRITES,
    "People step in": OF_PEOPLE,
    "Add-ons": OF_ADDONS,
    "Thirty that were written down before any was looked for": OF_THE_CHOSEN,
    "Clusters with values of their own": VALUE_FAULTS,
    "Releases that are measured and told": ANALYSIS_FAULTS,
    "Gates of analyses, and what is measured in the background": GATED_FAULTS,
    "Several processes, several tenants": OF_PROCESSES,
}
MUTANTS: tuple[Mutant, ...] = tuple(mutant for each in SECTIONS.values() for mutant in each)

_RESTARTS = "tests/unit/rollouts/test_live_restarts.py"
_REMOVALS = "tests/unit/planning/test_removals.py"
_ADDONS = "tests/unit/fleet/test_addons.py"
_OUTAGES = "tests/unit/rollouts/test_outages.py"
_PROCESS = "tests/unit/runtime/test_process.py"
_SHARDS = (
    "tests/stories/test_shards.py"
    "::test_s28_another_number_of_shards_begins_when_none_of_the_old_writes_any_more[2-3]"
)
BY_TESTS: Mapping[tuple[str, str], str] = {
    ("what nobody wrote down has not been touched", "replicaset"): _RESTARTS,
    ("what nobody wrote down has not been touched", "addon"): _RESTARTS,
    ("what is found succeeding may have timed out", "addon"): _RESTARTS,
    ("who lacked something flies", "addon"): _RESTARTS,
    ("what was applied once is deployed", "addon"): "tests/unit/rollouts/test_addon_configs.py",
    ("what changed nothing wakes nobody", "addon"): "tests/unit/runtime/test_engine_writes.py",
    ("the paused are told to change", "addon"): "tests/unit/planning/test_addons_install.py",
    ("a restart forgets what was removed lately", "addon"): _REMOVALS,
    ("what is missing is a revision while reads are torn", "addon"): _ADDONS,
    ("a kind that is wanted again is not read", "addon"): _ADDONS,
    ("a long outage begins with a short one that ended before", "replicaset"): _OUTAGES,
    ("a long outage begins with a short one that ended before", "addon"): _OUTAGES,
    ("what is taken back in one placement goes on in another", "replicaset"): "tests/stories/test_operations_rollback.py",
    ("what lay where a run does goes, and nobody makes the run", "gated"): "tests/stories/test_analyses.py::test_a_run_that_somebody_replaces_is_made_again_and_the_rollout_goes_on",
    ("a leader writes on after its lease", "processes"): f"{_PROCESS}::test_r2_a_leader_that_froze_writes_nothing_once_another_one_leads",
    ("a successor waits for nobody", "processes"): "tests/unit/runtime/test_leader.py",
    ("what is on its way needs no version", "processes"): f"{_PROCESS}::test_every_write_of_a_patch_has_a_precondition",
    ("a work is written over whoever wrote it meanwhile", "processes"): "tests/unit/runtime/test_io.py::test_a_work_that_others_wrote_is_not_patched_but_read_back",
    ("all namespaces stand in one line", "processes"): "tests/unit/runtime/test_turns.py",
    ("retries of one namespace are tried at once", "processes"): "tests/unit/runtime/test_workqueue.py",
    ("the expressions of a Placement may take as long as they like", "processes"): "tests/unit/placement/cel/test_screening.py",
    ("another number of shards begins at once", "processes"): _SHARDS,
    ("shards do not ask for their number", "processes"): _SHARDS,
    ("the number of shards stands nowhere", "processes"): _SHARDS,
    ("every shard plans everything", "processes"): "tests/unit/model/test_sharding.py",
}  # fmt: skip
"""Faults with a kind of workload that no history has shown so far, and a test that notices each: the
states that they need are too rare to be drawn, or one that histories look for first hides them.
"""


def hunted(mutants: Sequence[Mutant]) -> list[tuple[Mutant, str]]:
    """Those of these that CI looks for: each with one of its kinds, by turns from commit to commit."""
    turn = fresh_from(commit())
    return [(mutant, mutant.kinds[turn % len(mutant.kinds)]) for mutant in mutants]


def cases() -> list[tuple[Mutant, str]]:
    """Every mutant with every kind of workload that it concerns."""
    return each(MUTANTS)
