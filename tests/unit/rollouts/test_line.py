"""What follows for one cluster from each event, in every state that it can be in."""

import dataclasses
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import product

import pytest
from msgspec.structs import replace

from rollout.model.conditions import Condition
from rollout.model.events import Event
from rollout.model.kinds import Ref
from rollout.model.work import Work
from rollout.rollouts.head import Rollback
from rollout.rollouts.line import (
    NOT_BROUGHT,
    SOAKED_KEPT,
    CameBack,
    Course,
    Forgotten,
    Line,
    LineEvent,
    Lost,
    Refused,
    Retried,
    Seen,
    Touched,
    next_line,
)
from rollout.rollouts.observations import Observation, unbrought
from rollout.rollouts.rejections import refusal
from rollout.strategies.base import Health, Standing, Timing, Verdict
from rollout.strategies.judge import Judgement, concluded

T0 = datetime.fromisoformat("2026-06-01T12:00:00+00:00")
MINUTE = timedelta(minutes=1)
NOW = T0 + 10 * MINUTE
TIMING = Timing(soak=2 * MINUTE, deadline=5 * MINUTE, grace=MINUTE)
OLD, NEW, OTHER = "old", "new", "other"

BLIND = dataclasses.replace(TIMING, blind_since=T0 + 2 * MINUTE)
COURSES = [
    Course(revision=NEW, content=NEW, timing=timing, rollback=rollback, is_missed=timing is BLIND)
    for rollback in (None, Rollback(NEW, "Breach", T0 + 3 * MINUTE))
    for timing in (TIMING, BLIND)
]
STANDINGS = [None] + [
    Standing(
        cluster="c",
        revision=revision,
        touched=touched,
        health=health,
        since=touched + MINUTE,
        verdict=verdict,
        token=token,
    )
    for revision, touched, health, verdict, token in product(
        (OLD, NEW),
        (T0, T0 + 4 * MINUTE),
        Health,
        (None, *Verdict),
        ("", "one"),
    )
]
OBSERVATIONS = [
    None,
    unbrought(NEW, "ConfigNotFound"),
    *(
        Observation(content=content, health=health, token=token)
        for content, health, token in product((OLD, NEW, OTHER), Health, ("", "one", "two"))
    ),
]
CARRIED = [
    None,
    unbrought(NEW, "ConfigNotFound"),
    Observation(content=OLD, health=Health.SUCCEEDED, token="one"),
    Observation(content=NEW, health=Health.FAILED, token="one"),
    Observation(content=OTHER, health=Health.SILENT),
]
EVENTS: list[LineEvent] = [
    *(Seen(seen) for seen in OBSERVATIONS),
    Touched("SlotFree"),
    Touched("Rollback", OLD),
    Refused("denied"),
    Refused("denied", fails=False),
    Retried(),
    Lost("rest", NEW),
    Forgotten(),
    CameBack(),
]


def lines() -> Iterator[Line]:
    for standing, seen in product(STANDINGS, CARRIED):
        cause = "SlotFree" if standing is not None else ""
        yield Line(cluster="c", standing=standing, cause=cause, seen=seen, soaked=("older", OLD))


EVERY = list(product(lines(), COURSES))


def after(event: LineEvent) -> Iterator[tuple[Line, Course, Line]]:
    return ((line, course, next_line(line, event, course, NOW)) for line, course in EVERY)


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_every_event_has_an_answer_that_is_sound_in_every_state(event: LineEvent) -> None:
    for before, course, line in after(event):
        known = line.standing
        assert line.cluster == "c"
        assert len(line.soaked) <= SOAKED_KEPT
        assert len(set(line.soaked)) == len(line.soaked)
        assert (known is None) <= (line.cause in ("", "Lost")), (before, course, line)
        if known is not None:
            assert known.cluster == "c"
            assert known.touched <= NOW
            assert known.since is not None
            assert known.since <= NOW


