"""What docs/adr/0048-size.md tells of sizes is about what the code has."""

import pytest

from tests.support import sizes


def test_the_table_of_sizes_has_the_rows_that_the_script_prints() -> None:
    assert [row.what for row in sizes.told()] == [row.what for row in sizes.sizes()]


def test_the_sizes_in_the_table_are_within_a_tenth() -> None:
    for told, found in zip(sizes.told(), sizes.sizes(), strict=True):
        assert told.modules == pytest.approx(found.modules, rel=0.1, abs=1), told.what
        assert told.lines == pytest.approx(found.lines, rel=0.1), told.what


def test_every_later_feature_has_modules_and_none_counts_twice() -> None:
    whole, *features, rest = sizes.sizes()

    assert all(each.modules for each in features)
    assert sum(each.lines for each in (*features, rest)) == whole.lines
