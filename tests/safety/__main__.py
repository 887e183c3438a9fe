"""``python -m tests.safety --histories N [--kind addon] [--seed S | --fresh WORD] [--about STATE] [--only IDS] [--table]``."""

import argparse
import os
import sys

from tests.safety.focus_asked import ASKED
from tests.safety.kinds import SUBJECTS
from tests.safety.promises import least, promises_of, short
from tests.safety.seeds import commit, fresh_from, repeats
from tests.safety.suite import Tally, run_all, run_asked
from tests.safety.table import hunt_all, write_table

ASKED_EVERY = 50
"""For so many histories one about each thing that has to be asked for."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.safety", description=__doc__)
    parser.add_argument("--histories", type=int, default=300, metavar="N")
    parser.add_argument("--seed", type=int, metavar="S", help="the first seed of all histories")
    parser.add_argument("--fresh", metavar="WORD", help="what fresh seeds follow from; the commit")
    parser.add_argument("--about", choices=sorted(ASKED), help="a rare state; needs --seed")
    parser.add_argument("--only", default="", metavar="IDS", help="promises to report, by comma")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="J")
    parser.add_argument("--table", action="store_true", help="look for kept faults as well")
    parser.add_argument("--kind", choices=sorted(SUBJECTS), help="of workload; both, if left out")
    options = parser.parse_args(arguments)
    if options.about and options.seed is None:
        parser.error("--about needs --seed")
    kinds = [options.kind] if options.kind else list(SUBJECTS)
    only = {key for key in options.only.split(",") if key}
    failed = max(report(run(kind, options), only) for kind in kinds)
    if options.table:
        rows = hunt_all(only, options.jobs)
        write_table(rows, whole=not only)
        failed = max(failed, int(any(row.catch is None for row in rows)))
    return failed


def run(kind: str, options: argparse.Namespace) -> Tally:
    """Histories from ``--seed`` on; without it, half of them from 0 on and half of them fresh."""
    if options.about:
        seeds = range(options.seed, options.seed + options.histories)
        print(f"kind {kind}: {len(seeds)} histories about {options.about!r} from {seeds[0]} on")
        return run_asked(seeds, kind, [options.about])
    if options.seed is not None:
        return run_all(options.seed, options.histories, options.jobs, kind)
    word = options.fresh or commit()
    half, fresh = options.histories // 2, fresh_from(word)
    print(f"kind {kind}: {half} histories from seed 0 on, as many from {fresh} on ({word or '-'})")
    tally = run_all(0, half, options.jobs, kind)
    tally.add(run_all(fresh, options.histories - half, options.jobs, kind, alone=False))
    tally.add(run_asked(range(fresh, fresh + max(1, options.histories // ASKED_EVERY)), kind))
    return tally


def report(tally: Tally, only: set[str]) -> int:
    """Print the table. Returns: 1 where a promise was broken or hardly put to the test."""
    failed = False
    print(f"{tally.histories} histories of kind {tally.kind}")
    for promise in promises_of(tally.kind):
        if only and promise.key not in only:
            continue
        broken = [each for each in tally.broken if each.promise == promise.key]
        lacking = short(promise, tally.counts, tally.histories)
        failed = failed or bool(broken or lacking)
        word = "BROKEN" if broken else "UNTRIED" if lacking else "kept"
        print(f"{promise.key:4} {word:8} {promise.title}")
        for guard in promise.guards:
            minimum = least(guard, tally.histories)
            print(f"{'':13} {guard.key:32} {tally.counts[guard.key]:>10} (at least {minimum})")
        for each in broken[:5]:
            print(f"{'':13} seed {each.seed}: {each.message[:400]}")
            print(f"{'':13} again: {repeats(tally.kind, each.seed, each.about)}")
    for key in sorted(key for key in tally.counts if key.startswith("allowed.")):
        print(f"allowed {key.removeprefix('allowed.'):24} {tally.counts[key]:>10} times")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
