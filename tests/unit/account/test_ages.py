from datetime import timedelta

import pytest

from rollout.account.words import age, brief, stopwatch

S, M, H, D = 1, 60, 3600, 86_400
Y = 365 * D


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (4 * M + 30, "4m30s"),
        (10 * M - 1, "9m59s"),
        (10 * M, "10m"),
        (10 * M + 59, "10m"),
        (3 * H - 1, "179m"),
        (3 * H, "3h"),
        (3 * H + 5 * M, "3h5m"),
        (8 * H - 1, "7h59m"),
        (8 * H, "8h"),
        (2 * D - 1, "47h"),
        (2 * D, "2d"),
        (2 * D + 4 * H, "2d4h"),
        (8 * D - 1, "7d23h"),
        (8 * D, "8d"),
        (2 * Y - 1, "729d"),
        (2 * Y, "2y"),
        (3 * Y + 12 * D, "3y12d"),
        (8 * Y, "8y"),
        (30 * Y, "30y"),
    ],
)
def test_an_age_is_shown_as_kubectl_shows_it(seconds: int, shown: str) -> None:
    assert age(timedelta(seconds=seconds)) == shown


@pytest.mark.parametrize(
    ("span", "shown"),
    [
        (timedelta(0), "00:00:00"),
        (timedelta(seconds=3725, milliseconds=999), "01:02:05"),
        (timedelta(hours=123), "123:00:00"),
        (timedelta(seconds=-5), "00:00:00"),
    ],
)
def test_a_stopwatch_counts_whole_seconds_and_never_below_zero(span: timedelta, shown: str) -> None:
    assert stopwatch(span) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.0, "0s"), (0.4124, "0.412s"), (7.06, "7.1s"), (60, "60s")]
)
def test_a_short_duration_is_shown_finer_than_an_age(seconds: float, shown: str) -> None:
    assert brief(timedelta(seconds=seconds)) == shown
