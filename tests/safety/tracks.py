"""What has become of one touched cluster, as far as the engine can know?

The engine may know less than it was told (it crashed before it wrote something down), so what is
uncertain is kept as two instants: ``since`` and ``first`` are the earliest the engine can go by,
``late`` and ``last`` the latest. `Track.exact` says that both are the same.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
_STAMPED = ("succeeded", "failed")


class Kept(NamedTuple):
    """What is written down of a cluster: how it does, since when, and what success was stamped with."""

    health: str
    since: datetime
    stamp: str


@dataclass(slots=True)
class Track:
    """One touched cluster on its latest revision. ``before``: what it was on until this landed."""

    revision: str
    first: datetime
    last: datetime
    landed: bool = False
    before: "Track | None" = None
    health: str = "silent"
    since: datetime = LONG_AGO
    late: datetime = LONG_AGO
    soaked: bool = False
    maybe_soaked: bool = (
        False  # it had soaked by the earliest reading alone, whatever became of it then
    )
    soak_is_written: bool = False  # the record says that it has soaked
    ended: bool = False  # finally failed at some time, by the earliest reading
    failed: bool = False  # finally failed by the latest reading
    stamp: str = ""  # what the agent stamped what it says with
    unseen: bool = False  # nobody could see whether it was so all the time
    fresh: bool = True  # the engine may not have written this down yet
    kept: "Kept | None" = None  # what it has written down
    recalled: "Kept | None" = None  # what a new process may have read of that
    refused: bool = False
    exact: bool = True
    void: bool = False  # a person asked for another attempt
    maybe_void: bool = False  # the engine may have taken it so

    @property
    def known(self) -> "Kept":
        """What is to be written down of it now."""
        return Kept(self.health, self.since, self.stamp)

    def lose_sight(self) -> None:
        """The process that saw it is over. Where the record does not say that it has soaked, the next one
        sees that only if it goes on.
        """
        self.unseen = True
        if self.soaked and not self.soak_is_written:
            self.maybe_soaked = True

    def turn(self, health: str, now: datetime, stamp: str = "") -> None:
        """It is told to do so. Success or failure ended unseen where it is stamped otherwise than before
        (rows 7, 8).
        """
        is_broken = self.unseen and health in _STAMPED and stamp != self.stamp
        if health != self.health or is_broken:
            self.health, self.since, self.late = health, now, now
            self.fresh = True
        self.stamp, self.unseen = stamp, False
        kept = self.recalled
        same = kept is not None and kept.health == health
        if kept is not None and same and (health not in _STAMPED or kept.stamp == stamp):
            self.since = min(self.since, kept.since)  # row 8: it goes on from the record
        self.recalled = None
