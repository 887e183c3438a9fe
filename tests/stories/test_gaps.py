"""What is a soak worth over a gap in which no process led? Only time that was seen counts."""

from datetime import timedelta

import pytest

from rollout.clock import VirtualClock
from rollout.model.instants import rfc3339
from rollout.model.kinds import MANIFEST_WORK, ref_of
from tests.support import make
from tests.support.story import MIN, SEC, T0, Story

SOAK, BEFORE = 10 * MIN, 5 * MIN
LATE = 15 * SEC
"""So much later than need be, at most."""
STRATEGY = make.progressive(mandatory=["canary"], minSuccessTime="10m", progressDeadline="1h")


def undisturbed() -> timedelta:
    """When the others follow the canary, where one process sees it all."""
    story = Story([*make.fleet(3, canary=1), make.workload(strategy=STRATEGY)]).end()
    return begun(story)


def begun(story: Story) -> timedelta:
    return min(line.after for line in story.lines if line.cluster != "c00")


def after_a_gap(gap: timedelta, *, breaks: bool = False, lease: bool = True) -> Story:
    """The canary soaks; nobody leads for so long; then another process does, up to the end.

    Args:
        breaks: in the gap its success breaks and comes back: the agent stamps another instant.
        lease: whether the last leader's lease is known to the next one.
    """
    story = Story([*make.fleet(3, canary=1), make.workload(strategy=STRATEGY)])
    story.to(BEFORE)
    story.engine.stop()
    assert isinstance(story.clock, VirtualClock)
    story.clock.advance(gap)
    if breaks:
        work = story.works()["c00"]
        stamped = rfc3339(T0 + BEFORE + gap / 2)
        conditions = [
            {**each, "lastTransitionTime": stamped} for each in work["status"]["conditions"]
        ]
        story.hub.patch_status(ref_of(MANIFEST_WORK, work), {"status": {"conditions": conditions}})
    story.restart()
    story.engine.fleet.began(T0 + BEFORE if lease else None, story.clock.now())
    return story.end()


@pytest.mark.parametrize("gap", [5 * SEC, 60 * SEC, 400 * SEC])
def test_a_soak_that_did_not_break_goes_on_and_the_gap_does_not_count(gap: timedelta) -> None:
    """As if a successor's clock were ahead by as much: it ends nothing early."""
    late = begun(after_a_gap(gap)) - (undisturbed() + gap)

    assert timedelta(0) <= late <= LATE


@pytest.mark.parametrize("gap", [5 * SEC, 400 * SEC])
def test_success_that_broke_while_nobody_led_soaks_anew(gap: timedelta) -> None:
    assert begun(after_a_gap(gap, breaks=True)) >= BEFORE + gap + SOAK


def test_without_a_lease_time_counts_from_the_last_word_of_the_record() -> None:
    """Nobody knows how long the process before looked on: the soak is longer, never shorter."""
    gap = 60 * SEC
    found = begun(after_a_gap(gap, lease=False))

    assert undisturbed() + gap <= found <= BEFORE + gap + SOAK + MIN
