"""Where one cluster stands, and when time alone changes that: each rule at its instant."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from freezegun import freeze_time

from rollout.clock import SystemClock
from rollout.model.placement import Group
from rollout.strategies.base import Health, Phase, Standing, Timing, Verdict
from rollout.strategies.judge import Judgement, judge, limit_of
from rollout.strategies.step import decide
from tests.support.fleets import (
    DEADLINE,
    FAILED,
    GRACE,
    MIN,
    NEW,
    OLD,
    PROGRESSING,
    SEC,
    SILENT,
    SOAK,
    SUCCEEDED,
    T0,
    TIMING,
    US,
    rollout_in,
    spec_of,
    standing,
)

ENDLESS = Timing(soak=SOAK, deadline=None, grace=GRACE)
LIMIT = T0 + DEADLINE

# What is known | (phase, the rule's instant, reason) before it | (phase, until, reason) from it on.
Moment = tuple[Phase, datetime | None, str]
INSTANTS = [
    pytest.param(
        standing("a", SUCCEEDED, T0, T0 + MIN),
        TIMING,
        (Phase.SOAKING, T0 + MIN + SOAK, ""),
        (Phase.SOAKED, None, ""),
        id="soak: success must stand for minSuccessTime",
    ),
    pytest.param(
        standing("a", SUCCEEDED, T0, LIMIT),
        TIMING,
        (Phase.SOAKING, LIMIT + SOAK, ""),
        (Phase.SOAKED, None, ""),
        id="soak: success at the very deadline has minSuccessTime more",
    ),
    pytest.param(
        standing("a", SUCCEEDED, T0, LIMIT + US),
        TIMING,
        (Phase.FAILED, LIMIT + US + SOAK, "TimedOut"),
        (Phase.SOAKED, None, ""),
        id="late success: a failure until it has soaked",
    ),
    pytest.param(
        standing("a", SUCCEEDED, T0, T0 + MIN, Verdict.FAILED, reason="Degraded"),
        TIMING,
        (Phase.FAILED, T0 + MIN + SOAK, "Degraded"),
        (Phase.SOAKED, None, ""),
        id="recovery: finally failed until it has soaked",
    ),
    pytest.param(
        standing("a", PROGRESSING, T0, T0 + 9 * MIN),
        TIMING,
        (Phase.PROGRESSING, LIMIT, ""),
        (Phase.FAILED, None, "TimedOut"),
        id="deadline: from the first attempt, whenever progress began",
    ),
    pytest.param(
        standing("a", SILENT, T0),
        TIMING,
        (Phase.PROGRESSING, LIMIT, ""),
        (Phase.FAILED, None, "Unreachable"),
        id="deadline: a cluster that never acknowledges times out like any other",
    ),
    pytest.param(
        standing("a", FAILED, T0, T0 + MIN, reason="ApplyFailed"),
        TIMING,
        (Phase.PROGRESSING, T0 + MIN + GRACE, "ApplyFailed"),
        (Phase.FAILING, LIMIT, "ApplyFailed"),
        id="grace: then a failure counts, and may recover until the deadline",
    ),
    pytest.param(
        standing("a", FAILED, T0, T0 + MIN),
        TIMING,
        (Phase.FAILING, LIMIT, "Degraded"),
        (Phase.FAILED, None, "Degraded"),
        id="deadline: a failure that counts becomes final",
    ),
    pytest.param(
        standing("a", FAILED, T0, LIMIT - GRACE / 2),
        TIMING,
        (Phase.PROGRESSING, LIMIT, "Degraded"),
        (Phase.FAILED, None, "Degraded"),
        id="grace: it ends at the deadline where that is sooner",
    ),
    pytest.param(
        standing("a", FAILED, T0, LIMIT - GRACE),
        TIMING,
        (Phase.PROGRESSING, LIMIT, "Degraded"),
        (Phase.FAILED, None, "Degraded"),
        id="grace: it and the deadline at one instant",
    ),
    pytest.param(
        standing("a", FAILED, T0, T0 + MIN),
        ENDLESS,
        (Phase.PROGRESSING, T0 + MIN + GRACE, "Degraded"),
        (Phase.FAILED, None, "Degraded"),
        id="grace: without a deadline a failure is final after it",
    ),
    pytest.param(
        standing("a", SUCCEEDED, T0, T0 + MIN, revision=OLD),
        TIMING,
        (Phase.OUTDATED, T0 + MIN + SOAK, ""),
        (Phase.WAITING, None, ""),
        id="older revision: in flight until it has soaked there",
    ),
    pytest.param(
        standing("a", PROGRESSING, T0, revision=OLD),
        TIMING,
        (Phase.OUTDATED, LIMIT, ""),
        (Phase.WAITING, None, ""),
        id="older revision: in flight until it has timed out there",
    ),
    pytest.param(
        standing("a", FAILED, T0, T0 + MIN, revision=OLD),
        ENDLESS,
        (Phase.OUTDATED, T0 + MIN + GRACE, "Degraded"),
        (Phase.WAITING, None, ""),
        id="older revision: in flight until its failure is final there",
    ),
]


@pytest.mark.parametrize(("known", "timing", "before", "after"), INSTANTS)
def test_a_rule_takes_effect_at_its_instant_and_not_a_microsecond_earlier(
    known: Standing, timing: Timing, before: tuple[Phase, datetime, str], after: Moment
) -> None:
    instant = before[1]

    assert judge(known, NEW, timing, instant - US) == Judgement(*before)
    assert judge(known, NEW, timing, instant) == Judgement(*after)
    assert judge(known, NEW, timing, instant + US) == Judgement(*after)


UNMOVED = [
    (standing("a", SUCCEEDED, verdict=Verdict.SOAKED), TIMING, Phase.SOAKED, ""),
    (standing("a", PROGRESSING, verdict=Verdict.SOAKED), TIMING, Phase.SOAKED, ""),
    (standing("a", FAILED, verdict=Verdict.SOAKED), TIMING, Phase.SOAKED, ""),
    (standing("a", SILENT, verdict=Verdict.SOAKED), TIMING, Phase.SOAKED, ""),
    (standing("a", PROGRESSING, verdict=Verdict.FAILED, reason="X"), TIMING, Phase.FAILED, "X"),
    (standing("a", SILENT, verdict=Verdict.FAILED, reason="X"), ENDLESS, Phase.FAILED, "X"),
    (standing("a", FAILED, verdict=Verdict.FAILED, reason="X"), ENDLESS, Phase.FAILED, "X"),
    (standing("a", SILENT), ENDLESS, Phase.PROGRESSING, ""),
    (standing("a", PROGRESSING), ENDLESS, Phase.PROGRESSING, ""),
    (standing("a", SUCCEEDED), Timing(), Phase.SOAKED, ""),
    (standing("a", FAILED), Timing(grace=timedelta(0)), Phase.FAILED, "Degraded"),
    (standing("a", SUCCEEDED, verdict=Verdict.SOAKED, revision=OLD), TIMING, Phase.WAITING, ""),
    (standing("a", FAILED, verdict=Verdict.FAILED, revision=OLD), TIMING, Phase.WAITING, ""),
    (standing("a", SILENT, revision=OLD), ENDLESS, Phase.OUTDATED, ""),
]


LAST = datetime.max.replace(tzinfo=UTC)
LATE = LAST - SEC
OUT = ((LATE, LAST),)
NEVER_COME = [
    (standing("a", SUCCEEDED, T0, LATE), ENDLESS, Phase.SOAKING, ""),
    (standing("a", SUCCEEDED, LATE, LATE), TIMING, Phase.SOAKING, ""),
    (standing("a", SUCCEEDED, T0, T0), replace(ENDLESS, soak=LAST - T0 + US), Phase.SOAKING, ""),
    (standing("a", FAILED, T0, LATE), ENDLESS, Phase.PROGRESSING, "Degraded"),
    (standing("a", FAILED, LATE, LATE), TIMING, Phase.PROGRESSING, "Degraded"),
    (standing("a", PROGRESSING, LATE), TIMING, Phase.PROGRESSING, ""),
    (standing("a", PROGRESSING, LATE), replace(TIMING, outages=OUT), Phase.PROGRESSING, ""),
    (
        standing("a", PROGRESSING, LATE),
        replace(TIMING, deadline=SEC - US, outages=OUT),
        Phase.PROGRESSING,
        "",
    ),
]


@pytest.mark.parametrize(("known", "timing", "phase", "reason"), NEVER_COME)
@pytest.mark.parametrize("now", [T0, T0 + MIN, LATE])
def test_an_instant_beyond_the_calendar_never_comes(
    known: Standing, timing: Timing, phase: Phase, reason: str, now: datetime
) -> None:
    assert judge(known, NEW, timing, now) == Judgement(phase, None, reason)


@pytest.mark.parametrize(("known", "timing", "phase", "reason"), UNMOVED)
@pytest.mark.parametrize("age", [timedelta(0), MIN, timedelta(days=3650)])
def test_what_time_does_not_move_stays_and_asks_for_no_second_look(
    known: Standing, timing: Timing, phase: Phase, reason: str, age: timedelta
) -> None:
    assert judge(known, NEW, timing, T0 + age) == Judgement(phase, None, reason)


def test_a_verdict_of_the_old_revision_does_not_ask_for_a_look_that_changes_nothing() -> None:
    late = standing("a", SUCCEEDED, T0, LIMIT + MIN, Verdict.FAILED, revision=OLD)

    assert judge(late, NEW, TIMING, LIMIT + 2 * MIN) == Judgement(Phase.WAITING)


@pytest.mark.parametrize("flaps", [1, 2, 7])
def test_flapping_restarts_the_soak_and_never_the_deadline(flaps: int) -> None:
    seen_at = T0 + flaps * MIN
    soaking = standing("a", SUCCEEDED, T0, seen_at)
    broken = standing("a", PROGRESSING, T0, seen_at)

    assert judge(soaking, NEW, TIMING, seen_at + SOAK - US).phase is Phase.SOAKING
    assert judge(soaking, NEW, TIMING, seen_at + SOAK).phase is Phase.SOAKED
    assert judge(broken, NEW, TIMING, LIMIT - US).phase is Phase.PROGRESSING
    assert judge(broken, NEW, TIMING, LIMIT).phase is Phase.FAILED


def test_a_success_that_breaks_after_the_deadline_has_timed_out() -> None:
    in_time = standing("a", SUCCEEDED, T0, LIMIT - MIN)
    broken = standing("a", PROGRESSING, T0, LIMIT + MIN)
    again = standing("a", SUCCEEDED, T0, LIMIT + 2 * MIN)

    assert judge(in_time, NEW, TIMING, LIMIT + MIN).phase is Phase.SOAKING
    assert judge(broken, NEW, TIMING, LIMIT + MIN) == Judgement(Phase.FAILED, None, "TimedOut")
    assert judge(again, NEW, TIMING, LIMIT + 2 * MIN).phase is Phase.FAILED


# Row 20. Outages (from, to) in minutes after the touch | how far the deadline of 10 moves.
@pytest.mark.parametrize(
    ("outages", "minutes"),
    [
        pytest.param([(2, 5)], 3, id="inside"),
        pytest.param([(-5, -1)], 0, id="over before the touch"),
        pytest.param([(-5, 0)], 0, id="over at the touch"),
        pytest.param([(-5, 4)], 4, id="only what lies after the touch"),
        pytest.param([(10, 30)], 0, id="begins at the deadline"),
        pytest.param([(9, 30)], 21, id="begins just before it"),
        pytest.param([(11, 30)], 0, id="begins after it"),
        pytest.param([(1, 2), (3, 5)], 3, id="two"),
        pytest.param([(1, 4), (12, 14)], 5, id="the second lies in what the first added"),
        pytest.param([(1, 4), (13, 14)], 3, id="the second begins at the moved deadline"),
        pytest.param([(3, 3)], 0, id="of no length"),
    ],
)
def test_deadlines_do_not_run_while_the_hub_is_out_of_touch(
    outages: list[tuple[int, int]], minutes: int
) -> None:
    spans = tuple((T0 + a * MIN, T0 + b * MIN) for a, b in outages)
    timing = Timing(soak=SOAK, deadline=DEADLINE, grace=GRACE, outages=spans)
    limit = LIMIT + minutes * MIN
    silent = standing("a", SILENT, T0)

    assert limit_of(T0, timing) == limit
    assert judge(silent, NEW, timing, limit - US) == Judgement(Phase.PROGRESSING, limit)
    assert judge(silent, NEW, timing, limit) == Judgement(Phase.FAILED, None, "Unreachable")


def test_a_soak_stands_still_while_the_hub_is_out_of_touch() -> None:
    timing = Timing(
        soak=SOAK, deadline=None, grace=GRACE, outages=((T0 + SEC, T0 + SEC + DEADLINE),)
    )
    end = T0 + SOAK + DEADLINE

    assert judge(standing("a", SUCCEEDED), NEW, timing, end - US) == Judgement(Phase.SOAKING, end)
    assert judge(standing("a", SUCCEEDED), NEW, timing, end).phase is Phase.SOAKED


# An outage from 1:00 to 5:00 after the touch, then a lease of 15 s. When success was heard | when it has soaked
# for 10 s. Seconds after the touch.
@pytest.mark.parametrize(
    ("since", "soaked_at"),
    [
        pytest.param(40, 50, id="over before the outage"),
        pytest.param(50, 60, id="over as the outage begins"),
        pytest.param(51, 61 + 255, id="broken into by the outage: late news may tell of its end"),
        pytest.param(299, 299 + 10 + 16, id="heard while other kinds were out of touch"),
        pytest.param(300, 310, id="heard as the outage ended"),
        pytest.param(301, 311, id="heard in the lease after it"),
        pytest.param(315, 325, id="heard after the lease"),
    ],
)
@pytest.mark.parametrize("touched", [0, 300], ids=["touched before", "touched after"])
def test_a_soak_that_begins_after_an_outage_is_not_put_off_by_it(
    since: int, soaked_at: int, touched: int
) -> None:
    """S13: what was heard then was seen from its beginning."""
    lease = timedelta(seconds=15)
    spans = ((T0 + MIN, T0 + 5 * MIN + lease),)
    timing = Timing(soak=10 * SEC, outages=spans, lease=lease)
    known = standing("a", SUCCEEDED, T0 + min(touched, since) * SEC, T0 + since * SEC)
    end = T0 + soaked_at * SEC

    assert judge(known, NEW, timing, end - US) == Judgement(Phase.SOAKING, end)
    assert judge(known, NEW, timing, end).phase is Phase.SOAKED


def test_success_that_needs_no_soak_counts_as_soon_as_it_is_heard_after_an_outage() -> None:
    lease = timedelta(seconds=15)
    timing = Timing(outages=((T0, T0 + MIN + lease),), lease=lease)

    found = standing("a", SUCCEEDED, T0, T0 + MIN)
    assert judge(found, NEW, timing, T0 + MIN).phase is Phase.SOAKED


@pytest.mark.parametrize(
    ("begin", "end", "counts_at"),
    [
        pytest.param(GRACE - SEC, GRACE + MIN, GRACE + MIN, id="it would be over in it"),
        pytest.param(SEC, GRACE - SEC, GRACE, id="the rest of it was seen"),
        pytest.param(GRACE, GRACE + MIN, GRACE, id="it was over before"),
    ],
)
def test_the_grace_of_a_failure_runs_on_and_is_not_over_while_the_hub_is_out_of_touch(
    begin: timedelta, end: timedelta, counts_at: timedelta
) -> None:
    """The failure may be over, too, and nobody has heard of it."""
    timing = Timing(soak=SOAK, deadline=None, grace=GRACE, outages=((T0 + begin, T0 + end),))
    failed, at = standing("a", FAILED), T0 + counts_at

    assert judge(failed, NEW, timing, at - US) == Judgement(Phase.PROGRESSING, at, "Degraded")
    assert judge(failed, NEW, timing, at).phase is Phase.FAILED


@pytest.mark.parametrize("revision", [NEW, OLD])
@pytest.mark.parametrize("verdict", [None, *Verdict])
@pytest.mark.parametrize("health", list(Health))
@pytest.mark.parametrize("timing", [TIMING, ENDLESS, Timing(), Timing(deadline=SEC)])
def test_until_is_the_next_instant_at_which_anything_changes(
    health: Health, verdict: Verdict | None, revision: str, timing: Timing
) -> None:
    for since in (T0, T0 + 3 * MIN, LIMIT, LIMIT + SEC):
        known = standing("a", health, T0, since, verdict, revision)
        now = since
        for _ in range(6):
            judged = judge(known, NEW, timing, now)
            probe = judged.until or now + timedelta(days=365)

            assert probe > now
            assert judge(known, NEW, timing, probe - US) == judged
            if judged.until is None:
                break
            assert judge(known, NEW, timing, probe) != judged
            now = probe


def test_a_user_of_the_library_sees_a_soak_end_on_the_frozen_clock() -> None:
    with freeze_time(T0) as frozen:
        clock = SystemClock()
        seen = standing("a", SUCCEEDED, clock.now())
        groups = [Group(0, "", ("a", "b"))]
        rollout = rollout_in(spec_of(limit=1), groups, [seen])

        assert decide(rollout, clock.now()).recheck_at == T0 + SOAK
        frozen.move_to(T0 + SOAK - US)
        assert decide(rollout, clock.now()).touch == ()
        frozen.tick(US)
        assert decide(rollout, clock.now()).touch == ("b",)
        frozen.tick(US)
        assert decide(rollout, clock.now()).touch == ("b",)


def test_a_user_of_the_library_sees_a_deadline_pass_on_the_frozen_clock() -> None:
    with freeze_time(T0) as frozen:
        clock = SystemClock()
        rollout = rollout_in(
            spec_of(limit=1, budget=1), [Group(0, "", ("a", "b"))], [standing("a", touched=T0)]
        )
        frozen.move_to(LIMIT - US)
        assert decide(rollout, clock.now()).count(Phase.PROGRESSING) == 1
        assert decide(rollout, clock.now()).touch == ()
        frozen.tick(US)
        step = decide(rollout, clock.now())
        assert [(s.cluster, s.reason) for s in step.settled] == [("a", "Unreachable")]
        assert (step.touch, step.halt) == (("b",), None)


@pytest.mark.parametrize(
    ("blind_since", "phase"),
    [
        pytest.param(LIMIT - MIN, Phase.SOAKING, id="it may have come before the deadline"),
        pytest.param(LIMIT, Phase.SOAKING, id="it may have come at the very deadline"),
        pytest.param(LIMIT + US, Phase.FAILED, id="it had not come when the deadline passed"),
    ],
)
def test_a_success_that_is_heard_while_news_is_missing_is_late_only_if_it_must_be(
    blind_since: datetime, phase: Phase
) -> None:
    seen = standing("a", SUCCEEDED, T0, LIMIT + 10 * MIN)
    timing = replace(TIMING, blind_since=blind_since)

    assert judge(seen, NEW, timing, LIMIT + 11 * MIN).phase is phase
