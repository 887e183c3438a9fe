"""Chooses the clock of a run (``--clock``), and where a run that was killed goes on."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from rollout.cli.store import kept_instant
from rollout.clock import Clock, SteadyClock, SystemClock, VirtualClock
from rollout.errors import ConfigError
from rollout.hub.base import EmbeddedHub
from rollout.model.instants import rfc3339
from rollout.model.kinds import KINDS

START = datetime(2026, 1, 1, tzinfo=UTC)
"""When virtual time begins: a fixed instant, so that two runs of the same files are the same."""

CLOCK_ACCEPTED = "real, virtual, or xN for N times as fast as real time (x60)"
_SPEED = re.compile(r"x([0-9]+(?:\.[0-9]+)?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class ClockMode:
    """How fast fleet time goes: ``speed`` seconds a second; None jumps from event to event."""

    speed: float | None = 1.0


def parse_mode(text: str) -> ClockMode | None:
    """The mode that a person means; None where it is none."""
    if text in ("real", "virtual"):
        return ClockMode(1.0 if text == "real" else None)
    found = _SPEED.fullmatch(text)
    return ClockMode(float(found[1])) if found and float(found[1]) > 0 else None


class FastClock:
    """Fleet time that goes ``speed`` times as fast as wall time, from ``start`` on."""

    def __init__(self, start: datetime, speed: float, wall: Clock) -> None:
        self._start, self._speed, self._wall = start, speed, wall
        self._began = wall.now()

    def now(self) -> datetime:
        return self._start + (self._wall.now() - self._began) * self._speed

    def advance(self, by: timedelta) -> datetime:
        """Jump ahead: to where a run that was stopped goes on."""
        self._start += by
        return self.now()


def clock_for(mode: ClockMode) -> SteadyClock | VirtualClock | FastClock:
    """A clock of this mode, to be brought to the hub's time by `resume`."""
    if mode.speed is None:
        return VirtualClock(START)
    return SteadyClock() if mode.speed == 1 else FastClock(START, mode.speed, SystemClock())


def resume(clock: Clock, hub: EmbeddedHub) -> None:
    """Bring a clock to where the hub's time is, so that nothing on it lies in the future.

    Time goes on where an earlier run left it; over objects that were made on wall time, from now.
    Raises: ConfigError where the hub's time is not real, and the clock is: every wait would jump.
    """
    kept = kept_instant(hub)
    if isinstance(clock, VirtualClock | FastClock):
        wall = SystemClock().now()
        goal = kept or (wall if _has_objects(hub) else clock.now())
        clock.advance(max(goal - clock.now(), timedelta(0)))
    elif kept is not None:
        raise ConfigError(
            f"cannot run on real time: time in this state file is not real, it stands at "
            f"{rfc3339(kept)}; go on with --clock virtual or xN, or use another state file"
        )


def _has_objects(hub: EmbeddedHub) -> bool:
    return any(hub.list(kind).items for kind in KINDS.values())
