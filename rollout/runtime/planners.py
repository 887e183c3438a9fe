"""The planner and the tracker of each kind.

The one list of planners and trackers, for every process that runs an engine or asks what one would do.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any

from rollout.fleet.addon_templates import AddOnTemplates
from rollout.fleet.addons import AddOns
from rollout.fleet.fleet import Fleet
from rollout.fleet.replicasets import ReplicaSets
from rollout.fleet.tracker import Tracker
from rollout.model.kinds import (
    CALENDAR,
    CLUSTER_CALENDAR,
    CLUSTER_PROFILE,
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    PLACEMENT,
    ROLLOUT_ANALYSIS,
    ROLLOUT_ANALYSIS_RUN,
    ROLLOUT_NOTIFICATION,
    SHARED_DECISION,
    Kind,
    Ref,
)
from rollout.placement.grouping import Profile
from rollout.planning.addon_templates import AddOnTemplatePlanner
from rollout.planning.addons import AddOnPlanner
from rollout.planning.analysis_runs import AnalysisPlanner, AnalysisRunPlanner
from rollout.planning.calendars import CalendarPlanner
from rollout.planning.clustersets import BindingPlanner, ClusterSetPlanner
from rollout.planning.deliveries import NotificationPlanner
from rollout.planning.health import HealthPlanner
from rollout.planning.inventory import ProfilePlanner, SlicePlanner
from rollout.planning.placements import PlacementPlanner
from rollout.planning.plan import NOTHING, Plan, Planner
from rollout.planning.replicasets import ReplicaSetPlanner
from rollout.plugins import plugins

WORKLOADS: tuple[tuple[Callable[[Fleet], Tracker], Callable[[], Planner[Any]]], ...] = (
    (ReplicaSets, ReplicaSetPlanner),
)
"""What keeps, and what plans, the workloads of a kind. Those of add-ons are left out where OCM rolls them out."""
ADDONS: tuple[tuple[Callable[[Fleet], Tracker], Callable[[], Planner[Any]]], ...] = (
    (AddOns, AddOnPlanner),
    (AddOnTemplates, AddOnTemplatePlanner),
)
PUBLISHERS: dict[Kind, Callable[[], Planner[Any]]] = {
    CLUSTER_PROFILE: ProfilePlanner,  # before the decisions that refer to it
    SHARED_DECISION: SlicePlanner,
}


def planners(
    *,
    filters: Sequence[str] = (),
    keeps_sets: bool = True,
    watches_health: bool = False,
    profile: Profile = "strict",
    rolls_addons: bool = False,
    slice_steps: int | None = None,
    publishes: Collection[Kind] = (),
) -> dict[Kind, Planner[Any]]:
    """The planners, in the order in which their keys are best planned.

    Args:
        filters: filter plugins to run, by name (entry points of ``rollout.filters``).
        keeps_sets: write the status of sets and bindings, and keep the standard sets; off where OCM does.
        watches_health: turn silent leases into conditions and taints; off where OCM does.
        rolls_addons: install, configure and render add-ons; the fleet must track them.
        slice_steps: so many steps of CEL in one turn of the engine; None: a plan is made at once.
        publishes: kinds of SIG Multicluster that are written; the fleet must be told of them too.

    Raises: PluginError for a filter that is not installed.
    """
    found: dict[Kind, Planner[Any]] = {}
    if watches_health:
        found[MANAGED_CLUSTER] = HealthPlanner()
    if keeps_sets:
        found[CLUSTER_SET] = ClusterSetPlanner()
        found[CLUSTER_SET_BINDING] = BindingPlanner()
    found |= {kind: CalendarPlanner(kind) for kind in (CALENDAR, CLUSTER_CALENDAR)}
    found[ROLLOUT_ANALYSIS] = AnalysisPlanner()
    found[ROLLOUT_ANALYSIS_RUN] = AnalysisRunPlanner()
    found[ROLLOUT_NOTIFICATION] = NotificationPlanner()
    found[PLACEMENT] = PlacementPlanner(plugins(filters), profile, slice_steps=slice_steps)
    found |= {planner.kind: planner for planner in (make() for _, make in WORKLOADS)}
    found |= {kind: make() for kind, make in PUBLISHERS.items() if kind in publishes}
    if rolls_addons:
        found |= {planner.kind: planner for planner in (make() for _, make in ADDONS)}
    return found


def trackers(*, rolls_addons: bool = False) -> tuple[Callable[[Fleet], Tracker], ...]:
    """What keeps the objects that `planners` of the same arguments plan."""
    kept = (*WORKLOADS, *ADDONS) if rolls_addons else WORKLOADS
    return tuple(tracker for tracker, _ in kept)


def plan_now(planner: Planner[Any], fleet: Fleet, ref: Ref, now: datetime) -> Plan:
    """The plan of one object that is to be carried out: what it found out is taken.

    Whoever only wants to know what would be done calls the planner itself; nothing changes by that.
    What another shard looks after is planned by nobody here.
    """
    if not fleet.policy.sharding.concerns(ref):
        return NOTHING
    fleet.refresh(ref, now)
    plan = planner.plan(ref.key, fleet.view(ref.kind), now)
    fleet.take(plan.facts, now)
    return plan
