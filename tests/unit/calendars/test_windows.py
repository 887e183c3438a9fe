"""When windows open and close on the clocks of the world."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from rollout.calendars.calendar import Calendar, Opening, Timetable, openings
from rollout.calendars.schedules import parse_schedule
from rollout.calendars.windows import (
    CalendarWindow,
    Dated,
    Recurring,
    WindowAction,
    parse_moment,
    parse_window_duration,
)
from rollout.calendars.zones import find_zone, zone_names
from tests.support import calendar_oracle as oracle
from tests.support import zone_files

HOUR = 3600


def recurring(action: str, schedule: str, duration: int) -> CalendarWindow:
    parsed = parse_schedule(schedule)
    assert parsed is not None
    return CalendarWindow("w", WindowAction(action), Recurring(parsed, duration))


def dated(action: str, start: str, end: str) -> CalendarWindow:
    first, last = parse_moment(start), parse_moment(end)
    assert first is not None
    assert last is not None
    return CalendarWindow("d", WindowAction(action), Dated(first, last))


def table(zone: str, *windows: CalendarWindow) -> Timetable:
    found = find_zone(zone)
    assert found is not None
    return Timetable(Calendar(name="c", windows=windows), found)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def said(timetable: Timetable, start: str, end: str) -> list[tuple[str, str]]:
    return [
        (since.strftime("%d %H:%M"), until.strftime("%d %H:%M"))
        for since, until in openings(timetable, utc(start), utc(end))
    ]


def test_a_window_has_its_first_second_and_not_its_last() -> None:
    nights = table("UTC", recurring("Allow", "0 22 * * *", 6 * HOUR))
    second = timedelta(seconds=1)

    assert not nights.at(utc("2026-06-01T22:00") - second).is_open
    assert nights.at(utc("2026-06-01T22:00")).is_open
    assert nights.at(utc("2026-06-02T04:00") - second).is_open
    assert not nights.at(utc("2026-06-02T04:00")).is_open


def test_a_fraction_of_a_second_before_a_start_it_is_still_closed() -> None:
    nights = table("UTC", recurring("Allow", "0 22 * * *", HOUR))

    before = nights.at(utc("2026-06-01T22:00") - timedelta(microseconds=1))

    assert (before.is_open, before.until) == (False, utc("2026-06-01T22:00"))


def test_a_deny_wins_and_without_any_allow_the_rest_is_open() -> None:
    noon = recurring("Deny", "0 12 * * *", HOUR)
    day = recurring("Allow", "0 8 * * *", 10 * HOUR)

    assert said(table("UTC", noon, day), "2026-06-01T00:00", "2026-06-02T00:00") == [
        ("01 08:00", "01 12:00"),
        ("01 13:00", "01 18:00"),
    ]
    assert said(table("UTC", noon), "2026-06-01T00:00", "2026-06-02T00:00") == [
        ("01 00:00", "01 12:00"),
        ("01 13:00", "02 00:00"),
    ]


def test_the_window_that_closes_is_named_and_none_outside_of_all_that_allow() -> None:
    deny, allow = recurring("Deny", "0 9 * * *", HOUR), recurring("Allow", "0 8 * * *", 4 * HOUR)
    day = table("UTC", deny, allow)

    assert day.at(utc("2026-06-01T09:30")).window is deny
    assert day.at(utc("2026-06-01T07:00")).window is None
    assert day.at(utc("2026-06-01T08:30")).calendar is None


def test_windows_that_overlap_or_touch_are_one_longer_window() -> None:
    touching = table(
        "UTC", recurring("Allow", "0 8 * * *", 2 * HOUR), recurring("Allow", "0 10 * * *", HOUR)
    )
    overlapping = table("UTC", recurring("Allow", "0,30 8 * * *", HOUR))

    assert touching.at(utc("2026-06-01T08:00")).until == utc("2026-06-01T11:00")
    assert overlapping.at(utc("2026-06-01T08:00")).until == utc("2026-06-01T09:30")


@pytest.mark.parametrize("duration", [24 * HOUR, 30 * HOUR, 48 * HOUR])
def test_a_window_of_a_day_or_more_every_day_never_closes(duration: int) -> None:
    tokyo = table("Asia/Tokyo", recurring("Allow", "0 3 * * *", duration))
    opening = tokyo.at(utc("2026-06-01T00:00"))

    assert (opening.is_open, opening.until) == (True, None)
    assert timedelta(0) < opening.ask_again - utc("2026-06-01T00:00") <= timedelta(days=28)
    assert tokyo.at(opening.ask_again - timedelta(seconds=1)) == opening, "whoever asks, and when"


def test_a_window_of_24_hours_closes_for_an_hour_where_a_day_has_25() -> None:
    berlin = table("Europe/Berlin", recurring("Allow", "0 3 * * *", 24 * HOUR))

    assert berlin.at(utc("2026-10-20T00:00")).until == utc("2026-10-25T01:00")
    assert berlin.at(utc("2026-10-25T01:30")).until == utc("2026-10-25T02:00")


def test_windows_that_leave_nothing_open_are_said_to_have_no_change_in_sight() -> None:
    never = table(
        "UTC", recurring("Allow", "0 22 * * *", HOUR), recurring("Deny", "0 20 * * *", 4 * HOUR)
    )
    opening = never.at(utc("2026-06-01T00:00"))

    assert (opening.is_open, opening.until, opening.window) == (False, None, None)
    assert opening.ask_again == utc("2026-06-01T20:00"), "when another window is what closes"


def test_four_hours_are_240_minutes_on_the_days_on_which_clocks_change() -> None:
    berlin = table("Europe/Berlin", recurring("Allow", "0 0 * * *", 4 * HOUR))

    spring = berlin.at(utc("2026-03-28T23:00"))
    autumn = berlin.at(utc("2026-10-24T22:00"))

    assert spring.until == utc("2026-03-29T03:00")  # 05:00 there
    assert autumn.until == utc("2026-10-25T02:00")  # 03:00 there


def test_a_start_that_the_clock_skips_is_the_first_instant_after_the_gap() -> None:
    berlin = table("Europe/Berlin", recurring("Allow", "30 2 * * *", HOUR))

    assert said(berlin, "2026-03-29T00:00", "2026-03-29T12:00") == [("29 01:00", "29 02:00")]


def test_a_start_that_comes_twice_is_the_first() -> None:
    berlin = table("Europe/Berlin", recurring("Allow", "30 2 * * *", HOUR // 2))

    assert said(berlin, "2026-10-25T00:00", "2026-10-25T12:00") == [("25 00:30", "25 01:00")]


def test_starts_of_a_day_that_a_zone_left_out_are_at_the_beginning_of_the_next() -> None:
    samoa = table("Pacific/Apia", recurring("Allow", "0 12 30 12 *", HOUR))

    assert said(samoa, "2011-12-29T00:00", "2012-01-02T00:00") == [("30 10:00", "30 11:00")]


def test_ends_that_come_twice_leave_a_cluster_closed_for_longer() -> None:
    allow = table("Europe/Berlin", dated("Allow", "2026-10-25T02:30", "2026-10-25T06:00"))
    until = table("Europe/Berlin", dated("Allow", "2026-10-25T00:30", "2026-10-25T02:30"))
    deny = table("Europe/Berlin", dated("Deny", "2026-10-25T02:15", "2026-10-25T02:30"))
    day = ("2026-10-24T22:00", "2026-10-25T08:00")

    assert said(allow, *day) == [("25 01:30", "25 05:00")]
    assert said(until, *day) == [("24 22:30", "25 00:30")]
    assert said(deny, *day) == [("24 22:00", "25 00:15"), ("25 01:30", "25 08:00")]


def test_dates_with_an_offset_are_the_same_instants_in_every_zone() -> None:
    freeze = dated("Deny", "2026-12-18T00:00+01:00", "2027-01-04T06:00Z")

    for zone in ("Asia/Tokyo", "America/New_York"):
        assert table(zone, freeze).at(utc("2026-12-20T00:00")).until == utc("2027-01-04T06:00")
        assert table(zone, freeze).at(utc("2026-12-17T22:59")).until == utc("2026-12-17T23:00")


def test_an_allow_whose_ends_fold_into_each_other_never_opens() -> None:
    folded = table("Europe/Berlin", dated("Allow", "2026-10-25T02:30", "2026-10-25T02:45"))

    assert said(folded, "2026-10-24T00:00", "2026-10-26T00:00") == []


def test_an_answer_does_not_depend_on_what_was_asked_before() -> None:
    draw = random.Random(7)
    windows = (
        recurring("Allow", "*/20 22,23 * * mon-fri", 90 * 60),
        recurring("Deny", "0 0 1,15 * *", 30 * HOUR),
        recurring("Deny", "*/2 5 * * *", 60),
    )
    used = table("America/Sao_Paulo", *windows)

    for _ in range(200):
        now = utc("2026-01-01T00:00") + timedelta(minutes=draw.randint(-600_000, 600_000))
        assert used.at(now) == table("America/Sao_Paulo", *windows).at(now)


def test_windows_of_a_minute_are_forgotten_as_time_goes_on() -> None:
    busy = table("UTC", recurring("Allow", "*/2 * * * *", 60))
    now = utc("2026-01-01T00:00")

    for _ in range(20_000):
        opening = busy.at(now)
        assert opening.until is not None
        assert opening.until - now == timedelta(minutes=1)
        now = opening.until


def test_what_closes_is_told_anew_when_it_is_something_else() -> None:
    """Denied from 12 to 14 and from 13 to 16, and not allowed before 20."""
    both = table(
        "UTC",
        recurring("Deny", "0 13 * * *", 3 * HOUR),
        dated("Deny", "2026-06-01T12:00", "2026-06-01T14:00"),
        recurring("Allow", "0 20 * * *", HOUR),
    )
    at, told = utc("2026-06-01T00:00"), []
    while not (opening := both.at(at)).is_open:
        told.append((at.hour, opening.window.name if opening.window else ""))
        assert opening.until == utc("2026-06-01T20:00")
        assert both.at(opening.ask_again - timedelta(seconds=1)) == opening
        at = opening.ask_again

    assert told == [(0, ""), (12, "d"), (13, "w"), (16, "")]


def test_a_search_among_very_many_changes_comes_to_an_end() -> None:
    windows = recurring("Allow", "*/2 * * * *", 60), recurring("Deny", "*/2 * * * *", 60)
    opening: Opening = table("UTC", *windows).at(utc("2026-01-01T00:00"))

    assert (opening.is_open, opening.until) == (False, None)
    assert opening.ask_again == utc("2026-01-01T00:01")


@pytest.mark.parametrize(
    "text",
    [
        "", "0 22 * *", "0 0 22 * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *",
        "* * * 13 *", "* * * * 8", "a * * * *", "*/0 * * * *", "5-1 * * * *", "@daily",
        "0 0 30 2 *", "0 0 31 4,6 *", "0 0 * * monday", "١ * * * *", "0" * 300 + " * * * *",
    ],
)  # fmt: skip
def test_what_is_no_cron_expression_or_never_starts_anything_is_refused(text: str) -> None:
    assert parse_schedule(text) is None


@pytest.mark.parametrize(
    ("schedule", "first"),
    [
        ("0 0 29 2 *", "2028-02-29T00:00"),
        ("0 0 * * tue#2", "2026-06-09T00:00"),
        ("0 0 L * *", "2026-06-30T00:00"),
        ("0 0 13 * fri", "2026-06-05T00:00"),
        ("0 0 */13 * fri", "2026-08-14T00:00"),
        ("15,45 8-9 * * *", "2026-06-01T08:15"),
        ("0 0 * * 7", "2026-06-07T00:00"),
    ],
)
def test_a_schedule_starts_where_cron_does(schedule: str, first: str) -> None:
    found = parse_schedule(schedule)
    assert found is not None
    begin = utc("2026-06-01T00:00").toordinal()

    day = next(found.days(begin, begin + 1500))

    midnight = datetime.fromordinal(day).replace(tzinfo=UTC)
    assert midnight + timedelta(seconds=found.times[0]) == utc(first)


@pytest.mark.parametrize("text", ["", "5", "30s", "1h30s5ms", "-1h", "9000h", "1d"])
def test_a_duration_of_a_window_is_of_a_minute_to_a_year(text: str) -> None:
    assert parse_window_duration(text) is None


@pytest.mark.parametrize(
    "text", ["2026-02-30T00:00", "2026-01-01", "2026-01-01 00:00", "x", "9999-01-01T00:00"]
)
def test_a_date_that_is_none_is_refused(text: str) -> None:
    assert parse_moment(text) is None


@pytest.mark.parametrize(
    "name", ["europe/berlin", "", "..", "../zones", "Mars/Base", "/etc/passwd"]
)
def test_there_is_no_zone_of_another_name(name: str) -> None:
    assert find_zone(name) is None


def test_every_zone_of_the_database_is_found() -> None:
    assert len(zone_names()) > 500
    assert all(find_zone(name) for name in zone_names())


def test_every_zone_shows_what_its_file_says_in_the_present_and_in_the_past() -> None:
    for name in zone_files.names():
        zone, clock = find_zone(name), zone_files.clock(zone_files.content(name))
        assert zone is not None
        for at in range(0, 2_500_000_000, 90_000_001):
            offset = datetime.fromtimestamp(at, zone).utcoffset()
            assert offset == timedelta(seconds=clock.offset(at)), (name, at)


DIFFICULT = (
    "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe",
    "Africa/Casablanca", "Asia/Gaza", "Asia/Beirut", "America/Scoresbysund", "Pacific/Apia",
)  # fmt: skip


def test_around_changes_of_clocks_every_minute_is_as_the_oracle_counts_it() -> None:
    """Of some zones; `make conformance` asks of all of them."""
    zones = dict(list(oracle.zones().items())[::20])
    zones |= {name: zone_files.content(name) for name in DIFFICULT}
    found = list(oracle.sweep(zones, 2017, 2026, seed=1))

    assert len(found) > 200
    assert [each for each in found if each] == []


def test_what_the_package_says_differently_is_found_with_its_first_minute() -> None:
    at = int(utc("2026-03-29T01:00").timestamp()) // 60
    windows = [{"action": "Allow", "schedule": "0 3 * * *", "duration": "60m"}]
    clock = zone_files.clock(zone_files.content("Europe/Berlin"))
    minutes = oracle.Minutes.of(clock, at - oracle.BEFORE, oracle.BEFORE + oracle.AFTER)
    is_open = oracle.count_open(minutes, windows)[oracle.SEEN_FROM :]
    assert oracle.difference("Europe/Berlin", at, (windows, is_open)) == ""

    first = is_open.index(True)
    assert "open is False at 2026-03-29 01:00:00+00:00, not True" in oracle.difference(
        "Europe/Berlin", at, (windows, [*is_open[:first], False, *is_open[first + 1 :]])
    )


def test_the_oracle_counts_a_day_that_was_counted_by_hand() -> None:
    clock = zone_files.clock(zone_files.content("Europe/Berlin"))
    start = int(utc("2026-03-29T00:00").timestamp()) // 60
    minutes = oracle.Minutes.of(clock, start, 180)  # 01:00 there; 02:00 is skipped
    skipped = [{"action": "Allow", "schedule": "30 2 * * *", "duration": "30m"}]

    assert [i for i, is_open in enumerate(oracle.count_open(minutes, skipped)) if is_open] == [
        *range(60, 90)
    ]
