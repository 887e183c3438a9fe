"""What does a rollout make of works that others write, change or delete, and of writes that are refused?"""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rollout.model.waits import Reason, Wait
from rollout.rollouts.observations import Observation
from rollout.strategies.base import Health, Phase, Verdict
from tests.support.fleets import (
    FAILED,
    GRACE,
    MIN,
    PROGRESSING,
    SEC,
    SILENT,
    SOAK,
    SUCCEEDED,
    T0,
    US,
    spec_of,
)
from tests.support.live import A, B, Hub, begun, soaked

# -- works written by others -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "health", "phase"),
    [
        (A, SILENT, Phase.PROGRESSING),
        (A, PROGRESSING, Phase.PROGRESSING),
        (A, SUCCEEDED, Phase.SOAKING),
        (A, FAILED, Phase.PROGRESSING),
        ("older", SILENT, Phase.OUTDATED),
        ("older", PROGRESSING, Phase.OUTDATED),
        ("older", SUCCEEDED, Phase.WAITING),
        ("older", FAILED, Phase.OUTDATED),
    ],
)
@pytest.mark.parametrize("first", [True, False], ids=["seen at start", "seen later"])
def test_a_work_of_others_is_adopted_as_it_stands_now(
    content: str, health: Health, phase: Phase, first: bool
) -> None:
    hub = Hub()
    if first:
        hub.works["a"] = Observation(content=content, health=health)
        hub.restart()
    else:
        hub.by_others("a", content, health)

    assert hub.phase("a") is phase
    assert hub.live.ledger.standings["a"].touched == T0
    assert hub.remembered() == "a"


def test_adopted_works_hold_slots_and_are_not_written_again() -> None:
    hub = Hub()
    for cluster in "bcd":
        hub.by_others(cluster, A, PROGRESSING)

    assert hub.turn().touch == ()
    hub.report("bcd", SUCCEEDED)
    hub.later(SOAK)
    assert hub.turn().touch == ("a",)
    assert hub.written == [("a", A)]


def test_what_a_work_says_of_another_content_starts_no_clock() -> None:
    """The annotation counts only where it is about what the work carries."""
    hub = Hub()
    hub.works["a"] = Observation(
        content=A, health=PROGRESSING, reason="", revision="edited since", started_at=T0 - 9 * MIN
    )

    hub.restart()

    assert hub.live.ledger.standings["a"].touched == T0


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from([A, B, "older", None])), max_size=20
    )
)
def test_how_many_carry_a_content_is_counted_as_works_come_change_and_go(
    history: list[tuple[str, str | None]],
) -> None:
    """None takes the work away. Every fourth time the process starts anew."""
    hub = Hub()
    for index, (cluster, content) in enumerate(history):
        hub.works.pop(cluster, None)
        if content is None:
            hub.live.observe(cluster, None, hub.now)
        else:
            hub.by_others(cluster, content, PROGRESSING)
        if index % 4 == 3:
            hub.restart()
        hub.turn()

        there = Counter(seen.content for seen in hub.works.values())
        assert {each: hub.live.carrying(each) for each in (A, B, "older")} == {
            each: there[each] for each in (A, B, "older")
        }


# -- drift -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("health", list(Health))
@pytest.mark.parametrize("was_soaked", [True, False])
def test_a_work_changed_by_hand_is_restored_and_what_it_says_does_not_count(
    health: Health, was_soaked: bool
) -> None:
    """Rows 10 and 24: no touch, no slot, and no clock begins anew."""
    hub = begun()
    if was_soaked:
        hub.report("ab", SUCCEEDED)
        hub.later(SOAK)
        hub.turn()
    hub.written.clear()

    hub.by_others("a", "by hand", health)
    assert hub.phase("a") is (Phase.SOAKED if was_soaked else Phase.PROGRESSING)
    assert hub.live.astray == {"a"}
    step = hub.turn()

    assert ("a", A) in hub.written
    assert "a" not in step.touch
    assert hub.live.astray == set()
    assert hub.live.ledger.standings["a"].touched == T0


