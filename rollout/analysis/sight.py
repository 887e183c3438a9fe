"""What would an engine know that starts on this hub now? Its view, rebuilt; nothing is written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from rollout.analysis.reading import stored
from rollout.fleet.fleet import WATCHED, Fleet
from rollout.fleet.workloads import Workload
from rollout.hub.base import EmbeddedHub, Hub
from rollout.model.conditions import Condition, read_conditions
from rollout.model.events import Change, Event
from rollout.model.instants import parse_instant
from rollout.model.kinds import PLACEMENT, REPLICA_SET, Kind, Obj, Ref, ref_of
from rollout.model.names import PROGRESSING, READY
from rollout.planning.placements import PlacementPlanner
from rollout.planning.plan import NOTHING, PatchStatus, Plan, Planner
from rollout.runtime.planners import planners

ALIVE, CLOCK = "alive", "clock"
"""Under these keys of `rollout.sim.local` a state file says when its engine was there last."""
PATIENCE = timedelta(seconds=15)
"""An engine on wall time leaves word every few seconds; after so long without, none is running."""


@dataclass(slots=True)
class Sight:
    """A fleet at one instant. Workloads are planned when they are asked for, each once."""

    fleet: Fleet
    now: datetime
    _planners: Mapping[Kind, Planner[Any]] = field(default_factory=planners)
    _plans: dict[str, Plan] = field(default_factory=dict)

    def workloads(self) -> list[str]:
        """Keys of the workloads that exist."""
        return self.fleet.workloads()

    def plan(self, key: str) -> Plan:
        """What the engine would write for a workload now."""
        known = self._plans.get(key)
        if known is None:
            known = self._plans[key] = self._planners[REPLICA_SET].plan(key, self.fleet, self.now)
        return known

    @property
    def placements(self) -> PlacementPlanner:
        """Decides, and explains, what Placements select."""
        found = self._planners[PLACEMENT]
        assert isinstance(found, PlacementPlanner)
        return found

    def workload(self, key: str) -> Workload | None:
        """A workload, planned; None where there is none of that key."""
        if self.plan(key) is NOTHING:
            found = self.fleet.peek(key)
            return found if found is not None and found.replicaset is not None else None
        return self.fleet.peek(key)

    def status(self, key: str) -> Obj:
        """The workload's status as the engine would leave it now."""
        workload = self.workload(key)
        if workload is None or workload.replicaset is None:
            return {}
        ref = Ref(REPLICA_SET, key)
        stored: Obj = workload.replicaset.raw.get("status") or {}
        for write in self.plan(key).writes:
            if isinstance(write, PatchStatus) and write.ref == ref:
                return {**stored, **write.status}
        return stored

    def standing(self, key: str) -> Condition:
        """The one condition that says how the workload stands: Ready where it is True, else Progressing."""
        conditions = read_conditions(self.status(key).get("conditions"))
        ready = conditions.get(READY)
        if ready is not None and ready.is_true:
            return ready
        return conditions.get(PROGRESSING) or Condition(
            PROGRESSING, "Unknown", "Waiting", "no engine has looked at it yet"
        )


def look(hub: Hub, now: datetime, *, away_since: datetime | None = None) -> Sight:
    """Read everything that an engine reads when it starts.

    Args:
        now: the hub's present instant.
        away_since: since when no engine has been running; deadlines do not run from then on
            (semantics row 20).
    """
    fleet = Fleet()
    for kind in WATCHED:
        for obj in stored(hub, kind):
            version = int(obj["metadata"]["resourceVersion"])
            fleet.apply(Event(ref_of(kind, obj), Change.ADDED, obj, version), now)
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
