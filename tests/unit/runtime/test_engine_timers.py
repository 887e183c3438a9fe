"""What if a timer fires while something else is on its way? Each key once, in time, and none forgotten."""

from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from typing import Any

import pytest

from rollout.model.events import Event
from rollout.model.kinds import REPLICA_SET, Ref
from rollout.planning.plan import Plan
from rollout.runtime.io import WriteOutcome, WriteResult
from rollout.runtime.timers import VirtualTimers
from tests.support.engines import SEC, T0, A, B, Rig, note

C = Ref(REPLICA_SET, "default/c")


def held_back(rig: Rig, until: datetime, *waves: tuple[object, ...]) -> Callable[[], Plan]:
    """Plan these writes once, and a status that may be written only then."""

    def plan() -> Plan:
        del rig.script.answers[A.key]
        return Plan(waves, recheck_at=None, status_due_at=until)  # type: ignore[arg-type]  # waves of writes

    return plan


def at(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


def test_a_plan_that_raises_keeps_nobody_from_their_turn() -> None:
    def broken() -> Plan:
        raise RuntimeError("a plugin broke")

    rig = Rig(holding=True, most_out=1, strict=False)
    rig.script.once(A, [note("a")])
    rig.script.answers[B.key] = broken
    rig.start(A, B, C)
    rig.io.release()
    rig.run()

    assert rig.script.keys[:3] == ["a", "b", "c"]
    assert rig.engine.waiting == 0


def test_a_timer_that_fired_before_the_writes_landed_does_not_cut_the_rest_short() -> None:
    rig = Rig(holding=True, gather=1 * SEC, from_landing=True)
    rig.start(A).to(at(5))
    rig.script.once(A, [note("one")])
    rig.poke(A, "1")
    rig.to(at(5.3))
    rig.poke(A, "2")
    rig.run()  # gathered until the sixth second
    rig.clock.advance(T0 + at(6.01) - rig.clock.now())
    rig.io.release()  # the answer is in the inbox first
    rig.timers.run_due()  # then the timer
    rig.run().to(at(20))

    assert [when for when, _ in rig.asked()] == [at(0), at(5), at(7.01)]


def test_news_that_a_recheck_has_planned_are_not_planned_again() -> None:
    rig = Rig(gather=1 * SEC)
    rig.start(A).to(at(5))
    rig.script.answers[A.key] = held_back(rig, T0 + at(5.5))
    rig.poke(A, "1")
    rig.to(at(5.3))
    rig.poke(A, "2")
    rig.to(at(20))

    assert [when for when, _ in rig.asked()] == [at(0), at(5), at(5.5)]


@pytest.mark.parametrize(
    ("outcome", "soonest"),
    [
        (WriteOutcome(result=WriteResult.WAIT, after=30 * SEC), at(35)),
        (WriteOutcome(result=WriteResult.LANDED), at(5.5)),
    ],
    ids=["the server asks to wait", "it landed"],
)
def test_a_status_that_is_due_waits_as_long_as_the_server_asks(
    outcome: WriteOutcome, soonest: timedelta
) -> None:
    rig = Rig(holding=True, gather=1 * SEC)
    rig.start(A).to(at(5))
    rig.io.answers["w"] = outcome
    rig.script.answers[A.key] = held_back(rig, T0 + at(5.5), (note("w"),))
    rig.poke(A, "1")
    rig.run()
    rig.io.release()
    rig.run().to(at(60))

    assert [when for when, _ in rig.asked()] == [at(0), at(5), soonest]


class PromptTimers(VirtualTimers):
    """Timers that fire as soon as they are due, whatever the engine does, as those on threads do."""

    fired = 0

    def arm(self, key: Hashable, at: datetime) -> None:
        super().arm(key, at)
        self.look()

    def look(self) -> None:
        self.fired += self.run_due()
        assert self.fired < 10, "a timer that has fired is set again, and fires again, for ever"


class PromptRig(Rig):
    timers: PromptTimers

    def _timers(self, wake: Callable[[Any], None]) -> PromptTimers:
        self.timers = PromptTimers(self.clock, wake)
        return self.timers


def test_timers_that_fire_while_much_is_being_taken_in_are_taken_in_once() -> None:
    """A turn that went by the time of its beginning set them again, to be due at once, and never ended."""
    rig = PromptRig(gather=1 * SEC)
    rig.start(A, B)
    taken = rig.fleet.apply

    def apply(event: Event, now: datetime) -> set[Ref]:
        found = taken(event, now)
        if event.ref == B:  # it takes long
            rig.clock.advance(2 * SEC)
            rig.timers.look()
        return found

    rig.fleet.apply = apply  # type: ignore[method-assign]  # the news of one object are slow
    since = len(rig.script.asked)
    rig.poke(A)
    rig.poke(B)
    rig.run()

    assert rig.asked(since) == [(2 * SEC, "a"), (2 * SEC, "b")]
