"""Going back: when is a revision taken back, from whom, in which order, and what stops that?"""

from datetime import timedelta

import pytest

from rollout.clock import VirtualClock
from rollout.errors import Invalid
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.kinds import APPROVAL, PLACEMENT, REPLICA_SET, Obj, Ref
from rollout.strategies.base import StageReport
from tests.stories.operating import BAD_2, TWO_AT_ONCE, approval, revision, rolled_out
from tests.support import make
from tests.support.story import HOUR, MIN, SEC, T0, Story


def stages(story: Story) -> tuple[StageReport, ...]:
    """The stages as of the last decision."""
    workload = story.engine.fleet.rollout(Ref(REPLICA_SET, "default/web"))
    assert workload is not None
    return workload.shares["p"].live.last.stages


def order(story: Story, version: str, since: timedelta) -> list[str]:
    """The clusters that got a version from an instant on, in order."""
    return [line.cluster for line in story.lines if line.version == version and line.after >= since]


def test_a_breach_takes_the_revision_back_from_those_that_got_it_newest_first() -> None:
    story = rolled_out(annotations={names.ROLLBACK: "Automatic", names.ROLLBACK_CONCURRENCY: "1"})
    began = story.now
    good = revision(story)
    story.template(make.template("2"))
    story.end()

    assert list(story.touched("2")) == ["c00", "c01"]
    assert order(story, "1", began) == ["c00", "c01"]
    assert set(story.versions().values()) == {"1"}
    assert story.reason == "RolledBack"
    assert "2 of 2 clusters rolled back" in story.message
    status = story.mwrs()["status"]
    assert status["currentRevision"] == good != status["updateRevision"]
    told = [note.reason for note in story.notes]
    assert {"RollbackStarted", "RollbackCompleted"} <= set(told)


def test_a_rollback_names_five_clusters_that_failed_before_it_takes_them_back() -> None:
    at_once = make.progressive(progressDeadline="5m")
    story = rolled_out(8, {names.ROLLBACK: "Automatic"}, strategy=at_once)
    story.template(make.template("2"))
    story.end()

    begun = [note.message for note in story.notes if note.reason == "RollbackStarted"]
    five = ", ".join(f"c0{n} (Degraded)" for n in range(5))
    assert len(begun) == 1
    assert begun[0].endswith(f"; failed: {five} and 3 more")


def test_a_cluster_that_fails_is_named_once_when_it_goes_back_before_its_verdict_is_due() -> None:
    at_once = make.progressive(progressDeadline="5m")
    story = rolled_out(8, {names.ROLLBACK: "Automatic"}, strategy=at_once)
    story.template(make.template("2"))
    story.end()

    told = " ".join(note.message for note in story.notes if note.reason == "ClusterFailed")
    assert [told.count(f"c0{n} (Degraded)") for n in range(8)] == [1] * 8


def test_a_rollback_that_a_person_asks_for_names_no_cluster_where_none_has_failed() -> None:
    story = rolled_out(annotations={names.ROLLBACK: "Manual"})
    story.template(make.template("3"))
    story.settle()
    story.annotate(names.UNDO, revision(story))
    story.end()

    begun = [note.message for note in story.notes if note.reason == "RollbackStarted"]
    assert len(begun) == 1
    assert "failed:" not in begun[0]


def test_a_rollback_does_not_roll_forward_again_by_itself_not_even_after_a_restart() -> None:
    story = rolled_out(annotations={names.ROLLBACK: "Automatic"})
    story.template(make.template("2"))
    story.end()
    story.restart().end(48 * HOUR)

    assert list(story.touched("2")) == ["c00", "c01"]
    assert story.reason == "RolledBack"


def test_a_report_that_comes_before_the_rollback_has_landed_rolls_nothing_forward() -> None:
    """The write is refused for a while; the agent goes on reporting on the bad revision."""
    story = rolled_out(clusters=2)
    story.template(make.template("3"))
    story.end()
    story.denied["c00"] = Invalid("not now")
    story.annotate(names.UNDO, revision(story))
    story.settle()
    well = {"Applied": "True", "Available": "True", "Progressing": "False", "Degraded": "False"}
    for _ in range(3):
        story.report("c00", **well, Extra="True")
        story.on(10 * SEC)
    story.restart()
    story.report("c00", **well)
    del story.denied["c00"]
    story.end()

    assert set(story.versions().values()) == {"1"}
    assert story.reason == "RolledBack"


def test_after_a_rollback_a_fixed_template_is_rolled_out() -> None:
    story = rolled_out(annotations={names.ROLLBACK: "Automatic"})
    story.template(make.template("2"))
    story.end()
    story.template(make.template("3"))
    story.end()

    assert set(story.versions().values()) == {"3"}
    assert story.reason == "Complete"


