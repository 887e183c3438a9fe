"""A cluster that a calendar closes joins a stage that has passed: it hides nothing of what comes after."""

from datetime import datetime
from importlib.metadata import EntryPoint

import pytest

from rollout.account.states import Code
from rollout.fleet.fleet import Fleet
from rollout.model import names
from rollout.model.kinds import ROLLOUT_NOTIFICATION
from rollout.model.waits import Reason, Wait
from rollout.plugins import GATE_KINDS, gates
from rollout.strategies.gates import AtGate
from tests.stories.test_analyses import GOOD, gives, phases, template
from tests.stories.test_calendars import calendar
from tests.support import make
from tests.support.story import HOUR, MIN, T0, Story

JANUARY = {
    "name": "year-end",
    "action": "Deny",
    "from": "2026-01-01T00:00",
    "until": "2026-02-01T00:00",
}
TOKYO, NOWHERE = "Asia.Tokyo", "Nowhere"


class AtTwo:
    """A gate of a package: it opens after two hours."""

    def check(self, at: AtGate, now: datetime) -> Wait | None:
        opens = T0 + 2 * HOUR
        return None if now >= opens else Wait(Reason.GATE_CLOSED, "shut until two", opens)


class Broken:
    """A gate of a package that fails for an hour, then opens."""

    def check(self, at: AtGate, now: datetime) -> Wait | None:
        if now < T0 + HOUR:
            raise LookupError("the desk has no such ticket")
        return None


class _Story(Story):
    def fleet(self) -> Fleet:
        broken = EntryPoint("broken", f"{__name__}:Broken", GATE_KINDS)
        return Fleet(self._policy, gates={**gates([broken]), "two": AtTwo()})


def joined(gate: str, zone: str, *, soak: str = "0s") -> Story:
    """The canary has passed or soaks in its stage; c99 of this zone, which is closed, is a canary then."""
    strategy = make.progressive(mandatory=["canary", "east"], minSuccessTime=soak)
    told = _Story(
        [
            make.cluster("c00", {make.GROUP: "canary", "zone": "UTC"}),
            make.cluster("c01", {make.GROUP: "east", "zone": "UTC"}),
            make.cluster("c02", {"zone": "UTC"}),
            make.cluster_set(),
            make.binding(),
            make.placement(groups=["canary", "east"]),
            template(),
            make.workload(strategy=strategy, annotations={names.GATES: gate, names.NOTIFY: "team"}),
            calendar(JANUARY, clusters={"labelSelector": {"matchLabels": {"zone": zone}}}),
        ],
        {"measurements": [gives(GOOD)]},
    )
    told.to(12 * MIN)
    told.add(make.cluster("c99", {make.GROUP: "canary", "zone": zone}))
    return told


def notified(told: Story) -> set[str]:
    return {each["spec"]["trigger"] for each in told.hub.list(ROLLOUT_NOTIFICATION).items}


@pytest.mark.parametrize("zone", [TOKYO, NOWHERE])
def test_the_analysis_of_a_later_gate_begins_and_opens_it(zone: str) -> None:
    told = joined("after:east=analysis/slo", zone, soak="10m").to(HOUR)

    assert phases(told) == ["Successful"]
    assert sorted(told.touched()) == ["c00", "c01", "c02"]


@pytest.mark.parametrize("zone", [TOKYO, NOWHERE])
def test_whoever_has_to_approve_is_told_and_no_window_is(zone: str) -> None:
    told = joined("before:rest", zone).to(HOUR)

    assert told.reason == "ApprovalNeeded"
    assert "on-approval-needed" in notified(told)
    assert "on-window-closed" not in notified(told)


def test_a_gate_that_opens_at_an_instant_is_asked_again_then() -> None:
    told = joined("before:rest=two", TOKYO).to(24 * HOUR)

    assert told.touched()["c02"] == 2 * HOUR


def test_a_gate_that_fails_is_shut_says_so_and_is_asked_again_when_something_happens() -> None:
    told = joined("before:rest=broken", TOKYO).to(3 * HOUR)

    assert (told.reason, told.state().code) == ("GateFailed", Code.PERSON)
    assert "gate before:rest=broken of " in told.message
    assert "it raises LookupError" in told.message
    assert [each.warning for each in told.notes if each.reason == "GateFailed"] == [True]
    assert "c02" not in told.touched()

    told.add(make.cluster("c98", {make.GROUP: "canary", "zone": NOWHERE}))
    told.to(4 * HOUR)
    assert 3 * HOUR <= told.touched()["c02"] <= 3 * HOUR + MIN


def test_while_anything_is_in_flight_the_rollout_goes_on_and_then_waits_for_the_window() -> None:
    told = joined("before:rest=two", TOKYO, soak="10m").to(15 * MIN)
    assert told.reason == "RollingOut"

    told.to(24 * HOUR)
    assert told.reason == "WindowClosed"
    assert "on-window-closed" in notified(told)
