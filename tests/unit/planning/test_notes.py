"""What is told of a rollout while it goes on: little, and each thing once."""

from typing import Any

from rollout.model import names
from rollout.planning.plan import Note
from tests.support import make
from tests.support.desk import MIN, SEC, WEB, Desk, decided

OK = {"Applied": "True", "Available": "True", "Progressing": "False", "Degraded": "False"}
BAD = {**OK, "Progressing": "True", "Degraded": "True"}


def desk(count: int, **workload: Any) -> Desk:
    return Desk([*decided(*(f"c{n}" for n in range(count))), make.workload(**workload)])


def told(d: Desk) -> list[Note]:
    """Everything told until nothing is left to do at this instant."""
    found: list[Note] = []
    while (plan := d.plan()).writes:
        found += plan.notes
        for wave in plan.waves:
            d.do(*wave)
    return found


def reasons(notes: list[Note]) -> list[str]:
    return [note.reason for note in notes]


def test_a_rollout_is_told_from_its_start_to_its_end_and_nothing_twice() -> None:
    d = desk(2, strategy=make.progressive(maxConcurrency=1))
    found = told(d)
    for n in range(2):
        d.report(f"c{n}", **OK)
        found += told(d)
        d.later(15 * SEC)
        found += told(d)

    assert reasons(found) == ["RolloutStarted", "StagePassed", "RolloutCompleted"]
    assert found[1].message == "placement p: the rest passed"
    assert found[2].message == "2 clusters succeeded"
    assert {note.ref for note in found} == {WEB}
    assert not any(note.warning for note in found)


def test_clusters_that_fail_together_are_told_together_and_at_most_five_by_name() -> None:
    d = desk(8, strategy=make.progressive())
    told(d)
    for n in range(8):
        d.report(f"c{n}", **BAD)
    told(d)
    d.later(MIN)

    found = told(d)

    assert reasons(found) == ["ClusterFailed", "BudgetExhausted"]
    names_told = ", ".join(f"c{n} (Degraded)" for n in range(5))
    assert found[0].message == f"placement p: {names_told} and 3 more failed"
    assert all(note.warning for note in found)
    assert told(d) == []


def test_a_pause_and_a_hold_are_told_when_they_begin_and_when_they_end() -> None:
    d = desk(1)
    found = reasons(told(d))
    for value in ("true", "false"):
        d.edit({"metadata": {"annotations": {names.PAUSED: value}}})
        found += reasons(told(d))
    d.edit({"spec": {"placementRefs": [{"name": "nobody"}]}})
    found += reasons(told(d))

    assert found == ["RolloutStarted", "RolloutPaused", "RolloutResumed", "RolloutHeld"]


def test_another_revision_after_a_pause_is_a_rollout_that_starts() -> None:
    d = desk(1)
    told(d)
    d.edit({"metadata": {"annotations": {names.PAUSED: "true"}}})
    told(d)
    d.edit(
        {
            "metadata": {"annotations": {names.PAUSED: "false"}},
        }
    )
    d.template(make.template("2"))

    assert reasons(told(d)) == ["RolloutStarted"]


def test_a_rollout_that_was_held_before_it_touched_anybody_starts() -> None:
    d = desk(1, annotations={names.PAUSED: "true"})
    assert reasons(told(d)) == ["RolloutPaused"]
    d.edit({"metadata": {"annotations": {names.PAUSED: "false"}}})

    assert reasons(told(d)) == ["RolloutStarted"]


def test_an_end_with_failures_is_a_warning() -> None:
    d = desk(2, strategy=make.progressive(maxFailures=1))
    told(d)
    d.report("c0", **OK)
    d.report("c1", **BAD)
    told(d)
    d.later(MIN)

    last = told(d)[-1]

    assert (last.reason, last.warning) == ("RolloutCompleted", True)
