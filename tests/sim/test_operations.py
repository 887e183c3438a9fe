"""What people do to a rollout while it runs: hold, abort, retry, approve, freeze, undo."""

from datetime import timedelta
from typing import Any

import pytest

from rollout.errors import Invalid
from rollout.model import names
from rollout.model.approvals import GateRef, Side, parse_gate
from rollout.model.instants import rfc3339
from rollout.model.kinds import APPROVAL, CONFIG_MAP, FREEZE, Obj, Ref
from tests import make
from tests.sim.story import HOUR, MIN, SEC, T0, Story

BAD_2 = {"manifests": {"path": "data.version", "equals": "2"}, "behaviour": {"outcome": "fail"}}
TWO_AT_ONCE = make.progressive(maxConcurrency=2, progressDeadline="5m", minSuccessTime="1m")


def revision(story: Story) -> str:
    """The revision of the present template, as the status tells it."""
    return str(story.mwrs()["status"]["updateRevision"])


def approval(name: str, rev: str, gate: str = "*", **spec: Any) -> Obj:
    said = {"workload": {"name": "web"}, "revision": rev, "gate": gate, "decision": "Approve"}
    return {
        "apiVersion": APPROVAL.api_version,
        "kind": "Approval",
        "metadata": make.meta(name, "default"),
        "spec": {**said, **spec},
    }


def freeze(name: str = "incident", **spec: Any) -> Obj:
    return {
        "apiVersion": FREEZE.api_version,
        "kind": "Freeze",
        "metadata": make.meta(name),
        "spec": spec,
    }


def rolled_out(clusters: int = 6, annotations: dict[str, str] | None = None, **more: Any) -> Story:
    """Version 1 is everywhere and has soaked; version 2 would fail."""
    workload = make.workload(
        strategy=more.pop("strategy", TWO_AT_ONCE), annotations=annotations or {}
    )
    return Story([*make.fleet(clusters, **more), workload], {"rules": [BAD_2]}).end()


def order(story: Story, version: str, since: timedelta) -> list[str]:
    """The clusters that got a version from an instant on, in order."""
    return [line.cluster for line in story.lines if line.version == version and line.after >= since]


# -- going back --------------------------------------------------------------------------------


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
    assert "2 of 2 clusters are back" in story.message
    status = story.mwrs()["status"]
    assert status["currentRevision"] == good != status["updateRevision"]
    told = [note.reason for note in story.notes]
    assert {"RollbackStarted", "RollbackCompleted"} <= set(told)


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


# -- abort, retry, hold ------------------------------------------------------------------------


def test_an_aborted_revision_goes_no_further_until_it_is_retried() -> None:
    story = rolled_out()
    story.template(make.template("3"))
    story.settle()
    story.annotate(names.ABORT, revision(story))
    story.end()
    assert sorted(story.touched("3")) == ["c00", "c01"]
    assert story.reason == "Aborted"

    story.annotate(names.ABORT, None)
    story.end()
    assert story.reason == "Complete"


def test_an_abort_of_another_revision_holds_nothing() -> None:
    story = rolled_out(annotations={names.ABORT: "0123456789abcdef"})

    assert story.reason == "Complete"


def test_an_abort_is_followed_by_an_automatic_rollback() -> None:
    story = rolled_out(annotations={names.ROLLBACK: "Automatic"})
    story.template(make.template("3"))
    story.settle()
    story.annotate(names.ABORT, revision(story))
    story.end()

    assert set(story.versions().values()) == {"1"}
    assert story.reason == "RolledBack"


def test_a_retry_gives_failed_clusters_another_attempt_within_the_limit() -> None:
    strategy = make.progressive(maxConcurrency=1, progressDeadline="5m", maxFailures=3)
    silent = {
        "rules": [{"clusters": {"names": ["c00", "c01"]}, "behaviour": {"outcome": "silent"}}]
    }
    story = Story([*make.fleet(3), make.workload(strategy=strategy)], silent).end()
    assert story.reason == "CompleteWithFailures"
    began = story.works()["c00"]["metadata"]["annotations"][names.STARTED_AT]

    story.annotate(names.RETRY, "again")
    story.settle()
    started = {c: w["metadata"]["annotations"][names.STARTED_AT] for c, w in story.works().items()}
    assert started["c00"] > began
    assert started["c01"] < started["c00"], "one at a time"
    assert story.works()["c00"]["metadata"]["generation"] == 1, "the spec is not written again"
    assert story.reason == "RollingOut"

    well = {"Applied": "True", "Available": "True", "Progressing": "False", "Degraded": "False"}
    story.report("c00", **well)
    story.end()
    assert story.message == "2 clusters succeeded, 1 failed within budget"


