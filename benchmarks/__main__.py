"""``python -m benchmarks [NAME ...]``: print a table, write benchmarks/results.json."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import (
    addons,
    calendars,
    dashboard,
    decide,
    decode,
    forgetting,
    placement,
    simulate,
    terms,
    values,
    virtual,
)
from benchmarks.figures import Figure, calibrate

SUITES: dict[str, Callable[[], Iterator[Figure]]] = {
    "decide": decide.run,
    "virtual": virtual.run,
    "addons": addons.run,
    "decode": decode.run,
    "placement": placement.run,
    "simulate": simulate.run,
    "forgetting": forgetting.run,
    "calendars": calendars.run,
    "terms": terms.run,
    "dashboard": dashboard.run,
    "values": values.run,
}
RESULTS = Path(__file__).with_name("results.json")


def main(wanted: list[str]) -> int:
    unknown = [name for name in wanted if name not in SUITES]
    if unknown:
        print(f"no benchmark is called {unknown[0]!r}; there are: {', '.join(SUITES)}")
        return 2
    figures: list[Figure] = []
    print(f"{'name':<28}{'value':>12}  {'unit':<5}{'target':>10}  met")
    for figure in _all(wanted or list(SUITES)):
        figures.append(figure)
        target = "" if figure.target is None else f"{figure.target:,.0f}"
        met = {None: "", True: "yes", False: "NO"}[figure.met]
        value = f"{figure.value:,.2f}"
        print(f"{figure.name:<28}{value:>12}  {figure.unit:<5}{target:>10}  {met}", flush=True)
    RESULTS.write_text(json.dumps([f.as_json() for f in figures], indent=1) + "\n")
    return 0


def _all(names: list[str]) -> Iterator[Figure]:
    yield calibrate()
    for name in names:
        yield from SUITES[name]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
