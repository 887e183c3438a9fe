"""After how many histories does the suite notice a kept fault? Each is hunted in a process of its own.

``python -m tests.safety.hunting KIND MOST FIRST WHAT`` is that process: its last line is JSON. Where no
history shows the fault, the process runs the tests that do (`BY_TESTS`).
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from tests.safety.mutants import BY_TESTS, MUTANTS
from tests.safety.mutating import Mutant, apply

ROOT = Path(__file__).parents[2]
OPTIONS = ("-q", "-x", "--tb=no", "--no-header", "--assert=plain", "-p", "no:cacheprovider")
"""Plain asserts: pytest would load the modules of an installed plugin, and so ours, by itself, and without the
fault.
"""
MOST = 120
"""Histories that a fault may take."""


@dataclass(frozen=True, slots=True)
class Catch:
    """The promise that broke first, after how many histories, the last of which has this seed; or the tests
    that failed, after 0 histories.
    """

    promise: str
    histories: int
    seed: int
    message: str


def hunt(
    mutant: Mutant, kind: str, most: int = MOST, first: int = 1, *, control: bool = False
) -> Catch | None:
    """Look for a fault in at most so many histories; None where none of them shows it.

    Args:
        first: the number of the history to begin with, before all others; it may have shown it before.
        control: run that history without the fault as well.

    Raises: RuntimeError where the process that looks for it fails, or where tests that are to notice it
    fail, or with ``control`` the history that does breaks a promise, without it as well.
    """
    if (mutant.what, kind) in BY_TESTS and not passes(BY_TESTS[mutant.what, kind]):
        raise RuntimeError(f"{BY_TESTS[mutant.what, kind]} fails without a fault")
    called = [
        sys.executable,
        "-m",
        "tests.safety.hunting",
        kind,
        str(most),
        str(first),
        mutant.what,
    ]
    ran = subprocess.run(called, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)
    if ran.returncode:
        raise RuntimeError(f"looking for {mutant.what!r} failed: {ran.stderr[-2000:]}")
    found = json.loads(ran.stdout.splitlines()[-1])
    catch = Catch(**found) if found else None
    if control and catch is not None and catch.histories:
        wrong = import_module("tests.safety.chase").broken(mutant, kind, catch.seed)
        if wrong:
            raise RuntimeError(f"seed {catch.seed} of {kind} breaks {wrong} without a fault")
    return catch


@cache
def passes(tests: str) -> bool:
    """Whether these tests pass as things are."""
    command = [sys.executable, "-m", "pytest", *OPTIONS, tests]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.returncode == 0


def main(arguments: list[str]) -> int:
    kind, most, first, what = arguments
    mutant = next(m for m in MUTANTS if m.what == what and kind in m.kinds)
    apply(mutant)  # the engine is loaded only after this
    tests = BY_TESTS.get((what, kind))
    if tests is not None:
        found = _tested(tests)
    else:
        chase = import_module("tests.safety.chase").chase
        found = chase(mutant, kind, int(most), int(first))
    told = found and {name: getattr(found, name) for name in Catch.__slots__}
    print(json.dumps(told))
    return 0


def _tested(tests: str) -> Catch | None:
    """Whether these tests fail."""
    code = import_module("pytest").main([*OPTIONS, tests])
    return Catch(tests, 0, 0, "a test fails") if code == 1 else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
