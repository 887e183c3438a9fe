"""What a fleet needs of the tracker of one kind of workload."""

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from rollout.fleet.analyses import Analyses
from rollout.fleet.clusters import ClusterStore
from rollout.fleet.notifications import Notifications
from rollout.fleet.records import Records
from rollout.model.approvals import Freeze
from rollout.model.events import Event
from rollout.model.kinds import Kind, Ref
from rollout.model.writes import Delete
from rollout.planning.plan import Write
from rollout.rollouts.facts import Checked
from rollout.rollouts.share import PlacementShare, Surroundings
from rollout.rollouts.workload import Workload
from rollout.strategies.base import Closed


class Around(Surroundings, Protocol):
    """The fleet around a tracker: what it may ask of it."""

    records: Records
    clusters: ClusterStore
    measured: Analyses
    notifications: Notifications

    def freeze(self, now: datetime) -> Freeze | None:
        """The Freeze that stands at this instant, if any."""
        ...

    def closed(self, workload: Ref, now: datetime) -> Closed:
        """The clusters that calendars close to a workload now."""
        ...

    def is_detached(self, cluster: str) -> bool:
        """Whether its ManagedCluster is deleted, or being deleted."""
        ...


class Tracker(ABC):
    """Keeps what hangs on objects of a kind. Told by the fleet, never asks a hub.

    What most kinds have no use for does nothing here.
    """

    planned: tuple[Kind, ...]
    """The kinds whose planners read this."""
    kinds: tuple[Kind, ...]
    """The kinds that its workloads consist of; always among the wanted ones."""
    wanted: frozenset[Kind] = frozenset()
    """Kinds to be watched now besides those of the fleet. It is asked for at every turn."""

    def __init__(self, fleet: Around) -> None:
        self._fleet = fleet

    @abstractmethod
    def take(self, event: Event, now: datetime) -> Iterable[Ref]:
        """Take in an event of any kind; what is planned anew for it."""

    def missed(self, kind: Kind, why: str) -> Iterable[Ref]:
        """A wanted kind cannot be read, and why; "" once it can again. What is planned anew for it."""
        return ()

    def forget(self, kind: Kind) -> None:
        """A wanted kind is watched no more: what is known of its objects may no longer be so."""
        return

    def follow(self, placement: str) -> Iterable[Ref]:
        """A placement, or its decisions, have changed; what is planned anew for it."""
        return ()

    def deleted(self, write: Delete, now: datetime) -> None:
        """The hub has accepted a deletion: the object is gone or going, whoever tells of it later."""
        return

    def refused(self, write: Write, owner: Ref, message: str, now: datetime) -> datetime | None:
        """The server refused a write that was planned for ``owner`` and is no touch.

        Returns when that is planned again; None where it is nothing to this tracker.
        """
        return None

    def refresh(self, key: str, now: datetime) -> None:
        """Bring what is planned under this key up to date with what it refers to and with the time."""
        return

    def checked(self, fact: Checked) -> None:
        """Clusters were found to be in order, until something is heard of them again."""
        return

    def restate(self, workloads: Container[Ref] | None = None) -> None:
        """Something that the terms of these workloads (None: of all) depend on has changed."""
        return

    def written(self, write: Write, now: datetime) -> None:
        """A write of an object that is planned here is about to go out, or has landed."""
        return

    def workloads(self) -> list[Ref]:
        """Those that exist."""
        return []

    def workload(self, key: str) -> Workload[PlacementShare] | None:
        """One workload as it was last brought up to date; None where it is not known."""
        return None

    def is_done(self, workload: Ref) -> bool:
        """Whether a workload says, of what it is now, that it is rolled out."""
        return True


W = TypeVar("W", bound=Workload[PlacementShare])


class WorkloadTracker(Tracker, Generic[W]):
    """Keeps all workloads of a kind, for the fleet and for their planner."""

    def __init__(self, fleet: Around) -> None:
        super().__init__(fleet)
        self.policy, self.outages = fleet.policy, fleet.outages
        self.measured = fleet.measured
        self.notifications = fleet.notifications
        self._workloads: dict[str, W] = {}

    def workload(self, key: str) -> W | None:
        return self._workloads.get(key)

    def workloads(self) -> list[Ref]:
        return [each.ref for _, each in sorted(self._workloads.items()) if each.raw is not None]

    def deleted(self, write: Delete, now: datetime) -> None:
        workload = write.removed_from
        known = self._workloads.get(workload.key) if workload is not None else None
        if known is not None and known.ref == workload:
            known.note_removal(write.cluster, self.policy.brake_window, now)

    def restate(self, workloads: Container[Ref] | None = None) -> None:
        for workload in self._workloads.values():
            if workloads is None or workload.ref in workloads:
                workload.restated = True

    def freeze(self, now: datetime) -> Freeze | None:
        return self._fleet.freeze(now)

    def closed(self, workload: Ref, now: datetime) -> Closed:
        return self._fleet.closed(workload, now)

    def is_detached(self, cluster: str) -> bool:
        return self._fleet.is_detached(cluster)

    def abandoned(self, workload: Ref) -> list[tuple[Ref, str]]:
        """Record pages (ref, uid) of placements that the workload no longer has."""
        known = self._workloads.get(workload.key)
        if known is None or known.raw is None:
            return []
        return self._fleet.records.abandoned(workload, known.placements)

    def _end_rollouts(self, workload: W, now: datetime) -> None:
        """The object is gone; one of its name that comes after it begins its own rollouts."""
        workload.shares.clear()
        workload.members.clear()
        if self._fleet.witness is not None:
            self._fleet.witness.gone(workload.ref, now)

    def _forget_gone(self, workload: W) -> None:
        """Nothing is kept of one that is gone, and of which no cluster holds anything."""
        if workload.raw is None and not workload.clusters:
            self._workloads.pop(workload.ref.key, None)
