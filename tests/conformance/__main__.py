"""``python -m tests.conformance [--vectors DIR] [--show ID] [--excepted]``."""

import argparse
import sys
from pathlib import Path

from tests.conformance.registry import NOT_YET, SUITES
from tests.conformance.runner import Runner

KEPT = Path(__file__).parents[1] / "vectors"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--vectors", type=Path, default=KEPT, metavar="DIR")
    parser.add_argument("--show", metavar="ID", help="print input, expected and got of one vector")
    parser.add_argument(
        "--excepted", action="store_true", help="list the excepted ids by predicate and row"
    )
    options = parser.parse_args(arguments)
    runner = Runner(options.vectors, SUITES, NOT_YET)
    return runner.show(options.show) if options.show else runner.run(excepted=options.excepted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