def test_a_retry_lifts_the_bar_of_a_rollback() -> None:
    story = rolled_out(annotations={names.ROLLBACK: "Automatic"})
    story.template(make.template("2"))
    story.end()
    story.annotate(names.ROLLBACK, "Manual")
    began = story.now
    story.annotate(names.RETRY, "1")
    story.end(48 * HOUR)

    assert order(story, "2", began) == ["c00", "c01"]
    assert story.reason == "MaxFailuresExceeded"


def test_a_retry_does_not_begin_a_rollback_anew_that_is_still_asked_for() -> None:
    """Its limit counts those that are on their way back already (S10)."""
    story = rolled_out()
    story.template(make.template("2"))
    story.settle()
    revision = story.mwrs()["status"]["updateRevision"]
    story.annotate(names.UNDO, revision)
    story.settle()
    began = story.versions()
    assert story.reason == "RollingBack"

    for token in "abc":
        story.annotate(names.RETRY, token)
        story.settle()

    assert (story.reason, story.versions()) == ("RollingBack", began)


UNKNOWN = [{"groupName": "nobody"}]


def _in_two_placements(fails: str, version: str = "1", first: Obj | None = None) -> Story:
    """This version is to be everywhere; version 2 fails where ``fails`` matches.

    ``first``: what the rollout in the first placement asks for besides.
    """
    clusters = [make.cluster(f"{zone}{n}", {"zone": zone}) for zone in "ab" for n in range(3)]
    placements = [make.placement(f"p{zone}", only={"zone": zone}) for zone in "ab"]
    asked = {"maxConcurrency": 1, "maxFailures": 0, "minSuccessTime": "10m"}
    refs = [
        {"name": "pa", "rolloutStrategy": make.progressive(**asked, **(first or {}))},
        {"name": "pb", "rolloutStrategy": make.progressive(**asked)},
    ]
    automatic = {names.ROLLBACK: "Automatic"}
    workload = make.workload(version=version, refs=refs, annotations=automatic)
    bad = {**BAD_2, "clusters": {"matchLabels": {"zone": fails}}} if fails else BAD_2
    fleet = [*clusters, make.cluster_set(), make.binding(), *placements]
    return Story([*fleet, workload], {"rules": [bad]})


def test_what_one_placement_takes_back_goes_no_further_in_another() -> None:
    story = _in_two_placements("a").end()
    story.template(make.template("2"))
    story.end()

    assert story.reason == "RolledBack"
    assert story.versions() == {c: "2" if c == "b0" else "1" for c in story.versions()}
    assert sorted(story.touched("2")) == ["a0", "b0"]


def test_an_earlier_placement_is_told_at_once_that_a_later_one_takes_the_revision_back() -> None:
    """Nothing else is written then, so that no event would have it decided again."""
    story = _in_two_placements("b", version="2", first={"mandatoryDecisionGroups": UNKNOWN})
    story.to(5 * MIN)

    assert story.reason == "RolledBack"
    assert "placement pa" in story.message
    assert "rolled back in placement pb" in story.message


def test_each_placement_takes_back_what_failed_there() -> None:
    story = _in_two_placements("").end()
    story.template(make.template("2"))
    story.end()

    assert set(story.versions().values()) == {"1"}
    assert sorted(story.touched("2")) == ["a0", "b0"]


def test_an_edit_that_cannot_be_honoured_does_not_lift_the_bar() -> None:
    """Row 26: what was agreed stays. On a cluster whose CRDs are older than ours nothing refuses it."""
    clock = VirtualClock(T0)
    workload = make.workload(strategy=TWO_AT_ONCE, annotations={names.ROLLBACK: "Automatic"})
    hub = MemoryHub(clock)
    story = Story([*make.fleet(6), workload], {"rules": [BAD_2]}, hub=hub, clock=clock).end()
    story.template(make.template("2"))
    story.end()
    assert story.reason == "RolledBack"
    story.template({"workload": {"manifests": []}})
    story.end()
    assert story.reason == "Misconfigured"

    began = story.now
    story.template(make.template("2"))
    story.end()
    assert story.reason == "RolledBack"
    assert order(story, "2", began) == []


def test_without_automatic_rollback_a_breach_only_halts() -> None:
    story = rolled_out()
    story.template(make.template("2"))
    story.end()

    assert story.versions() == {f"c{n:02d}": "2" if n < 2 else "1" for n in range(6)}
    assert story.reason == "MaxFailuresExceeded"


def test_clusters_that_never_had_another_revision_keep_the_bad_one_and_are_named() -> None:
    strategy = make.progressive(maxConcurrency=2, progressDeadline="5m")
    workload = make.workload(
        strategy=strategy, version="2", annotations={names.ROLLBACK: "Automatic"}
    )
    story = Story([*make.fleet(4), workload], {"rules": [BAD_2]}).end()

    assert story.versions() == {"c00": "2", "c01": "2"}
    assert story.reason == "RolledBack"
    assert "2 have nothing to go back to and keep it (c00, c01)" in story.message


