import io
from datetime import timedelta

import pytest
from rich.console import Console

from rollout.account.build import strategy_line
from rollout.account.tree import FleetAccount, NoteAccount, StageAccount
from rollout.cli.picture import fleet_picture, window
from rollout.model.kinds import Obj
from tests.support.shapes import (
    DONE,
    MIN,
    PROGRESSIVE,
    ROLLING,
    T0,
    account,
    condition,
    shot,
    stage,
    standing,
)


def drawn(fleet: FleetAccount, width: int = 100, later: timedelta = timedelta(0)) -> list[str]:
    """The fleet_picture as plain text."""
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, highlight=False)
    console.print(fleet_picture(fleet, fleet.now + later))
    return out.getvalue().splitlines()


WEST = stage("prod-canary-west #0", 10, {"Soaked": 10}, 10, 0, passed=True)
REST = stage(
    "the rest", 290, {"Soaked": 72, "Soaking": 3, "Progressing": 70, "Waiting": 145}, 73, 2
)
ROLLOUT = account(
    ROLLING,
    WEST,
    REST,
    notes=[NoteAccount(T0 + 5 * MIN, "StagePassed", "prod-canary-west #0 passed")],
    next_at=T0 + 15 * MIN,
    next_what="c093 has soaked",
)


def test_a_rollout_on_its_way() -> None:
    assert drawn(shot(T0 + 12 * MIN, ROLLOUT)) == [
        "Name:        default/web",
        "Status:      ◌ RollingOut",
        "Message:     stage the rest: 3 in flight",
        "Strategy:    Progressive, maxConcurrency 25%, minSuccessTime 5m, progressDeadline 10m, maxFailures 2",
        "Revision:    r1",
        "Time:        00:12:00",
        "Progress:    █████░░░░░░░░░░░░░░░  82/300  ✔ 82 soaked  ◷ 3 soaking  ◌ 70 progressing  • 145 waiting",
        "Budget:      0 of 2 failures used (the rest)",
        "Next timer:  00:15:00 (in 3m)  c093 has soaked",
        "",
        "NAME                      STATUS         CLUSTERS  INFO",
        "⟳ default/web             ◌ RollingOut   82/300",
        "├──□ prod-canary-west #0  ✔ Passed       10/10",
        "└──□ the rest             ◌ Progressing  72/290    73 in flight, at most 73",
        "",
        "00:05:00  StagePassed  prod-canary-west #0 passed",
    ]


def test_a_finished_rollout_waits_for_nothing() -> None:
    rest = stage("the rest", 290, {"Soaked": 290}, 73, 2, passed=True)

    told = drawn(shot(T0 + 31 * MIN, account(DONE, WEST, rest, next_at=T0 + 60 * MIN)))

    assert "Status:    ✔ RolledOut" in told
    assert f"Progress:  {'█' * 20}  300/300  ✔ 300 soaked" in told
    assert not [line for line in told if line.startswith("Next timer:")]


@pytest.mark.parametrize(
    ("one", "shown"),
    [
        (stage("s", 2, {"Waiting": 2}, blocked="WaitingForStage"), "• Waiting 0/2 waits for the stage before"),
        (stage("s", 2, {"Soaking": 2}, 2), "◷ Soaking 0/2 2 in flight"),
        (stage("s", 2, {"Failing": 1, "Soaked": 1}, 2, 1), "⚠ Failing 1/2 1 in flight"),
        (stage("s", 2, {"Failed": 1, "Waiting": 1}, 2, 0), "✖ Halted 0/2 1 failed, 0 allowed"),
        (
            stage("s", 2, {"Waiting": 2}, 2, 0, blocked="MaxFailuresExceeded"),
            "✖ Halted 0/2 0 failed, 0 allowed",
        ),
        (stage("s", 2, {"Waiting": 2}, 2, blocked="Paused"), "‖ Held 0/2 Paused"),
        (
            stage("s", 3, {"Failed": 1, "Soaked": 2}, 2, 1, passed=True),
            "✔ Passed 2/3 1 failed, tolerated",
        ),
        (
            stage("s", 3, {"Progressing": 1, "Soaked": 2}, 2, 1, passed=True),
            "✔ Passed 2/3 1 in flight",
        ),
        (
            stage("s", 9, {"Progressing": 1, "Waiting": 8}, 5, 1, blocked="FailureTolerance"),
            "◌ Progressing 0/9 held back: one more failure could exceed the budget",
        ),
    ],
)  # fmt: skip
def test_a_stage_shows_the_worst_that_is_going_on_in_it(one: StageAccount, shown: str) -> None:
    line = drawn(shot(T0, account(ROLLING, one)))[-1]

    assert line.split() == ["└──□", "s", *shown.split()]


