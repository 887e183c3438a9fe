"""Can two engines be compared write by write, and does asking a planner change anything?"""

from pathlib import Path

import pytest

from tests.safety.kinds import SUBJECTS
from tests.safety.purity import impurities
from tests.safety.tracing import compare, path_of, trace, write

SEEDS = range(4)


@pytest.mark.parametrize("kind", sorted(SUBJECTS))
def test_the_same_history_has_the_same_writes(kind: str) -> None:
    for seed in SEEDS:
        lines = trace(seed, kind)

        assert len(lines) > 10, seed
        assert lines == trace(seed, kind)


def test_the_first_difference_is_told_with_its_field(tmp_path: Path) -> None:
    base, here = tmp_path / "base", tmp_path / "here"
    write(0, "addon", base)
    assert compare(0, "addon", here, base, frozenset()) == ""

    write(1, "addon", base)
    path_of(base, "addon", 1).rename(path_of(base, "addon", 0))

    assert compare(0, "addon", here, base, frozenset()).startswith("addon 0: write ")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", sorted(SUBJECTS))
def test_whoever_asks_a_planner_changes_nothing(kind: str, seed: int) -> None:
    assert impurities(seed, kind) == []
