"""Whoever looks ahead measures nothing; what is measured in a simulation is what its scenario says."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from rollout.analysis.copies import placed
from rollout.analysis.outcomes import End
from rollout.analysis.simulating import question, simulate
from rollout.analysis.snapshot import snapshot_of
from rollout.clock import VirtualClock
from rollout.model import names
from rollout.sim.scenario_file import read_scenario
from tests.stories.test_analyses import (
    AFTER_CANARY,
    BAD,
    GATED,
    GOOD,
    ONE_BY_ONE,
    WEB,
    gives,
    runs,
    story,
    template,
)
from tests.support import make
from tests.support.changes import storing
from tests.support.shapes import run
from tests.support.story import MIN, READY, SETTLED, Story

EXAMPLE = "examples/analysis"
SCENARIO = {"apiVersion": "rollout-engine.io/v1alpha1", "kind": "AgentScenario"}
HEAD = "apiVersion: rollout-engine.io/v1alpha1\nkind: AgentScenario\n"


def test_a_look_ahead_measures_nothing() -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(GOOD)).to(SETTLED + MIN)
    before = runs(told)
    clock = told.clock
    assert isinstance(clock, VirtualClock)
    clock.advance(timedelta(hours=1))

    placed(told.hub, clock)

    assert before[0]["status"]["phase"] == "Running"
    assert runs(told) == before


def simulated(scenario: str, folder: Path, *more: str) -> Result:
    (folder / "agents.yaml").write_text(HEAD + scenario)
    files = ("-f", f"{EXAMPLE}/rollout.yaml", "-f", f"{EXAMPLE}/analysis.yaml")
    told = run("simulate", *files, "--agents", str(folder / "agents.yaml"), *more, state=None)
    assert told.exit_code == 0, told.output
    return told


@pytest.mark.parametrize("name", ["text", "json"])
def test_what_a_scenario_measures_drives_a_simulation_as_it_drives_a_run(
    name: str, tmp_path: Path
) -> None:
    told = run("simulate", "-f", EXAMPLE, "-o", name, state=None)
    ran = run("run", "-f", EXAMPLE, "--clock", "virtual", state=tmp_path / "fleet.db")

    if name == "text":
        first = told.stdout.splitlines()[0]
        assert first.startswith(
            "✖ halted after 00:14:36: 3 of 4 clusters touched, 2 soaked, 1 failed"
        )
        assert "00:14:36 ClusterFailed: placement everywhere: north (AnalysisFailed)" in ran.stdout
        assert "assumed" not in told.stdout
    else:
        assert json.loads(told.stdout)["assumed"] == []


def test_what_no_scenario_measures_is_taken_to_be_good_and_a_line_says_so(tmp_path: Path) -> None:
    told = simulated("spec: {}", tmp_path)
    often = simulated("spec: {}", tmp_path, "--runs", "2")

    # Each cluster is applied after twelve seconds, then measured three times, a minute apart.
    assert told.stdout.startswith("✔ done after 00:08:48: 4 of 4 clusters touched, 4 soaked")
    for each in (told, often):
        assert (
            "(assumed: good where the scenario's measurements say nothing: slo/success-rate)"
            in (each.stdout.splitlines())
        )


def test_what_is_measured_of_one_cluster_leaves_the_others_to_be_assumed(tmp_path: Path) -> None:
    bad = "{metric: success-rate, clusters: {names: [north]}, value: [0.5]}"
    told = simulated(f"spec: {{measurements: [{bad}]}}", tmp_path)

    assert told.stdout.startswith("✖ halted")
    assert "2 soaked, 1 failed" in told.stdout
    assert "slo/success-rate" in told.stdout


def test_measurements_over_time_decide_when_it_is_done(tmp_path: Path) -> None:
    away = '{metric: success-rate, to: 1h, error: "it cannot be reached"}'
    good = "{metric: success-rate, value: [0.999]}"
    told = simulated(f"spec: {{measurements: [{good}, {away}]}}", tmp_path)

    assert told.stdout.startswith("✔ done after 01:")
    assert "assumed" not in told.stdout


def test_a_gate_of_an_analysis_is_measured_too() -> None:
    notes = {names.GATES: AFTER_CANARY}
    fleet = [*make.fleet(3, canary=1), make.workload(strategy=GATED, annotations=notes)]
    bad, _ = read_scenario({**SCENARIO, "spec": {"measurements": [gives(BAD)]}})
    asked = [
        simulate(question(storing([*fleet, template()]), scenario)) for scenario in (None, bad)
    ]

    assert [each.outcome.end for each in asked] == [End.DONE, End.HALTED]
    assert [each.assumed for each in asked] == [("slo/rate",), ()]


SOAK = SETTLED - READY


def takes(told: Story) -> timedelta:
    """How long the rollout takes from now on at the least, as its account says."""
    account = snapshot_of(told.hub, told.clock.now()).account(WEB)
    assert account is not None
    assert account.finish is not None
    assert account.finish.takes is not None
    return account.finish.takes


def test_the_earliest_finish_is_that_of_a_run_without_the_time_that_agents_take() -> None:
    gated = story({names.GATES: AFTER_CANARY}, gives(GOOD))
    each = story({names.CLUSTER_ANALYSIS: "slo"}, gives(GOOD), strategy=ONE_BY_ONE)

    assert takes(gated.settle()) == SOAK + 2 * MIN + SOAK
    assert takes(each.settle()) == 3 * 2 * MIN
    assert gated.end().waves()[-1][0] == SETTLED + 2 * MIN
    assert each.end().waves()[-1][0] == 2 * (READY + 2 * MIN)


def test_of_a_gate_that_is_being_measured_the_rest_of_it_is_reckoned_with() -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(GOOD)).to(SETTLED + MIN)

    assert takes(told) == MIN + SOAK


def test_the_first_end_that_a_metric_can_come_to_counts_and_its_delay() -> None:
    metric: dict[str, Any] = {"count": 5, "consecutiveSuccessLimit": 2, "initialDelay": "30s"}
    told = story({names.GATES: AFTER_CANARY}, gives(GOOD), **metric)

    assert takes(told.settle()) == SOAK + MIN / 2 + MIN + SOAK


def test_a_background_analysis_delays_nothing() -> None:
    assert takes(story({names.ANALYSIS: "slo"}, gives(GOOD)).settle()) == 2 * SOAK


def test_a_plan_and_a_simulation_agree_but_for_the_time_that_agents_take(tmp_path: Path) -> None:
    files = ("-f", f"{EXAMPLE}/rollout.yaml", "-f", f"{EXAMPLE}/analysis.yaml")
    planned = run("plan", *files, state=None)
    told = simulated("spec: {}", tmp_path)

    assert (
        "(in 8m), if every agent succeeds at once, and all that is measured is good"
        in planned.stdout
    )
    assert told.stdout.startswith("✔ done after 00:08:48")
