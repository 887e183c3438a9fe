"""What happened to an object, as a hub tells it."""

from enum import Enum

from msgspec import Struct

from rollout.model.kinds import Obj, Ref


class Change(Enum):
    """The three things that can happen to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Event(Struct, frozen=True, gc=False):
    """One change. ``obj`` is the whole object after it (for DELETED: its last state).

    ``version`` is the object's resourceVersion as a number; it only grows for one object.
    """

    ref: Ref
    change: Change
    obj: Obj
    version: int
