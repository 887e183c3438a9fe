"""What planners of workloads read of the fleet, besides the workload itself."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from rollout.model.approvals import Freeze
from rollout.model.kinds import Ref
from rollout.model.policy import Policy
from rollout.planning.notifications import WorkloadSurroundings
from rollout.planning.revisions import Occupant, Revision
from rollout.rollouts.addon_workload import AddOnWorkload
from rollout.rollouts.outages import Outages
from rollout.rollouts.replicaset_workload import ReplicaSetWorkload
from rollout.rollouts.share import PlacementShare
from rollout.rollouts.workload import Workload
from rollout.strategies.base import Closed

W_co = TypeVar("W_co", bound=Workload[PlacementShare], covariant=True)


class WorkloadsView(WorkloadSurroundings, Protocol[W_co]):
    """The workloads of one kind, and what concerns them."""

    policy: Policy
    outages: Outages

    def workload(self, key: str) -> W_co | None:
        """As it was last brought up to date; None where it is not known."""
        ...

    def freeze(self, now: datetime) -> Freeze | None: ...

    def closed(self, workload: Ref, now: datetime) -> Closed:
        """The clusters that calendars close to a workload now."""
        ...

    def is_detached(self, cluster: str) -> bool:
        """Whether its ManagedCluster is deleted, or being deleted."""
        ...

    def abandoned(self, workload: Ref) -> list[tuple[Ref, str]]:
        """Record pages (ref, uid) of placements that the workload no longer has."""
        ...


AddOnView = WorkloadsView[AddOnWorkload]


class ReplicaSetView(WorkloadsView[ReplicaSetWorkload], Protocol):
    """Templates of earlier revisions are kept, and come back."""

    def revisions(self, workload: Ref) -> Mapping[str, Revision]: ...

    def edited(self, workload: Ref) -> Sequence[Revision]:
        """Those of `revisions` that somebody changed on the hub, as they were before."""
        ...

    def occupant(self, revision: Ref, workload: Ref) -> Occupant | None:
        """The object with the name of a revision that is not the workload's, if there is one."""
        ...

    def is_available(self, cluster: str) -> bool:
        """Whether it says that it is well, or said so when it left."""
        ...
