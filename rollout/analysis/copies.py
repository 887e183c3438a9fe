"""Copies a hub into memory, on a clock of its own, so that it can be changed without harm."""

from collections.abc import Callable, Mapping
from datetime import datetime

from rollout.analysis.snapshot import ASIDE, ReadableHub, everything, referred, tracking
from rollout.clock import VirtualClock
from rollout.fleet.fleet import Fleet
from rollout.hub.admission import admit
from rollout.hub.base import EmbeddedHub, StateKey, profile_of
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import (
    KINDS,
    ROLLOUT_ANALYSIS_RUN,
    ROLLOUT_NOTIFICATION,
    WORKLOADS,
    Kind,
    Obj,
    Ref,
)
from rollout.placement.grouping import Profile
from rollout.planning.placements import PlacementPlanner
from rollout.runtime.engine import Engine
from rollout.runtime.pace import Pace
from rollout.runtime.planners import planners
from rollout.runtime.timers import VirtualTimers

TrialChange = Callable[[EmbeddedHub], None]
"""Something that is done to the copy: the change whose consequences are asked for."""


def holding(
    objects: Mapping[Ref, Obj], now: datetime, profile: Profile = "strict"
) -> tuple[MemoryHub, VirtualClock]:
    """A hub of our own with these objects, whose clock stands at ``now``.

    Uids, versions and statuses are those that the objects have. ``profile``: whose rules an engine
    there goes by.
    """
    clock = VirtualClock(now)
    further = {f"{kind.plural}.{kind.group}": kind for kind in {ref.kind for ref in objects}}
    kinds = {**further, **KINDS}
    copy = MemoryHub(clock, seed="copy", admit=admit, kinds=kinds)
    copy.adopt(objects.items())
    copy.put_state(StateKey.PROFILE, profile.encode())
    return copy, clock


def changed(
    hub: ReadableHub | None, change: TrialChange, now: datetime
) -> tuple[dict[Ref, Obj], dict[Ref, Obj]]:
    """All objects, and what the change makes of them. Raises: what the change raises."""
    further: frozenset[Kind] = frozenset()
    profile = profile_of(hub) if hub is not None else "strict"
    while True:
        old = {} if hub is None else everything(hub, further)
        copy, _ = holding(old, now, profile)
        with copy.batch():
            change(copy)
        new = dict(copy.everything())
        written = ASIDE & {ref.kind for ref in new}
        lacking = (referred(new) - referred(old) | written) - further
        if hub is None or not lacking:
            return old, new
        further |= lacking  # what is asked for now is of, or refers to, kinds that nothing was


_OUTSIDE = (ROLLOUT_ANALYSIS_RUN, ROLLOUT_NOTIFICATION)
"""Kinds whose planners ask or tell somebody outside the hub."""


def placed(hub: EmbeddedHub, clock: VirtualClock) -> Fleet:
    """Let every planner but those of workloads do its work at this instant, in this hub.

    Returns: what an engine would then know. Raises: what a planner raises.
    """
    profile = profile_of(hub)
    everyone = planners(PlacementPlanner(profile=profile))
    others = {kind: everyone[kind] for kind in everyone if kind not in (*WORKLOADS, *_OUTSIDE)}
    engine = Engine(
        hub,
        clock,
        lambda wake: VirtualTimers(clock, wake),
        others,
        fleet=tracking(profile),
        pace=Pace(least_interval={}, strict=True),
        seed=0,
    )
    engine.start()
    engine.run_until_idle()
    engine.stop()
    engine.fleet.assume_still()
    return engine.fleet
