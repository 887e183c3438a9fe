"""The limits of size and form that the code keeps, measured on its syntax trees."""

import ast
from collections import Counter

from tests.support.syntax import Module, length, modules

LONGEST_MODULE = 400
LONGEST_FUNCTION = 40
MOST_FIELDS = 4  # of a dataclass whose values may be given by place
HEADERS = 0.105  # docstrings and imports of modules, of all lines

# What does not keep a limit yet. These lists only ever get shorter.
LONG_MODULES: set[str] = set()
LONG_FUNCTIONS: set[str] = set()
DOUBLED = """
    Asked Decision Document Finding Ledger Mirror Outcome Record Rejection Requirement Row
    Selection Share ShareReport Standing Step Told Verdict View Workload
"""
BY_PLACE = """
    Actor AddOn AddOnWork Answer Approval Asked Candidate Carried Cluster ClusterAddOn
    ClusterChange ClusterSet ClusterSetBinding Column Condition ConditionAccount Counts
    Cycle Decision Delete Distribution Explained Function GateRef Head History
    InstallPlacement Intents Interest Kind Note Observation Options Outcome Part Permission
    Placement PlacementPlan Plan Policy Question Reading Record ReplicaSet Retreat Revision
    RevisionAccount Rollout RolloutSpec Selection Share Spread Stage StagePlan StageReport
    StageTimeline Standing Step Tally Timing Toleration Touch Work WorkloadPlan _Found
    _Lists _Topology
"""


def doubled() -> set[str]:
    """Names of public classes that stand in more than one place."""
    found = Counter(
        each.name
        for module in modules()
        for each in module.classes()
        if not each.name.startswith("_")
    )
    return {name for name, times in found.items() if times > 1}


def by_place(module: Module) -> set[str]:
    """Dataclasses of many fields that can be given by place."""
    found: set[str] = set()
    for each in module.classes():
        for decorator in each.decorator_list:
            text = ast.unparse(decorator)
            if not text.startswith("dataclass") or "kw_only=True" in text:
                continue
            fields = [n for n in each.body if isinstance(n, ast.AnnAssign)]
            shared = [n for n in fields if "ClassVar" in ast.unparse(n.annotation)]
            if len(fields) - len(shared) > MOST_FIELDS:
                found.add(each.name)
    return found


def test_no_module_is_longer_than_can_be_read_at_once() -> None:
    assert {m.path for m in modules() if m.lines > LONGEST_MODULE} <= LONG_MODULES


def test_no_function_is_longer_than_a_page() -> None:
    found = {
        f"{module.path} {function.name}"
        for module in modules()
        for function in module.functions()
        if length(function) > LONGEST_FUNCTION
    }
    assert found <= LONG_FUNCTIONS


def test_a_class_name_stands_once_in_the_package() -> None:
    assert doubled() <= set(DOUBLED.split())


def test_dataclasses_of_many_fields_are_made_by_keyword() -> None:
    found = {name for module in modules() for name in by_place(module)}
    assert found <= set(BY_PLACE.split())


def test_headers_take_a_small_part_of_the_code() -> None:
    headers = sum(module.header() for module in modules())
    assert headers <= HEADERS * sum(module.lines for module in modules())
