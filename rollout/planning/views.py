"""What do planners of workloads read? The protocols that the fleet implements.

A planner sees a workload (a template on its way to clusters) with one share for each placementRef.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from rollout.model.approvals import Freeze
from rollout.model.kinds import Obj, Ref
from rollout.model.replicaset import PlacementRef, ReplicaSet
from rollout.model.waits import Wait
from rollout.model.work import Work
from rollout.planning.analyses import KnownAnalyses
from rollout.planning.facts import Decided
from rollout.planning.plan import Write
from rollout.planning.policy import Policy
from rollout.planning.record import Head, Line
from rollout.planning.revisions import Revision
from rollout.strategies.base import NOTHING_CLOSED, Closed, Rollout, Standing
from rollout.values.contents import ClusterContents


class Ledger(Protocol):
    """The rollout as the plain step would see it."""

    @property
    def rollout(self) -> Rollout: ...

    @property
    def standings(self) -> Mapping[str, Standing]: ...


class Rejection(Protocol):
    """A refused write."""

    @property
    def message(self) -> str: ...

    @property
    def retry_at(self) -> datetime: ...


class Book(Protocol):
    """The record's pages."""

    @property
    def edited(self) -> Mapping[str, str]:
        """Pages that somebody else wrote, and who did."""
        ...

    def leftovers(self) -> list[Write]: ...

    def writes(self, head: Head | None = ..., lines: Mapping[str, Line] = ...) -> list[Write]:
        """What brings the pages up to date, with what is decided now and not yet taken."""
        ...


class Remembered(Protocol):
    """What soaked where before."""

    def newest(self) -> set[str]: ...


class Live(Protocol):
    """One placementRef's rollout, live."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def book(self) -> Book: ...

    @property
    def head(self) -> Head: ...

    @property
    def astray(self) -> set[str]: ...

    def carries(self, cluster: str) -> bool:
        """Whether what carries content there carries the present revision, whatever it should carry."""
        ...

    @property
    def rejections(self) -> Mapping[str, Rejection]: ...

    @property
    def soaked(self) -> Remembered: ...

    def decide(
        self,
        hold: Wait | None,
        now: datetime,
        kept: Mapping[str, str] = ...,
        barred: str = "",
        *,
        closed: Closed = NOTHING_CLOSED,
    ) -> Decided:
        """What is to be done now; nothing changes by asking."""
        ...

    @property
    def revision(self) -> str: ...

    def wanted(self, cluster: str) -> str:
        """The content that a cluster is to carry."""
        ...


class Counted(Protocol):
    """Clusters whose work carries the revision, and of these, whose conditions are True.

    ``unstamped`` and ``outdated`` have conditions that do not count: they do not say of which
    generation they are, or are of another one.
    """

    updated: int
    applied: int
    available: int
    progressing: int
    degraded: int
    unstamped: int
    outdated: int


class Share(Protocol):
    """One placementRef of a workload. ``hold``: why nothing of it may be touched."""

    ref: PlacementRef
    hold: Wait | None
    labels: dict[str, str]
    overlapped: int

    @property
    def live(self) -> Live: ...

    @property
    def counts(self) -> Counted: ...

    @property
    def selected(self) -> int: ...

    @property
    def groups(self) -> int: ...

    @property
    def is_settled(self) -> bool: ...


class Workload(Protocol):
    """One ManifestWorkReplicaSet and what hangs on it."""

    ref: Ref
    replicaset: ReplicaSet | None
    members: dict[str, str]
    strays: set[str]
    twins: set[str]
    mislabelled: set[str]
    faulty: set[str]
    """Clusters whose agent says of single manifests that they are not well."""
    told_at: datetime | None
    """When its status was last written by this process."""
    removed: dict[str, datetime]
    contents: ClusterContents
    is_unrendered: bool
    """Clusters are still to be rendered before anything is decided."""

    @property
    def revision(self) -> str: ...

    def spec_of(self, content: str) -> Obj | None:
        """The template that has this content now; None where none has."""
        ...

    @property
    def is_ocm(self) -> bool:
        """Whether profile ``ocm`` decides for it."""
        ...

    @property
    def unwritten(self) -> Rejection | None:
        """What the server says to a part of the record that it refuses, and when that is tried again."""
        ...

    @property
    def shares(self) -> Mapping[str, Share]: ...

    @property
    def clusters(self) -> list[str]: ...

    def taken_back(self) -> Mapping[str, str]:
        """Revisions that are taken back, with the placement that does."""
        ...

    def work(self, cluster: str) -> Work | None: ...

    def works(self, cluster: str) -> Mapping[str, Work]: ...

    def is_going(self, cluster: str) -> bool:
        """Whether it has works, and all of them are being deleted: their going will be seen."""
        ...

    def untold_until(self) -> datetime | None:
        """Until when nothing is said of it: decisions that this engine writes are half written."""
        ...

    def next_quiet(self) -> datetime | None: ...


class View(Protocol):
    """What the planner reads."""

    policy: Policy

    def workload(self, key: str) -> Workload | None:
        """As it was last brought up to date; None where it is not known."""
        ...

    def revisions(self, key: str) -> Mapping[str, Revision]: ...

    def occupant(self, revision: Ref, key: str) -> str:
        """The uid of what has the name of a revision of the workload and is none; "" where nothing has."""
        ...

    @property
    def measured(self) -> KnownAnalyses:
        """Analyses and their runs."""
        ...

    def freeze(self, now: datetime) -> Freeze | None: ...

    def closed(self, workload: Ref, now: datetime) -> Closed:
        """The clusters that calendars close to a workload now."""
        ...

    def is_detached(self, cluster: str) -> bool:
        """Whether its ManagedCluster is deleted, or being deleted."""
        ...

    def is_available(self, cluster: str) -> bool:
        """Whether it says that it is well, or said so when it left."""
        ...

    def abandoned(self, key: str) -> list[tuple[Ref, str]]:
        """Record pages (ref, uid) of placementRefs that the workload no longer has."""
        ...
