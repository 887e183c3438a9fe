"""Going back: is it told as done only when it is, in all placements and on held clusters too?"""

import pytest

from rollout.account.interventions import rollback
from rollout.account.sentences import rollback_line
from rollout.account.waits import cluster_wait
from rollout.errors import Invalid
from rollout.model import names
from rollout.model.kinds import CLUSTER_CALENDAR, REPLICA_SET, Obj, Ref
from tests.stories.operating import BAD_2, TWO_AT_ONCE, revision, rolled_out
from tests.support import make
from tests.support.story import HOUR, MIN, SEC, T0, Story

NO_MORE_ROOM = Invalid("no more room")
ONE_BY_ONE = {names.ROLLBACK_CONCURRENCY: "1", names.ROLLBACK_FAILURES: "0"}


def in_two_placements(more: dict[str, str] | None = None, *rules: Obj, refs: list[Obj]) -> Story:
    """One cluster in zone a, four in zone b, each zone with a placement of its own."""
    clusters = [make.cluster("a0", {"zone": "a"})]
    clusters += [make.cluster(f"b{n}", {"zone": "b"}) for n in range(4)]
    placements = [make.placement(f"p{zone}", only={"zone": zone}) for zone in "ab"]
    workload = make.workload(refs=refs, annotations={**ONE_BY_ONE, **(more or {})})
    fleet = [*clusters, make.cluster_set(), make.binding(), *placements, workload]
    return Story(fleet, {"rules": list(rules)}).end()


BOTH = [{"name": name, "rolloutStrategy": TWO_AT_ONCE} for name in ("pa", "pb")]


def told(story: Story) -> list[str]:
    """The Events about rollbacks, in order."""
    return [note.reason for note in story.notes if note.reason.startswith("Rollback")]


def test_a_rollback_is_over_when_it_is_over_in_every_placement() -> None:
    story = in_two_placements(refs=BOTH)
    story.template(make.template("3"))
    story.end()
    story.annotate(names.UNDO, revision(story))
    story.on(2 * MIN)

    assert story.versions()["a0"] == "1", "the one in the first placement is back"
    assert "3" in story.versions().values()
    assert story.reason == "RollingBack"
    assert "placement pb" in story.message
    assert story.state().code == 3
    assert told(story) == ["RollbackStarted"]

    story.end()
    assert story.reason == "RolledBack"
    assert story.state().code == 1
    assert told(story) == ["RollbackStarted", "RollbackCompleted"]


def test_a_rollback_of_what_no_cluster_had_says_that_none_had_to_go_back() -> None:
    story = rolled_out(2)
    story.annotate(names.PAUSED, "true")
    story.template(make.template("3"))
    story.on(10 * SEC)
    story.annotate(names.UNDO, revision(story))
    story.annotate(names.PAUSED, "false")
    story.on(2 * MIN)

    (text,) = (n.message for n in story.notes if n.reason == "RollbackCompleted")
    assert "(somebody asked to undo it): no cluster had to go back; it is barred" in text
    assert text == story.message


def barred_in_the_first() -> Story:
    """Version 2 is in both placements, and fails in the second one only."""
    slow = make.progressive(maxConcurrency=1, minSuccessTime="30m", progressDeadline="1h")
    refs = [
        {"name": "pa", "rolloutStrategy": slow},
        {"name": "pb", "rolloutStrategy": make.progressive(progressDeadline="5m")},
    ]
    bad = {**BAD_2, "clusters": {"matchLabels": {"zone": "b"}}}
    return in_two_placements({names.ROLLBACK: "Automatic"}, bad, refs=refs)


def test_a_placement_where_the_revision_is_barred_does_not_say_that_it_is_back_elsewhere() -> None:
    story = barred_in_the_first()
    story.template(make.template("2"))
    story.on(SEC)
    while story.reason == "RollingOut":
        story.on(SEC)

    assert story.reason == "RollingBack"
    assert story.message.startswith("placement pb: ")
    story.end()
    assert story.reason == "RolledBack"
    assert told(story) == ["RollbackStarted", "RollbackCompleted"]


