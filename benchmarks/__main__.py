"""``python -m benchmarks [NAME ...]``: print a table, write a receipt."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import (
    addons,
    analyses,
    calendars,
    cli,
    dashboard,
    decide,
    decode,
    forgetting,
    kept,
    placement,
    restart,
    simulate,
    terms,
    values,
    virtual,
)
from benchmarks.figures import Figure, calibrate
from benchmarks.machine import Others, hardware, versions

SUITES: dict[str, Callable[[], Iterator[Figure]]] = {
    "decide": decide.run,
    "virtual": virtual.run,
    "addons": addons.run,
    "decode": decode.run,
    "placement": placement.run,
    "simulate": simulate.run,
    "forgetting": forgetting.run,
    "kept": kept.run,
    "restart": restart.run,
    "calendars": calendars.run,
    "analyses": analyses.run,
    "terms": terms.run,
    "dashboard": dashboard.run,
    "values": values.run,
    "cli": cli.run,
}
RESULTS = Path(__file__).with_name("results.json")


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(SUITES)}; all where none is named")
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help="where the receipt is written"
    )
    said = parser.parse_args(words)
    unknown = [name for name in said.names if name not in SUITES]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]!r}; there are: {', '.join(SUITES)}")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installation has its bytecode
    figures: list[Figure] = []
    others = Others()
    print(f"{'name':<28}{'value':>12}  {'unit':<5}{'target':>10}  met")
    for figure in _all(said.names or list(SUITES)):
        figures.append(figure)
        target = "" if figure.target is None else f"{figure.target:,.6g}"
        met = {None: "", True: "yes", False: "NO"}[figure.met]
        value = f"{figure.value:,.2f}"
        print(f"{figure.name:<28}{value:>12}  {figure.unit:<5}{target:>10}  {met}", flush=True)
    receipt = {
        "hardware": hardware(),
        "versions": versions(),
        "coresOfOthers": others.cores(),
        "figures": [f.as_json() for f in figures],
    }
    said.results.write_text(json.dumps(receipt, indent=1) + "\n")
    return 0


def _all(names: list[str]) -> Iterator[Figure]:
    yield calibrate()
    for name in names:
        yield from SUITES[name]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
