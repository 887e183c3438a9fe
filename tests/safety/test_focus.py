"""The page of the contract says how often histories are about what."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.safety.focus import (
    FOCUSES,
    LATEST_SHARE,
    NEWER_SHARE,
    NEWEST_SHARE,
    SHARE,
    draw,
    focus_of,
    older_focus,
)
from tests.safety.focus_latest import LATEST, WEIGHTS
from tests.safety.focus_newer import NEWER, NEWEST

PAGE = Path(__file__).parents[2] / "docs" / "safety-contract.md"
NOTHING = "nothing in particular"
OTHERS = f"{len(FOCUSES)} others"
ROW = re.compile(r"^\| ([^|]+) \| (\d+\.\d) \|", re.MULTILINE)


def drawn() -> Iterator[tuple[str, float]]:
    """What a history can be about, and in how many of a hundred it is."""
    weights = {name: WEIGHTS.get(name, 1) for name in LATEST}
    for name, weight in weights.items():
        yield name, 100 * LATEST_SHARE * weight / sum(weights.values())
    left = 100 * (1 - LATEST_SHARE)
    for names, share in ((NEWEST, NEWEST_SHARE), (NEWER, NEWER_SHARE)):
        yield from ((name, left * share / len(names)) for name in names)
        left *= 1 - share
    yield OTHERS, left * SHARE / len(FOCUSES)
    yield NOTHING, left * (1 - SHARE)


def on_the_page() -> dict[str, float]:
    rows = ROW.findall(PAGE.read_text())
    return {name.strip("` "): float(share) for names, share in rows for name in names.split("`, `")}


def test_the_page_says_how_often_histories_are_about_what() -> None:
    assert on_the_page() == {name: round(share, 1) for name, share in drawn()}


def test_seeds_are_drawn_so() -> None:
    seeds = 4_000
    about = [focus_of(seed) for seed in range(seeds)]
    for name, share in drawn():
        found = "" if name == NOTHING else name
        count = (
            sum(map(FOCUSES.__contains__, about)) / len(FOCUSES)
            if name == OTHERS
            else about.count(found)
        )
        assert abs(100 * count / seeds - share) < 1, name


@pytest.mark.parametrize("name", sorted({*LATEST, *NEWER, *NEWEST, *FOCUSES}))
def test_a_focus_changes_some_of_the_histories_that_are_about_it(name: str) -> None:
    about = [seed for seed in range(1_000) if focus_of(seed) == name]
    assert about

    assert any(
        draw(seed, kind) != draw(seed, kind, older_focus(seed) if name in LATEST else "")
        for seed in about
        for kind in ("replicaset", "addon")
    )
