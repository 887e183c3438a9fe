"""Reads which clusters a placement selects, and whether the engine may act on that.

Decisions come in pages that are written one by one, by us or by others; acting on half of them deletes
workloads. Source: semantics rows 14-16.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta

from rollout.model import names
from rollout.model.placement import Decision, Group, Placement, owned
from rollout.model.policy import Policy
from rollout.model.replicaset import RolloutSpec
from rollout.model.waits import Reason, Wait
from rollout.strategies.base import Selection, select
from rollout.strategies.stages import is_ordered

UNTOLD = timedelta(seconds=5)
"""While this engine writes decisions, they are incomplete, and nothing is done on them. People are told
of that only if it lasts longer than this."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One placement's selection as far as it counts now.

    ``hold`` says why it is not acted upon (the selection is then the one before). ``quiet_until``:
    decisions that others write may still be half written until then. ``leaving``: some clusters of
    the selection are in no decision any more, and are kept until then. ``untold_until``: the hold is
    one that this engine is about to end, so nothing is said of it until then.
    """

    selection: Selection
    _: KW_ONLY
    hold: Wait | None = None
    quiet_until: datetime | None = None
    leaving: bool = False
    untold_until: datetime | None = None

    def unsettled(self, spec: RolloutSpec) -> Wait | None:
        """Why nothing may be touched yet on these terms, though it is known whom the placement selects.

        Clusters that are only added to a fleet without order can be touched at once. Where stages
        follow one another, an earlier one may still be to come; and who leaves gets nothing new.
        """
        if self.quiet_until is None or not (self.leaving or is_ordered(spec)):
            return None
        return Wait(
            Reason.DECISIONS_UNSETTLED,
            "the placement's decisions, which somebody else writes, changed a moment ago; they are "
            "acted upon when they have not changed for the quiet period",
        )

    @property
    def is_torn(self) -> bool:
        """Whether it is not known, or not yet, whom the placement selects."""
        return self.hold is not None and self.hold.reason in (
            Reason.TORN_DECISIONS,
            Reason.NOT_DECIDED,
        )

    @property
    def is_gone(self) -> bool:
        """Whether there is no such placement."""
        return self.hold is not None and self.hold.reason == Reason.PLACEMENT_NOT_FOUND


def read_selection(
    key: str,
    placement: Placement | None,
    decisions: Sequence[Decision],
    changed_at: datetime,
    *,
    before: Reading,
    policy: Policy,
    now: datetime,
) -> Reading:
    """Read a placement's decisions.

    Args:
        key: of the placement, for messages.
        changed_at: when the placement or any of its decisions last changed, as far as could be seen.
        before: the reading that counted until now.
    """
    if placement is None:
        message = f"placement {key} does not exist; create it, or correct the placementRef"
        return Reading(before.selection, hold=Wait(Reason.PLACEMENT_NOT_FOUND, message))
    if _decided_here(placement, policy):
        decisions = owned(placement, decisions)
    torn = contradiction(placement, decisions)
    if torn:
        hold = Wait(Reason.TORN_DECISIONS, f"decisions of placement {key}: {torn}")
        ours = _decided_here(placement, policy)
        untold_until = (before.untold_until or now + UNTOLD) if ours else None
        return Reading(before.selection, hold=hold, untold_until=untold_until)
    groups = _groups(decisions)
    named = frozenset(group.name for group in placement.groups)
    if _decided_here(placement, policy):
        return _undecided(placement, before, now) or Reading(select(groups, named))
    quiet_until = changed_at + policy.quiet
    if now >= quiet_until:
        return Reading(select(groups, named))
    return _not_yet_quiet(groups, named, before, quiet_until)


def _undecided(placement: Placement, before: Reading, now: datetime) -> Reading | None:
    """The reading of a placement of ours that is still to be decided; None where it has been."""
    key = placement.key
    if placement.status_groups is None:
        # Its pages are still to be written: an absent cluster is not a deselected one.
        message = f"placement {key} has not been decided yet; see its conditions"
        return Reading(before.selection, hold=Wait(Reason.NOT_DECIDED, message))
    if is_outdated(placement):
        hold = Wait(Reason.NOT_DECIDED, f"placement {key} was edited, and is to be decided anew")
        return Reading(
            before.selection, hold=hold, untold_until=before.untold_until or now + UNTOLD
        )
    return None


def _groups(decisions: Sequence[Decision]) -> list[Group]:
    """The decision groups as the pages have them."""
    return [
        Group(d.group_index, d.group_name, d.clusters)
        for d in decisions
        if d.group_index is not None
    ]


def _not_yet_quiet(
    groups: Sequence[Group], named: frozenset[str], before: Reading, quiet_until: datetime
) -> Reading:
    """Who is in no decision any more is kept until the decisions have been quiet for long enough."""
    selected = {cluster for group in groups for cluster in group.clusters}
    kept = [group for group in before.selection.without(selected).groups if group.clusters]
    return Reading(
        select([*groups, *kept], named), hold=None, quiet_until=quiet_until, leaving=bool(kept)
    )


def _decided_here(placement: Placement, policy: Policy) -> bool:
    disabled = placement.annotations.get(names.SCHEDULING_DISABLED) == "true"
    return policy.schedules_here and not disabled


def is_outdated(placement: Placement) -> bool:
    """Whether its decisions are of an earlier spec. Its status says so, which is written after all pages.

    OCM's status does not say of which spec it is, and neither does ours in profile ``ocm``.
    """
    observed = _observed_generation(placement)
    return observed is not None and observed < placement.generation


def _observed_generation(placement: Placement) -> int | None:
    satisfied = placement.conditions.get(names.PLACEMENT_SATISFIED)
    return satisfied.observed_generation if satisfied is not None else None


def contradiction(placement: Placement, decisions: Sequence[Decision]) -> str:
    """How the decisions contradict the placement's status, "" where they do not."""
    for decision in decisions:
        if decision.group_index is None:
            return f"{decision.name} has no decision-group-index; its writer must set the label"
    if placement.status_groups is None:
        return ""
    found: dict[tuple[int, str], tuple[int, set[str]]] = {}
    for decision in decisions:
        group = (decision.group_index or 0, decision.group_name)
        count, pages = found.get(group, (0, set()))
        found[group] = (count + len(decision.clusters), pages | {decision.name})
    told = {
        (index, name): (count, set(pages)) for index, name, count, pages in placement.status_groups
    }
    for index, name in sorted(found.keys() | told.keys()):
        title = f"group {index} {name!r}"
        has, should = found.get((index, name)), told.get((index, name))
        if has is None:
            return f"{title} is in the placement's status and in no decision yet"
        if should is None:
            return f"{title} is in a decision and not in the placement's status yet"
        if has != should:
            return f"{title} has {has[0]} clusters on {len(has[1])} pages, its status says {should[0]} on {len(should[1])}"
    return ""


def named_in(decision: Decision) -> tuple[object, ...]:
    """The parts of a decision that a workload's selection depends on."""
    return (decision.placement, decision.group_index, decision.group_name, decision.clusters)


def selects(placement: Placement) -> tuple[object, ...]:
    """The parts of a placement that a workload's selection depends on."""
    return (
        placement.generation,
        placement.uid,
        placement.status_groups,
        placement.annotations,
        _observed_generation(placement),
    )