def test_undo_takes_back_what_was_rolled_out_to_its_end() -> None:
    story = rolled_out(annotations={names.ROLLBACK_CONCURRENCY: "50%"})
    story.template(make.template("3"))
    story.end()
    began = story.now
    story.annotate(names.UNDO, revision(story))
    story.settle()

    back = order(story, "1", began)
    assert len(back) == 3, "half of them at once"
    assert back[:2] == ["c04", "c05"], "the newest first"
    story.end()
    assert set(story.versions().values()) == {"1"}
    assert story.reason == "RolledBack"


def test_undo_to_an_older_revision_touches_only_clusters_where_it_soaked() -> None:
    story = rolled_out(clusters=3)
    first = revision(story)
    story.template(make.template("3"))
    story.end()
    story.add(make.cluster("c03", {make.GROUP: "rest"}))
    story.end()
    story.template(make.template("4"))
    story.end()
    story.edit({"metadata": {"annotations": {names.UNDO: revision(story), names.UNDO_TO: first}}})
    story.end()

    assert story.versions() == {"c00": "1", "c01": "1", "c02": "1", "c03": "4"}
    assert "1 have nothing to go back to and keep it (c03)" in story.message


def test_a_rollback_stops_where_too_many_fail_on_what_they_get_back() -> None:
    workload = make.workload(
        strategy=TWO_AT_ONCE,
        annotations={names.ROLLBACK_CONCURRENCY: "1", names.ROLLBACK_FAILURES: "0"},
    )
    story = Story([*make.fleet(4), workload]).end()
    story.template(make.template("2"))
    story.end()
    story.denied["c02"] = Invalid("no more room")
    story.annotate(names.UNDO, revision(story))
    story.to(story.now + 10 * MIN)

    assert story.reason == "RollbackHalted"
    assert "1 clusters failed on what they were given back, 0 tolerated" in story.message
    assert set(story.versions().values()) == {"2"}

    del story.denied["c02"]
    story.end()
    assert set(story.versions().values()) == {"1"}
    assert story.reason == "RolledBack"


def test_a_refused_rollback_write_still_counts_when_the_agent_speaks_of_the_bad_revision() -> None:
    workload = make.workload(
        strategy=TWO_AT_ONCE,
        annotations={names.ROLLBACK_CONCURRENCY: "1", names.ROLLBACK_FAILURES: "0"},
    )
    story = Story([*make.fleet(3), workload]).end()
    story.template(make.template("2"))
    story.end()
    story.denied["c02"] = Invalid("no more room")
    story.annotate(names.UNDO, revision(story))
    story.settle()
    story.report("c02", Applied="True", Available="True", Progressing="False", Degraded="True")
    story.to(story.now + 10 * MIN)
    assert story.reason == "RollbackHalted"

    del story.denied["c02"]
    story.end()
    assert set(story.versions().values()) == {"1"}
    assert story.reason == "RolledBack"


def test_rollback_none_makes_an_undo_a_mere_hold() -> None:
    story = rolled_out(annotations={names.ROLLBACK: "None"})
    story.template(make.template("3"))
    story.settle()
    story.annotate(names.UNDO, revision(story))
    story.end()

    assert story.reason == "Undone"
    assert sorted(story.touched("3")) == ["c00", "c01"]
    assert story.versions()["c00"] == "3"


def test_a_paused_rollback_goes_on_when_it_is_resumed() -> None:
    story = rolled_out(annotations={names.ROLLBACK_CONCURRENCY: "1"})
    story.template(make.template("3"))
    story.end()
    story.annotate(names.UNDO, revision(story))
    story.settle()
    story.annotate(names.PAUSED, "true")
    story.end()
    assert list(story.versions().values()).count("1") == 1
    assert story.reason == "Paused"

    story.annotate(names.PAUSED, None)
    story.end()
    assert set(story.versions().values()) == {"1"}


# -- after a rollback, and after the end -----------------------------------------------------------

STAGES = make.progressive(
    mandatory=["canary"], maxConcurrency=2, progressDeadline="5m", minSuccessTime="1m"
)
ALL_BUT_CANARIES = {**BAD_2, "clusters": {"matchLabels": {make.GROUP: "rest"}}}
CANARIES = ["c00", "c01"]


def taken_back(annotations: dict[str, str] | None = None) -> Story:
    """Version 2 is well on both canaries, fails on the rest, and is taken back from all of them."""
    workload = make.workload(
        strategy=STAGES, annotations={names.ROLLBACK: "Automatic", **(annotations or {})}
    )
    story = Story([*make.fleet(6, canary=2), workload], {"rules": [ALL_BUT_CANARIES]}).end()
    story.template(make.template("2"))
    story.end()
    assert story.reason == "RolledBack"
    assert set(story.versions().values()) == {"1"}
    return story


