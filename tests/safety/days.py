"""Random days: histories of one thing, held against an oracle of their own."""

from collections import Counter
from collections.abc import Callable
from typing import Protocol

DAYS = range(60)
"""The seeds in which every kept fault shows."""


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


def run_days(make: Callable[[int, Counter[str]], Day], seeds: range, steps: int) -> Counter[str]:
    """Run a history for each seed. Raises: BrokenPromise, with the seed."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        day = make(seed, counts)
        try:
            day.begin()
            for _ in range(steps):
                day.happen()
            day.rest()
        except AssertionError as error:
            raise BrokenPromise(f"seed {seed}: {error}") from error
    return counts
