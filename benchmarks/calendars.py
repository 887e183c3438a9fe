"""Measures what it costs to ask who is closed: 10,000 clusters in 40 zones, 20 windows in 1, 4 or 20 calendars.

What is asked is the fleet, as a planner asks it. ``change``: at that instant calendars open or close in
every zone. ``between``: nothing changes since the last time. ``cold``: the first answer of a process.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from statistics import median
from time import perf_counter

from benchmarks.figures import Figure, fastest
from rollout.calendars.zones import zone_names
from rollout.fleet.calendars import Calendars
from rollout.model.cluster import Cluster
from rollout.model.events import Change, Event
from rollout.model.kinds import CLUSTER_CALENDAR, REPLICA_SET, Obj, Ref
from rollout.strategies.base import Closed

CLUSTERS, ZONES, WINDOWS = 10_000, 40, 20
NUMBERS = (1, 4, 20)
START = datetime(2026, 6, 1, tzinfo=UTC)
WEB = Ref(REPLICA_SET, "default/web")


def _window(i: int) -> Obj:
    """Nights of ever more hours that all begin at 20:00, and every fourth window an hour without."""
    if i % 4 == 3:
        return {"name": f"w{i}", "action": "Deny", "schedule": f"{i} {i} * * *", "duration": "1h"}
    return {
        "name": f"w{i}",
        "action": "Allow",
        "schedule": "0 20 * * *",
        "duration": f"{4 + i // 4}h",
    }


def _calendar(number: int, calendars: int) -> Obj:
    windows = [_window(i) for i in range(WINDOWS)][number::calendars]
    return {
        "apiVersion": CLUSTER_CALENDAR.api_version,
        "kind": CLUSTER_CALENDAR.name,
        "metadata": {"name": f"c{number}"},
        "spec": {"windows": windows, "timeZoneFrom": {"label": "zone"}},
    }


def _zones() -> list[str]:
    found = sorted(name for name in zone_names() if "/" in name)
    return found[:: len(found) // ZONES][:ZONES]


class _Pass:
    """What a fleet knows of calendars, asked as a planner asks it."""

    def __init__(self, calendars: int) -> None:
        self.now = START
        self.known = Calendars()
        zones = _zones()
        for i in range(CLUSTERS):
            zone = zones[i % ZONES].replace("/", ".")
            name = f"c{i}"
            self.known.take_cluster(name, Cluster(name=name, labels={"zone": zone}), START)
        versions = count(1)
        for number in range(calendars):
            ref = Ref(CLUSTER_CALENDAR, f"c{number}")
            event = Event(ref, Change.ADDED, _calendar(number, calendars), next(versions))
            self.known.take_calendar(event, START)

    def closed(self) -> Closed:
        return self.known.closed(WEB, None, self.now)

    def changes(self, times: int) -> Iterator[float]:
        """How long each of the next passes took at which somebody opens or closes."""
        while times:
            before = self.closed().touch
            self.now += timedelta(minutes=15)
            began = perf_counter()
            after = self.closed().touch
            took = perf_counter() - began
            if after is not before:
                times -= 1
                yield took


def run() -> Iterator[Figure]:
    for calendars in NUMBERS:
        began = perf_counter()
        passes = _Pass(calendars)
        read = perf_counter()
        assert passes.closed().touch.waits
        cold = perf_counter() - read
        change = median(passes.changes(60))
        name = f"calendars.{calendars}"
        yield Figure(f"{name}.change", change * 1e3, "ms", 5)
        yield Figure(f"{name}.between", fastest(passes.closed, 30) * 1e3, "ms", 1)
        yield Figure(f"{name}.cold", cold * 1e3, "ms")
        yield Figure(f"{name}.read", (read - began) * 1e3, "ms")
