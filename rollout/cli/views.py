"""What must an engine tell so that a rollout can be drawn? Shapes that any engine's values may have.

Values, not objects with behaviour: a snapshot never changes once it was handed over, so it can be
drawn from another thread while the engine goes on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rollout.model.kinds import Obj


class StageView(Protocol):
    """One stage. ``phases`` counts members by the word of their `Phase`; ``blocked`` is why it waits."""

    @property
    def title(self) -> str: ...
    @property
    def members(self) -> int: ...
    @property
    def phases(self) -> Mapping[str, int]: ...
    @property
    def limit(self) -> int | None: ...
    @property
    def budget(self) -> int | None: ...
    @property
    def passed(self) -> bool: ...
    @property
    def blocked(self) -> str: ...


class NoteView(Protocol):
    """Something that happened and that a person may want to read."""

    @property
    def at(self) -> datetime: ...
    @property
    def reason(self) -> str: ...
    @property
    def message(self) -> str: ...


class RolloutView(Protocol):
    """One workload's rollout. ``next_at`` is when something happens next without any event."""

    @property
    def key(self) -> str: ...
    @property
    def stages(self) -> Sequence[StageView]: ...
    @property
    def touched(self) -> int: ...
    @property
    def next_at(self) -> datetime | None: ...
    @property
    def next_what(self) -> str: ...
    @property
    def notes(self) -> Sequence[NoteView]: ...


class Snapshot(Protocol):
    """Everything at one instant of fleet time. ``started`` is when the run first began."""

    @property
    def started(self) -> datetime: ...
    @property
    def now(self) -> datetime: ...
    @property
    def workloads(self) -> Sequence[Obj]: ...
    @property
    def rollouts(self) -> Sequence[RolloutView]: ...


class Result(Protocol):
    """How a run ended: with this snapshot, and (``interrupted``) because somebody stopped it."""

    @property
    def last(self) -> Snapshot: ...
    @property
    def interrupted(self) -> bool: ...


OnChange = Callable[[Snapshot], None]


class Run(Protocol):
    """Runs rollouts on a hub until nothing is left to do, or nothing can happen any more.

    ``on_change`` is called on the engine's thread after every pass that changed something; it
    returns at once. A KeyboardInterrupt ends a run in good order: what is written stays written.
    """

    def run(self, on_change: OnChange) -> Result: ...


@dataclass(frozen=True, slots=True)
class ClockMode:
    """How fast fleet time goes: ``speed`` seconds a second; None jumps from event to event."""

    speed: float | None = 1.0

    def __str__(self) -> str:
        if self.speed is None:
            return "virtual"
        return "real" if self.speed == 1 else f"x{self.speed:g}"
