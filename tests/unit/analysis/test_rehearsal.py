"""A rehearsal gives what the whole simulation gives: the same touches at the same instants, the same end."""

import pickle
from datetime import timedelta

import pytest

from rollout.analysis.full_run import FullRun
from rollout.analysis.outcomes import End
from rollout.analysis.simulating import Question, question, simulate, simulate_many
from rollout.analysis.tracks import Timeline
from rollout.api.load import load
from rollout.model import names
from rollout.model.kinds import KINDS, Obj
from rollout.sim.scenario import Scenario
from rollout.sim.scenario_file import is_scenario, parse_scenario, read_scenario
from rollout.strategies.base import Phase
from tests.support import make
from tests.support.analysis_cases import random_question
from tests.support.changes import storing
from tests.support.shapes import binding, cluster, cluster_set, placement, workload
from tests.support.story import Story

SCENARIO = "apiVersion: rollout-engine.io/v1alpha1\nkind: AgentScenario\nspec: {}\n"
RISKY = """
apiVersion: rollout-engine.io/v1alpha1
kind: AgentScenario
spec:
  seed: 5
  defaults:
    readyAfter: {mean: 1m, sigma: 20s}
    alternative: {probability: 0.2, outcome: fail}
"""
CAREFUL: Obj = {
    "type": "Progressive",
    "progressive": {"maxConcurrency": 2, "maxFailures": 1, "minSuccessTime": "1m"},
}


def fleet(size: int, strategy: Obj, scenario: str = SCENARIO) -> Question:
    clusters = [cluster(f"c{i:02}") for i in range(size)]
    objects = [cluster_set(), binding(), *clusters, placement(), workload(strategy=strategy)]
    return question(storing(objects), parse_scenario(scenario))


def touches(line: Timeline) -> list[tuple[object, str]]:
    return sorted(
        (row.bars[0].start, row.cluster) for stage in line.stages for row in stage.rows if row.bars
    )


@pytest.mark.parametrize("whole", [False, True])
def test_a_simulation_tells_how_far_it_is(whole: bool) -> None:
    told: list[timedelta] = []

    found = simulate(random_question(0), whole=whole, reached=told.append)

    assert told == sorted(told)
    assert (told[0], len(set(told)) > 3) == (timedelta(0), True)
    assert told[-1] >= found.outcome.lasted


@pytest.mark.parametrize("seed", range(24))
def test_a_rehearsal_is_the_whole_simulation(seed: int) -> None:
    asked = random_question(seed)

    short, whole = simulate(asked), simulate(asked, whole=True)

    assert short.whole_because == ""
    assert short.outcome == whole.outcome
    assert touches(short.timeline) == touches(whole.timeline)
    assert short.timeline == whole.timeline


@pytest.mark.parametrize("seed", range(24))
def test_a_rehearsal_is_the_whole_simulation_where_calendars_close_clusters(seed: int) -> None:
    asked = random_question(seed, closing=True)

    short, whole = simulate(asked), simulate(asked, whole=True)

    assert short.whole_because == ""
    assert short.outcome == whole.outcome
    assert short.timeline == whole.timeline
    rows = [row for stage in short.timeline.stages for row in stage.rows if row.bars]
    assert not any(start <= r.bars[0].start < end for r in rows for start, end in r.closed)


def test_calendars_delay_what_would_have_ended_before() -> None:
    asked = [(random_question(n), random_question(n, closing=True)) for n in range(24)]

    lasted = [(simulate(a).outcome.lasted, simulate(b).outcome.lasted) for a, b in asked]

    assert sum(b > a for a, b in lasted) > 8


@pytest.mark.parametrize("name", ["few-failures", "silent-agents"])
def test_the_example_goes_the_same_both_ways(name: str) -> None:
    objects = load(["examples/canary", f"examples/scenarios/{name}.yaml"]).objects
    scenario, _ = read_scenario([obj for obj in objects if is_scenario(obj)][-1])
    asked = question(storing(obj for obj in objects if not is_scenario(obj)), scenario)

    short, whole = simulate(asked), simulate(asked, whole=True)

    assert short.whole_because == ""
    assert (short.outcome, short.timeline) == (whole.outcome, whole.timeline)


def test_random_questions_come_to_every_end() -> None:
    ends = {simulate(random_question(seed)).outcome.end for seed in range(40)}

    assert ends >= {End.DONE, End.TOLERATED, End.HALTED, End.STUCK}