@pytest.mark.parametrize("event", [e for e in EVENTS if isinstance(e, Seen)], ids=str)
def test_what_is_told_twice_at_once_changes_nothing_the_second_time(event: LineEvent) -> None:
    for _, course, line in after(event):
        seen_without_gap = replace(course, is_missed=False)
        assert next_line(line, event, seen_without_gap, NOW) == line


@pytest.mark.parametrize("event", [e for e in EVENTS if isinstance(e, Seen)], ids=str)
def test_only_an_attempt_makes_a_known_cluster_one_that_was_touched_later(event: LineEvent) -> None:
    """What is seen to carry the revision was touched for it by somebody; else nothing moves."""
    for before, _, line in after(event):
        was, known = before.standing, line.standing
        if was is not None and known is not None and was.revision == known.revision:
            assert known.touched == was.touched
            assert known.made_for == was.made_for


@pytest.mark.parametrize("event", [e for e in EVENTS if isinstance(e, Seen)], ids=str)
def test_what_has_soaked_stays_soaked_whatever_is_seen_of_it(event: LineEvent) -> None:
    for before, _, line in after(event):
        was = before.standing
        if was is not None and was.verdict is Verdict.SOAKED and was.revision == NEW:
            assert line.standing == was


@pytest.mark.parametrize("event", [e for e in EVENTS if isinstance(e, Seen)], ids=str)
def test_a_health_that_lasts_keeps_the_instant_at_which_it_began(event: LineEvent) -> None:
    for before, course, line in after(event):
        was, known = before.standing, line.standing
        if was is None or known is None or course.is_missed:
            continue
        if (was.revision, was.health) == (known.revision, known.health):
            assert known.since == was.since


def test_an_attempt_begins_anew_in_silence_unless_the_content_is_there_already() -> None:
    for before, _, line in after(Touched("SlotFree")):
        was, known = before.standing, line.standing
        assert known is not None
        if was is not None and was.revision == NEW and was.verdict is not Verdict.RETRY:
            assert line == before, "it was touched for it already"
            continue
        assert (known.revision, known.touched, known.verdict) == (NEW, NOW, None)
        is_there = before.seen is not None and before.seen.content == NEW
        assert is_there or known.health is Health.SILENT


def test_what_soaked_and_is_left_can_be_gone_back_to_and_what_is_undone_cannot() -> None:
    for before, course, line in after(Touched("Rollback", OLD)):
        was = before.standing
        assert NEW not in line.soaked, "what is taken back is not given back"
        if was is not None and was.revision == NEW:
            assert line.supposed == OLD
            assert course.content == NEW
    for before, course, line in after(Touched("SlotFree")):
        was = before.standing
        if was is not None and was.revision == OLD:
            is_good = concluded(was, course.timing, NOW).verdict is Verdict.SOAKED
            assert (line.soaked[:1] == (OLD,)) is is_good


@pytest.mark.parametrize("event", [e for e in EVENTS if isinstance(e, Seen)], ids=str)
def test_a_success_that_ended_while_nobody_looked_has_not_soaked(event: LineEvent) -> None:
    """It may have ended at once."""
    for before, course, line in after(event):
        was, known = before.standing, line.standing
        if not course.is_missed or was is None or was.verdict is not None:
            continue
        assert known is None or known.verdict is not Verdict.SOAKED
        assert line.soaked[:1] != (OLD,)


def test_what_is_given_back_is_not_taken_over_again() -> None:
    back = COURSES[2]
    given = Standing(
        cluster="c",
        revision=OLD,
        touched=T0 + 4 * MINUTE,
        health=Health.SILENT,
        since=T0 + 4 * MINUTE,
    )
    line = Line(cluster="c", standing=given, cause="Rollback")

    for health in Health:
        seen = next_line(line, Seen(Observation(content=NEW, health=health)), back, NOW)
        assert (seen.supposed, seen.is_astray) == (OLD, True), "it is drift"


