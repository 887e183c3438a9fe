"""``python -m tests.safety --histories N [--kind addon] [--seed S] [--only S3,R1] [--mutants]``."""

import argparse
import os
import sys

from tests.safety.kinds import SUBJECTS
from tests.safety.mutants import MUTANTS, hunt
from tests.safety.promises import least, promises_of, short
from tests.safety.suite import Tally, run_all, silence


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.safety", description=__doc__)
    parser.add_argument("--histories", type=int, default=300, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="the first seed")
    parser.add_argument("--only", default="", metavar="IDS", help="promises to report, by comma")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="J")
    parser.add_argument("--mutants", action="store_true", help="look for kept faults instead")
    parser.add_argument("--kind", choices=sorted(SUBJECTS), help="of workload; both, if left out")
    options = parser.parse_args(arguments)
    kinds = [options.kind] if options.kind else list(SUBJECTS)
    only = {key for key in options.only.split(",") if key}
    if options.mutants:
        return mutants(kinds, only, options.histories)
    tallies = [run_all(options.seed, options.histories, options.jobs, kind) for kind in kinds]
    return max(report(tally, only) for tally in tallies)


def report(tally: Tally, only: set[str]) -> int:
    """Print the table. Returns: 1 where a promise was broken or hardly put to the test."""
    failed = False
    print(f"{tally.histories} histories of kind {tally.kind}")
    for promise in promises_of(tally.kind):
        if only and promise.key not in only:
            continue
        broken = [entry for entry in tally.broken if entry[1] == promise.key]
        lacking = short(promise, tally.counts, tally.histories)
        failed = failed or bool(broken or lacking)
        word = "BROKEN" if broken else "UNTRIED" if lacking else "kept"
        print(f"{promise.key:4} {word:8} {promise.title}")
        for guard in promise.guards:
            minimum = least(guard, tally.histories)
            print(f"{'':13} {guard.key:32} {tally.counts[guard.key]:>10} (at least {minimum})")
        for seed, _, message in broken[:5]:
            print(f"{'':13} seed {seed}: {message[:400]}")
    return int(failed)


def mutants(kinds: list[str], only: set[str], histories: int) -> int:
    """Look for every kept fault in at most so many histories. Returns: 1 where one is not found."""
    missed = 0
    for mutant in MUTANTS:
        if mutant.kind not in kinds or (only and mutant.promise not in only):
            continue
        with silence():
            seed = hunt(mutant, histories)
        missed += seed is None
        word = "MISSED" if seed is None else f"seed {seed}"
        print(f"{mutant.kind:10} {mutant.promise:4} {word:10} {mutant.name}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
