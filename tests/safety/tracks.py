"""What has become of one touched cluster, as far as the engine can know?

The engine may know less than it was told (it crashed before it wrote something down), so what is
uncertain is kept as two instants: ``since`` and ``first`` are the earliest the engine can go by,
``late`` and ``last`` the latest. `Track.exact` says that both are the same.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


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
    ended: bool = False  # finally failed at some time, by the earliest reading
    failed: bool = False  # finally failed by the latest reading
    fresh: bool = True  # the engine may not have written this down yet
    kept: tuple[str, datetime] | None = None  # health, and since when: what it has written down
    recalled: tuple[str, datetime] | None = None  # what a new process may have read of that
    refused: bool = False
    exact: bool = True
    void: bool = False  # a person asked for another attempt
    maybe_void: bool = False  # the engine may have taken it so

    def turn(self, health: str, now: datetime) -> None:
        if health != self.health:
            self.health, self.since, self.late = health, now, now
            self.fresh = True
        if self.recalled is not None and self.recalled[0] == health:
            self.since = min(self.since, self.recalled[1])  # row 8: it goes on from the record
        self.recalled = None
