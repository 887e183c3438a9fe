"""Random days: histories of one thing, held against an oracle of their own, and looked through for kept faults."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from tests.safety.mutating import Mutant, apply
from tests.safety.seeds import commit, fresh_from

ROOT = Path(__file__).parents[2]
DAYS = range(60)
"""The seeds in which every kept fault shows."""
FIXED = DAYS[:40]
"""The seeds that every run looks at, and in which each thing is met often enough."""
FRESH = 20
"""So many days that nobody has seen before are looked at besides."""
NOTICED = 10
"""The exit code of a process whose days showed its fault; one that failed before it could look has another."""


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


def seek(faults: Sequence[Mutant], check: Callable[[range], object]) -> int:
    """``python -m MODULE NUMBER``: put that fault into the engine, and say whether the days show it.
    ``python -m MODULE --seed SEED``: run this one day again.
    """
    if sys.argv[1] == "--seed":
        print(check(range(int(sys.argv[2]), int(sys.argv[2]) + 1)))
        return 0
    apply(faults[int(sys.argv[1])])
    try:
        check(DAYS)
    except Exception as error:  # noqa: BLE001  (a fault may break the engine in any way)
        print(error)
        return NOTICED
    return 0


def noticed(module: str, number: int) -> bool:
    """Whether the days of a module show this fault of theirs. Raises: RuntimeError where nobody could look."""
    command = [sys.executable, "-m", module, str(number)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode not in (0, NOTICED):
        raise RuntimeError(f"{module} {number} failed: {found.stderr[-2000:]}")
    return found.returncode == NOTICED
