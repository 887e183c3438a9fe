import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from rollout.analysis.outcomes import Distribution, End, Outcome, Spread, distribution, spread
from rollout.analysis.pictures import COLORS, MOST_LINES, svg
from rollout.analysis.tracks import Bar, ClusterTimeline, StageTimeline, Timeline
from rollout.cli.simulate import comparison_lines, distribution_lines, gantt
from rollout.model.kinds import Obj
from rollout.strategies.base import Phase
from tests.support.halted import HEALTHY, SILENT, STRATEGY, files, ran
from tests.support.shapes import MIN, T0, placement, run, stored, workload, write

SVG = "{http://www.w3.org/2000/svg}"
CHANCY: Obj = {
    **SILENT,
    "spec": {"seed": 7, "defaults": {"alternative": {"probability": 0.3, "outcome": "silent"}}},
}


CHANCE: Obj = {"alternative": {"probability": 0.4, "outcome": "fail"}}
SLOW: Obj = {"readyAfter": {"min": "10s", "max": "1m"}}
LENIENT: Obj = {
    "type": "Progressive",
    "progressive": {**STRATEGY["progressive"], "maxConcurrency": 1, "maxFailures": 3},
}


def test_one_run_is_an_outcome_and_a_timeline(tmp_path: Path) -> None:
    found = run("simulate", "-f", files(tmp_path, SILENT))

    assert found.exit_code == 0
    lines = found.stdout.splitlines()
    assert lines[0] == (
        "✖ halted after 00:10:00: 4 of 6 clusters touched, 2 soaked, 2 failed (seed 0)"
    )
    assert lines[2].split() == ["00:00:00", "00:10:24"]
    assert lines[3].startswith("the rest  ░░░░")
    assert lines[3].endswith("▂▂  2/6 ✖ 2")


def test_the_files_that_are_simulated_may_meet_what_is_stored(tmp_path: Path) -> None:
    """Every agent is at revision 1; the same agents then see revision 2."""
    state = ran(tmp_path, HEALTHY)
    path = write(tmp_path / "two.yaml", workload(strategy=STRATEGY, value="2"))

    found = json.loads(run("simulate", "-f", path, "-o", "json", state=state).stdout)

    assert found["outcome"]["touched"] == 6
    assert found["wholeBecause"] == ""
    assert found["timeline"]["start"] == "2026-01-01T00:10:24Z"


def test_agents_behave_as_in_the_last_run_on_the_state_file(tmp_path: Path) -> None:
    state = ran(tmp_path, SILENT)
    path = write(tmp_path / "two.yaml", workload(strategy=STRATEGY, value="2"))

    found = json.loads(run("simulate", "-f", path, "-o", "json", state=state).stdout)

    assert found["outcome"]["end"] == "MaxFailuresExceeded"


@pytest.mark.parametrize("flapping", [False, True], ids=["rehearsed", "whole"])
def test_agents_go_on_from_the_last_run_as_they_do_in_the_next_one(
    tmp_path: Path, flapping: bool
) -> None:
    """What an agent draws follows from how many generations of its work it has begun."""
    agents: Obj = {**CHANCY, "spec": {"seed": 7, "defaults": {**SLOW, **CHANCE}}}
    if flapping:
        agents["spec"]["defaults"]["flapping"] = {"period": "1m", "count": 2}
    state = ran(tmp_path, agents)
    for value in "234":
        path = write(tmp_path / f"{value}.yaml", workload(strategy=LENIENT, value=value))
        simulated = json.loads(run("simulate", "-f", path, "-o", "json", state=state).stdout)
        before = simulated["outcome"]
        began = datetime.fromisoformat(simulated["timeline"]["start"])

        run("run", "-f", path, "--clock", "virtual", state=state)

        touched = [
            datetime.fromisoformat(work["metadata"]["annotations"]["rollout-engine.io/started-at"])
            for work in stored(state, "manifestworks", "-A")["items"]
        ]
        (found,) = json.loads(run("list", "-o", "json", state=state).stdout)
        assert sum(at >= began for at in touched) == before["touched"] > 0
        assert found["failed"] == before["failed"]


