"""The planner and the tracker of each kind.

The one list of planners and trackers, for every process that runs an engine or asks what one would do.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from rollout.fleet.addon_templates import AddOnTemplates
from rollout.fleet.addons import AddOns
from rollout.fleet.clusters import ClusterStore
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
from rollout.planning.addon_templates import AddOnTemplatePlanner
from rollout.planning.addons import AddOnPlanner
from rollout.planning.analysis_runs import AnalysisPlanner, AnalysisRunPlanner
from rollout.planning.calendars import CalendarPlanner
from rollout.planning.clustersets import BindingPlanner, ClusterSetPlanner
from rollout.planning.deliveries import NotificationPlanner
from rollout.planning.health import HealthPlanner
from rollout.planning.inventory import InventoryView, ProfilePlanner, SlicePlanner
from rollout.planning.placements import PlacementPlanner
from rollout.planning.plan import NOTHING, Plan, Planner
from rollout.planning.replicasets import ReplicaSetPlanner

V = TypeVar("V")
T = TypeVar("T", bound=Tracker)


@dataclass(frozen=True, slots=True)
class Seat(Generic[V]):
    """A planner in its place: it plans for a whole fleet, of which ``view_of`` takes what the planner reads."""

    planner: Planner[V]
    view_of: Callable[[Fleet], V]

    @property
    def kind(self) -> Kind:
        return self.planner.kind

    def plan(self, key: str, view: Fleet, now: datetime) -> Plan:
        return self.planner.plan(key, self.view_of(view), now)


@dataclass(frozen=True, slots=True)
class Tracked:
    """What keeps the objects of a kind, and what plans them."""

    tracker: Callable[[Fleet], Tracker]
    planner: Callable[[], Planner[Fleet]]


def tracked(tracker: type[T], planner: Callable[[], Planner[T]]) -> Tracked:
    """A tracker with the planner that reads it."""
    return Tracked(tracker, lambda: Seat(planner(), lambda fleet: fleet.tracker(tracker)))


TRACKED = (tracked(ReplicaSets, ReplicaSetPlanner),)
"""The workloads of each kind. Add-ons are left out where OCM rolls them out."""
ADDONS = (tracked(AddOns, AddOnPlanner), tracked(AddOnTemplates, AddOnTemplatePlanner))
PUBLISHERS: dict[Kind, Callable[[], Planner[InventoryView]]] = {
    CLUSTER_PROFILE: ProfilePlanner,  # before the decisions that refer to it
    SHARED_DECISION: SlicePlanner,
}


def planners(
    placing: PlacementPlanner | None = None,
    *,
    keeps_sets: bool = True,
    watches_health: bool = False,
    rolls_addons: bool = False,
    publishes: Collection[Kind] = (),
) -> dict[Kind, Planner[Fleet]]:
    """The planners, in the order in which their keys are best planned.

    Args:
        placing: decides placements; None: one that runs no plugins and makes a plan at once.
        keeps_sets: write the status of sets and bindings, and keep the standard sets; off where OCM does.
        watches_health: turn silent leases into conditions and taints; off where OCM does.
        rolls_addons: install, configure and render add-ons; the fleet must track them.
        publishes: kinds of SIG Multicluster that are written; the fleet must be told of them too.
    """
    found: dict[Kind, Planner[Fleet]] = {}
    if watches_health:
        found[MANAGED_CLUSTER] = Seat(HealthPlanner(), lambda fleet: fleet.presence)
    if keeps_sets:
        found[CLUSTER_SET] = Seat(ClusterSetPlanner(), _clusters)
        found[CLUSTER_SET_BINDING] = Seat(BindingPlanner(), _clusters)
    for kind in (CALENDAR, CLUSTER_CALENDAR):
        found[kind] = Seat(CalendarPlanner(kind), lambda fleet: fleet.calendars)
    found[ROLLOUT_ANALYSIS] = Seat(AnalysisPlanner(), lambda fleet: fleet.measured)
    found[ROLLOUT_ANALYSIS_RUN] = Seat(AnalysisRunPlanner(), lambda fleet: fleet.measured)
    found[ROLLOUT_NOTIFICATION] = Seat(NotificationPlanner(), lambda fleet: fleet.notifications)
    found[PLACEMENT] = Seat(placing or PlacementPlanner(), _clusters)
    found |= {planner.kind: planner for planner in (each.planner() for each in TRACKED)}
    for kind, make in PUBLISHERS.items():
        if kind in publishes:
            found[kind] = Seat(make(), lambda fleet: fleet.inventory)
    if rolls_addons:
        found |= {planner.kind: planner for planner in (each.planner() for each in ADDONS)}
    return found


def _clusters(fleet: Fleet) -> ClusterStore:
    return fleet.clusters


def trackers(*, rolls_addons: bool = False) -> tuple[Callable[[Fleet], Tracker], ...]:
    """What keeps the objects that `planners` of the same arguments plan."""
    kept = (*TRACKED, *ADDONS) if rolls_addons else TRACKED
    return tuple(each.tracker for each in kept)


def plan_now(planner: Planner[Fleet], fleet: Fleet, ref: Ref, now: datetime) -> Plan:
    """The plan of one object that is to be carried out: what it found out is taken.

    Whoever only wants to know what would be done calls the planner itself; nothing changes by that.
    What another shard looks after is planned by nobody here.
    """
    if not fleet.policy.sharding.concerns(ref):
        return NOTHING
    fleet.refresh(ref, now)
    plan = planner.plan(ref.key, fleet, now)
    fleet.take(plan.facts, now)
    return plan
