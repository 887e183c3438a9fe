from collections.abc import Sequence
from datetime import timedelta

import pytest

from rollout.account.tree import FleetAccount, NoteAccount, StageAccount, WorkloadAccount
from rollout.cli.screen import Teller, summary
from rollout.cli.tables import text_table
from tests.support.shapes import DONE, MIN, ROLLING, T0, account, condition, stage, standing


def shot(minutes: int, *stages: StageAccount, notes: Sequence[NoteAccount] = ()) -> FleetAccount:
    return at(minutes, account(ROLLING, *stages, notes=notes))


def at(minutes: int, *workloads: WorkloadAccount) -> FleetAccount:
    return FleetAccount(T0, T0 + minutes * MIN, workloads)


def rest(**phases: int) -> StageAccount:
    return stage("the rest", 100, phases, 25, 2)


def told(*shots: FleetAccount) -> list[str]:
    teller = Teller()
    return [line for shot in shots for line in teller.tell(shot)]


def test_a_stage_is_told_of_when_it_begins_and_when_it_passes() -> None:
    waiting = stage("prod-canary-west #0", 10, {"Waiting": 10})
    begun = stage("prod-canary-west #0", 10, {"Progressing": 10})
    passed = stage("prod-canary-west #0", 10, {"Soaked": 10}, passed=True)

    assert told(shot(0, waiting), shot(0, begun), shot(5, passed)) == [
        "00:00:00 prod-canary-west #0: 0/10 soaked, 10 progressing",
        "00:05:00 prod-canary-west #0: 10/10 soaked, passed",
    ]


def test_a_large_stage_is_told_of_at_each_tenth_and_not_at_each_cluster() -> None:
    shots = [shot(i, rest(Soaked=i, Progressing=100 - i)) for i in range(101)]

    lines = told(*shots)

    assert len(lines) == 11
    assert lines[1] == "00:10:00 the rest: 10/100 soaked, 90 progressing"


@pytest.mark.parametrize(("members", "lines"), [(1, 2), (9, 2), (10, 3), (49, 10), (50, 11)])
def test_a_small_stage_is_told_of_less_often(members: int, lines: int) -> None:
    shots = [
        shot(i, stage("s", members, {"Soaked": i, "Progressing": members - i}))
        for i in range(members + 1)
    ]

    assert len(told(*shots)) == lines


def test_every_further_failure_is_told_of() -> None:
    lines = told(*(shot(i, rest(Failed=i, Waiting=100 - i)) for i in range(3)))

    assert lines == [
        "00:01:00 the rest: 0/100 soaked, 1 failed, 99 waiting",
        "00:02:00 the rest: 0/100 soaked, 2 failed, 98 waiting",
    ]


def test_what_holds_a_stage_is_told_once_but_the_usual_waits_are_not() -> None:
    full = stage("the rest", 100, {"Waiting": 100}, 25, 2, blocked="WaitingForStage")
    paused = stage("the rest", 100, {"Waiting": 100}, 25, 2, blocked="Paused")
    halted = stage("the rest", 100, {"Waiting": 100}, 25, 2, blocked="MaxFailuresExceeded")

    assert told(shot(0, full), shot(1, paused), shot(2, paused), shot(3, halted)) == [
        "00:01:00 the rest: 0/100 soaked, 100 waiting, held: Paused",
        "00:03:00 the rest: 0/100 soaked, 100 waiting, halted: MaxFailuresExceeded",
    ]


def test_each_note_is_told_once_at_its_own_instant() -> None:
    first, second = NoteAccount(T0, "Started", "one"), NoteAccount(T0 + MIN, "Failed", "two")

    lines = told(shot(0, notes=(first,)), shot(1, notes=(first,)), shot(2, notes=(first, second)))

    assert lines == ["00:00:00 Started: one", "00:01:00 Failed: two"]


def test_notes_are_told_though_older_ones_are_dropped_meanwhile() -> None:
    notes = tuple(NoteAccount(T0 + i * MIN, "Happened", str(i)) for i in range(6))

    lines = told(*(shot(i, notes=notes[max(0, i - 2) : i + 1]) for i in range(6)))

    assert lines == [f"00:0{i}:00 Happened: {i}" for i in range(6)]


