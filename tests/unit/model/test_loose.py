"""Numbers and durations as Go's parsers read them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.errors import ConfigError
from rollout.model.loose import LONGEST, go_duration, go_float, share


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", 12.0),
        ("+12.5", 12.5),
        (".5e2", 50.0),
        ("50.", 50.0),
        ("-3", -3.0),
        ("1_000", 1000.0),
        ("0x10p0", 16.0),
        ("0X_1.8p1", 3.0),
        ("iNf", math.inf),
        ("-Infinity", -math.inf),
        ("1e-999", 0.0),
    ],
)
def test_a_number_may_be_spelt_in_many_ways(text: str, expected: float) -> None:
    assert go_float(text) == expected


def test_not_a_number_is_a_number() -> None:
    assert math.isnan(go_float("NaN"))


@pytest.mark.parametrize(
    "text", ["", " 5", "5 ", "1O", "1,5", "+", ".", "1__0", "_1", "0x10", "+nan", "٣", "10%", "5\n"]
)
def test_a_number_is_refused_with_gos_words(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        go_float(text)

    assert str(refused.value) == f'strconv.ParseFloat: parsing "{text}": invalid syntax'


@pytest.mark.parametrize("text", ["1e999", "-1e999", "0x1p99999"])
def test_a_number_too_large_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="value out of range"):
        go_float(text)


@pytest.mark.parametrize(
    ("percent", "total", "expected"),
    [
        # Rounding up in binary: an exact product can come out one too high.
        *((25, 3, 1), (25, 4, 1), (50, 3, 2), (1, 5, 1), (20, 100, 20)),
        *((7, 100, 8), (14, 50, 8), (28, 25, 8), (55, 100, 56), (68, 75, 52)),
        *((math.inf, 5, 0), (math.inf, 0, 0), (math.nan, 5, 0), (-10, 100, -10)),
    ],
)
def test_a_share_is_rounded_up_in_binary(percent: float, total: int, expected: int) -> None:
    assert share(percent, total) == expected


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("0s", 0),
        ("90s", 90 * 10**9),
        ("1h30m", 5400 * 10**9),
        ("-1.5h", -5400 * 10**9),
        ("+.5s", 5 * 10**8),
        ("1.s", 10**9),
        ("10s500ms", 10_500_000_000),
        ("1us2µs3μs", 6000),
        ("0.0000000001s", 0),
        ("9223372036854775807ns", LONGEST),
        ("-9223372036854775808ns", -LONGEST - 1),
        ("0000000000000000000000001s", 10**9),
    ],
)
def test_a_duration_is_a_sum_of_parts(text: str, nanoseconds: int) -> None:
    assert go_duration(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", "s", ".s", "1h.", "--1h", "x1h", "9223372036854775808ns", "9999999h"),
        "9" * 5000 + "s",
    ],
)
def test_a_duration_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        go_duration(text)

    assert str(refused.value) == f'time: invalid duration "{text}"'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("5", "missing unit"),
        ("1h5", "missing unit"),
        ("1d", 'unknown unit "d"'),
        ("1 h", "unknown"),
        ("1h-5m", 'unknown unit "h-"'),
    ],
)
def test_the_unit_of_a_duration_is_named(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        go_duration(text)


@given(st.text("0123456789.+-hmsnuµ eExXpPaf_%", max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (go_float, go_duration):
        try:
            found = read(text)
        except ConfigError:
            continue
        assert isinstance(found, float | int)
