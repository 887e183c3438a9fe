"""What does a fleet want of whoever keeps track of one kind of workload?

And what does everybody else, who only looks, want to know of a workload of any kind?
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from rollout.fleet.clusters import ClusterStore
from rollout.fleet.live import LiveRollout
from rollout.fleet.membership import Surroundings
from rollout.fleet.records import Records
from rollout.fleet.rejections import Rejection
from rollout.fleet.selections import Reading
from rollout.model.approvals import Freeze
from rollout.model.conditions import Condition
from rollout.model.events import Event
from rollout.model.kinds import Kind, Obj, Ref
from rollout.model.waits import Wait
from rollout.planning.facts import Checked
from rollout.planning.plan import Write
from rollout.strategies.base import Closed
from rollout.values.rendering import ValueShown


@dataclass(frozen=True, slots=True)
class Carried:
    """What a cluster has of a workload: an object, and the revision that it amounts to.

    ``revision`` is "" where the object says nothing yet. Conditions count where they are about
    ``generation``; None: all do. ``faults`` say which manifests are not well, and why.
    """

    name: str
    revision: str
    conditions: tuple[Condition, ...]
    generation: int | None = None
    faults: tuple[str, ...] = ()


class Share(Protocol):
    """One placement of a workload. ``hold``: why nothing of it may be touched.

    ``selected`` counts its clusters, ``overlapped`` those that it selects too and another placement
    owns, ``updated`` those that carry what it asks for. ``strategy`` is the type that is written.
    """

    reading: Reading
    hold: Wait | None

    @property
    def live(self) -> LiveRollout: ...

    @property
    def placement_key(self) -> str: ...

    @property
    def strategy(self) -> str: ...

    @property
    def selected(self) -> int: ...

    @property
    def overlapped(self) -> int: ...

    @property
    def updated(self) -> int: ...


class Standing(Protocol):
    """A workload of any kind, for those who look. ``raw`` is the object; None where it is gone.

    ``members`` are its clusters with the placement that owns them; ``strays`` hold something of it
    though nobody selects them (any more).
    """

    members: dict[str, str]
    strays: set[str]
    unwritten: Rejection | None

    @property
    def ref(self) -> Ref: ...

    @property
    def raw(self) -> Obj | None: ...

    @property
    def is_ocm(self) -> bool:
        """Whether profile ``ocm`` decides for it."""
        ...

    @property
    def shares(self) -> Mapping[str, Share]: ...

    @property
    def clusters(self) -> list[str]:
        """Clusters that hold anything of it, by name."""
        ...

    @property
    def revisions(self) -> tuple[str, ...]:
        """What it asks for: one thing, or what its placements ask for, in their order."""
        ...

    def revision_at(self, cluster: str) -> str:
        """What it asks for there; "" where nobody does."""
        ...

    def values_at(self, cluster: str) -> tuple[ValueShown, ...]:
        """The values that the cluster has of its own, and where they come from."""
        ...

    def carried(self, cluster: str) -> Carried | None:
        """What the cluster has; None where it has nothing that would stay."""
        ...

    def body(self, cluster: str) -> Obj | None:
        """What the cluster's agent is to bring about now, for a person to read; None: nothing."""
        ...

    def wanted(self, cluster: str) -> Obj | None:
        """The body that it asks for there; None where that is not known."""
        ...

    def made_of(self, revision: str) -> tuple[str, ...]:
        """The objects that a revision is made of, in words; nothing where it is one of its own."""
        ...

    def next_quiet(self) -> datetime | None: ...

    def sends_page(self, write: Write) -> None:
        """A page of its record is about to go out."""
        ...


class Around(Surroundings, Protocol):
    """The fleet around a tracker: what it may ask of it."""

    records: Records
    clusters: ClusterStore

    def freeze(self, now: datetime) -> Freeze | None:
        """The Freeze that stands at this instant, if any."""
        ...

    def closed(self, workload: Ref, now: datetime) -> Closed:
        """The clusters that calendars close to a workload now."""
        ...

    def is_detached(self, cluster: str) -> bool:
        """Whether its ManagedCluster is deleted, or being deleted."""
        ...


class Tracker(Protocol):
    """Keeps all workloads of a kind, and what hangs on them. Told by the fleet, never asks a hub."""

    @property
    def planned(self) -> tuple[Kind, ...]:
        """The kinds whose planners read this."""
        ...

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that its workloads consist of; always among the wanted ones."""
        ...

    def wanted_kinds(self) -> frozenset[Kind]:
        """Kinds to be watched besides those of the fleet. The same value as long as none changes."""
        ...

    def missed(self, kind: Kind, why: str) -> Iterable[Ref]:
        """A wanted kind cannot be read, and why; "" once it can again. What is planned anew for it."""
        ...

    def forget(self, kind: Kind) -> None:
        """A wanted kind is watched no more: what is known of its objects may no longer be so."""
        ...

    def take(self, event: Event, now: datetime) -> Iterable[Ref]:
        """Take in an event of any kind; what is planned anew for it."""
        ...

    def follow(self, placement: str) -> Iterable[Ref]:
        """A placement, or its decisions, have changed."""
        ...

    def live(self, workload: str, placement: str) -> LiveRollout | None: ...

    def removed(self, workload: Ref, cluster: str, window: timedelta, now: datetime) -> None:
        """What a workload has at a cluster was removed: it is selected no more."""
        ...

    def refused(self, write: Write, owner: Ref, message: str, now: datetime) -> datetime | None:
        """The server refused a write that was planned for ``owner`` and is no touch.

        Returns when that is planned again; None where it is nothing to this tracker.
        """
        ...

    def refresh(self, key: str, now: datetime) -> None:
        """Bring what is planned under this key up to date with what it refers to and with the time."""
        ...

    def checked(self, fact: Checked) -> None:
        """Clusters were found to be in order, until something is heard of them again."""
        ...

    def restate(self, workloads: Container[Ref] | None = None) -> None:
        """Something that the terms of these workloads (None: of all) depend on has changed."""
        ...

    def told(self, write: Write, now: datetime) -> None:
        """The write is about to go out, or has landed."""
        ...

    def workloads(self) -> list[Ref]:
        """Those that exist."""
        ...

    def workload(self, key: str) -> Standing | None:
        """One workload as it was last brought up to date; None where it is not known."""
        ...

    def is_done(self, workload: Ref) -> bool:
        """Whether a workload says that it is rolled out."""
        ...
