"""Does anything go on that nobody proved? S19: empty groups and half-written decisions; S20: old waivers."""

from collections import Counter
from collections.abc import Callable

from rollout.strategies.base import Phase, Step
from tests.safety.readings import Readings

Verdicts = tuple[Counter[str], Callable[[str, str], None]]
"""What is counted, and who is told of a promise that is broken."""


def unproven(rollout: Readings, touched: list[str], forward: list[str], verdicts: Verdicts) -> None:
    """S19: nothing goes on from decisions that may be half written, nor past a mandatory group without
    a member.

    ``forward``: of the clusters touched, those that are not given back what they had.
    """
    counts, blame = verdicts
    waiting = [c for c in rollout.selected if rollout.current(c) is None]
    is_empty = rollout.plan.hold == "MandatoryGroupEmpty"
    is_first = all(rollout.carries(c) is None for c in rollout.selected)
    counts["S19.unsettled"] += rollout.may_be_half and bool(waiting)
    counts["S19.first_decisions"] += rollout.may_be_half and bool(waiting) and is_first
    counts["S19.empty_group"] += is_empty
    if rollout.may_be_half and touched:
        blame("S19", f"{touched} are touched while decisions are not still")
    if is_empty and forward:
        blame("S19", f"{forward} are touched though a mandatory group is empty")


def waived(rollout: Readings, step: Step, verdicts: Verdicts) -> None:
    """S20: a waiver is for one revision. ``step``: of an engine that has read the workload."""
    counts, blame = verdicts
    if rollout.terms is None:
        return
    members = rollout.waivers.keys() & rollout.selected
    counts["S20.over"] += bool(members - rollout.terms.skip)
    skipped = members & rollout.terms.skip
    if step.count(Phase.SKIPPED) != len(skipped):
        blame("S20", f"{step.count(Phase.SKIPPED)} are taken for waived, it is {skipped}")
