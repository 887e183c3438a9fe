"""What an engine keeps in memory of each object, counted in bytes: it must not grow unnoticed."""

import pytest

from benchmarks.kept import TARGETS, kept_for_each


@pytest.fixture(scope="module")
def found() -> dict[str, float]:
    return kept_for_each(clusters=200)


@pytest.mark.parametrize("thing", TARGETS)
def test_what_is_kept_of_each_object_stays_within_its_bytes(
    found: dict[str, float], thing: str
) -> None:
    assert 0 < found[thing] <= TARGETS[thing]