def test_what_a_rollback_gives_back_was_given_by_it_though_it_began_by_a_later_clock() -> None:
    """S10: else it would count as nothing on its way, and all others would go back at once."""
    back = COURSES[2]
    known = Standing(
        cluster="c", revision=NEW, touched=T0 - MINUTE, health=Health.SUCCEEDED, since=T0
    )
    line = Line(cluster="c", standing=known)

    given = next_line(line, Touched("Rollback", OLD), back, T0 + MINUTE).standing

    assert given is not None
    assert back.gave(given)
    assert given.since == T0 + MINUTE


def test_a_refusal_fails_who_lacks_the_present_content_or_what_was_given_back_alone() -> None:
    for before, course, line in after(Refused("denied")):
        was, known = before.standing, line.standing
        has_it = was is not None and before.seen is not None and before.seen.content == was.revision
        assert line.refusal is not None
        if was is None or was.verdict is Verdict.SOAKED or has_it:
            assert known == was
        elif was.revision == NEW or course.gave(was):
            assert known is not None
            assert known.health is Health.FAILED
        else:
            assert known == was
    for before, course, line in after(Refused("denied", fails=False)):
        content = before.supposed or course.content
        refused = refusal(before.refusal, "denied", NOW, content)
        assert line == replace(before, refusal=refused)
        assert line.refused(course.content) == refused


def test_an_attempt_that_was_refused_is_made_again_whatever_the_cluster_carries() -> None:
    for before, course, line in after(Refused("denied", is_attempt=True)):
        assert line.is_astray is bool(line.supposed)
        again = next_line(line, Refused("denied", fails=False), course, NOW)
        assert again.refusal is not None
        assert again.refusal.is_attempt, "a label that is refused as well does not end that"
        assert before.lost_from == line.lost_from


def test_what_was_lost_counts_as_no_member_and_remembers_how_it_stood() -> None:
    for before, _, line in after(Lost("rest", NEW)):
        assert (line.lost_from, line.cause, line.present) == ("rest", "Lost", None)
        if before.standing is None:
            assert line.standing is None
        else:
            assert line.standing is not None
            assert line.standing.of_revision == NEW
            assert line.standing == replace(before.standing, made_for=line.standing.made_for)
        assert not line.is_astray


def test_what_came_back_has_never_been_touched_and_can_still_go_back() -> None:
    for before, course, line in after(CameBack()):
        assert (line.standing, line.cause, line.lost_from) == (None, "", "")
        assert line.soaked == before.soaked
        again = next_line(line, Seen(before.seen), course, NOW)
        assert (again.standing is None) is (before.seen is None)


def test_what_is_forgotten_leaves_nothing_but_what_the_hub_shows() -> None:
    for before, _, line in after(Forgotten()):
        assert line == Line(cluster="c", seen=before.seen)


def test_a_cluster_that_lacks_something_fails_untouched_and_then_stands_as_before() -> None:
    for standing in STANDINGS:
        if standing is not None and standing.revision == NEW:
            continue  # what is brought already lacks nothing
        line = Line(cluster="c", standing=standing, cause="Supersede" if standing else "")
        for course in COURSES[:2]:
            lacking = next_line(line, Seen(unbrought(NEW, "ConfigNotFound")), course, NOW)
            assert (lacking.cause, lacking.supposed) == (NOT_BROUGHT, NEW)
            again = next_line(lacking, Seen(None), course, NOW)
            assert again.cause == line.cause
            was = again.standing
            assert (was is None) is (standing is None)
            if was is not None and standing is not None:
                assert (was.revision, was.touched) == (OLD, standing.touched)


def test_a_retry_asks_for_another_attempt_and_forgets_the_refusal() -> None:
    for before, course, line in after(Retried()):
        assert line.refusal is None
        if before.standing is not None and before.standing.revision == NEW:
            tried = next_line(line, Touched("Retry"), course, NOW).standing
            assert tried is not None
            assert tried.touched == NOW


def test_the_garbage_collector_follows_nothing_of_which_there_is_one_for_each_cluster() -> None:
    made = (Ref, Event, Condition, Work, Observation, Standing, Line, Judgement)
    assert [each for each in made if each.__struct_config__.gc] == []
