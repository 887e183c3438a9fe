"""What does a fleet want of whoever keeps track of one kind of workload?"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Protocol

from rollout.fleet.live import LiveRollout
from rollout.model.events import Event
from rollout.model.kinds import Kind, Obj, Ref


class Share(Protocol):
    """One placement of a workload."""

    @property
    def live(self) -> LiveRollout: ...


class Standing(Protocol):
    """A workload of any kind, as displays read it. ``raw`` is the object; None where it is gone."""

    @property
    def ref(self) -> Ref: ...

    @property
    def raw(self) -> Obj | None: ...

    @property
    def shares(self) -> Mapping[str, Share]: ...


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

    def restate(self) -> None:
        """Something that all terms depend on has changed."""
        ...

    def workloads(self) -> list[Ref]:
        """Those that exist."""
        ...

    def peek(self, key: str) -> Standing | None:
        """One workload as it was last planned."""
        ...

    def is_done(self, workload: Ref) -> bool:
        """Whether a workload says that it is rolled out."""
        ...
