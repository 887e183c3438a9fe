"""What does the planner of add-ons read? The protocols that the fleet implements."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple, Protocol

from rollout.model.addon import AddOn, ClusterAddOn, ConfigRef, Configs, InstallPlacement
from rollout.model.approvals import Freeze
from rollout.model.kinds import Obj, Ref
from rollout.model.waits import Wait
from rollout.planning.addons_configs import AddOnWork, Known
from rollout.planning.analyses import KnownAnalyses
from rollout.planning.policy import Policy
from rollout.planning.views import Live, Rejection
from rollout.strategies.base import Closed


class Share(Protocol):
    """One placement of an add-on's install strategy.

    ``configs`` are those it is to roll out, with hash "" where an object is missing. ``total``
    counts all clusters that the placement selects, ``selected`` those that no later one takes.
    """

    placement: InstallPlacement
    hold: Wait | None
    configs: Configs
    total: int

    @property
    def live(self) -> Live: ...

    @property
    def selected(self) -> int: ...

    @property
    def is_settled(self) -> bool: ...


class Told(NamedTuple):
    """What a cluster's add-on is to be told: its configurations, and whether they are the newest."""

    configs: Configs
    configured: bool


class Workload(Protocol):
    """One ClusterManagementAddOn and what hangs on it.

    ``untold`` are clusters whose ManagedClusterAddOn may say what is no longer so; ``unowned`` those
    whose metadata may; ``strays`` those that the strategy installed and nobody selects any more.
    """

    ref: Ref
    addon: AddOn | None
    members: dict[str, str]
    strays: set[str]
    untold: set[str]
    unowned: set[str]

    @property
    def unwritten(self) -> Rejection | None:
        """What the server says to a part of the record that it refuses, and when that is tried again."""
        ...

    @property
    def shares(self) -> Mapping[str, Share]: ...

    @property
    def defaults(self) -> Configs: ...

    @property
    def known(self) -> Mapping[ConfigRef, Known]: ...

    def installed(self, cluster: str) -> ClusterAddOn | None: ...

    def works(self, cluster: str) -> Iterable[AddOnWork]: ...

    def to_install(self) -> list[str]:
        """Members without a ManagedClusterAddOn, by name, whose cluster exists."""
        ...

    def told(self, cluster: str) -> Told | None:
        """What it carries, or is to carry where no placement rolls it out; None: leave it alone."""
        ...

    def meant_for(self, cluster: str) -> Configs | None:
        """What a placement has it carry in the end; None where that is not known."""
        ...

    def configs_of(self, cluster: str, revision: str) -> Configs | None:
        """What a revision means for this cluster; None where that is not known (any more)."""
        ...

    def mirrored(self, cluster: str) -> Mapping[str, str | None]:
        """The cluster's add-on annotations; None for those that it has no longer."""
        ...

    def untold_until(self) -> datetime | None:
        """Until when nothing is said of it: decisions that this engine writes are half written."""
        ...

    def next_quiet(self) -> datetime | None: ...


class View(Protocol):
    """What the planner reads."""

    policy: Policy

    def workload(self, key: str) -> Workload | None:
        """One add-on as it was last brought up to date; None where it is not known."""
        ...

    @property
    def measured(self) -> KnownAnalyses:
        """Analyses and their runs."""
        ...

    def freeze(self, now: datetime) -> Freeze | None: ...

    def closed(self, workload: Ref, now: datetime) -> Closed:
        """The clusters that calendars close to an add-on now."""
        ...

    def is_detached(self, cluster: str) -> bool:
        """Whether its ManagedCluster is deleted, or being deleted."""
        ...

    def abandoned(self, key: str) -> list[tuple[Ref, str]]:
        """Record pages (ref, uid) of placements that the add-on no longer has."""
        ...


def owner_reference(addon: AddOn, ref: Ref, *, controller: bool) -> Obj:
    """The ownerReference of a ManagedClusterAddOn to its ClusterManagementAddOn."""
    return {
        "apiVersion": ref.kind.api_version,
        "kind": ref.kind.name,
        "name": addon.name,
        "uid": addon.uid,
        "controller": controller,
        "blockOwnerDeletion": controller,
    }
