"""What does a pass over the calendars cost? 10,000 clusters in 40 zones, 20 windows.

``change``: every zone opens or closes at once. ``between``: nothing changes; the clusters are not
looked at. ``cold``: the first answer of a process.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from benchmarks.figures import Figure, fastest
from rollout.api.calendar import decode_calendar
from rollout.calendars.calendar import Calendar, Timetables
from rollout.calendars.zones import zone_names
from rollout.model.kinds import CLUSTER_CALENDAR

CLUSTERS, ZONES = 10_000, 40
START = datetime(2026, 6, 1, tzinfo=UTC)


def _calendar() -> Calendar:
    windows = [
        {
            "name": f"w{i}",
            "action": "Deny" if i % 4 == 3 else "Allow",
            "schedule": f"{i} {i} * * {'mon-fri' if i % 2 else '*'}",
            "duration": f"{30 + i}m",
        }
        for i in range(20)
    ]
    found = decode_calendar(
        {
            "apiVersion": CLUSTER_CALENDAR.api_version,
            "kind": CLUSTER_CALENDAR.name,
            "metadata": {"name": "many"},
            "spec": {"windows": windows, "timeZoneFrom": {"label": "zone"}},
        }
    )
    assert not found.problems
    return found


class _Pass:
    """Clusters by zone, as a fleet keeps them: a pass asks for each zone once."""

    def __init__(self) -> None:
        self.calendar = _calendar()
        names = sorted(name for name in zone_names() if "/" in name)[:: len(zone_names()) // 45]
        self.zones = names[:ZONES]
        self.members = {
            zone: [f"c{i}" for i in range(CLUSTERS) if i % ZONES == n]
            for n, zone in enumerate(self.zones)
        }
        self.tables = Timetables()
        self.now = START

    def closed(self) -> set[str]:
        found: set[str] = set()
        for zone, members in self.members.items():
            opening = self.tables.at(self.calendar, zone, self.now)
            if opening is None or not opening.is_open:
                found.update(members)
        return found

    def step(self) -> None:
        self.now += timedelta(hours=1)
        self.closed()

    def cold(self) -> None:
        self.tables = Timetables()
        self.closed()


def run() -> Iterator[Figure]:
    passes = _Pass()
    assert len(passes.zones) == ZONES
    passes.closed()
    yield Figure("calendars.change", fastest(passes.step, 30) * 1e3, "ms", 5)
    yield Figure("calendars.between", fastest(passes.closed, 30) * 1e3, "ms", 1)
    yield Figure("calendars.cold", fastest(passes.cold, 5) * 1e3, "ms")