def test_the_same_retry_is_not_done_twice() -> None:
    strategy = make.progressive(maxConcurrency=1, progressDeadline="5m", maxFailures=3)
    story = Story(
        [*make.fleet(1), make.workload(strategy=strategy)], {"defaults": {"outcome": "silent"}}
    ).end()
    story.annotate(names.RETRY, "again")
    story.end()
    started = story.works()["c00"]["metadata"]["annotations"][names.STARTED_AT]
    story.restart().end(48 * HOUR)

    assert story.works()["c00"]["metadata"]["annotations"][names.STARTED_AT] == started


def test_held_clusters_are_not_touched_and_keep_their_stage_open() -> None:
    story = rolled_out(annotations={names.HOLD: "c01"})
    assert "c01" not in story.versions()
    assert story.reason == "RollingOut"
    assert "1 held" in story.message

    story.annotate(names.HOLD, None)
    story.end()
    assert story.reason == "Complete"


# -- gates -------------------------------------------------------------------------------------

GATED = make.progressive(mandatoryDecisionGroups=[{"groupName": "canary"}], maxConcurrency=2)


def gated(gates: str) -> Story:
    workload = make.workload(strategy=GATED, annotations={names.GATES: gates})
    return Story([*make.fleet(6, canary=2), workload])


@pytest.mark.parametrize("gate", ["after:canary", "before:rest", "before:p/rest", "after:0"])
def test_a_gate_stays_shut_until_somebody_approves_this_revision(gate: str) -> None:
    story = gated(gate).end()
    assert sorted(story.versions()) == ["c00", "c01"]
    assert story.reason == "ApprovalNeeded"

    story.add(approval("other", "0123456789abcdef"))
    story.end()
    assert sorted(story.versions()) == ["c00", "c01"]

    story.add(approval("mine", revision(story), gate))
    story.end()
    assert story.reason == "Complete"
    assert "GateOpened" in [note.reason for note in story.notes]


def test_an_approval_that_has_expired_when_the_gate_is_reached_opens_nothing() -> None:
    story = gated("before:rest")
    story.settle()
    expires = rfc3339(T0 + 5 * SEC)
    story.add(approval("early", revision(story), "before:rest", expires=expires))
    story.end()

    assert story.reason == "ApprovalNeeded"
    assert "approval early has expired" in story.message


def test_a_gate_that_opened_stays_open_when_the_approval_expires_or_goes() -> None:
    story = gated("before:rest").end()
    story.add(approval("mine", revision(story), expires=rfc3339(T0 + story.now + 5 * SEC)))
    story.settle()
    story.hub.delete(Ref(APPROVAL, "default/mine"))
    story.restart().end()

    assert story.reason == "Complete"


def test_a_changed_template_voids_the_approval() -> None:
    story = gated("before:rest").end()
    story.add(approval("mine", revision(story)))
    story.end()
    story.template(make.template("3"))
    story.end()

    assert sorted(story.touched("3")) == ["c00", "c01"]
    assert story.reason == "ApprovalNeeded"


def test_a_gate_at_a_group_that_is_no_stage_holds_and_says_so() -> None:
    story = gated("before:edge").end()

    assert not story.versions()
    assert story.reason == "UnknownApprovalGroup"
    assert "there are: canary, rest" in story.message


def test_a_gate_that_cannot_be_read_holds_and_says_what_is_accepted() -> None:
    story = gated("befor:rest").end()

    assert not story.versions()
    assert story.reason == "Misconfigured"
    assert "before:GROUP" in story.message