@pytest.mark.parametrize("restarted", [False, True])
def test_a_retry_after_a_rollback_begins_with_the_canaries(restarted: bool) -> None:
    story = taken_back()
    began = story.now
    if restarted:
        story.restart()
    story.annotate(names.RETRY, "1")
    story.on(SEC)

    assert order(story, "2", began) == CANARIES
    assert not any(stage.passed for stage in stages(story))


def test_a_stage_of_a_revision_that_is_taken_back_has_not_passed() -> None:
    assert not any(stage.passed for stage in stages(taken_back()))


def test_a_retry_after_a_rollback_asks_for_each_approval_again() -> None:
    story = taken_back()
    story.annotate(names.GATES, "before:rest")
    story.annotate(names.RETRY, "1")
    story.add(approval("one", revision(story), "before:rest"))
    story.end()
    assert story.reason == "RolledBack", "approved, and failed once more"

    story.hub.delete(Ref(APPROVAL, "default/one"))
    began = story.now
    story.annotate(names.RETRY, "2")
    story.end()

    assert story.reason == "ApprovalNeeded"
    assert order(story, "2", began) == CANARIES


def test_a_cluster_that_comes_after_the_end_and_fails_takes_nothing_from_the_others() -> None:
    story = rolled_out(annotations={names.ROLLBACK: "Automatic"})
    story.template(make.template("3"))
    story.end()
    assert story.reason == "Complete"
    story.restart()
    story.agents.close()
    story.add(make.cluster("c06", {make.GROUP: "rest"}))
    story.settle()
    story.report("c06", Applied="True", Available="True", Progressing="False", Degraded="True")
    story.on(HOUR)

    assert story.reason == "MaxFailuresExceeded"
    assert set(story.versions().values()) == {"3"}
    assert not any(note.reason == "RollbackStarted" for note in story.notes)


# -- kept mutants --------------------------------------------------------------------------------


def test_an_engine_that_bars_only_where_it_failed_goes_on_in_the_other_placement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rollout.rollouts.workload._taken_back", lambda _: {})
    with pytest.raises(AssertionError):
        test_what_one_placement_takes_back_goes_no_further_in_another()


def test_what_clusters_would_get_back_is_kept_where_no_cluster_has_it_any_more() -> None:
    notes = {names.ROLLBACK: "Automatic", names.HISTORY_LIMIT: "0"}
    story = rolled_out(8, notes, strategy=make.progressive(progressDeadline="5m"))
    story.template(make.template("2"))
    story.settle()
    assert set(story.versions().values()) == {"2"}
    story.end()

    assert set(story.versions().values()) == {"1"}
    assert story.reason == "RolledBack"


def test_nobody_goes_back_while_the_placement_is_gone() -> None:
    story = rolled_out(annotations={names.ROLLBACK: "Automatic", names.ROLLBACK_CONCURRENCY: "1"})
    story.template(make.template("2"))
    story.settle()
    while story.reason != "RollingBack":
        story.on(SEC)
    story.hub.delete(Ref(PLACEMENT, "default/p"))
    story.settle()
    before = story.versions()
    story.on(HOUR)
    assert story.versions() == before
    assert "2" in before.values()

    story.add(make.placement())
    story.end()
    assert set(story.versions().values()) == {"1"}


@pytest.mark.parametrize("annotation", [names.UNDO, names.ABORT])
def test_what_a_person_took_back_is_barred_again_when_the_template_comes_back_to_it(
    annotation: str,
) -> None:
    story = rolled_out(annotations={names.ROLLBACK: "Automatic"})
    story.template(make.template("3"))
    story.settle()
    story.annotate(annotation, revision(story))
    story.end()
    assert f"when the template comes back to it, annotation {annotation} bars it" in story.message

    story.template(make.template("4"))
    story.end()
    began = story.now
    story.template(make.template("3"))
    story.end()
    assert story.reason == "RolledBack"
    assert set(story.versions().values()) == {"4"}

    story.annotate(annotation, None)
    story.end()
    assert story.reason == "RolledBack", "the bar that stands is lifted by a retry"
    story.template(make.template("4"))
    story.end()
    story.template(make.template("3"))
    story.end()
    assert len(order(story, "3", began)) == 6


def test_what_took_itself_back_comes_again_with_the_template() -> None:
    story = rolled_out(annotations={names.ROLLBACK: "Automatic"})
    story.template(make.template("2"))
    story.end()
    assert "comes back" not in story.message
    story.template(make.template("3"))
    story.end()
    began = story.now
    story.template(make.template("2"))
    story.end()

    assert order(story, "2", began) == ["c00", "c01"]
