from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.model.conditions import LONGEST_MESSAGE, Condition, merge, read_conditions

T0 = datetime(2026, 11, 21, 8, tzinfo=UTC)
LATER = T0 + timedelta(minutes=5)


def wire(kind: str, status: str = "True", **more: object) -> dict[str, object]:
    return {"type": kind, "status": status, "lastTransitionTime": "2026-11-21T08:00:00Z", **more}


def test_a_condition_is_read_whole() -> None:
    raw = [wire("Applied", reason="R", message="m", observedGeneration=3)]
    assert read_conditions(raw) == {
        "Applied": Condition("Applied", "True", "R", "m", observed_generation=3, since=T0)
    }


@pytest.mark.parametrize("raw", [None, {}, "x", 5, [None, 5, "x", {}, {"type": 5}, {"type": None}]])
def test_what_is_no_condition_is_left_out(raw: object) -> None:
    assert read_conditions(raw) == {}


def test_malformed_fields_are_unknown_and_the_first_of_a_type_counts() -> None:
    bad = {
        "type": "A",
        "status": True,
        "reason": 5,
        "message": None,
        "observedGeneration": True,
        "lastTransitionTime": "yesterday",
    }
    assert read_conditions([bad, wire("A")]) == {"A": Condition("A", "Unknown")}


def test_a_message_that_a_server_would_refuse_is_cut_where_it_is_written() -> None:
    """For one message that is too long the whole status would be refused."""
    longest = Condition("A", "True", "R", "m" * LONGEST_MESSAGE)
    longer = Condition("A", "True", "R", "m" * (LONGEST_MESSAGE + 1))

    assert longest.to_wire()["message"] == longest.message
    (written,) = merge([], [longer], T0)
    assert len(written["message"]) <= LONGEST_MESSAGE
    assert written["message"].endswith(" characters more)")
    assert merge([written], [longer], LATER) == [written]


def test_equal_conditions_of_a_fleet_share_one_value() -> None:
    first, second = (read_conditions([wire("Applied", reason="R")])["Applied"] for _ in range(2))
    assert first is second


@pytest.mark.parametrize(
    ("old", "new", "since"),
    [("True", "True", T0), ("True", "False", LATER), ("Unknown", "True", LATER)],
)
def test_the_transition_time_moves_only_with_the_status(
    old: str, new: str, since: datetime
) -> None:
    merged = merge([wire("Ready", old, reason="Old")], [Condition("Ready", new, "New")], LATER)
    read = read_conditions(merged)["Ready"]
    assert (read.status, read.reason, read.since) == (new, "New", since)


def test_foreign_conditions_keep_their_place_and_their_text() -> None:
    foreign = {"type": "Theirs", "status": "True", "extra": [1]}
    merged = merge(
        [foreign, wire("Ready")], [Condition("New", "True"), Condition("Ready", "True")], LATER
    )
    assert merged[0] is foreign
    assert [c["type"] for c in merged] == ["Theirs", "Ready", "New"]


def test_merging_does_not_alter_its_input() -> None:
    old = [wire("Ready")]
    merge(old, [Condition("Ready", "False", "R", "m", observed_generation=2)], LATER)
    assert old == [wire("Ready")]


TYPES = st.sampled_from("ABCD")
STATUSES = st.sampled_from(["True", "False", "Unknown"])
NEW = st.lists(st.builds(Condition, TYPES, STATUSES), unique_by=lambda c: c.type, max_size=4)


@given(
    st.lists(st.builds(wire, TYPES, STATUSES), unique_by=lambda c: str(c["type"]), max_size=4), NEW
)
def test_merging_twice_changes_nothing(old: list[dict[str, object]], new: list[Condition]) -> None:
    once = merge(old, new, LATER)
    assert merge(once, new, LATER + timedelta(hours=1)) == once
    assert {c["type"] for c in once} == {c["type"] for c in old} | {c.type for c in new}
