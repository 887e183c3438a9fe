from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.model.amounts import Amount, parse_amount, parse_digits, parse_duration


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        (0, Amount(0)),
        (7, Amount(7)),
        (2**31 - 1, Amount(2**31 - 1)),
        ("0", Amount(0, written=True)),
        ("150", Amount(150, written=True)),
        ("0%", Amount(0, percent=True, written=True)),
        ("00%", Amount(0, percent=True, written=True)),
        ("25%", Amount(25, percent=True, written=True)),
        ("100%", Amount(100, percent=True, written=True)),
    ],
)
def test_an_amount_is_a_count_or_a_percentage(written: object, amount: Amount) -> None:
    assert parse_amount(written) == amount


@pytest.mark.parametrize(
    "written",
    [
        None,
        True,
        False,
        -1,
        2**31,
        1.0,
        "",
        "%",
        "101%",
        "150%",
        "12.5%",
        "-5%",
        "+5",
        "5 %",
        " 5",
        "5\n",
        "5%\n",
        "1e1%",
        "0x5",
        "٥",
        "٥%",
        "1234567890",
        [],
        {},
    ],
)
def test_what_is_no_amount_is_refused(written: object) -> None:
    assert parse_amount(written) is None


@given(st.integers(0, 100), st.integers(0, 100_000))
def test_a_percentage_rounds_up_and_never_passes_the_total(percent: int, total: int) -> None:
    share = Amount(percent, percent=True).of(total)

    exact = Fraction(percent * total, 100)
    assert exact <= share < exact + 1
    assert 0 <= share <= total


@given(st.integers(0, 2**31 - 1), st.integers(0, 100_000))
def test_a_count_is_clamped_to_the_total(count: int, total: int) -> None:
    assert Amount(count).of(total) == min(count, total)


@pytest.mark.parametrize(
    ("written", "explicit"), [(0, False), ("0", True), ("0%", True), (1, False)]
)
def test_only_a_written_zero_is_explicit(written: object, explicit: bool) -> None:
    amount = parse_amount(written)
    assert amount is not None
    assert amount.is_explicit_zero is explicit


@pytest.mark.parametrize(("amount", "text"), [(Amount(3), "3"), (Amount(25, percent=True), "25%")])
def test_an_amount_is_shown_as_written(amount: Amount, text: str) -> None:
    assert str(amount) == text


@pytest.mark.parametrize("text", ["0", "7", "007", "999999999"])
def test_ascii_digits_are_a_number(text: str) -> None:
    assert parse_digits(text) == int(text)


@pytest.mark.parametrize(
    "text", ["", "²", "٣", "-1", "+1", " 1", "1_0", "1.0", "9" * 10, "9" * 5000]
)
def test_whatever_else_int_would_take_or_choke_on_is_no_number(text: str) -> None:
    assert parse_digits(text) is None


@pytest.mark.parametrize(
    ("written", "duration"),
    [
        ("0", timedelta(0)),
        ("0s", timedelta(0)),
        ("90s", timedelta(seconds=90)),
        ("10m", timedelta(minutes=10)),
        ("1h30m5s", timedelta(hours=1, minutes=30, seconds=5)),
        ("1.5h", timedelta(minutes=90)),
        ("1.s", timedelta(seconds=1)),
        (".5s", timedelta(milliseconds=500)),
        ("10s500ms", timedelta(seconds=10.5)),
        ("7us", timedelta(microseconds=7)),
        ("7\u00b5s", timedelta(microseconds=7)),
        ("7\u03bcs", timedelta(microseconds=7)),
        ("1999ns", timedelta(microseconds=1)),
        ("2562047h47m", timedelta(hours=2562047, minutes=47)),
    ],
)
def test_a_duration_is_read_as_go_does(written: str, duration: timedelta) -> None:
    assert parse_duration(written) == duration


@pytest.mark.parametrize(
    "written",
    [
        None,
        5,
        5.0,
        "",
        "5",
        "m",
        "-5m",
        "1h-5m",
        "5m ",
        "5 m",
        "2d",
        "10mfoo",
        "None",
        "5|",
        ".",
        ".s",
        "1h,5m",
        "99999999h",
        "1" * 65 + "s",
        "٥s",
        "1h\n",
    ],
)
def test_what_is_no_duration_is_refused(written: object) -> None:
    assert parse_duration(written) is None


SECONDS = {
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 1000),
    "us": Fraction(1, 10**6),
}
PARTS = st.tuples(st.integers(0, 999), st.sampled_from(list(SECONDS)))


@given(st.lists(PARTS, min_size=1, max_size=12))
def test_the_parts_of_a_duration_add_up(parts: list[tuple[int, str]]) -> None:
    total = sum((count * SECONDS[unit] for count, unit in parts), Fraction(0))
    written = "".join(f"{count}{unit}" for count, unit in parts)
    assert parse_duration(written) == timedelta(microseconds=int(total * 10**6))
