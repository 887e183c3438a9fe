"""What would an engine know that starts on this hub now? Its view, rebuilt; nothing is written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from rollout.analysis.reading import Readable, read, tracking
from rollout.analysis.standings import standing_of
from rollout.fleet.fleet import Fleet
from rollout.fleet.tracker import Standing
from rollout.hub.base import EmbeddedHub
from rollout.hub.states import ALIVE, CLOCK, profile_of
from rollout.model.conditions import Condition
from rollout.model.instants import parse_instant
from rollout.model.kinds import PLACEMENT, Kind, Obj, Ref
from rollout.planning.placements import PlacementPlanner
from rollout.planning.plan import PatchStatus, Plan, Planner
from rollout.runtime.planners import plan_now, planners

"""Under these keys of `rollout.sim.local` a state file says when its engine was there last."""
PATIENCE = timedelta(seconds=15)
"""An engine on wall time leaves word every few seconds; after so long without, none is running."""


@dataclass(slots=True)
class Sight:
    """A fleet at one instant. Workloads are planned when they are asked for, each once."""

    fleet: Fleet
    now: datetime
    _planners: Mapping[Kind, Planner[Any]] = field(init=False)
    _plans: dict[Ref, Plan] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Whoever reads goes by the profile of the engine."""
        self._planners = planners(rolls_addons=True, profile=self.fleet.policy.profile)

    def workloads(self) -> list[Ref]:
        """The workloads that exist: ManifestWorkReplicaSets by key, then add-ons by name."""
        return self.fleet.rolled_out()

    def plan(self, ref: Ref) -> Plan:
        """What the engine would write for a workload now."""
        known = self._plans.get(ref)
        if known is None:
            known = plan_now(self._planners[ref.kind], self.fleet, ref, self.now)
            self._plans[ref] = known
        return known

    @property
    def placements(self) -> PlacementPlanner:
        """Decides, and explains, what Placements select."""
        found = self._planners[PLACEMENT]
        assert isinstance(found, PlacementPlanner)
        return found

    def workload(self, ref: Ref) -> Standing | None:
        """A workload, planned; None where it does not exist."""
        self.plan(ref)
        found = self.fleet.rollout(ref)
        return found if found is not None and found.raw is not None else None

    def now_says(self, ref: Ref) -> Obj:
        """The workload's object with the status that the engine would leave now; {}: there is none."""
        workload = self.workload(ref)
        if workload is None or workload.raw is None:
            return {}
        stored: Obj = workload.raw.get("status") or {}
        for write in self.plan(ref).writes:
            if isinstance(write, PatchStatus) and write.ref == ref:
                return {**workload.raw, "status": {**stored, **write.status}}
        return workload.raw

    def standing(self, ref: Ref) -> Condition:
        """The one condition that says how the workload stands."""
        return standing_of(self.now_says(ref))


def look(hub: Readable, now: datetime, *, away_since: datetime | None = None) -> Sight:
    """Read everything that an engine reads when it starts.

    Args:
        now: the hub's present instant.
        away_since: since when no engine has been running; deadlines do not run from then on
            (semantics row 20).
    """
    fleet = tracking(profile_of(hub))
    read(hub, fleet, now)
    fleet.assume_still()
    if away_since is not None and away_since < now:
        fleet.out_of_touch(away_since, now)
    return Sight(fleet, now)


def away_since(hub: EmbeddedHub, now: datetime) -> datetime | None:
    """When the engine of a state file was last heard of, where that is too long ago to be running.

    Only an engine on wall time leaves word; virtual time stands still while nobody runs it.
    """
    kept = hub.get_state(ALIVE)
    alive = parse_instant(kept.decode()) if kept and not hub.get_state(CLOCK) else None
    return alive if alive is not None and now - alive > PATIENCE else None
