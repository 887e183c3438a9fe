"""What annotations ask for: the words that are read, and that nothing is guessed from the others."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.model import names
from rollout.model.amounts import Amount
from rollout.model.approvals import GateRef, Side
from rollout.model.intents import (
    NO_INTENTS,
    AskedBy,
    Intents,
    RollbackMode,
    asked_text,
    read_asked,
    read_intents,
)

REV, OTHER = "5f3a9c", "0123456789abcdef"
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)

READ: list[tuple[str, str, str, Any]] = [
    (names.PAUSED, "true", "paused", True),
    (names.PAUSED, "false", "paused", False),
    (names.SKIP, "c1", "waivers", {"c1": {""}}),
    (names.SKIP, " c1, c2 ,,c1", "waivers", {"c1": {""}, "c2": {""}}),
    (names.SKIP, f"c1@{REV},c1@{OTHER},c2", "waivers", {"c1": {REV, OTHER}, "c2": {""}}),
    (names.ALLOW_EMPTY_GROUPS, "canary, #2", "may_be_empty", {"canary", "#2"}),
    (names.HOLD, "", "held", set()),
    (names.HOLD, "c1,c2", "held", {"c1", "c2"}),
    (names.ABORT, REV, "aborted", {REV}),
    (names.ABORT, f"{REV}, {OTHER}", "aborted", {REV, OTHER}),
    (names.ABORT, "", "aborted", set()),
    (names.RETRY, " again ", "retry", "again"),
    (names.UNDO, f" {REV} ", "undo", REV),
    (names.UNDO_TO, OTHER, "undo_to", OTHER),
    (names.GATES, "", "gates", ()),
    (names.GATES, "before:*", "gates", (GateRef(Side.BEFORE, "*"),)),
    (
        names.GATES,
        "after:canary, before:edge/west,after:canary",
        "gates",
        (GateRef(Side.AFTER, "canary"), GateRef(Side.BEFORE, "west", placement="edge")),
    ),
    (names.ROLLBACK, "None", "rollback", RollbackMode.NONE),
    (names.ROLLBACK, "Manual", "rollback", RollbackMode.MANUAL),
    (names.ROLLBACK, "Automatic", "rollback", RollbackMode.AUTOMATIC),
    (names.ROLLBACK_CONCURRENCY, "3", "rollback_limit", Amount(3, written=True)),
    (names.ROLLBACK_CONCURRENCY, "0", "rollback_limit", Amount(0, written=True)),
    (names.ROLLBACK_FAILURES, "10%", "rollback_budget", Amount(10, percent=True, written=True)),
    (names.HISTORY_LIMIT, "0", "history_limit", 0),
    (names.HISTORY_LIMIT, "999", "history_limit", 999),
    (names.RELEASE_REMOVALS, "2026-06-01T12:00:00Z", "released_until", NOON),
    (names.OVERRIDE_CALENDARS, "2026-06-01T12:00:00Z", "override_until", NOON),
    (names.SEMANTICS, "ocm", "profile", "ocm"),
    (names.SEMANTICS, "strict", "profile", "strict"),
    (names.HEALTH_GATE, "Available", "health_gated", True),
    (names.FAILURE_TOLERANCE, "Soft", "strict_tolerance", False),
    (names.FAILURE_TOLERANCE, "Strict", "strict_tolerance", True),
]


@pytest.mark.parametrize(("name", "value", "field", "wanted"), READ)
def test_an_annotation_is_read(name: str, value: str, field: str, wanted: Any) -> None:
    found = read_intents({name: value})

    assert getattr(found, field) == wanted
    assert found.problems == ()
    fields = [each for each in Intents.__slots__ if each not in (field, "problems")]
    assert {each: getattr(found, each) for each in fields} == {
        each: getattr(NO_INTENTS, each) for each in fields
    }, "nothing else is asked for"


UNREADABLE: list[tuple[str, str, str]] = [
    (names.PAUSED, "yes", "false or true"),
    (names.PAUSED, "True", "false or true"),
    (names.PAUSED, "", "false or true"),
    (names.FAILURE_TOLERANCE, "strict", "Soft or Strict"),
    (names.SEMANTICS, "OCM", "strict or ocm"),
    (names.HEALTH_GATE, "Ready", "Available"),
    (names.RELEASE_REMOVALS, "tomorrow", "an instant such as"),
    (names.RELEASE_REMOVALS, "", "an instant such as"),
    (names.ABORT, "the last one", "the hash of a revision"),
    (names.ABORT, f"{REV},x", "the hash of a revision"),
    (names.SKIP, "c1@", "CLUSTER@REVISION"),
    (names.SKIP, f"@{REV}", "CLUSTER@REVISION"),
    (names.UNDO, "5F3A9C", "the hash of a revision"),
    (names.UNDO, f"{REV},{OTHER}", "one revision"),
    (names.UNDO_TO, "1", "the hash of a revision"),
    (names.GATES, "canary", "before:GROUP"),
    (names.GATES, "before:canary,behind:west", "before:GROUP"),
    (names.ROLLBACK, "automatic", "None, Manual, Automatic"),
    (names.ROLLBACK, "", "None, Manual, Automatic"),
    (names.ROLLBACK_CONCURRENCY, "lots", "a whole number"),
    (names.ROLLBACK_FAILURES, "-1", "a whole number"),
    (names.ROLLBACK_FAILURES, "101%", "a whole number"),
    (names.HISTORY_LIMIT, "-1", "from 0 to 999"),
    (names.HISTORY_LIMIT, "1000", "from 0 to 999"),
    (names.HISTORY_LIMIT, "٣", "from 0 to 999"),
]


@pytest.mark.parametrize(("name", "value", "accepted"), UNREADABLE)
def test_what_cannot_be_read_is_a_problem_that_says_what_is_accepted(
    name: str, value: str, accepted: str
) -> None:
    [problem] = read_intents({name: value}).problems

    assert problem.path == f"metadata.annotations[{name}]"
    assert accepted in problem.accepted


@pytest.mark.parametrize(
    ("name", "value"),
    [(n, v) for n, v, _ in UNREADABLE if n.startswith(names.ROLLBACK)],
)
def test_a_rollback_that_cannot_be_read_touches_nobody(name: str, value: str) -> None:
    found = read_intents({name: value})

    assert (
        found.rollback is RollbackMode.NONE
        or found.rollback_limit.of(100) == 0
        or found.rollback_budget.of(100) == 0
    )


def test_without_annotations_nothing_is_asked_for() -> None:
    assert read_intents({}) == NO_INTENTS
    assert NO_INTENTS.rollback is RollbackMode.MANUAL
    assert (NO_INTENTS.rollback_limit.of(10), NO_INTENTS.rollback_budget.of(10)) == (3, 3)
    assert NO_INTENTS.history_limit == 10


def test_where_no_older_template_is_kept_asking_for_one_is_a_problem() -> None:
    asked = {names.UNDO: REV, names.ROLLBACK: "Automatic", names.HISTORY_LIMIT: "3"}

    found = read_intents({**asked, names.PAUSED: "true"}, keeps_templates=False)

    assert {problem.path for problem in found.problems} == {
        f"metadata.annotations[{name}]" for name in asked
    }
    assert all("kept nowhere" in problem.accepted for problem in found.problems)
    assert found.paused


@given(st.dictionaries(st.sampled_from(sorted({name for name, *_ in READ})), st.text(max_size=30)))
def test_no_text_makes_reading_fail_and_whatever_is_strange_is_told(
    annotations: dict[str, str],
) -> None:
    found = read_intents(annotations)

    told = {problem.path for problem in found.problems}
    for name, attribute in (
        (names.PAUSED, "paused"),
        (names.FAILURE_TOLERANCE, "strict_tolerance"),
    ):
        if name in annotations and annotations[name] not in ("true", "false", "Soft", "Strict"):
            assert f"metadata.annotations[{name}]" in told
            assert not getattr(found, attribute)


# -- who asked ---------------------------------------------------------------------------------


def test_who_asked_is_told_as_a_claim() -> None:
    assert str(AskedBy()) == ""
    assert str(AskedBy("ann")) == " by ann (unverified)"
    assert (
        str(AskedBy("ann", NOON, "lunch")) == " by ann (unverified) at 2026-06-01T12:00:00Z: lunch"
    )
    assert NO_INTENTS.who("pause") == AskedBy()


@pytest.mark.parametrize("text", ["", "{", "[]", "1", '"ann"', "null", "[" * 100_000])
def test_what_cannot_be_read_of_who_asked_is_nobody(text: str) -> None:
    assert read_asked({names.ASKED: text}) == {}


def test_one_entry_that_cannot_be_read_does_not_hide_the_others() -> None:
    body = {"pause": 3, "skip/c1": {"by": ["x"], "at": "noon"}, "abort": {"by": "ann"}}

    assert read_asked({names.ASKED: json.dumps(body)}) == {
        "skip/c1": AskedBy("['x']"),
        "abort": AskedBy("ann"),
    }


WORDS = st.text(max_size=12)
INSTANTS = st.none() | st.datetimes(
    min_value=datetime(1, 1, 2),  # noqa: DTZ001 - Hypothesis wants bounds without a zone
    max_value=datetime(9999, 12, 30),  # noqa: DTZ001 - as above
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=2))]),
)
ASKED = st.dictionaries(WORDS, st.builds(AskedBy, WORDS, INSTANTS, WORDS), max_size=4)


@given(ASKED)
def test_what_is_written_of_who_asked_is_what_is_read(asked: dict[str, AskedBy]) -> None:
    text = asked_text(asked, iter(asked))

    assert read_asked({names.ASKED: text}) == asked


def test_of_who_asked_only_what_is_still_asked_for_is_kept() -> None:
    asked = {"pause": AskedBy("ann"), "hold/c1": AskedBy("bob")}

    assert read_asked({names.ASKED: asked_text(asked, ["hold/c1"])}) == {"hold/c1": AskedBy("bob")}
