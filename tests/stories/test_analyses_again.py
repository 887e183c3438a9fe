"""What an analysis found counts for the attempt that it was made for, and for as long as that goes on."""

import pytest

from rollout.model import names
from rollout.model.kinds import Obj
from tests.stories.test_analyses import (
    AFTER_CANARY,
    BAD,
    GATED,
    GOOD,
    phases,
    runs,
    story,
    template,
)
from tests.support import make
from tests.support.story import HOUR, MIN, Story


def comes_back(told: Story, *, restarts: str = "") -> Story:
    """Version 2 is rolled out after 20 minutes, and version 1 again after an hour."""
    told.to(20 * MIN)
    told.template(make.template("2"))
    told.to(HOUR)
    if restarts:
        told.restart()
    told.template(make.template("1"))
    return told


@pytest.mark.parametrize("restarts", ["", "restarted"])
def test_a_gate_of_a_revision_that_comes_back_is_measured_anew(restarts: str) -> None:
    measured = {names.GATES: AFTER_CANARY}
    told = comes_back(
        story(measured, {"metric": "rate", "value": GOOD}, from_minute(50, BAD)), restarts=restarts
    )
    told.on(HOUR)

    assert told.reason == "AnalysisFailed"
    assert told.versions() == {"c00": "1", "c01": "2", "c02": "2"}


def test_what_once_failed_at_a_gate_does_not_halt_the_revision_when_it_comes_back() -> None:
    told = comes_back(
        story({names.GATES: AFTER_CANARY}, {"metric": "rate", "value": BAD}, from_minute(50, GOOD))
    )
    told.on(HOUR)

    assert told.reason == "Complete"
    assert set(told.versions().values()) == {"1"}


@pytest.mark.parametrize("restarts", ["", "restarted"])
def test_in_the_background_a_revision_that_comes_back_is_measured_anew(restarts: str) -> None:
    told = comes_back(
        story(
            {names.ANALYSIS: "slo"},
            {"metric": "rate", "value": GOOD},
            from_minute(50, BAD),
            strategy=GATED | {"progressive": GATED["progressive"] | {"minSuccessTime": "5m"}},
        ),
        restarts=restarts,
    )
    told.on(HOUR)

    assert told.reason == "AnalysisFailed"
    assert told.versions()["c02"] == "2"


def test_the_runs_of_a_revision_do_not_grow_with_the_times_that_it_comes_back() -> None:
    told = story({names.GATES: AFTER_CANARY}, {"metric": "rate", "value": GOOD})
    for version in ("1", "2", "1", "2", "1"):
        told.template(make.template(version))
        told.on(20 * MIN)

    assert told.reason == "Complete"
    assert len(runs(told)) == 2


def from_minute(minute: int, value: float) -> Obj:
    """What is measured from this minute on."""
    return {"metric": "rate", "value": value, "from": f"{minute}m"}


@pytest.mark.parametrize(
    ("limits", "behaviour"),
    [
        pytest.param({"progressDeadline": "1m"}, {"readyAfter": "3m"}, id="late"),
        pytest.param({}, {"outcome": "fail", "recoverAfter": "90s"}, id="degraded for a while"),
    ],
)
def test_a_failed_cluster_that_recovers_is_measured_and_ends_the_halt(
    limits: Obj, behaviour: Obj
) -> None:
    told = recovering(limits, behaviour, GOOD).to(2 * MIN)
    assert told.reason == "MaxFailuresExceeded"

    assert told.to(HOUR).reason == "Complete"
    assert phases(told) == ["Successful"] * 3


def test_a_failed_cluster_that_recovers_and_fails_its_analysis_stays_failed() -> None:
    told = recovering({"progressDeadline": "1m"}, {"readyAfter": "3m"}, BAD).to(2 * HOUR)

    assert told.reason == "MaxFailuresExceeded"
    assert list(told.touched()) == ["c00"]
    assert phases(told) == ["Failed"]


def recovering(limits: Obj, behaviour: Obj, value: float) -> Story:
    """The first cluster fails for a while."""
    strategy = make.progressive(maxConcurrency=1, minSuccessTime="1m", **limits)
    workload = make.workload(strategy=strategy, annotations={names.CLUSTER_ANALYSIS: "slo"})
    rules = [{"clusters": {"names": ["c00"]}, "behaviour": behaviour}]
    measured = [{"metric": "rate", "value": value}]
    agents = {"rules": rules, "measurements": measured}
    return Story([*make.fleet(3), template(), workload], agents)