def test_the_clock_and_the_countdown_go_on_between_two_snapshots() -> None:
    told = drawn(shot(T0 + 12 * MIN, ROLLOUT), later=MIN)

    assert "Time:        00:13:00" in told
    assert "Next timer:  00:15:00 (in 2m)  c093 has soaked" in told


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_screen_cuts_the_ends_of_lines_and_wraps_none(width: int) -> None:
    wide = drawn(shot(T0, ROLLOUT), 200)
    narrow = drawn(shot(T0, ROLLOUT), width)

    assert len(narrow) == len(wide)
    for full, cut in zip(wide, narrow, strict=True):
        assert cut == full or (cut.endswith("…") and full.startswith(cut[:-1].rstrip()))


def test_two_workloads_are_drawn_one_below_the_other() -> None:
    other = standing(condition("Progressing", "False", "Paused"), name="db")

    told = drawn(shot(T0, ROLLOUT, account(other)))

    assert [line for line in told if line.startswith("Name:")] == [
        "Name:        default/web",
        "Name:      default/db",
    ]
    assert "Status:    ‖ Paused" in told


def test_a_workload_without_a_rollout_yet_is_drawn_all_the_same() -> None:
    assert drawn(shot(T0, account(ROLLING)))[-1] == "⟳ default/web  ◌ RollingOut  0/0"


def test_an_empty_fleet_says_so() -> None:
    assert drawn(shot(T0)) == ["There is no workload to roll out."]


def stages(passed: int, total: int) -> list[StageAccount]:
    return [stage(f"s{i}", 1, {}, passed=i < passed) for i in range(total)]


@pytest.mark.parametrize("total", range(40))
def test_however_many_stages_there_are_the_first_open_one_is_shown(total: int) -> None:
    for passed in range(total + 1):
        every = stages(passed, total)
        before, shown, after = window(every, lambda each: each.passed)

        assert before + len(shown) + after == total
        assert len(shown) == min(total, 12)
        assert passed == total or every[passed] in shown
        assert all(each.passed for each in every[:before])


def test_left_out_stages_are_counted() -> None:
    told = drawn(shot(T0, account(ROLLING, *stages(20, 40))))

    assert "├──… 18 more passed" in [" ".join(line.split()) for line in told]
    assert told[-1].split() == ["└──…", "10", "more"]


def test_only_the_last_notes_are_drawn() -> None:
    notes = [NoteAccount(T0 + i * MIN, "Happened", str(i)) for i in range(9)]

    told = drawn(shot(T0 + 9 * MIN, account(ROLLING, WEST, notes=notes)))

    assert told[-5:] == [f"00:0{i}:00  Happened  {i}" for i in range(4, 9)]


@pytest.mark.parametrize(
    ("references", "line"),
    [
        ([{"name": "a"}], "All"),
        (
            [{"name": "a", "rolloutStrategy": PROGRESSIVE}],
            "Progressive, maxConcurrency 25%, minSuccessTime 5m, progressDeadline 10m, maxFailures 2",
        ),
        (
            [
                {"name": "a", "rolloutStrategy": {"type": "All"}},
                {
                    "name": "b",
                    "rolloutStrategy": {
                        "type": "ProgressivePerGroup",
                        "progressivePerGroup": {"maxFailures": 0},
                    },
                },
            ],
            "a: All; b: ProgressivePerGroup, maxFailures 0",
        ),
    ],
)
def test_the_strategy_is_told_as_it_was_written(references: list[Obj], line: str) -> None:
    assert strategy_line({"spec": {"placementRefs": references}}) == line
