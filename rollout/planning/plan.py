"""What writes follow from a decision? The vocabulary of plans.

A planner is ``(key, view, now) -> Plan``: total, without clock or I/O, and nothing changes by asking it.
What it decides on the way stands in the plan as facts. It never raises for bad input (that is a condition
in the plan) and never says "again", only when to look next.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeVar

from rollout.measuring.values import AnalysisRun
from rollout.model.kinds import Kind, Obj, Ref
from rollout.model.waits import Wait
from rollout.planning.facts import Fact
from rollout.strategies.base import Standing, Verdict

V_contra = TypeVar("V_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Touch:
    """Marks the write that brings a revision to a cluster, or keeps it there.

    ``placement`` is the placementRef that owns the cluster; ``first`` is False where what the
    cluster is supposed to have is only restored. ``revision`` is what it brings ("": the rollout's).
    """

    workload: Ref
    placement: str
    cluster: str
    first: bool = True
    cause: str = ""
    revision: str = ""

    @property
    def brings(self) -> bool:
        """Whether it brings what the cluster is supposed to have, not only what is said about it."""
        return self.first or self.cause in ("Restore", "Configure")


def cause_of(before: Standing | None, revision: str) -> str:
    """The cause of a touch with ``revision``, from what was known of the cluster before."""
    if before is None:
        return "SlotFree"
    if before.revision == revision and before.verdict is Verdict.RETRY:
        return "Retry"
    return "Supersede"


@dataclass(frozen=True, slots=True)
class Create:
    """Create ``obj`` (whole, as JSON, with apiVersion, kind and metadata)."""

    ref: Ref
    obj: Obj
    touch: Touch | None = None


@dataclass(frozen=True, slots=True)
class Patch:
    """JSON merge patch of the object, only while it still has ``version`` (None: whatever it has)."""

    ref: Ref
    changes: Obj
    version: int | None = None
    touch: Touch | None = None


@dataclass(frozen=True, slots=True)
class PatchStatus:
    """JSON merge patch ``{"status": status}`` of the status subresource, with the same precondition."""

    ref: Ref
    status: Obj
    version: int | None = None
    touch: Touch | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the object with this uid.

    ``unless_selected_by``: the key of a Placement whose decisions are read live right before; the
    delete is dropped if they name ``cluster`` after all (semantics row 16). ``removed_from``: the
    workload that this takes from the cluster, since removals are counted.
    """

    ref: Ref
    uid: str
    unless_selected_by: tuple[str, ...] = ()
    cluster: str = ""
    removed_from: Ref | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveFinalizer:
    """Let the object go, once the server shows nothing left of what it stands for.

    ``kept``: the finalizers of others, which stay. ``kind`` and ``label`` say what must be gone; with
    ``deleting_is_gone`` it is enough that it is being deleted. It is planned when nothing is known to
    be left; what the server then shows must be no older than the newest object of ``kind`` that this
    process has seen. Where something is left the write is dropped as a conflict, and planned again.
    """

    ref: Ref
    kept: tuple[str, ...]
    version: int
    kind: Kind
    label: tuple[str, str]
    deleting_is_gone: bool

    @property
    def changes(self) -> Obj:
        """The merge patch that removes it."""
        return {"metadata": {"finalizers": list(self.kept) or None}}

    def left_of(self, found: Iterable[Obj]) -> int:
        """How many of the objects found, all of ``kind``, are left of what must be gone."""
        key, value = self.label
        metas = (obj["metadata"] for obj in found)
        return sum(
            1
            for meta in metas
            if (meta.get("labels") or {}).get(key) == value
            and not (self.deleting_is_gone and meta.get("deletionTimestamp"))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Measure these metrics of a run, by name, and write what comes of it into its status."""

    ref: Ref
    run: AnalysisRun
    metrics: tuple[str, ...]


Write = Create | Patch | PatchStatus | Delete | RemoveFinalizer | Measure


def concerns_one_cluster(write: Write) -> bool:
    """Whether the write is about one cluster only, so that its failure holds up nothing else."""
    return isinstance(write, Delete) or (
        isinstance(write, Create | Patch | PatchStatus) and write.touch is not None
    )


def is_touch(write: Write) -> bool:
    """Whether the write begins an attempt of a cluster's."""
    touch = write.touch if isinstance(write, Create | Patch | PatchStatus) else None
    return touch is not None and touch.first


def precondition(write: Write) -> int | None:
    """The version that the object must have for the write to be done, None where any will do."""
    return write.version if isinstance(write, Patch | PatchStatus | RemoveFinalizer) else None


@dataclass(frozen=True, slots=True)
class Note:
    """Something a person may want to read: becomes a log line and, on Kubernetes, an Event."""

    ref: Ref
    reason: str
    message: str
    warning: bool = False
    action: str = ""
    related: Ref | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Waves of writes: those of one wave go out together.

    The next wave goes out only if all before it have landed, but for those that concern one
    cluster only (`concerns_one_cluster`). ``braked``: why removals that would be due are held.
    ``pressing``: clusters wait for others, so that news can let more be done at once; or the end is
    near, and people wait for it.
    ``status_due_at``: a status is held back until then, since the last one is too young.
    ``facts`` are what was found out on the way: the engine hands them to the fleet before the first write.
    ``unfinished``: deciding takes longer than one turn; there is nothing else in the plan, and the
    object is to be planned again when all others that wait had theirs.
    """

    waves: tuple[tuple[Write, ...], ...] = ()
    recheck_at: datetime | None = None
    notes: tuple[Note, ...] = field(default=())
    braked: Wait | None = None
    pressing: bool = False
    status_due_at: datetime | None = None
    unfinished: bool = False
    facts: tuple[Fact, ...] = ()

    @property
    def writes(self) -> tuple[Write, ...]:
        return tuple(write for wave in self.waves for write in wave)


NOTHING = Plan()
UNFINISHED = Plan(unfinished=True)


class Planner(Protocol[V_contra]):
    """Decides for all objects of one kind."""

    @property
    def kind(self) -> Kind: ...

    def plan(self, key: str, view: V_contra, now: datetime) -> Plan: ...


Sink = Callable[[Note], None]