def test_a_rollback_that_is_halted_in_one_placement_is_told_before_all_else() -> None:
    story = barred_in_the_first()
    story.template(make.template("2"))
    story.on(20 * SEC)
    for cluster in ("b0", "b1", "b2", "b3"):
        story.denied[cluster] = NO_MORE_ROOM
    story.on(2 * HOUR)

    assert story.reason == "RollbackHalted"
    assert story.message.startswith("placement pb: ")
    assert told(story) == ["RollbackStarted", "RollbackHalted"]


def halted() -> Story:
    """A rollback that c02 keeps from going on: its server refuses what it is given back."""
    story = rolled_out(4, ONE_BY_ONE)
    story.template(make.template("3"))
    story.end()
    story.denied["c02"] = NO_MORE_ROOM
    story.annotate(names.UNDO, revision(story))
    story.on(10 * MIN)
    assert story.reason == "RollbackHalted"
    return story


@pytest.mark.parametrize("is_named", [False, True])
def test_skipping_the_cluster_that_failed_on_the_way_back_ends_the_halt(is_named: bool) -> None:
    story = halted()
    story.annotate(names.SKIP, f"c02@{revision(story)}" if is_named else "c02")
    story.on(HOUR)

    assert story.versions() == {"c00": "1", "c01": "1", "c02": "3", "c03": "1"}
    assert story.reason == "RolledBack"
    assert "3 of 3 clusters rolled back" in story.message


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_rollback_is_not_over_while_a_held_cluster_keeps_the_revision(is_restarted: bool) -> None:
    story = rolled_out(4)
    story.template(make.template("3"))
    story.end()
    story.annotate(names.HOLD, "c01")
    story.annotate(names.UNDO, revision(story))
    story.end()
    if is_restarted:
        story.restart().end()

    assert story.versions() == {"c00": "1", "c01": "3", "c02": "1", "c03": "1"}
    assert story.reason == "RollingBack"
    held = "3 of 4 clusters rolled back; 1 held cluster goes back once it is released (c01)"
    assert held in story.message
    assert told(story) == ["RollbackStarted"]

    story.annotate(names.HOLD, None)
    story.end()
    assert set(story.versions().values()) == {"1"}
    assert "4 of 4 clusters rolled back" in story.message
    assert told(story) == ["RollbackStarted", "RollbackCompleted"]


def test_a_held_cluster_that_is_to_go_back_is_said_to_wait_for_its_release() -> None:
    story = rolled_out(4)
    story.template(make.template("3"))
    story.end()
    story.annotate(names.HOLD, "c01")
    story.annotate(names.UNDO, revision(story))
    story.end()

    workload = story.engine.fleet.rollout(Ref(REPLICA_SET, "default/web"))
    assert workload is not None
    live = workload.shares["p"].live
    wait = cluster_wait(live, "c01", live.last.stages[0])
    assert wait is not None
    assert wait.reason == "Held"
    back = rollback(live)
    assert back is not None
    assert (back.total, back.back, back.held) == (4, 3, ("c01",))
    assert "3 of 4 back, 1 held" in rollback_line(back, T0 + story.now)


def test_a_rollback_that_waits_for_a_window_names_it_and_says_when_it_opens() -> None:
    trading = {
        "name": "trading",
        "action": "Deny",
        "from": "2026-01-01T02:00Z",
        "until": "2026-01-03T00:00Z",
    }
    nights = {
        "apiVersion": CLUSTER_CALENDAR.api_version,
        "kind": CLUSTER_CALENDAR.name,
        "metadata": {"name": "nights"},
        "spec": {"windows": [trading], "blocks": ["Touch", "Rollback"]},
    }
    story = Story([*make.fleet(4), make.workload(strategy=TWO_AT_ONCE), nights]).to(HOUR)
    story.template(make.template("3"))
    story.to(3 * HOUR)
    story.annotate(names.UNDO, revision(story))
    story.on(HOUR)

    assert set(story.versions().values()) == {"3"}
    assert story.reason == "RollingBack"
    opens = "window trading; opens Sat 2026-01-03 00:00 UTC (00:00Z)"
    waits = f"0 of 4 clusters rolled back; 4 may not go back yet (ClusterCalendar nights: {opens})"
    assert waits in story.message

    story.to(48 * HOUR + 10 * MIN)
    assert set(story.versions().values()) == {"1"}
    assert "4 of 4 clusters rolled back; it is barred" in story.message
