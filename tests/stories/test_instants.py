"""Every wait ends at its instant, through the whole engine: not a microsecond before, and not later.

Each story runs twice: on virtual time, and on the wall clock, frozen, with APScheduler's timers.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from freezegun import freeze_time

from rollout.clock import SystemClock
from rollout.errors import Denied
from rollout.model import names
from rollout.model.kinds import Obj
from rollout.sim.drives import Frozen
from tests.support import make
from tests.support.story import MIN, SEC, T0, US, Story

Tell = Callable[..., Story]
READY, SETTLE, GRACE, QUIET = 12 * SEC, 15 * SEC, 60 * SEC, 10 * SEC


@pytest.fixture(params=["virtual", "frozen"])
def tell(request: pytest.FixtureRequest) -> Iterator[Tell]:
    """Starts a story on one kind of time."""
    if request.param == "virtual":
        yield Story
        return
    with freeze_time(T0) as frozen:
        clock, made = SystemClock(), []

        def on_frozen_time(*args: Any, **options: Any) -> Story:
            story = Story(
                *args, clock=clock, drive=lambda: Frozen(frozen.move_to, clock), **options
            )
            made.append(story)
            return story

        yield on_frozen_time
        for story in made:
            story.drive.close()


def silent(*clusters: str) -> Obj:
    return {"rules": [{"clusters": {"names": list(clusters)}, "behaviour": {"outcome": "silent"}}]}


def failing(**more: Any) -> Obj:
    """c00 is Degraded from 12 s on."""
    behaviour = {"outcome": "fail", **more}
    return {"rules": [{"clusters": {"names": ["c00"]}, "behaviour": behaviour}]}


def touched(story: Story) -> object:
    return sorted(story.touched())


def reason(story: Story) -> object:
    return story.reason


ONE, TWO = ["c00"], ["c00", "c01"]
HALTED = "MaxFailuresExceeded"

# What is waited for | the strategy | its condition rules | agents | when | seen before | and then
ROWS = [
    pytest.param(
        {"minSuccessTime": "5m"}, (), {}, READY + 5 * MIN, touched, ONE, TWO, id="soak"
    ),
    pytest.param({}, ("Progressing",), {}, READY + SETTLE, touched, ONE, TWO, id="settle"),
    pytest.param(
        {"minSuccessTime": "14999999us"}, ("Progressing",), {}, READY + SETTLE, touched, ONE, TWO,
        id="a soak shorter than the settle time",
    ),
    pytest.param(
        {"minSuccessTime": "15000001us"}, ("Progressing",), {}, READY + SETTLE + US, touched,
        ONE, TWO, id="a soak longer than the settle time",
    ),
    pytest.param(
        {"progressDeadline": "5m", "maxFailures": 1}, (), silent("c00"), 5 * MIN, touched, ONE, TWO,
        id="deadline of an agent that never answers",
    ),
    pytest.param(
        {"progressDeadline": "5m"}, (), silent("c00"), 5 * MIN, reason, "RollingOut", HALTED,
        id="deadline that breaks the budget",
    ),
    pytest.param(
        {"progressDeadline": "12s", "minSuccessTime": "1m"}, (), {}, READY + MIN, touched, ONE, TWO,
        id="success just at the deadline soaks on",
    ),
    pytest.param(
        {"progressDeadline": "11s"}, (), {}, 11 * SEC, reason, "RollingOut", HALTED,
        id="deadline before success",
    ),
    pytest.param(
        {"maxFailures": 1}, ("Progressing", "Degraded"), failing(), READY + GRACE, touched,
        ONE, TWO, id="failure grace, no deadline: the slot is free",
    ),
    pytest.param(
        {"progressDeadline": "5m"}, ("Progressing", "Degraded"), failing(), READY + GRACE, reason,
        "RollingOut", HALTED, id="failure grace before a deadline: it counts",
    ),
    pytest.param(
        {"progressDeadline": "5m", "maxFailures": 1}, ("Progressing", "Degraded"), failing(),
        5 * MIN, touched, ONE, TWO, id="... and keeps its slot until the deadline",
    ),
    pytest.param(
        {"progressDeadline": "30s", "maxFailures": 1}, ("Progressing", "Degraded"), failing(),
        30 * SEC, touched, ONE, TWO, id="deadline within the grace",
    ),
    pytest.param(
        {"minSuccessTime": "1m"}, ("Progressing", "Degraded"), failing(recoverAfter="40s"),
        READY + 40 * SEC + MIN, touched, ONE, TWO, id="soak after a recovery",
    ),
    pytest.param(
        {"minSuccessTime": "1m", "progressDeadline": "20s"}, (),
        {"defaults": {"flapping": {"period": "30s", "count": 1}}}, READY + MIN + MIN, touched,
        ONE, TWO, id="a break within the soak: it starts anew, the deadline does not",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("options", "rules", "agents", "at", "look", "before", "then"), ROWS)
def test_it_ends_at_the_instant(
    tell: Tell,
    options: Obj,
    rules: tuple[str, ...],
    agents: Obj,
    at: timedelta,
    look: Callable[[Story], object],
    before: object,
    then: object,
) -> None:
    strategy = make.progressive(**{"maxConcurrency": 1, **options})
    story = tell([*make.fleet(2), make.workload(strategy=strategy, rules=rules)], agents)

    assert look(story.to(at - US)) == before
    assert look(story.to(at)) == then
    assert look(story.to(at + US)) == then


def test_a_canary_stage_opens_the_next_at_the_instant(tell: Tell) -> None:
    strategy = make.progressive(mandatory=["canary"], minSuccessTime="5m")
    documents = [*make.fleet(3, canary=2), make.workload(strategy=strategy)]
    story = tell(documents, {"rules": [{"clusters": {"names": ["c01"]}, "behaviour": {"readyAfter": "30s"}}]})  # fmt: skip

    assert touched(story.to(32 * SEC + 5 * MIN - US)) == TWO
    assert touched(story.to(32 * SEC + 5 * MIN)) == [*TWO, "c02"]


def test_decisions_of_others_are_believed_when_they_have_been_still_for_10_s(tell: Tell) -> None:
    documents = [make.placement(ours=False), make.decision(TWO), make.workload()]
    story = tell(documents, {"finalizers": False}).to(MIN)
    story.decide(make.decision(ONE))

    assert sorted(story.to(MIN + QUIET - US).works()) == TWO
    assert sorted(story.to(MIN + QUIET).works()) == ONE


def test_a_change_in_the_quiet_period_begins_it_anew(tell: Tell) -> None:
    documents = [make.placement(ours=False), make.decision([*TWO, "c02"]), make.workload()]
    story = tell(documents, {"finalizers": False}).to(MIN)
    story.decide(make.decision(TWO))
    story.on(9 * SEC)
    story.decide(make.decision(ONE))

    assert sorted(story.to(MIN + 19 * SEC - US).works()) == [*TWO, "c02"]
    assert sorted(story.to(MIN + 19 * SEC).works()) == ONE


def test_a_refused_write_is_tried_again_after_5_10_20_seconds(tell: Tell) -> None:
    story = tell([*make.fleet(2), make.workload()])
    story.denied["c00"] = Denied("no")
    tries = []
    admit = story._admit

    for at in (5 * SEC, 15 * SEC, 35 * SEC, 75 * SEC):
        story.to(at - US)
        story.denied.clear()
        tries.append(touched(story.to(at - US)))
        story.denied["c00"] = Denied("no")
        story.to(at)
    story.denied.clear()
    story.to(155 * SEC - US)
    tries.append(touched(story))
    assert tries == [["c01"]] * 5
    assert touched(story.to(155 * SEC)) == TWO
    assert admit is not None


def test_the_brake_eases_when_what_went_before_is_10_minutes_ago(tell: Tell) -> None:
    """Removals may be remembered by the minute, and then rather longer than shorter."""
    story = tell([*make.fleet(40), make.workload()], {"finalizers": False}).to(60 * MIN)
    story.lose(*(f"c{n:02d}" for n in range(6)))
    story.settle()
    start = story.now
    story.on(MIN)
    story.lose(*(f"c{n:02d}" for n in range(6, 11)))
    story.settle()
    assert (story.reason, len(story.works())) == ("RemovalBrake", 34)

    at = story.drive.next_at()
    assert at is not None
    eased = at - T0
    assert start + 10 * MIN <= eased <= start + 11 * MIN
    assert len(story.to(eased - US).works()) == 34
    assert len(story.to(eased).works()) == 29
    assert story.reason == "Complete"


def test_a_release_of_removals_ends_at_its_instant(tell: Tell) -> None:
    story = tell([*make.fleet(30), make.workload()], {"finalizers": False}).to(60 * MIN)
    story.annotate(names.RELEASE_REMOVALS, "2026-01-01T01:05:00Z")
    for at, first, left in ((65 * MIN - US, 0, 19), (65 * MIN, 11, 19)):
        story.to(at)
        story.lose(*(f"c{n:02d}" for n in range(first, first + 11)))
        story.settle()
        assert len(story.works()) == left
    assert story.reason == "RemovalBrake"