def test_only_the_workloads_that_a_change_bears_on_are_counted(tmp_path: Path) -> None:
    """Another one is in the middle of its rollout, and goes on meanwhile."""
    state = ran(tmp_path, HEALTHY)
    other = write(tmp_path / "api.yaml", workload("api", strategy=LENIENT))
    run("run", "-f", other, "--clock", "virtual", "--for", "1m", state=state)
    one = workload(strategy=STRATEGY, value="2")
    one["spec"]["placementRefs"][0]["name"] = "one"
    path = write(tmp_path / "two.yaml", placement("one", numberOfClusters=1), one)

    found = json.loads(run("simulate", "-f", path, "-o", "json", state=state).stdout)

    outcome = found["outcome"]
    assert (outcome["clusters"], outcome["touched"], outcome["end"]) == (1, 1, "Complete")
    rows = {s["workload"]: s["rows"] for s in found["timeline"]["stages"]}
    assert sum(bool(row["bars"]) for row in rows["default/api"]) > 1


def test_a_workload_that_is_done_is_drawn_as_done(tmp_path: Path) -> None:
    state = ran(tmp_path, HEALTHY)
    path = write(tmp_path / "api.yaml", workload("api", strategy=STRATEGY))

    lines = run("simulate", "-f", path, state=state).stdout.splitlines()

    (done,) = [line for line in lines if line.startswith("default/web")]
    assert done.endswith("█  6/6")
    assert "░" not in done


def test_clusters_that_a_release_was_taken_back_from_do_not_count_as_soaked(tmp_path: Path) -> None:
    state = ran(tmp_path, HEALTHY)
    worse = workload(strategy=STRATEGY, value="2")
    worse["metadata"]["annotations"] = {"rollout-engine.io/rollback": "Automatic"}
    path = write(tmp_path / "two.yaml", worse, SILENT)

    lines = run("simulate", "-f", path, state=state).stdout.splitlines()

    assert lines[0].startswith("✖ halted (RolledBack) after ")
    assert lines[0].endswith("4 of 6 clusters touched, 0 soaked, 2 failed (seed 0)")
    assert lines[1] == "(full simulation, slower: default/web rolls back by itself)"
    assert lines[-1].endswith("  0/6 ✖ 2")


@pytest.mark.parametrize(
    ("verb", "why"),
    [("abort", "default/web has been aborted"), ("retry", "default/web has been retried")],
)
def test_the_slower_way_is_explained_by_what_makes_it_necessary(
    tmp_path: Path, verb: str, why: str
) -> None:
    state = ran(tmp_path, SILENT)
    assert run(verb, "web", state=state).exit_code == 0
    path = write(tmp_path / "two.yaml", workload(strategy=STRATEGY, value="2"))

    found = json.loads(run("simulate", "-f", path, "-o", "json", state=state).stdout)

    assert found["wholeBecause"] == why


def test_a_simulation_leaves_the_state_file_alone(tmp_path: Path) -> None:
    state = ran(tmp_path, HEALTHY)
    path = write(tmp_path / "two.yaml", workload(strategy=STRATEGY, value="2"))
    before = state.read_bytes()

    run("simulate", "-f", path, state=state)

    assert state.read_bytes() == before


def test_windows_are_in_the_picture_and_in_the_finish(tmp_path: Path) -> None:
    picture = tmp_path / "run.svg"

    told = run("simulate", "-f", "examples/calendars", "--svg", str(picture)).stdout.splitlines()
    data = json.loads(run("simulate", "-f", "examples/calendars", "-o", "json").stdout)

    # In Berlin it is one o'clock at night; Tokyo and New York wait for ten in the evening.
    assert told[0].startswith("✔ done after 13:00:12: 3 of 3 clusters")
    (closed,) = [line for line in told if line.startswith("  closed")]
    assert closed.endswith("═  ─ some, ═ all")
    assert closed.split()[1][0] == "─"
    (stage,) = data["timeline"]["stages"]
    begins = {row["cluster"]: row["closed"][0][0] for row in stage["rows"] if row["closed"]}
    assert begins == {
        "berlin": "2026-01-01T03:00:00Z",
        "ohio": "2026-01-01T00:00:00Z",
        "tokyo": "2026-01-01T00:00:00Z",
    }
    titles = [each.text for each in ET.parse(picture).iter(f"{SVG}title")]
    assert "closed" in titles


def test_a_run_that_waits_for_an_approval_is_held_for_it(tmp_path: Path) -> None:
    gated = workload(strategy=STRATEGY)
    gated["metadata"]["annotations"] = {"rollout-engine.io/gates": "before:rest"}
    state = ran(tmp_path, HEALTHY)
    gated["spec"]["manifestWorkTemplate"]["workload"]["manifests"][0]["data"] = {"value": "2"}

    found = run("simulate", "-f", write(tmp_path / "two.yaml", gated), state=state)

    assert found.stdout.startswith(
        "‖ held (ApprovalNeeded) after 00:00:00: 0 of 6 clusters touched"
    )


