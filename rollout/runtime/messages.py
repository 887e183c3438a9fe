"""The messages of the engine's inbox, and a plan on its way."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec import Struct

from rollout.model.events import Event
from rollout.model.kinds import Kind, Ref
from rollout.planning.plan import Plan, Write
from rollout.runtime.io import WriteOutcome


class Woken(Struct, frozen=True):
    """A timer has fired: which one of the object's."""

    ref: Ref
    timer: str = ""


class Answered(Struct, frozen=True):
    """A write has come back."""

    flight: "Flight"
    write: Write
    outcome: WriteOutcome


class Broken(Struct, frozen=True):
    """The watch of a kind has broken: list again."""

    kind: Kind


class Ask(Struct, frozen=True):
    """Something is to be done on the engine's thread, between two plans."""

    job: Callable[[], None]


@dataclass(slots=True, kw_only=True)
class Flight:
    """A plan on its way: which wave is out, and what came back so far."""

    ref: Ref
    plan: Plan
    wave: int = -1
    pending: int = 0
    known: dict[Ref, int] = field(default_factory=dict)  # versions, when the wave went out
    blocked: bool = False
    failed: bool = False  # a write is to be tried again, once it has been backed off from
    moved: bool = False  # something landed that need not be planned again
    wait: timedelta = timedelta(0)  # what the server asks for
    retry_at: datetime | None = None  # of the refused write that is tried again soonest


Message = Event | Woken | Answered | Broken | Ask
