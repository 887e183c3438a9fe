"""What differs between one kind of workload and another? The seam that histories are run through.

A *carrier* is the object that brings a revision to one cluster: a ManifestWork, or a ManagedClusterAddOn
whose status says what to apply. A `Subject` reads and judges, an `Editor` changes, as people do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from rollout.clock import Clock
from rollout.fleet.fleet import Fleet
from rollout.fleet.tracker import Tracker
from rollout.hub.base import Hub
from rollout.model.kinds import Kind, Obj, Ref
from rollout.planning.plan import Planner
from tests.safety.terms import Terms

Find = Callable[[Ref], Obj | None]
"""Any object as the reader knows it."""


class Carried(NamedTuple):
    """What one cluster has, and how it does with it: silent, progressing, succeeded or failed.

    ``stamp``: when, by the agent's clock, what it says last changed. It is compared, never read.
    """

    revision: str
    health: str
    stamp: str


class Said(NamedTuple):
    """What a status says of one placement.

    ``selected`` counts the clusters that the placement owns, ``total`` those that it selects, None
    where the status does not say. ``stopped`` is the reason why nothing goes on, "" where it does.
    ``late``: it is about an older generation. ``flawless``: all is done, and nothing has failed.
    ``counts``: whatever else it counts of the placement, by name.
    """

    selected: int
    total: int | None
    done: bool
    stopped: str
    late: bool
    flawless: bool
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Standing:
    """Clusters of one placement, when a status is written.

    ``carriers``: of those that it owns, what carries something there. ``given``: clusters that get
    its revision in the same pass, ``taken``: those that get another one.
    """

    carriers: Mapping[str, Obj]
    given: frozenset[str]
    taken: frozenset[str]


class Controllers(Protocol):
    """Whoever else works on the hub for this kind of workload, driven like the simulated agents."""

    def start(self) -> None: ...

    def next_at(self) -> datetime | None: ...

    def run_due(self) -> int: ...


class Subject(Protocol):
    """A kind of workload under test, as the judge reads it. Plain and slow on purpose."""

    @property
    def name(self) -> str: ...

    @property
    def ref(self) -> Ref:
        """The one workload of a history."""
        ...

    @property
    def carrier(self) -> Kind: ...

    @property
    def later_wins(self) -> bool:
        """Of two placements that select a cluster, whether the later one owns it."""
        ...

    @property
    def trackers(self) -> Sequence[Callable[[Fleet], Tracker]]: ...

    @property
    def keeps_revisions(self) -> bool:
        """Whether templates that were rolled out are kept, to be given back."""
        ...

    def planner(self) -> Planner[Fleet]: ...

    def controllers(self, hub: Hub, clock: Clock) -> Sequence[Controllers]: ...

    def fingerprint(self, workload: Obj, placement: Obj, find: Find) -> str:
        """How people name the revision that a placement asks for, "" where there is none."""
        ...

    def share_key(self, placement: str) -> str:
        """What the engine calls the rollout over a placement, in its memory and in its record."""
        ...

    # -- reading -------------------------------------------------------------------------------

    def placements(self, workload: Obj) -> list[Obj]:
        """Its placements in its own order, each with name and rolloutStrategy."""
        ...

    def terms_of(self, workload: Obj, placement: Obj, find: Find) -> Terms: ...

    def is_ours(self, obj: Obj) -> bool:
        """Whether a carrier belongs to the workload."""
        ...

    def affects(self, ref: Ref) -> bool:
        """Whether what carriers carry is also told by this object."""
        ...

    def carried(self, obj: Obj, find: Find) -> Carried | None:
        """What a carrier brings to its cluster; None where it brings nothing."""
        ...

    def reported(self, cluster: str, well: bool, hub: Hub, now: datetime) -> Mapping[Ref, Obj]:
        """Objects as they are once an agent says of what the cluster has that all is well, or that it failed."""
        ...

    def brought(self, before: Obj | None, changes: Obj, find: Find) -> str:
        """The revision that a write of a carrier brings, "" where it brings none."""
        ...

    def said(self, status: Obj, placement: str, generation: int, skipped: int) -> Said:
        """``skipped``: how many of the placement's clusters the engine counts as waived."""
        ...

    def counted(self, workload: Obj, standing: Standing, find: Find) -> Mapping[str, int]:
        """What a status must count of a placement, as `Said.counts`, by what there is now."""
        ...

    def kept(self, revisions: Sequence[Obj]) -> Mapping[str, str]:
        """Of these RolloutRevisions those that are what they say: how people name each, and its revision."""
        ...

    def disowned(self, workload: Obj, carrier: Obj, placement: str) -> str:
        """How a carrier of ours in this placement says that it is somebody else's; "" where it does not."""
        ...

    def is_done(self, status: Obj, generation: int, revision: str) -> bool:
        """Whether it says of this generation and revision that all is rolled out."""
        ...

    # -- judging -------------------------------------------------------------------------------

    def lacks(self, carrier: Obj, find: Find) -> bool:
        """Whether the cluster can be brought nothing, since something of its own is missing."""
        ...

    def for_nobody(self, workload: Obj, carrier: Obj, find: Find) -> str:
        """The revision that a carrier may be given where no placement selects its cluster."""
        ...

    def may_not_go(self, carrier: Obj) -> str:
        """Why a carrier must never be removed, "" where it may."""
        ...

    def false_success(self, before: Obj, changes: Obj, find: Find) -> str:
        """How a write claims a success that nobody reported, "" where it does not."""
        ...


class Editor(Protocol):
    """Changes the workload as people do. Each ``do_<verb>`` is an act of a script."""

    def create(self, strategies: Mapping[str, Obj], notes: Mapping[str, str]) -> None:
        """At the beginning, with revision r1."""
        ...

    def edit(
        self, *, strategies: Mapping[str, Obj] | None = None, notes: Obj | None = None
    ) -> None:
        """New strategies for some placements, annotations."""
        ...

    def strategies(self) -> dict[str, Obj]:
        """The rolloutStrategy of each placement, as it is now."""
        ...

    def roll_out(self, revision: str) -> None: ...

    def asked(self) -> str:
        """The revision that is asked for now."""
        ...

    @property
    def ref(self) -> Ref:
        """The workload."""
        ...

    def fingerprints(self, revision: str = "") -> tuple[str, ...]:
        """How people name a revision ("": the one that is asked for now), of each placement."""
        ...

    def overlap(self) -> None:
        """Reverse the order of the placements."""
        ...

    def heal(self, revision: str, strategies: Mapping[str, Obj], notes: Obj) -> None:
        """Everything as at the beginning, with this revision."""
        ...

    def do_meddle(self) -> None:
        """Someone edits carriers by hand."""
        ...


def stamp_of(status: Obj, *kinds: str) -> str:
    """When these conditions last changed, by the clock of whoever wrote them; in one text."""
    found = {c["type"]: c.get("lastTransitionTime") for c in status.get("conditions") or []}
    return "/".join(str(found.get(kind)) for kind in kinds)