def test_many_runs_show_how_often_each_end_comes_about(tmp_path: Path) -> None:
    path = files(tmp_path, CHANCY)

    found = run("simulate", "-f", path, "--runs", "30", "--jobs", "1")

    lines = found.stdout.splitlines()
    assert lines[0] == "30 runs of 6 clusters, seeds 7 to 36"
    shares = [float(line.split()[0]) for line in lines if " %  " in line]
    assert sum(shares) == pytest.approx(100, abs=0.2)
    assert any("✖ halted" in line for line in lines)
    assert any(line.startswith("clusters touched before it halts") for line in lines)


def test_the_answer_does_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    path = files(tmp_path, CHANCY)

    answers = [
        run("simulate", "-f", path, "--runs", "12", "--jobs", jobs, "-o", "json").stdout
        for jobs in ("1", "2")
    ]

    assert answers[0] == answers[1]
    assert len(json.loads(answers[0])["outcomes"]) == 12


def test_a_seed_gives_the_same_run_again_and_another_seed_another(tmp_path: Path) -> None:
    path = files(tmp_path, CHANCY)

    one, again, other = (
        run("simulate", "-f", path, "--seed", seed).stdout for seed in ("1", "1", "4")
    )

    assert one == again
    assert one != other


def test_two_variants_are_compared_side_by_side_with_the_same_seeds(tmp_path: Path) -> None:
    slow, fast = (
        write(
            tmp_path / f"{name}.yaml",
            workload(
                strategy={
                    **STRATEGY,
                    "progressive": {**STRATEGY["progressive"], "maxConcurrency": limit},
                }
            ),
        )
        for name, limit in (("slow", 1), ("fast", 6))
    )

    found = run("simulate", "-f", files(tmp_path, HEALTHY), "--compare", slow, fast)

    lines = [line.split("   ") for line in found.stdout.splitlines()]
    assert [cell.strip() for cell in lines[0] if cell] == ["slow.yaml", "fast.yaml"]
    finish = next(line for line in lines if line[0] == "time to finish, p50")
    assert finish[1] > finish[2]


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "run.svg"

    found = run("simulate", "-f", files(tmp_path, SILENT), "--svg", str(picture))

    root = ET.fromstring(picture.read_text())
    assert root.tag == f"{SVG}svg"
    strokes = {path.get("stroke") for path in root.iter(f"{SVG}path")}
    assert {COLORS[Phase.SOAKED], COLORS[Phase.FAILED], COLORS[Phase.PROGRESSING]} <= strokes
    assert found.stdout.endswith(f"wrote the timeline to {picture}\n")


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ((), "give -f PATH, or --compare A.yaml B.yaml"),
        (("--svg", "a.svg", "--compare", ".", "."), "--svg draws one run: leave out --compare"),
        (("-f", "x", "--runs", "0"), "invalid value for '--runs'"),
        (("-f", "x", "--runs", "100001"), "100001 is not in the range 1<=x<=100000"),
        (("-f", "x", "--jobs", "257"), "257 is not in the range 1<=x<=256"),
    ],
)
def test_what_cannot_be_meant_is_refused(words: tuple[str, ...], fault: str) -> None:
    found = run("simulate", *words)

    assert found.exit_code == 2
    assert fault in found.stderr


def test_without_a_workload_there_is_nothing_to_simulate(tmp_path: Path) -> None:
    found = run("simulate", "-f", write(tmp_path / "a.yaml", placement()))

    assert found.exit_code == 1
    assert "there is no ManifestWorkReplicaSet and no ClusterManagementAddOn to" in found.stderr


def test_a_bad_file_is_not_simulated(tmp_path: Path) -> None:
    found = run("simulate", "-f", write(tmp_path / "a.yaml", placement(numberOfClusters="many")))

    assert (found.exit_code, found.stdout) == (1, "")
    assert "nothing was simulated: correct the files first" in found.stderr


# -- the words and pictures


