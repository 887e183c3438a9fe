"""Random days: histories of one thing, held against an oracle of their own."""

import sys
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from tests.safety.seeds import commit, fresh_from

DAYS = range(60)
"""The seeds in which every kept fault shows."""
FIXED = DAYS[:40]
"""The seeds that every run looks at, and in which each thing is met often enough."""
FRESH = 20
"""So many days that nobody has seen before are looked at besides."""


class BrokenPromise(AssertionError):
    """What the contract promises does not hold."""


class Day(Protocol):
    """One history. What it counts is what it reached of the states that it guards."""

    def begin(self) -> None: ...

    def happen(self) -> None:
        """Do one thing, and look."""
        ...

    def rest(self) -> None:
        """Let it come to its end, and look."""
        ...


def fresh_days() -> range:
    """Days that nobody has seen before: they follow from the commit."""
    first = fresh_from(commit())
    return range(first, first + FRESH)


def run_days(make: Callable[[int, Counter[str]], Day], seeds: range, steps: int) -> Counter[str]:
    """Run a history for each seed. Raises: BrokenPromise, with the command that runs it again."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        day = make(seed, counts)
        try:
            day.begin()
            for _ in range(steps):
                day.happen()
            day.rest()
        except AssertionError as error:
            again = f"python -m {make.__module__} --seed {seed}"
            raise BrokenPromise(f"{again}: {error}") from error
    return counts


def one_day(check: Callable[[range], Counter[str]]) -> None:
    """``python -m MODULE --seed SEED``: run this one day again, and print what it met."""
    seed = int(sys.argv[sys.argv.index("--seed") + 1])
    print(check(range(seed, seed + 1)))