def test_a_rejected_revision_goes_no_further_until_the_rejection_is_taken_back() -> None:
    story = gated("before:rest").end()
    story.add(approval("no", revision(story), decision="Reject", reason="too early", actor="ann"))
    story.end()
    assert story.reason == "Rejected"
    assert "by ann (as they say)" in story.message
    assert "too early" in story.message

    story.hub.delete(Ref(APPROVAL, "default/no"))
    story.add(approval("yes", revision(story)))
    story.end()
    assert story.reason == "Complete"


def test_a_rejection_that_expires_ends_its_wait_at_that_instant() -> None:
    story = gated("after:rest")
    story.settle()
    expires = rfc3339(T0 + HOUR)
    story.add(approval("no", revision(story), decision="Reject", expires=expires))
    story.add(approval("yes", revision(story)))
    story.end()

    assert story.reason == "Complete"
    assert min(story.touched("1").values()) == timedelta(0)
    assert max(story.touched("1").values()) >= HOUR


def test_of_two_gates_at_one_stage_each_asks_for_its_own_approval() -> None:
    story = gated("before:*,before:rest").end()
    assert not story.versions()

    story.add(approval("canary", revision(story), "before:*"))
    story.end()
    assert sorted(story.versions()) == ["c00", "c01"]
    assert story.reason == "ApprovalNeeded"
    assert "before:rest" in story.message

    story.add(approval("rest", revision(story), "before:rest"))
    story.end()
    assert story.reason == "Complete"


def test_a_gate_after_the_last_stage_keeps_the_rollout_from_being_complete() -> None:
    story = gated("after:rest").end()
    assert len(story.versions()) == 6
    assert story.reason == "ApprovalNeeded"

    story.add(approval("mine", revision(story)))
    story.end()
    assert story.reason == "Complete"


def test_gates_are_read_as_people_write_them() -> None:
    assert parse_gate(" after:edge/canary ") == GateRef(Side.AFTER, "canary", "edge")
    assert parse_gate("before:*") == GateRef(Side.BEFORE, "*")
    for bad in ("", "canary", "between:canary", "before:", "before:edge/"):
        assert parse_gate(bad) is None


# -- freezes -----------------------------------------------------------------------------------


def test_while_the_hub_is_frozen_nothing_is_touched_and_afterwards_it_goes_on() -> None:
    story = rolled_out()
    story.add(freeze(reason="incident 7", actor="ann"))
    story.settle()
    story.template(make.template("3"))
    story.end()
    assert not story.touched("3")
    assert story.reason == "Frozen"
    assert "incident 7" in story.message

    story.hub.delete(Ref(FREEZE, "incident"))
    story.end()
    assert story.reason == "Complete"


def test_a_freeze_ends_by_itself_at_its_instant() -> None:
    story = rolled_out()
    ends = story.now + HOUR
    story.add(freeze(until=rfc3339(T0 + ends)))
    story.template(make.template("3"))
    story.to(ends - SEC)
    assert not story.touched("3")
    story.end()
    assert min(story.touched("3").values()) >= ends - SEC
    assert story.reason == "Complete"


# -- what is kept ------------------------------------------------------------------------------


def test_who_asked_stands_beside_what_was_asked() -> None:
    story = rolled_out()
    asked = '{"pause": {"by": "ann", "at": "2026-01-01T09:00:00Z", "reason": "lunch"}}'
    story.annotate(names.ASKED, asked)
    story.annotate(names.PAUSED, "true")
    story.settle()

    assert "by ann (as they say) at 2026-01-01T09:00:00Z: lunch" in story.message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (names.PAUSED, "yes"),
        (names.ROLLBACK, "automatic"),
        (names.ROLLBACK_CONCURRENCY, "lots"),
        (names.ABORT, "the last one"),
        (names.HISTORY_LIMIT, "-1"),
    ],
)
def test_an_annotation_that_cannot_be_read_holds_and_names_it(name: str, value: str) -> None:
    story = rolled_out(annotations={name: value})

    assert not story.versions()
    assert story.reason == "Misconfigured"
    assert name in story.message


def test_the_record_tells_of_the_rollback() -> None:
    story = rolled_out(annotations={names.ROLLBACK: "Automatic"})
    story.template(make.template("2"))
    story.end()

    (head,) = (
        obj["data"]["head.json"]
        for obj in story.hub.list(CONFIG_MAP).items
        if "head.json" in obj["data"]
    )
    assert '"cause": "Breach"' in head
