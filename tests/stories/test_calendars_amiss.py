"""Calendars that count together, that cannot be read, or that a person overrides, through the whole engine."""

from datetime import timedelta

import pytest

from rollout.account.states import state_of
from rollout.analysis.snapshot import snapshot_of
from rollout.clock import VirtualClock
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.conditions import read_conditions
from rollout.model.instants import rfc3339
from rollout.model.kinds import (
    CLUSTER_CALENDAR,
    REPLICA_SET,
    ROLLOUT_NOTIFICATION,
    Obj,
    Ref,
)
from rollout.operate import Who, override_calendars
from tests.stories.operating import BAD_2
from tests.stories.test_calendars import ALWAYS, calendar, story
from tests.support import make
from tests.support.addons import CMA, Rig, addon, config, fleet, installed_at, said
from tests.support.story import HOUR, MIN, T0, Story

WEB = Ref(REPLICA_SET, "default/web")
BUSINESS = Ref(CLUSTER_CALENDAR, "business")
UTC = {"c00": "UTC"}


def window(schedule: str, duration: str, name: str = "w") -> Obj:
    return {"name": name, "action": "Allow", "schedule": schedule, "duration": duration}


def lenient(*documents: Obj, clusters: int = 1) -> Story:
    """On a hub that takes calendars which an API server would refuse."""
    clock = VirtualClock(T0)
    fleet = make.fleet(clusters)
    return Story([*fleet, *documents, make.workload()], hub=MemoryHub(clock), clock=clock)


def breaks(told: Story) -> None:
    told.hub.patch(BUSINESS, {"spec": {"windows": [window("at night", "1h")]}})


def followed(told: Story) -> tuple[str, str] | None:
    """Status and reason of the condition that tells whether calendars are followed."""
    found = read_conditions(told.mwrs()["status"]["conditions"]).get(names.CALENDARS_FOLLOWED)
    return (found.status, found.reason) if found is not None else None


# -- several calendars -----------------------------------------------------------------------------


def test_several_calendars_say_when_all_of_them_are_open_and_that_is_when_a_cluster_is_touched() -> (
    None
):
    saturdays = calendar(
        window("0 23 * * *", "1h"), window("0 0 * * sat", "24h", "sat"), name="b", timeZone="UTC"
    )
    told = story(
        calendar(window("0 22 * * *", "1h"), name="a", timeZone="UTC"), saturdays,
        make.workload(annotations={names.NOTIFY: "team"}), zones=UTC,
    )  # fmt: skip

    for hours in range(0, 70, 3):
        told.to(hours * HOUR)
        assert "opens Sat 2026-01-03 22:00 UTC (22:00Z)" in told.message, hours
    assert told.to(71 * HOUR).touched() == {"c00": 70 * HOUR}
    sent = [each["spec"]["trigger"] for each in told.hub.list(ROLLOUT_NOTIFICATION).items]
    assert sent.count("on-window-closed") == 1


def test_calendars_that_are_never_open_together_say_so_once() -> None:
    told = story(
        calendar(window("0 22 * * *", "1h"), name="a", timeZone="UTC"),
        calendar(window("0 23 * * *", "1h"), name="b", timeZone="UTC"),
        make.workload(annotations={names.NOTIFY: "team"}), zones=UTC,
    ).to(5 * 24 * HOUR)  # fmt: skip

    assert told.touched() == {}
    assert "never open together with ClusterCalendar " in told.message
    assert len(told.hub.list(ROLLOUT_NOTIFICATION).items) == 1
    account = snapshot_of(told.hub, told.clock.now()).account(WEB)
    assert account is not None
    assert account.finish is not None
    assert account.finish.at is None
    assert "never open together" in account.finish.why


# -- calendars that cannot be read -----------------------------------------------------------------


def test_after_a_restart_an_unreadable_calendar_still_concerns_only_whom_it_named() -> None:
    far = {"labelSelector": {"matchLabels": {"zone": "far"}}}
    told = lenient(calendar(timeZone="UTC", clusters=far))
    told.on(HOUR)
    breaks(told)
    told.settle().restart()
    told.template(make.template("2"))
    told.on(HOUR)

    assert told.touched("2")
    assert told.reason == "Complete"


def test_after_a_restart_an_unreadable_calendar_leaves_open_what_was_open() -> None:
    told = lenient(calendar(ALWAYS, timeZone="UTC"))
    told.on(HOUR)
    breaks(told)
    told.on(HOUR)
    told.restart()
    told.template(make.template("2"))
    told.on(HOUR)

    assert told.touched("2")
    assert "clusters stay as they were before" in told.message


def test_after_a_restart_an_unreadable_calendar_leaves_closed_what_was_closed() -> None:
    told = lenient(calendar(timeZone="UTC"))
    told.settle()
    breaks(told)
    told.settle().restart()
    told.to(23 * HOUR)

    assert told.touched() == {}
    assert "the cluster stays closed as it was" in told.message


def test_a_calendar_that_could_never_be_read_closes_all_and_says_so() -> None:
    told = lenient(calendar(window("at night", "1h"), timeZone="UTC")).settle()

    assert told.reason == "WindowClosed"
    assert "it could never be read, so all clusters are closed" in told.message
    condition = read_conditions(told.hub.get(BUSINESS)["status"]["conditions"])["Misconfigured"]
    assert "it could never be read" in condition.message


