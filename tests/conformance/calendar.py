"""Suite ``calendar``: when a cluster is open. Its answers are not OCM's; they were counted minute by minute."""

from collections.abc import Sequence
from datetime import datetime

from rollout.api.calendar import CalendarObject
from rollout.calendars.calendar import Timetable, openings
from rollout.calendars.zones import find_zone
from tests.conformance.suite import Excuse, Json, Vector, unlike

MOLDOVA = ("Europe/Chisinau", "Europe/Tiraspol")
"""Its clock has changed at 01:00 UTC since 2022; tzdata 2025b, of which the answers are, did not know."""


class CalendarSuite:
    name = "calendar"
    exceptions: Sequence[Excuse] = (
        Excuse(
            "a zone that tzdata has corrected since",
            "ADR 28",
            lambda i: i["timeZone"] in MOLDOVA and i["end"] >= "2022",
            frozenset({"open"}),
        ),
    )

    def run(self, given: Json) -> Json:
        windows = [{"name": f"w{i}", **window} for i, window in enumerate(given["windows"])]
        calendar = CalendarObject.model_validate(
            {"metadata": {"name": "vector"}, "spec": {"windows": windows}}
        ).to_model()
        zone = find_zone(given["timeZone"])
        assert zone is not None
        start, end = (datetime.fromisoformat(given[key]) for key in ("start", "end"))
        found: list[list[str]] = []
        for since, until in openings(Timetable(calendar, zone), start, end):
            found.append([since.isoformat(), until.isoformat()])
        return {"open": found}

    def differing(self, expected: Json, got: Json, vector: Vector) -> set[str]:
        return unlike(expected, got)
