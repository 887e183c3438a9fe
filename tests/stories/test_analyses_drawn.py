"""Whatever is measured, and whenever the process dies: what was not measured as good is not gone on from."""

import random
from pathlib import Path

import pytest

from rollout.model import names
from rollout.model.kinds import ROLLOUT_ANALYSIS_RUN, Obj
from rollout.runtime.decisions import DecisionLog, read_log, redecide
from tests.stories.test_analyses import BAD, GATED, GOOD, ONE_BY_ONE, UNCLEAR, fails, gives
from tests.stories.test_analyses import template as template_of
from tests.support import make
from tests.support.story import MIN, Story

SEEDS = range(40)


def drawn_values(draw: random.Random) -> list[Obj]:
    """What is measured over two hours: it changes every few minutes."""
    found: list[Obj] = []
    minute = 0
    while minute < 120:
        until = minute + draw.randint(1, 15)
        span = {"from": f"{minute}m", "to": f"{until}m"}
        value = draw.choice([GOOD, GOOD, GOOD, BAD, UNCLEAR, float("nan"), [], "error"])
        found.append(fails(**span) if value == "error" else gives(value, **span))
        minute = until
    return [*found, gives(GOOD, **{"from": "120m"})]


def drawn_story(draw: random.Random, annotations: Obj, strategy: Obj) -> Story:
    asked = template_of(
        failureLimit=draw.choice([0, 1]),
        inconclusiveLimit=draw.choice([0, 1]),
        consecutiveErrorLimit=draw.choice([0, 4]),
    )
    notes = {**annotations, names.ROLLBACK: draw.choice(["Manual", "Automatic"])}
    workload = make.workload(strategy=strategy, annotations=notes)
    documents = [*make.fleet(3, canary=1), asked, workload]
    return Story(documents, {"measurements": drawn_values(draw)})


def successful(told: Story) -> set[str]:
    """The clusters ("": the gate) whose run is Successful."""
    runs = told.hub.list(ROLLOUT_ANALYSIS_RUN).items
    good = [run for run in runs if run["status"]["phase"] == "Successful"]
    for run in good:
        (metric,) = run["status"]["metrics"]
        assert metric["successful"] > 0, "Successful, and nothing was measured as good"
        assert metric["failed"] <= run["spec"]["metrics"][0].get("failureLimit", 0)
    return {str(run["spec"].get("cluster", "")) for run in good}


@pytest.mark.parametrize("seed", SEEDS)
def test_no_cluster_is_touched_before_all_that_were_are_measured_as_good(
    seed: int, tmp_path: Path
) -> None:
    draw = random.Random(seed)
    told = drawn_story(draw, {names.CLUSTER_ANALYSIS: "slo"}, ONE_BY_ONE)
    log = DecisionLog(tmp_path / "log")
    told.engine.fleet.witness = log
    known: set[str] = set()
    while told.now < 150 * MIN:
        told.on(draw.randint(1, 240) * (MIN / 60))
        good = successful(told)
        touched = set(told.touched())
        assert len(touched - good) <= 1, f"touched {touched}, good {good}"
        assert known <= touched
        known = touched
        if draw.random() < 0.05:
            told.restart()
    log.close()

    again = list(redecide(read_log(tmp_path / "log")))
    assert again
    assert all(each.is_same for each in again)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_gate_is_passed_before_it_is_measured_as_good(seed: int) -> None:
    draw = random.Random(seed)
    told = drawn_story(draw, {names.GATES: "after:canary=analysis/slo"}, GATED)
    while told.now < 150 * MIN:
        told.on(draw.randint(1, 240) * (MIN / 60))
        if len(told.touched()) > 1:
            assert "" in successful(told)
        if draw.random() < 0.05:
            told.restart()


@pytest.mark.parametrize("annotation", [names.ANALYSIS, names.CLUSTER_ANALYSIS, names.GATES])
@pytest.mark.parametrize("limit", [0, 4])
def test_an_outage_of_any_length_takes_nothing_back_and_fails_nothing(
    annotation: str, limit: int
) -> None:
    value = "after:canary=analysis/slo" if annotation == names.GATES else "slo"
    asked = template_of(consecutiveErrorLimit=limit)
    notes = {annotation: value, names.ROLLBACK: "Automatic"}
    strategy = GATED if annotation == names.GATES else ONE_BY_ONE
    workload = make.workload(strategy=strategy, annotations=notes)
    told = Story([*make.fleet(3, canary=1), asked, workload], {"measurements": [fails()]})
    told.to(5 * 60 * MIN)

    runs = told.hub.list(ROLLOUT_ANALYSIS_RUN).items
    assert {run["status"]["phase"] for run in runs} <= {"Error", "Running", "Inconclusive"}
    assert set(told.versions().values()) == {"1"}
    assert told.reason not in ("RolledBack", "MaxFailuresExceeded", "AnalysisFailed")
