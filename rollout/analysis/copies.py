"""What if? A copy of a hub in memory, on a clock of its own, that may be changed without harm."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from rollout.analysis.snapshot import Lists, everything, referred, tracking
from rollout.clock import VirtualClock
from rollout.errors import ConfigError, Gone
from rollout.fleet.fleet import Fleet
from rollout.hub.admission import admit
from rollout.hub.base import EmbeddedHub, StateKey, profile_of
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import (
    KINDS,
    ROLLOUT_ANALYSIS_RUN,
    WORKLOADS,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.placement.grouping import Profile
from rollout.planning.documents import difference
from rollout.planning.plan import Planner
from rollout.runtime.engine import Engine, Pace
from rollout.runtime.planners import planners
from rollout.runtime.timers import VirtualTimers

Change = Callable[[EmbeddedHub], None]
"""Something that is done to the copy: the change whose consequences are asked for."""

HISTORY = 5_000


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
    copy = MemoryHub(clock, seed="copy", history=HISTORY, admit=admit, kinds=kinds)
    copy.adopt(objects.items())
    copy.put_state(StateKey.PROFILE, profile.encode())
    return copy, clock


def copied(hub: EmbeddedHub | None, now: datetime) -> tuple[MemoryHub, VirtualClock]:
    """All of a hub's objects that an engine could read, in a hub of our own; none without a hub."""
    return holding({}, now) if hub is None else holding(everything(hub), now, profile_of(hub))


def changed(
    hub: Lists | None, change: Change, now: datetime
) -> tuple[dict[Ref, Obj], dict[Ref, Obj]]:
    """All objects, and what the change makes of them. Raises: what the change raises."""
    further: frozenset[Kind] = frozenset()
    while True:
        old = {} if hub is None else everything(hub, further)
        copy, _ = holding(old, now)
        with copy.batch():
            change(copy)
        new = dict(copy.everything())
        lacking = referred(new) - referred(old) - further
        if hub is None or not lacking:
            return old, new
        further |= lacking  # what is asked for now refers to kinds that nothing did


def storing(objects: Iterable[Obj]) -> Change:
    """The change that makes stored objects say what these say, statuses included.

    What others set in their metadata stays; a workload's status is left to the engine.

    Raises (when it is made): ConfigError for an unknown kind, HubError for an object that a hub would
    refuse.
    """
    kept = tuple(objects)

    def change(hub: EmbeddedHub) -> None:
        for obj in kept:
            _store(hub, obj)

    return change


def _store(hub: EmbeddedHub, obj: Obj) -> None:
    kind = KINDS.get(str(obj.get("kind")))
    if kind is None:
        raise ConfigError(f"kind {obj.get('kind')!r} is not known; there are: {', '.join(KINDS)}")
    ref = ref_of(kind, obj)
    try:
        old = hub.get(ref)
    except Gone:
        hub.create(ref, obj)
    else:
        asked = {key: obj["metadata"].get(key) or {} for key in ("labels", "annotations")}
        rest = ("apiVersion", "kind", "metadata", "status")
        before, after = ({k: o[k] for k in o if k not in rest} for o in (old, obj))
        hub.patch(ref, {**difference(before, after), "metadata": asked})
    if obj.get("status") and kind.has_status and kind not in WORKLOADS:
        hub.patch_status(ref, {"status": obj["status"]})


def placed(hub: EmbeddedHub, clock: VirtualClock) -> Fleet:
    """Let every planner but those of workloads do its work at this instant, in this hub.

    Returns: what an engine would then know. Raises: what a planner raises.
    """
    profile = profile_of(hub)
    others: dict[Kind, Planner[Any]] = {
        kind: planner
        for kind, planner in planners(profile=profile).items()
        if kind not in (*WORKLOADS, ROLLOUT_ANALYSIS_RUN)  # and nothing is measured
    }
    engine = Engine(
        hub,
        clock,
        lambda wake: VirtualTimers(clock, wake),
        others,
        tracking(profile),
        pace=Pace(least_interval={}, strict=True),
        seed=0,
    )
    engine.start()
    engine.run_until_idle()
    engine.stop()
    engine.fleet.assume_still()
    return engine.fleet