def test_a_work_deleted_by_hand_is_restored_too() -> None:
    hub = Hub()
    soaked(hub, "abcd")

    del hub.works["b"]
    hub.live.observe("b", None, hub.now)

    assert hub.live.astray == {"b"}
    assert hub.turn().complete
    assert hub.works["b"].content == A


def test_a_cluster_not_yet_reached_is_restored_to_the_revision_it_is_supposed_to_have() -> None:
    hub = Hub(spec_of(limit=1))
    soaked(hub, "abcd")
    hub.revision = B
    hub.agree()
    hub.turn()

    hub.by_others("d", "by hand", SUCCEEDED)
    hub.turn()

    assert hub.works["d"].content == A
    assert hub.live.supposed("d") == A
    assert hub.phase("d") is Phase.WAITING


def test_a_soak_that_drift_interrupts_begins_again() -> None:
    hub = begun()
    hub.report("a", SUCCEEDED)
    hub.later(SOAK - SEC)
    hub.by_others("a", "by hand", SUCCEEDED)
    hub.turn()
    hub.report("a", SUCCEEDED)
    hub.later(SEC)

    assert hub.phase("a") is Phase.SOAKING


# -- writes that are refused ------------------------------------------------------------------------


def test_a_refused_write_is_tried_again_more_and_more_rarely() -> None:
    """Row 19: 5 s, twice as long each time, never more than 5 minutes."""
    hub = Hub(spec_of(limit=1, budget=9, deadline=None), refuses={"a"})
    waits = []
    for _ in range(10):
        hub.turn()
        waits.append((hub.live.rejections["a"].retry_at - hub.now) / SEC)
        hub.now = hub.live.rejections["a"].retry_at

    assert waits == [5, 10, 20, 40, 80, 160, 300, 300, 300, 300]
    assert hub.live.rejections["a"].message == "denied by policy"
    assert hub.live.rejections["a"].tries == 10


def test_another_revision_waits_for_no_refusal_of_the_one_before() -> None:
    """L5."""
    hub = begun(spec_of(limit=1), refuses={"a"})
    hub.refuses, hub.revision = set(), B
    hub.agree()

    hub.turn()

    assert hub.written == [("a", B)]
    assert hub.live.rejections == {}


def test_what_was_refused_is_tried_again_no_sooner_for_a_newer_revision() -> None:
    hub = begun(spec_of(limit=1), refuses={"a"})
    hub.later(SEC)
    hub.revision, hold = B, Wait(Reason.PAUSED)
    hub.agree()

    next_tries = []
    for _ in range(5):
        hub.turn(hold)
        next_tries.append((hub.live.rejections["a"].retry_at - T0) / SEC)
        hub.later(SEC)

    assert next_tries == [5, 5, 5, 5, 15]


def test_a_refused_write_is_a_failure_on_the_clock_of_the_first_attempt() -> None:
    hub = begun(spec_of(limit=1, budget=0, deadline=None), refuses={"a"})
    hub.now = T0 + GRACE - US
    hub.turn()
    assert hub.phase("a") is Phase.PROGRESSING

    hub.now = T0 + GRACE
    step = hub.turn()

    assert [(s.cluster, s.verdict, s.reason) for s in step.settled] == [
        ("a", Verdict.FAILED, "WriteRejected")
    ]
    assert step.halt is not None
    assert hub.live.ledger.standings["a"].touched == T0


@pytest.mark.parametrize("health", [SILENT, SUCCEEDED, FAILED])
def test_what_the_older_work_says_does_not_hide_that_the_write_is_refused(health: Health) -> None:
    hub = Hub(spec_of(limit=1))
    hub.by_others("a", "older", SUCCEEDED)
    hub.refuses = {"a"}
    hub.turn()

    hub.by_others("a", "older", health)

    known = hub.live.ledger.standings["a"]
    assert (known.revision, known.health, known.reason) == (A, FAILED, "WriteRejected")


