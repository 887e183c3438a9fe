"""How long does `rollout simulate` take? A thousand runs of the example, and one of a large fleet.

The large one is timed from its objects to the picture on disk; reading its YAML is not part of it.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.virtual import SCENARIO, documents
from rollout.analysis.outcomes import End
from rollout.analysis.pictures import svg
from rollout.analysis.simulating import Question, question, simulate, simulate_many
from rollout.api.load import load
from rollout.sim.scenario_file import is_scenario, parse_scenario, read_scenario
from tests.support.changes import storing

EXAMPLE = Path(__file__).parents[1] / "examples" / "canary"
RUNS = 1_000
LARGE = 10_000


def run() -> Iterator[Figure]:
    asked = _example()
    began = time.perf_counter()
    found, _ = simulate_many(asked, RUNS, workers=os.cpu_count() or 1)
    took = time.perf_counter() - began
    assert found.ends == {End.DONE: RUNS}, found.ends
    yield Figure("simulate.1000_runs_of_310", took, "s", 60.0)
    began = time.perf_counter()
    one = simulate(question(storing(documents(LARGE)), parse_scenario(SCENARIO)))
    with tempfile.TemporaryDirectory() as place:
        Path(place, "large.svg").write_text(svg(one.timeline, "large"))
    took = time.perf_counter() - began
    assert one.outcome.soaked == LARGE, one.outcome
    yield Figure("simulate.one_of_10k", took, "s", 10.0)


def _example() -> Question:
    objects = load([EXAMPLE]).objects
    scenario, _ = read_scenario(next(obj for obj in objects if is_scenario(obj)))
    return question(storing(obj for obj in objects if not is_scenario(obj)), scenario)
