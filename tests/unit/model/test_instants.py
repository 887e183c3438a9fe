from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.model.instants import parse_instant, rfc3339, rfc3339_micro

T0 = datetime(2026, 11, 21, 8, 30, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-11-21T08:30:15Z", T0),
        ("2026-11-21T09:30:15+01:00", T0),
        ("2026-11-21T08:30:15.25Z", T0 + timedelta(milliseconds=250)),
        ("2026-11-21T08:30:15.123456789Z", T0 + timedelta(microseconds=123456)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_rfc_3339_is_read(text: str, instant: datetime) -> None:
    assert parse_instant(text) == instant
    assert parse_instant(text).tzinfo is UTC  # type: ignore[union-attr]  # not None: equal to one


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        "",
        "now",
        "2026-11-21",
        "20261121T083015Z",
        "2026-W01-1",
        "2026-11-21 08:30:15Z",
        "2026-11-21T08:30:15",
        "2026-11-21T08:30Z",
        "2026-02-30T00:00:00Z",
        "2026-11-21T24:00:00Z",
        "2026-11-21T08:30:60Z",
        "0001-01-01T00:00:00+05:00",
        "9999-12-31T23:59:59-05:00",
        "2026-11-21T08:30:15Z\n",
        "2026-11-21T08:30:15,5Z",
        "٢026-11-21T08:30:15Z",
    ],
)
def test_what_is_not_rfc_3339_is_no_instant(value: object) -> None:
    assert parse_instant(value) is None


@given(st.datetimes(timezones=st.just(UTC)))
def test_written_instants_are_read_back(at: datetime) -> None:
    assert parse_instant(rfc3339_micro(at)) == at
    assert parse_instant(rfc3339(at)) == at.replace(microsecond=0)


@given(st.text(max_size=30))
def test_no_text_makes_it_raise(text: str) -> None:
    assert parse_instant(text) is None or isinstance(parse_instant(text), datetime)


def test_other_zones_become_utc() -> None:
    zone = timezone(timedelta(hours=-3, minutes=-30))
    assert parse_instant(T0.astimezone(zone).isoformat()) == T0