def test_the_same_seed_gives_the_same_outcomes_however_many_processes_work() -> None:
    asked = fleet(12, CAREFUL, RISKY)

    alone, one_by_one = simulate_many(asked, 20, workers=1)
    ticks: list[int] = []
    together, shared_out = simulate_many(asked, 20, workers=2, tick=ticks.append)

    assert (alone, one_by_one) == (together, shared_out)
    assert [outcome.seed for outcome in one_by_one] == list(range(5, 25))
    assert ticks == list(range(1, 21))  # somebody may watch
    assert len({outcome.touched for outcome in one_by_one}) > 1


def test_many_runs_end_soon_where_somebody_has_seen_enough() -> None:
    def enough(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate_many(fleet(12, CAREFUL, RISKY), 100_000, workers=2, tick=enough)


def test_the_first_of_many_runs_is_the_single_run() -> None:
    asked = fleet(12, CAREFUL, RISKY)

    _, outcomes = simulate_many(asked, 3)

    assert outcomes[0] == simulate(asked).outcome


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param(
            "{fleetEvents: [{at: 1m, deleteClusters: {names: [c00]}}]}",
            "the scenario has fleetEvents",
            id="something happens to the fleet",
        ),
        pytest.param(
            "{defaults: {offline: [{from: 1m, to: 2m}], availability: Unknown}}",
            "agents change the availability of their clusters",
            id="clusters become unavailable",
        ),
    ],
)
def test_where_more_than_agents_acts_the_whole_simulation_is_taken(spec: str, why: str) -> None:
    found = simulate(fleet(4, CAREFUL, SCENARIO.replace("{}", spec)))

    assert found.whole_because == why
    assert found.outcome.end in (End.DONE, End.TOLERATED)


def test_a_change_to_a_fleet_that_is_done_is_rehearsed_from_there() -> None:
    """Every cluster carries a revision that has soaked; the agents see another generation."""
    first = fleet(6, CAREFUL)
    hub, clock = first.hub()

    FullRun(hub, clock, parse_scenario(SCENARIO)).run()
    change = storing([workload(strategy=CAREFUL, value="2")])
    asked = question(change, parse_scenario(RISKY), hub=hub, now=clock.now())

    short, whole = simulate(asked), simulate(asked, whole=True)

    assert short.whole_because == ""
    assert short.outcome == whole.outcome
    assert touches(short.timeline) == touches(whole.timeline)
    assert short.outcome.touched > 0


def test_a_rollout_that_is_under_way_takes_the_whole_simulation() -> None:
    hub, clock = fleet(6, CAREFUL).hub()

    FullRun(hub, clock, parse_scenario(RISKY)).run()  # halts
    change = storing([workload(strategy=CAREFUL, value="2")])

    found = simulate(question(change, hub=hub, now=clock.now()))

    assert found.whole_because == "default/web has clusters in flight, or failed"
    assert found.outcome.end is End.DONE


def test_a_question_is_the_same_in_another_process() -> None:
    """There is one value for each kind, there too."""
    asked = random_question(1)

    again = pickle.loads(pickle.dumps(asked))

    assert again == asked
    assert all(ref.kind is KINDS[ref.kind.name] for ref, _ in again.objects)
    assert simulate(again) == simulate(asked)


def test_a_release_that_is_taken_back_is_counted_where_it_was() -> None:
    """At the end no cluster carries it any more: the clusters that it broke were broken all the same,
    the one too whose failure was the one too many: it is taken back at the instant at which it counts.
    """
    notes = {names.ROLLBACK: "Automatic"}
    good = make.workload(strategy=make.progressive(maxConcurrency=2), annotations=notes)
    bad = {"manifests": {"path": "data.version", "equals": "2"}, "behaviour": {"outcome": "fail"}}
    story = Story([*make.fleet(6), good], {"rules": [bad]}).end()
    worse = make.workload(
        strategy=make.progressive(maxConcurrency=2), version="2", annotations=notes
    )

    asked = question(
        storing([worse]),
        Scenario.model_validate({"spec": {"rules": [bad]}}),
        hub=story.hub,
        now=story.clock.now(),
    )
    found = simulate(asked)
    outcome = found.outcome

    assert found.whole_because == "default/web rolls back by itself"
    assert (outcome.end, outcome.reason) == (End.HALTED, "RolledBack")
    lasts = [row.last for stage in found.timeline.stages for row in stage.rows]
    assert lasts == [Phase.FAILED] * 2 + [None] * 4
    assert (outcome.clusters, outcome.touched, outcome.soaked, outcome.failed) == (6, 2, 0, 2)
