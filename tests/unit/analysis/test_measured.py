"""Whoever looks ahead measures nothing, also where something is due to be measured."""

from datetime import timedelta

from rollout.analysis.copies import placed
from rollout.clock import VirtualClock
from rollout.model import names
from tests.stories.test_analyses import AFTER_CANARY, GOOD, gives, runs, story
from tests.support.shapes import run
from tests.support.story import MIN, SETTLED


def test_a_look_ahead_measures_nothing() -> None:
    told = story({names.GATES: AFTER_CANARY}, gives(GOOD)).to(SETTLED + MIN)
    before = runs(told)
    clock = told.clock
    assert isinstance(clock, VirtualClock)
    clock.advance(timedelta(hours=1))

    placed(told.hub, clock)

    assert before[0]["status"]["phase"] == "Running"
    assert runs(told) == before


def test_a_rehearsal_takes_analyses_to_be_successful() -> None:
    told = run("simulate", "-f", "examples/analysis", state=None)

    assert told.exit_code == 0, told.output
    assert "4 of 4" in told.stdout or "4/4" in told.stdout
