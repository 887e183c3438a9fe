"""What a calendar says, and which of its fields are refused."""

from typing import Any

import pytest

from rollout.api.calendar import decode_calendar
from rollout.api.validation import validate
from rollout.calendars.calendar import Block, WorkloadFilter, ZoneSource
from rollout.calendars.windows import Dated, Recurring, WindowAction
from rollout.model.kinds import CALENDAR, CLUSTER_CALENDAR, Obj

NIGHTS: dict[str, Any] = {
    "name": "nights", "action": "Allow", "schedule": "0 22 * * mon-fri", "duration": "6h",
}  # fmt: skip
YEAR_END: dict[str, Any] = {
    "name": "year-end", "action": "Deny", "from": "2026-12-18T00:00", "until": "2027-01-04T06:00",
    "reason": "trading freeze",
}  # fmt: skip


def calendar(*windows: dict[str, Any], **spec: Any) -> Obj:
    return {
        "apiVersion": CALENDAR.api_version,
        "kind": CALENDAR.name,
        "metadata": {"name": "business", "namespace": "apps"},
        "spec": {"windows": list(windows or (NIGHTS,)), **spec},
    }


def faults(obj: Obj) -> dict[str, str]:
    return {problem.path: problem.accepted for problem in validate(obj)}


def test_a_calendar_is_read() -> None:
    found = decode_calendar(
        calendar(
            NIGHTS,
            YEAR_END,
            workloads={
                "kinds": ["ManifestWorkReplicaSet"],
                "selector": {"matchLabels": {"a": "b"}},
            },
            clusters={"labelSelector": {"matchLabels": {"region": "eu"}}},
            timeZone="Europe/Berlin",
            timeZoneFrom={"label": "region.zone"},
            blocks=["Touch", "Rollback"],
        )
    )

    assert not found.problems
    assert found.key == "apps/business"
    assert [(w.name, w.action, w.reason) for w in found.windows] == [
        ("nights", WindowAction.ALLOW, ""),
        ("year-end", WindowAction.DENY, "trading freeze"),
    ]
    assert isinstance(found.windows[0].when, Recurring)
    assert found.windows[0].when.duration == 6 * 3600
    assert isinstance(found.windows[1].when, Dated)
    assert found.zones == ZoneSource("Europe/Berlin", "region.zone")
    assert found.blocks == {Block.TOUCH, Block.ROLLBACK}
    assert found.workloads.labels.matches({"a": "b"})
    assert found.clusters is not None
    assert not found.clusters.labels.matches({"region": "us"})


def test_what_is_left_out_is_everything_in_utc() -> None:
    found = decode_calendar(calendar())

    assert found.zones == ZoneSource("UTC")
    assert found.blocks == {Block.TOUCH, Block.REMOVAL}
    assert found.workloads == WorkloadFilter()
    assert found.clusters is None


def test_a_cluster_calendar_has_no_namespace() -> None:
    obj = calendar() | {"kind": CLUSTER_CALENDAR.name, "metadata": {"name": "business"}}

    assert decode_calendar(obj).key == "business"


def test_the_zone_of_a_cluster_is_its_own_and_else_that_of_the_calendar() -> None:
    both = decode_calendar(calendar(timeZone="UTC", timeZoneFrom={"label": "zone"})).zones
    claim = decode_calendar(calendar(timeZoneFrom={"claim": "zone"})).zones

    assert both.of({"zone": "Asia.Tokyo"}, {}) == "Asia/Tokyo"
    assert both.of({}, {"zone": "Asia/Tokyo"}) == "UTC"
    assert claim.of({}, {"zone": "Asia/Tokyo"}) == "Asia/Tokyo"
    assert claim.of({"zone": "Asia/Tokyo"}, {}) == ""


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no window": ({"windows": []}, "spec.windows"),
    "a zone that is none": ({"timeZone": "Europe/Berln"}, "spec.timeZone"),
    "a kind that is not rolled out": ({"workloads": {"kinds": ["Pod"]}}, "spec.workloads.kinds[0]"),
    "something that cannot be blocked": ({"blocks": ["touch"]}, "spec.blocks[0]"),
    "a zone from two places": ({"timeZoneFrom": {"label": "a", "claim": "b"}}, "spec.timeZoneFrom"),
    "a selector that cannot be read": (
        {"clusters": {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "is"}]}}},
        "spec.clusters.labelSelector.matchExpressions[0].operator",
    ),
    "two windows of one name": ({"windows": [NIGHTS, NIGHTS]}, "spec.windows[1].name"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_field_is_named_and_the_calendar_says_nothing(what: str) -> None:
    spec, path = BAD[what]
    obj = calendar(**spec)

    assert path in faults(obj)
    assert decode_calendar(obj).problems
    assert not decode_calendar(obj).windows


WINDOWS: dict[str, tuple[dict[str, Any], str]] = {
    "an action that is none": ({"action": "Open"}, ".action"),
    "a schedule that is none": ({"schedule": "0 22 * *"}, ".schedule"),
    "a schedule that never starts": ({"schedule": "0 0 30 2 *"}, ".schedule"),
    "a duration that is none": ({"duration": "6 hours"}, ".duration"),
    "a duration that is too short": ({"duration": "30s"}, ".duration"),
    "a date that is none": ({"from": "tomorrow"}, ".from"),
    "a name that is none": ({"name": "Nights!"}, ".name"),
    "both kinds of ends": ({"from": "2026-01-01T00:00", "until": "2026-01-02T00:00"}, ".schedule"),
    "a schedule without duration": ({"duration": None}, ""),
    "an end before the start": (
        {"schedule": None, "duration": None, "from": "2026-02-01T00:00", "until": "2026-01-02T00:00"},
        ".until",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WINDOWS)
def test_a_bad_field_of_a_window_is_named(what: str) -> None:
    change, path = WINDOWS[what]

    assert f"spec.windows[0]{path}" in faults(calendar({**NIGHTS, **change}))


def test_a_calendar_that_is_no_object_at_all_is_unreadable_and_nothing_is_raised() -> None:
    specs: list[Any] = [None, [], "x", {"windows": [None]}, {"windows": "x"}]
    for spec in specs:
        assert decode_calendar(calendar() | {"spec": spec}).problems