def test_a_write_that_lands_in_the_end_lets_its_cluster_recover() -> None:
    hub = begun(spec_of(limit=1, budget=1), refuses={"a"})
    hub.later(6 * SEC)
    hub.refuses = set()
    hub.turn()
    assert (hub.live.rejections, hub.phase("a")) == ({}, Phase.PROGRESSING)

    hub.report("a", SUCCEEDED)
    hub.later(SOAK)

    assert hub.phase("a") is Phase.SOAKED


def test_a_refusal_outlives_the_process_as_a_failure_and_is_tried_again_at_once() -> None:
    hub = begun(spec_of(limit=1, budget=0), refuses={"a"})
    hub.later(2 * GRACE)

    hub.restart()
    step = hub.turn()

    assert step.halt is not None
    assert hub.live.rejections["a"].tries == 1
    assert hub.live.ledger.standings["a"].reason == "WriteRejected"


def test_a_refused_restoration_of_a_soaked_cluster_is_no_failure() -> None:
    hub = Hub()
    soaked(hub, "abcd")
    hub.refuses = {"a"}

    hub.by_others("a", "by hand", PROGRESSING)
    step = hub.turn()

    assert (hub.phase("a"), step.halt) == (Phase.SOAKED, None)
    assert set(hub.live.rejections) == {"a"}


# -- works of an older revision ---------------------------------------------------------------------


def test_what_soaks_on_an_older_revision_is_written_down_and_not_in_flight_after_a_restart() -> (
    None
):
    """S1: its work is deleted while nobody looks, and the wait is another one by then; taken for in flight,
    it would be touched with no slot.
    """
    hub = begun(spec_of(limit=1, budget=1))
    hub.report("a", SUCCEEDED)
    hub.revision = B
    hub.agree()
    hub.live.step(Wait(Reason.PAUSED, "somebody looks at it"), hub.now)
    hub.later(SOAK)
    hub.turn(Wait(Reason.PAUSED, "somebody looks at it"))

    assert hub.live.ledger.standings["a"].verdict is Verdict.SOAKED
    del hub.works["a"]
    hub.soak = 2 * SOAK
    hub.restart(MIN)
    assert hub.phase("a") is Phase.WAITING


def test_what_failed_for_a_moment_and_recovers_while_nobody_looks_is_in_flight() -> None:
    """Row 7: of sixty seconds of failure nobody has seen more than one."""
    hub = begun(spec_of(limit=1, budget=0, deadline=None))
    hub.report("a", FAILED)
    hub.later(SEC)
    hub.turn()
    hub.works["a"] = replace(hub.works["a"], health=SUCCEEDED, token="later")
    hub.revision = B

    hub.restart(2 * GRACE)

    assert hub.phase("a") is Phase.OUTDATED


def test_an_older_work_that_is_found_was_touched_when_it_says_so() -> None:
    """S10: a rollback that is going on did not give it, and does not count it."""
    hub = Hub()
    hub.later(SOAK)
    hub.works["a"] = Observation(
        content="older", health=SUCCEEDED, reason="", revision="older", started_at=T0 + SEC
    )
    hub.live.observe("a", hub.works["a"], hub.now)

    assert hub.live.ledger.standings["a"].touched == T0 + SEC
    assert hub.phase("a") is Phase.WAITING


def test_a_cluster_whose_failed_work_is_gone_waits_for_its_agent_and_not_for_what_that_had_said() -> (
    None
):
    """O1: nothing is applied there any more, so nothing fails to be."""
    hub = begun(spec_of(limit=1, budget=1))
    hub.report("a", FAILED, "ApplyFailed")
    del hub.works["a"]
    hub.live.observe("a", None, hub.now)

    assert hub.phase("a") is Phase.PROGRESSING
    assert hub.live.ledger.judgement("a").reason == ""
