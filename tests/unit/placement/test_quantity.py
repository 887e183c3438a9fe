import math

import pytest

from rollout.placement.quantity import Quantity, as_float, parse_quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("100m", 0.1),
        ("1", 1.0),
        ("1.5", 1.5),
        ("32Gi", 32 * 2**30),
        ("1.5Gi", 1.5 * 2**30),
        ("1e3", 1000.0),
        ("1E3", 1000.0),
        ("1E", 1e18),
        ("-2k", -2000.0),
        (".5", 0.5),
        ("1n", 1e-9),
        ("0.1n", 1e-9),
    ],
)
def test_quantities_are_read_as_kubernetes_reads_them(text: str, value: float) -> None:
    assert as_float(text) == value


@pytest.mark.parametrize("text", ["", "1K", "1 Gi", "1_000", "NaN", "Gi", "1..2", "٣", "1e", "--1"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    assert parse_quantity(text) is None


@pytest.mark.parametrize(
    "text", ["9" * 65, "9" * 400, "9" * 5000, "0." + "1" * 5000, "1e100", "1e400", "1e5000"]
)
def test_what_is_longer_or_larger_than_any_cluster_is_no_quantity(text: str) -> None:
    assert parse_quantity(text) is None
    assert as_float(text) is None


@pytest.mark.parametrize("text", ["9" * 64, "9" * 61 + "e99", "9" * 62 + "Ei", "1e-999", "-9e99"])
def test_every_quantity_is_a_finite_float(text: str) -> None:
    amount = as_float(text)

    assert amount is not None
    assert math.isfinite(amount)


def test_equal_amounts_are_equal_however_they_are_written() -> None:
    one, other = parse_quantity("1Gi"), parse_quantity("1024Mi")

    assert one == other
    assert hash(one) == hash(other)
    assert parse_quantity("1500m") == parse_quantity("1.5")


def test_arithmetic_is_exact() -> None:
    assert Quantity(1, -1).plus(Quantity(2, -1)) == Quantity(3, -1)
    assert Quantity(1).minus(Quantity(1, -3)).as_float() == 0.999


@pytest.mark.parametrize(
    ("text", "whole"), [("1500m", None), ("2000m", 2), ("1e20", None), ("-3", -3)]
)
def test_only_whole_64_bit_amounts_are_integers(text: str, whole: int | None) -> None:
    quantity = parse_quantity(text)
    assert quantity is not None
    assert quantity.as_integer() == whole