def line(rows: int = 1) -> Timeline:
    """Each cluster is touched at once, soaks after 5 minutes, and is done after 10 of 20."""
    bars = (
        Bar(T0, T0 + 5 * MIN, Phase.PROGRESSING),
        Bar(T0 + 5 * MIN, T0 + 10 * MIN, Phase.SOAKING),
        Bar(T0 + 10 * MIN, T0 + 20 * MIN, Phase.SOAKED),
    )
    found = tuple(ClusterTimeline(f"c{i}", bars, Phase.SOAKED) for i in range(rows))
    stages = (
        StageTimeline(
            workload="default/web",
            placement="fleet",
            title="canary <1>",
            began=T0,
            passed=T0 + 10 * MIN,
            rows=found,
        ),
        StageTimeline(
            workload="default/web",
            placement="fleet",
            title="the rest",
            began=None,
            passed=None,
            rows=(ClusterTimeline("z", ()),),
        ),
    )
    return Timeline(T0, T0 + 20 * MIN, stages)


def test_the_text_timeline_fills_up_as_clusters_soak() -> None:
    assert list(gantt(line(), 50)) == [
        "            00:00:00    00:20:00",
        "canary <1>  ░░░░░░░░░░██████████  1/1",
        "the rest                          0/1",
    ]


def test_stages_of_several_workloads_or_placements_are_told_apart() -> None:
    one, rest = line().stages
    placements = Timeline(T0, T0 + MIN, (one, replace(rest, placement="edge")))
    workloads = Timeline(T0, T0 + MIN, (one, replace(rest, workload="default/api")))

    assert list(map(placements.title_of, placements.stages)) == [
        "fleet canary <1>",
        "edge the rest",
    ]
    assert list(map(workloads.title_of, workloads.stages)) == [
        "default/web canary <1>",
        "default/api the rest",
    ]
    assert "default/api the rest (1)" in svg(workloads, "two")


def test_a_picture_names_its_stages_and_marks_where_they_passed() -> None:
    root = ET.fromstring(svg(line(), "a & b"))

    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "a & b" in texts
    assert "canary <1> (1)" in texts
    assert sum(title.text == "passed" for title in root.iter(f"{SVG}title")) == 1


def test_of_a_large_fleet_not_every_cluster_is_drawn() -> None:
    picture = svg(line(10 * MOST_LINES), "large")

    assert "one line for every 11 clusters" in picture
    assert len(picture) < 300_000


def outcome(seed: int, end: End, minutes: int, touched: int, failed: int = 0) -> Outcome:
    return Outcome(
        seed=seed,
        end=end,
        reason="",
        lasted=minutes * MIN,
        clusters=10,
        touched=touched,
        soaked=touched - failed,
        failed=failed,
    )


def test_a_distribution_keeps_finished_and_halted_runs_apart() -> None:
    outcomes = [outcome(i, End.DONE, 30 + i, 10) for i in range(3)]
    outcomes += [outcome(3, End.HALTED, 5, 4, 3), outcome(4, End.STUCK, 9, 2)]

    assert list(distribution_lines(distribution(outcomes), (0, 4))) == [
        "5 runs of 10 clusters, seeds 0 to 4",
        "",
        "  60.0 %  ✔ done",
        "  20.0 %  ✖ halted",
        "  20.0 %  ◌ not done, and nothing more would happen",
        "",
        "                                   least      p50        p90        p99        most",
        "time to finish                     00:30:00   00:31:00   00:32:00   00:32:00   00:32:00",
        "time to the halt                   00:05:00   00:05:00   00:05:00   00:05:00   00:05:00",
        "clusters touched before it halts   4          4          4          4          4",
        "clusters touched                   2          10         10         10         10",
        "clusters failed                    0          0          3          3          3",
    ]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([], None),
        ([7], Spread(least=7, p50=7, p90=7, p99=7, most=7)),
        (list(range(1, 101)), Spread(least=1, p50=50, p90=90, p99=99, most=100)),
        (list(range(1000, 0, -1)), Spread(least=1, p50=500, p90=900, p99=990, most=1000)),
    ],
)
def test_percentiles_are_by_nearest_rank(values: list[int], found: Spread[int] | None) -> None:
    assert spread(values) == found


def test_a_comparison_has_a_dash_where_a_variant_never_came_to_that_end() -> None:
    done: Distribution = distribution([outcome(0, End.DONE, 30, 10)])
    halted = distribution([outcome(0, End.HALTED, 5, 4, 3)])

    lines = comparison_lines(["a.yaml", "b.yaml"], [done, halted])

    assert lines[3].split() == ["✖", "halted", "0.0", "%", "100.0", "%"]
    assert lines[4].split() == ["time", "to", "finish,", "p50", "00:30:00", "-"]
