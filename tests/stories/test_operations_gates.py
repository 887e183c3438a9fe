"""Gates: which stage waits for whose approval, of which revision, and until when?"""

from datetime import timedelta

import pytest

from rollout.model import names
from rollout.model.approvals import GateRef, Side, parse_gate
from rollout.model.instants import rfc3339
from rollout.model.kinds import APPROVAL, Ref
from rollout.model.policy import Policy
from tests.stories.operating import approval, revision
from tests.support import make
from tests.support.story import HOUR, SEC, T0, Story

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


@pytest.mark.parametrize("by_default", [False, True])
def test_in_profile_ocm_only_gates_that_cannot_be_read_hold(by_default: bool) -> None:
    policy = Policy(profile="ocm" if by_default else "strict")
    own = {} if by_default else {names.SEMANTICS: "ocm"}
    for gates, reason in (
        ("before:edge", "Complete"),
        ("before:other/rest", "Complete"),
        ("before:rest=Moon/full", "Complete"),
        ("befor:rest", "Misconfigured"),
    ):
        workload = make.workload(strategy=GATED, annotations={names.GATES: gates, **own})
        story = Story([*make.fleet(6, canary=2), workload], policy=policy).end()
        assert story.reason == reason, gates


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
    assert "by ann (unverified)" in story.message
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
    assert parse_gate(" after:edge/canary ") == GateRef(Side.AFTER, "canary", placement="edge")
    assert parse_gate("before:*") == GateRef(Side.BEFORE, "*")
    for bad in ("", "canary", "between:canary", "before:", "before:edge/"):
        assert parse_gate(bad) is None
