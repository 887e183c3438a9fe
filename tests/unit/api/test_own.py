"""What an Approval and a Freeze say, and that what is unclear never helps."""

from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.api.own import decode_approval, decode_freeze
from rollout.api.wire import WorkloadKindName
from rollout.model.approvals import Approval, ApprovalDecision, Freeze
from rollout.model.kinds import WORKLOADS, Obj

REV = "5f3a9c"
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def approval(**spec: Any) -> Obj:
    said = {"workload": {"name": "web"}, "revision": REV, "decision": "Approve"}
    return {"metadata": {"name": "a", "namespace": "apps"}, "spec": {**said, **spec}}


def test_an_approval_is_read() -> None:
    more = {
        "gate": "before:west",
        "actor": "ann",
        "reason": "fine",
        "expires": "2026-06-01T12:00:00Z",
    }
    workload = {"kind": "ClusterManagementAddOn", "name": "logs"}

    assert decode_approval(approval(workload=workload, **more)) == Approval(
        name="a", namespace="apps", kind="ClusterManagementAddOn", workload="logs", revision=REV, decision=ApprovalDecision.APPROVE, gate="before:west",
        actor="ann", reason="fine", expires=NOON,
    )  # fmt: skip


def test_what_is_left_out_is_the_workload_kind_and_every_gate() -> None:
    found = decode_approval(approval())

    assert (found.kind, found.gate, found.expires) == ("ManifestWorkReplicaSet", "*", None)
    assert found.counts(REV, NOON)


UNCLEAR: dict[str, dict[str, Any]] = {
    "no decision": {"decision": None},
    "another decision": {"decision": "approve"},
    "a decision that is no text": {"decision": ["Approve"]},
    "a gate that is none": {"gate": "befor:west"},
    "an end that is not an instant": {"expires": "tomorrow"},
    "an end that is a number": {"expires": 17},
    "no revision": {"revision": None},
    "a revision that is no text": {"revision": [REV]},
}


@pytest.mark.parametrize("word", UNCLEAR)
def test_an_approval_of_which_a_part_is_unclear_counts_for_nothing(word: str) -> None:
    found = decode_approval(approval(**UNCLEAR[word]))

    assert found.decision is ApprovalDecision.APPROVE
    assert not found.counts(REV, NOON)


@pytest.mark.parametrize("word", [word for word in UNCLEAR if "decision" not in word])
def test_a_refusal_of_which_a_part_is_unclear_refuses_all_the_same(word: str) -> None:
    found = decode_approval(approval(**{**UNCLEAR[word], "decision": "Reject"}))

    assert found.decision is ApprovalDecision.REJECT
    assert found.counts(REV, NOON) == ("revision" not in word), "whom it refuses must be clear"


def test_a_freeze_is_read() -> None:
    spec = {"reason": "incident", "actor": "ann", "until": "2026-06-01T12:00:00Z"}

    found = decode_freeze({"metadata": {"name": "f"}, "spec": spec})

    assert found == Freeze("f", "incident", "ann", NOON)


@pytest.mark.parametrize("spec", [None, {}, {"until": "tomorrow"}, {"until": 3}, [], "frozen"])
def test_a_freeze_whose_end_is_unclear_has_none(spec: Any) -> None:
    found = decode_freeze({"metadata": {"name": "f"}, "spec": spec})

    assert found.until is None
    assert found.stands(datetime.max.replace(tzinfo=UTC))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just(REV),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = st.sampled_from(["workload", "revision", "decision", "gate", "expires", "until", "actor"])


@given(st.dictionaries(FIELDS, JSON))
def test_nothing_that_is_written_makes_reading_fail(spec: dict[str, Any]) -> None:
    decode_approval({"metadata": {"name": "a"}, "spec": spec})
    decode_freeze({"metadata": {"name": "f"}, "spec": spec})


def test_the_kinds_that_an_approval_can_name_are_those_that_are_rolled_out() -> None:
    assert get_args(WorkloadKindName) == tuple(kind.name for kind in WORKLOADS)
