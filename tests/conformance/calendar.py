"""Answers suite ``calendar``: when a cluster is open. Its answers are not OCM's; they were counted minute by minute."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from rollout.api.calendar import CalendarObject
from rollout.calendars.calendar import Timetable, openings
from rollout.calendars.zones import find_zone
from tests.conformance.suite import Excuse, Json, Vector, unlike

OLDER = Path(__file__).parents[1] / "vectors" / "zones"
"""Zones that the tz database has corrected since the release of which the answers are, as they were in it."""


def zone_of(name: str) -> ZoneInfo:
    """A zone as it was when the answers were counted."""
    older = OLDER / name
    if older.is_file():
        with older.open("rb") as file:
            return ZoneInfo.from_file(file, key=name)
    found = find_zone(name)
    assert found is not None
    return found


class CalendarSuite:
    name = "calendar"
    exceptions: Sequence[Excuse] = ()

    def run(self, given: Json) -> Json:
        windows = [{"name": f"w{i}", **window} for i, window in enumerate(given["windows"])]
        calendar = CalendarObject.model_validate(
            {"metadata": {"name": "vector"}, "spec": {"windows": windows}}
        ).to_model()
        start, end = (datetime.fromisoformat(given[key]) for key in ("start", "end"))
        table = Timetable(calendar, zone_of(given["timeZone"]))
        return {
            "open": [
                [since.isoformat(), until.isoformat()]
                for since, until in openings(table, start, end)
            ]
        }

    def differing(self, expected: Json, got: Json, vector: Vector) -> set[str]:
        return unlike(expected, got)
