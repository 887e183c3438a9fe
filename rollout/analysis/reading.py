"""What does a hub hold, whether or not it knows all our kinds?"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Protocol

from rollout.errors import Gone, NotServed
from rollout.fleet.fleet import Fleet
from rollout.fleet.watched import WATCHED
from rollout.hub.base import Hub, Listing
from rollout.hub.states import Kept
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    KINDS,
    MANAGED_CLUSTER_ADDON,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.placement.grouping import Profile
from rollout.planning.policy import Policy
from rollout.plugins import gates
from rollout.runtime.planners import trackers

_AT_NO_TIME = datetime.min.replace(tzinfo=UTC)


class Lists(Protocol):
    """A hub, as far as it is only read."""

    def list(self, kind: Kind) -> Listing: ...


def stored(hub: Lists, kind: Kind) -> tuple[Obj, ...]:
    """All objects of a kind; none where the hub does not know the kind."""
    try:
        return hub.list(kind).items
    except (Gone, NotServed):
        return ()


class Readable(Lists, Kept, Protocol):
    """A hub, as far as readers need it."""


def tracking(profile: Profile = "strict") -> Fleet:
    """A fleet that knows nothing yet and keeps track of workloads of every kind."""
    return Fleet(Policy(profile=profile), trackers=trackers(rolls_addons=True), gates=gates())


def read(hub: Lists, fleet: Fleet, now: datetime) -> None:
    """Tell a fleet all that an engine reads when it starts: what is read can refer to further kinds."""
    told: set[Kind] = set()
    while lacking := [kind for kind in _wanted(fleet) if kind not in told]:
        for kind in lacking:
            told.add(kind)
            for obj in stored(hub, kind):
                fleet.apply(_seen(ref_of(kind, obj), obj), now)


def _wanted(fleet: Fleet) -> list[Kind]:
    return [*WATCHED, *sorted(fleet.wanted_kinds(), key=lambda kind: (kind.group, kind.plural))]


def everything(hub: Hub, further: Iterable[Kind] = ()) -> dict[Ref, Obj]:
    """All objects of our kinds, of the kinds of configurations that add-ons refer to, and further ones."""
    found = {ref_of(kind, obj): obj for kind in KINDS.values() for obj in stored(hub, kind)}
    for kind in {*referred(found), *further}:
        found.update((ref_of(kind, obj), obj) for obj in stored(hub, kind))
    return found


def referred(objects: Mapping[Ref, Obj]) -> frozenset[Kind]:
    """The kinds of configurations that add-ons refer to and that are none of ours."""
    fleet = tracking()
    for ref, obj in objects.items():
        own = ref.kind is MANAGED_CLUSTER_ADDON and (obj.get("spec") or {}).get("configs")
        if ref.kind is CLUSTER_MANAGEMENT_ADDON or own:
            fleet.apply(_seen(ref, obj), _AT_NO_TIME)
    return fleet.wanted_kinds() - frozenset(KINDS.values())


def _seen(ref: Ref, obj: Obj) -> Event:
    return Event(ref, Change.ADDED, obj, int(obj["metadata"]["resourceVersion"]))
