"""The vocabulary of plans: waves of writes, facts, and when to look again.

A planner is ``(key, view, now) -> Plan``: total, without clock or I/O, and nothing changes by asking it.
What it decides on the way stands in the plan as facts. It never raises for bad input (that is a condition
in the plan) and never says "again", only when to look next.
"""

from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import Protocol, TypeVar

from rollout.measuring.values import Measure
from rollout.model.kinds import ROLLOUT_NOTIFICATION, Kind, Ref
from rollout.model.waits import Wait
from rollout.model.writes import Create, Delete, Deliver, Patch, PatchStatus, RemoveFinalizer, Touch
from rollout.rollouts.facts import Fact

V_contra = TypeVar("V_contra", contravariant=True)


Write = Create | Patch | PatchStatus | Delete | RemoveFinalizer | Measure | Deliver

# Made once: it is asked of each write, and a union of types would be made anew each time.
_TOUCHING = (Create, Patch, PatchStatus)


def holds_up_nothing(write: Write) -> bool:
    """Whether nothing else depends on the write: it is about one cluster only, or tells people something."""
    if write.ref.kind is ROLLOUT_NOTIFICATION:
        return True
    return isinstance(write, Delete) or touch_of(write) is not None


def touch_of(write: Write) -> Touch | None:
    """What the write brings to a cluster; None where it is about no cluster."""
    return write.touch if isinstance(write, _TOUCHING) else None


def is_touch(write: Write) -> bool:
    """Whether the write begins an attempt of a cluster's."""
    touch = touch_of(write)
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
    _: KW_ONLY
    warning: bool = False
    action: str = ""
    related: Ref | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Waves of writes: those of one wave go out together.

    The next wave goes out only if all before it have landed, but for those on which
    nothing depends (`holds_up_nothing`). ``braked``: why removals that would be due are held.
    ``pressing``: clusters wait for others, so that news can let more be done at once; or the end is
    near, and people wait for it.
    ``status_due_at``: a status is held back until then, since the last one is too young.
    ``facts`` are what was found out on the way: the engine hands them to the fleet before the first write.
    ``unfinished``: deciding takes longer than one turn; there is nothing else in the plan, and the
    object is to be planned again when all others that wait had theirs.
    """

    waves: tuple[tuple[Write, ...], ...] = ()
    _: KW_ONLY
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