def test_a_workload_has_a_condition_while_a_calendar_that_may_concern_it_cannot_be_read() -> None:
    told = lenient(calendar(ALWAYS, timeZone="UTC"))
    told.on(HOUR)
    assert followed(told) is None
    breaks(told)
    told.on(HOUR)
    assert followed(told) == ("False", "Misconfigured")

    told.hub.patch(BUSINESS, {"spec": {"windows": [ALWAYS]}})
    told.on(HOUR)
    assert followed(told) == ("True", "AsExpected")


def test_an_add_on_says_what_is_amiss_and_who_lets_it_past_calendars() -> None:
    """Its hub takes what an API server would refuse."""
    rig = Rig(
        [*fleet("c0"), config(), addon("default", placements=[installed_at("p")])], checks=False
    ).decide(["c0"])
    rig.add(calendar(window("at night", "1h"), timeZone="UTC"))
    rig.settle()

    def told() -> tuple[str, str, str]:
        return said(rig.progression(), names.CALENDARS_FOLLOWED)

    assert told()[:2] == ("False", "Misconfigured")
    assert "it could never be read, so all clusters are closed" in told()[2]
    assert "it could never be read" in state_of(rig.hub.get(CMA)).message

    until = rig.clock.now() + HOUR
    override_calendars(rig.hub, CMA, until, Who("ann", rig.clock.now(), "payments are down"))
    rig.later(MIN)
    assert told()[:2] == ("False", "Overridden")
    assert f"past all calendars until {rfc3339(until)} by ann" in state_of(rig.hub.get(CMA)).message

    rig.later(HOUR)
    rig.hub.delete(BUSINESS)
    assert [told()[:2], rig.settle() and told()[:2]] == [
        ("False", "Misconfigured"), ("True", "AsExpected"),
    ]  # fmt: skip
    events = [note.reason for note in rig.notes]
    assert (events.count("CalendarsOverridden"), events.count("CalendarsFollowed")) == (1, 1)


# -- people ----------------------------------------------------------------------------------------

ANN = Who("ann", T0, "payments are down")
PAST = f"past all calendars until {rfc3339(T0 + HOUR)} by ann (unverified) at {rfc3339(T0)}"


def test_an_override_stands_in_conditions_status_and_list_while_it_lasts() -> None:
    told = story(calendar(timeZone="UTC"), make.workload(), zones=UTC).settle()
    override_calendars(told.hub, WEB, T0 + HOUR, ANN)

    def shown(at: timedelta) -> tuple[bool, ...]:
        told.to(at)
        listed = snapshot_of(told.hub, told.clock.now()).account(WEB, detail=False)
        assert listed is not None
        return (
            f"{PAST}: payments are down" in told.message,
            PAST in told.condition(names.READY).message,
            PAST in told.state().message,
            followed(told) == ("False", "Overridden"),
            listed.past_calendars == f"past all calendars until {rfc3339(T0 + HOUR)}",
        )

    assert shown(MIN) == (True,) * 5
    assert shown(HOUR) == (False,) * 5
    assert followed(told) == ("True", "AsExpected")


def test_events_tell_that_an_override_begins_and_ends_and_what_goes_on_by_it() -> None:
    strategy = make.progressive(maxConcurrency=1, minSuccessTime="10m")
    night = calendar(window("0 0 * * *", "1m"), timeZone="UTC")
    told = story(
        night, make.workload(strategy=strategy), zones=dict.fromkeys(("c00", "c01", "c02"), "UTC")
    ).to(30 * MIN)
    before = len(told.notes)
    override_calendars(told.hub, WEB, T0 + HOUR, ANN)
    told.to(2 * HOUR)

    notes = [(note.reason, PAST in note.message) for note in told.notes[before:]]
    assert notes.count(("CalendarsOverridden", True)) == 1
    assert notes.count(("RolloutResumed", True)) == 1
    assert notes.count(("CalendarsFollowed", False)) == 1
    assert [note.warning for note in told.notes if note.reason == "CalendarsOverridden"] == [True]


def test_an_unreadable_calendar_is_told_during_an_override_too() -> None:
    told = lenient(calendar(window("at night", "1h"), timeZone="UTC"))
    override_calendars(told.hub, WEB, T0 + HOUR, ANN)
    told.on(MIN)

    assert told.touched()
    assert "is Misconfigured" in told.message


# -- rollbacks -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("blocks", "back"), [(["Touch"], True), (["Touch", "Rollback"], False)])
def test_a_revision_is_taken_back_in_a_closed_window_unless_that_is_blocked(
    blocks: list[str], back: bool
) -> None:
    notes = {names.ROLLBACK: "Automatic"}
    strategy = make.progressive(maxConcurrency=1, maxFailures=0, progressDeadline="2m")
    hours = calendar(window("0 0,22 * * *", "30m"), timeZone="UTC", blocks=blocks)
    told = story(
        hours, make.workload(strategy=strategy, annotations=notes),
        zones=dict.fromkeys(("c00", "c01"), "UTC"), agents={"rules": [BAD_2]},
    ).to(29 * MIN)  # fmt: skip
    told.template(make.template("2"))
    told.to(5 * HOUR)

    assert told.touched("2") == {"c00": 29 * MIN}
    assert (told.versions()["c00"] == "1") is back
    if not back:
        assert told.reason == "RollingBack"
        told.to(22 * HOUR - MIN)
        assert told.versions()["c00"] == "2", "not before the window"
    told.to(22 * HOUR + MIN)
    assert set(told.versions().values()) == {"1"}
    assert told.reason == "RolledBack"