def test_the_end_of_a_workload_is_told() -> None:
    assert told(shot(0), at(31, account(DONE))) == [
        "00:31:00 default/web ✔ RolledOut: 20 clusters succeeded"
    ]


def test_a_standstill_is_told_and_that_it_goes_on_too() -> None:
    paused = standing(
        condition("Progressing", "False", "Paused", "rollout-engine.io/paused is true")
    )

    assert told(shot(0), at(1, account(paused)), shot(2)) == [
        "00:01:00 default/web ‖ Paused: rollout-engine.io/paused is true",
        "00:02:00 default/web ◌ RollingOut: stage the rest: 3 in flight",
    ]


def test_with_several_workloads_each_line_says_whose_it_is() -> None:
    db = standing(name="db")
    begun = stage("the rest", 1, {"Progressing": 1})

    lines = told(at(0, account(ROLLING, begun), account(db, begun)))

    assert lines == [
        "00:00:00 default/web the rest: 0/1 soaked, 1 progressing",
        "00:00:00 default/db the rest: 0/1 soaked, 1 progressing",
    ]


def test_the_summary_tells_durations_of_the_fleet_and_of_the_run() -> None:
    stages = (
        stage("canary #0", 10, {"Soaked": 10}, passed=True),
        stage("the rest", 290, {"Soaked": 288, "Failed": 2}, passed=True),
    )
    done = standing(
        condition("Progressing", "False", "CompleteWithFailures"),
        condition("Ready", "True", "RolledOutWithFailures"),
    )
    halted = standing(condition("Progressing", "False", "MaxFailuresExceeded"), name="db")
    asked = standing(condition("Progressing", "False", "ApprovalNeeded"), name="asked")
    last = at(60, account(done, *stages), account(halted), account(asked))

    assert summary(last, last.started, timedelta(seconds=7.06)) == [
        "WORKLOAD        RESULT                             CLUSTERS   SOAKED   FAILED   FLEET TIME   WALL TIME",
        "default/web     ⚠ done, with failures              300        298      2        31m          7.1s",
        "default/db      ✖ failed: MaxFailuresExceeded      0          0        0        31m          7.1s",
        "default/asked   ‖ needs a person: ApprovalNeeded   0          0        0        60m          7.1s",
    ]


def test_a_rollout_that_goes_on_has_lasted_until_now() -> None:
    last = at(60, account(ROLLING))

    assert summary(last, last.started, timedelta(0))[1].split()[-2:] == ["60m", "0s"]


def test_a_run_that_goes_on_with_an_earlier_one_tells_only_how_long_it_took_itself() -> None:
    done = account(standing(condition("Ready", "True", "RolledOut")))
    last = at(60, account(ROLLING), done)

    rows = summary(last, last.started + 45 * MIN, timedelta(0))

    assert [row.split()[-2] for row in rows[1:]] == ["15m", "0s"]


def test_stages_that_passed_in_an_earlier_run_are_not_told_again() -> None:
    past = stage("canary #0", 10, {"Soaked": 10}, passed=True)
    done = standing(condition("Ready", "True", "RolledOut"))

    assert told(at(60, account(done, past))) == ["01:00:00 default/web ✔ RolledOut"]


def test_a_table_that_is_too_wide_for_the_terminal_is_broken_between_words() -> None:
    header = ("WORKLOAD", "RESULT", "FLEET TIME")
    rows = [("shop/payments-api", "✖ failed: MaxFailuresExceeded", "31m"), ("a", "", "0s")]

    assert text_table(header, rows, room=50) == [
        "WORKLOAD           RESULT               FLEET TIME",
        "shop/payments-api  ✖ failed:            31m",
        "                   MaxFailuresExceeded",
        "a                                       0s",
    ]
    assert text_table(header, rows, room=100) == text_table(header, rows)


def test_the_end_of_a_stage_with_failures_is_told_though_no_tenth_is_full() -> None:
    shots = (
        shot(0, rest(Soaked=92, Failed=2, Progressing=6)),
        shot(1, rest(Soaked=97, Failed=2, Progressing=1)),
        shot(2, rest(Soaked=98, Failed=2)),
        shot(3, rest(Soaked=98, Failed=2)),
    )

    assert told(*shots)[1:] == ["00:02:00 the rest: 98/100 soaked, 2 failed"]
