"""Clusters wait for their windows, through the whole engine. The first of January 2026 is a Thursday."""

from datetime import timedelta
from typing import Any

import pytest

from rollout.analysis.snapshot import snapshot_of
from rollout.clock import VirtualClock
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.instants import rfc3339
from rollout.model.kinds import (
    CALENDAR,
    CLUSTER_CALENDAR,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    REPLICA_SET,
    Obj,
    Ref,
)
from rollout.operate import Who, override_calendars
from tests.support import make
from tests.support.story import HOUR, MIN, SEC, T0, US, Story

NIGHT = {"name": "night", "action": "Allow", "schedule": "0 22 * * *", "duration": "90m"}
ALWAYS = {"name": "all-day", "action": "Allow", "schedule": "0 0 * * *", "duration": "24h"}
ZONES = {"c00": "UTC", "c01": "Asia.Tokyo", "c02": "America.New_York"}
"""Their nights begin at 22:00, 13:00 and 03:00 UTC, and end ninety minutes later."""


def calendar(*windows: Obj, name: str = "business", **spec: Any) -> Obj:
    return {
        "apiVersion": CLUSTER_CALENDAR.api_version,
        "kind": CLUSTER_CALENDAR.name,
        "metadata": {"name": name},
        "spec": {"windows": list(windows or (NIGHT,)), "timeZoneFrom": {"label": "zone"}, **spec},
    }


def story(*documents: Obj, zones: dict[str, str] | None = None, **options: Any) -> Story:
    chosen = ZONES if zones is None else zones
    fleet = make.fleet(len(chosen))
    for obj in fleet:
        if obj["kind"] == "ManagedCluster":
            obj["metadata"]["labels"]["zone"] = chosen[obj["metadata"]["name"]]
    return Story([*fleet, *documents], **options)


def test_each_cluster_is_touched_when_its_own_night_begins() -> None:
    told = story(calendar(), make.workload()).to(23 * HOUR)

    assert told.touched() == {"c02": 3 * HOUR, "c01": 13 * HOUR, "c00": 22 * HOUR}
    assert told.reason == "Complete"


def test_not_a_microsecond_before_and_not_later() -> None:
    told = story(calendar(), make.workload())

    told.to(3 * HOUR - US)
    assert told.touched() == {}
    told.to(3 * HOUR)
    assert list(told.touched()) == ["c02"]


def test_what_waits_says_which_window_and_when_it_opens_there_and_in_utc() -> None:
    told = story(calendar(), make.workload()).settle()

    assert told.reason == "WindowClosed"
    assert "ClusterCalendar business: outside of all windows that allow" in told.message
    assert "opens Thu 2026-01-01 22:00 UTC (22:00Z)" in told.message


def test_clusters_in_flight_when_the_window_closes_go_on_and_others_wait() -> None:
    hour = {**NIGHT, "schedule": "0 0 * * *", "duration": "1m"}
    told = story(
        calendar(hour, timeZone="UTC"),
        make.workload(strategy=make.progressive(maxConcurrency=1, minSuccessTime="60s")),
        zones=dict.fromkeys(("c00", "c01"), "UTC"),
    )
    told.to(5 * MIN)

    assert told.touched() == {"c00": 0 * SEC}
    assert told.summary()["available"] == 1
    told.to(24 * HOUR)
    assert told.touched()["c01"] == 24 * HOUR


def test_a_closed_canary_holds_back_what_comes_after_its_stage() -> None:
    zones = {"c00": "UTC", "c01": "Asia.Tokyo", "c02": "Asia.Tokyo"}
    fleet = make.fleet(3, canary=1)
    for obj in fleet:
        if obj["kind"] == "ManagedCluster":
            obj["metadata"]["labels"]["zone"] = zones[obj["metadata"]["name"]]
    strategy = make.progressive(mandatoryDecisionGroups=[{"groupName": "canary"}])
    told = Story([*fleet, calendar(), make.workload(strategy=strategy)]).to(48 * HOUR)

    assert told.touched() == {"c00": 22 * HOUR, "c01": 37 * HOUR, "c02": 37 * HOUR}


def test_deny_wins_over_several_calendars_and_open_is_open_in_all() -> None:
    freeze = {
        "name": "freeze", "action": "Deny", "from": "2026-01-01T00:00", "until": "2026-01-02T22:30",
        "reason": "stock-taking",
    }  # fmt: skip
    told = story(
        calendar(timeZone="UTC"), calendar(freeze, name="stock", timeZone="UTC"),
        make.workload(), zones={"c00": "UTC"},
    ).settle()  # fmt: skip

    assert "window freeze: stock-taking" in told.message
    told.to(48 * HOUR)
    assert told.touched() == {"c00": 46 * HOUR + 30 * MIN}


def test_a_cluster_of_an_unknown_zone_stays_closed_and_nobody_else_does() -> None:
    told = story(calendar(), make.workload(), zones={"c00": "Mars.Base", "c01": "UTC"})
    told.to(24 * HOUR)

    assert told.touched() == {"c01": 22 * HOUR}
    assert told.reason == "UnknownTimeZone"
    assert "'Mars/Base' is not a time zone" in told.message


def test_a_cluster_that_gets_a_zone_is_open_by_it() -> None:
    told = story(calendar(), make.workload(), zones={"c00": "Mars.Base"}).settle()
    told.hub.patch(Ref(MANAGED_CLUSTER, "c00"), {"metadata": {"labels": {"zone": "Asia.Tokyo"}}})
    told.to(24 * HOUR)

    assert told.touched() == {"c00": 13 * HOUR}


def test_a_calendar_concerns_the_workloads_that_it_names() -> None:
    for spec, waits in (
        ({"workloads": {"kinds": ["ClusterManagementAddOn"]}}, False),
        ({"workloads": {"selector": {"matchLabels": {"tier": "gold"}}}}, False),
        ({"clusters": {"labelSelector": {"matchLabels": {"zone": "nowhere"}}}}, False),
        ({"clusters": {"celSelector": {"celExpressions": ["false"]}}}, False),
        ({"clusters": {"celSelector": {"celExpressions": ["true"]}}}, True),
        ({"workloads": {"kinds": ["ManifestWorkReplicaSet"]}}, True),
        ({"blocks": ["Removal"]}, False),
    ):
        told = story(calendar(**spec), make.workload(), zones={"c00": "UTC"}).settle()
        assert bool(told.touched()) is not waits, spec


def test_a_calendar_of_another_namespace_concerns_nobody_here() -> None:
    here = calendar() | {"kind": CALENDAR.name, "metadata": {"name": "a", "namespace": "default"}}
    there = calendar() | {"kind": CALENDAR.name, "metadata": {"name": "a", "namespace": "other"}}

    assert story(there, make.workload(), zones={"c00": "UTC"}).settle().touched()
    assert not story(here, make.workload(), zones={"c00": "UTC"}).settle().touched()


def test_works_are_removed_when_the_window_opens() -> None:
    told = story(calendar(), make.workload(), zones={"c00": "UTC", "c01": "UTC"})
    told.to(23 * HOUR)
    assert len(told.works()) == 2
    told.to(24 * HOUR)
    told.hub.delete(Ref(REPLICA_SET, "default/web"))
    told.to(45 * HOUR)
    assert len(told.works()) == 2
    assert "2 stay: ClusterCalendar business" in told.condition(names.READY).message

    told.to(46 * HOUR + MIN)
    assert not told.works()
    assert not told.exists(Ref(REPLICA_SET, "default/web"))


def test_a_deletion_names_what_is_held_and_what_is_closed_and_waits_for_both() -> None:
    told = story(calendar(), make.workload(), zones=dict.fromkeys(("c00", "c01", "c02"), "UTC"))
    told.to(24 * HOUR)
    told.annotate(names.HOLD, "c00")
    told.hub.delete(Ref(REPLICA_SET, "default/web"))
    told.to(45 * HOUR)
    message = told.condition(names.READY).message
    assert "2 stay: ClusterCalendar business" in message
    assert "1 stay in clusters that are held (c00)" in message

    told.to(46 * HOUR + MIN)
    assert sorted(told.works()) == ["c00"]
    assert "ClusterCalendar" not in told.condition(names.READY).message
    told.annotate(names.HOLD, None)
    told.to(46 * HOUR + 2 * MIN)
    assert not told.exists(Ref(REPLICA_SET, "default/web"))


def test_a_manifest_work_that_somebody_took_away_is_restored_in_a_closed_window_unless_blocked() -> (
    None
):
    for blocks, restored in ((["Touch"], True), (["Touch", "Restore"], False)):
        told = story(calendar(blocks=blocks), make.workload(), zones={"c00": "UTC"})
        told.to(30 * HOUR)
        (work,) = told.works().values()
        told.hub.delete(Ref(MANIFEST_WORK, f"c00/{work['metadata']['name']}"))
        told.to(31 * HOUR)
        assert bool(told.works()) is restored, blocks
        told.to(46 * HOUR + MIN)
        assert told.works(), "at night it is restored"


def test_an_override_opens_for_as_long_as_it_lasts_and_at_most_a_day() -> None:
    for hours, opens in ((2, True), (24, True), (25, False)):
        told = story(calendar(), make.workload(), zones={"c00": "UTC"}).settle()
        told.annotate(names.OVERRIDE_CALENDARS, rfc3339(T0 + hours * HOUR))
        told.on(MIN)
        assert bool(told.touched()) is opens, hours


def test_of_an_override_only_the_last_day_counts() -> None:
    told = story(calendar(), make.workload(), zones={"c00": "UTC"}).settle()
    told.annotate(names.OVERRIDE_CALENDARS, rfc3339(T0 + 27 * HOUR))
    told.to(20 * HOUR)

    assert told.touched() == {"c00": 3 * HOUR}


def test_an_override_is_shown_while_it_lasts_with_who_asked_for_it() -> None:
    told = story(calendar(), make.workload(), zones={"c00": "UTC"}).settle()
    asked = Who("ann", T0, "payments are down")
    override_calendars(told.hub, Ref(REPLICA_SET, "default/web"), T0 + HOUR, asked)

    def shown(at: timedelta) -> list[str]:
        told.to(at)
        account = snapshot_of(told.hub, told.clock.now()).account(Ref(REPLICA_SET, "default/web"))
        assert account is not None
        return list(map(str, account.interventions))

    end, by = rfc3339(T0 + HOUR), f"by ann (unverified) at {rfc3339(T0)}: payments are down"
    assert shown(MIN) == [f"past all calendars until {end} {by}"]
    assert shown(HOUR + MIN) == []


def test_after_the_override_calendars_count_again() -> None:
    told = story(calendar(), make.workload(), zones={"c00": "UTC"})
    told.annotate(names.OVERRIDE_CALENDARS, rfc3339(T0 + HOUR))
    told.to(HOUR + MIN)
    told.template(make.template("2"))
    told.to(21 * HOUR)

    assert told.touched("2") == {}
    told.to(22 * HOUR)
    assert told.touched("2") == {"c00": 22 * HOUR}


def test_a_workload_says_which_calendar_cannot_be_read_and_goes_on_as_before() -> None:
    clock = VirtualClock(T0)  # a hub that takes what an API server would refuse
    hub = MemoryHub(clock)
    told = Story([*make.fleet(1), make.workload()], hub=hub, clock=clock)
    told.add(calendar(ALWAYS, timeZone="UTC"))
    told.on(HOUR)
    broken = Ref(CLUSTER_CALENDAR, "business")
    told.hub.patch(broken, {"spec": {"windows": [{**ALWAYS, "schedule": "at night"}]}})
    told.template(make.template("2"))
    told.on(HOUR)

    assert told.reason == "Complete"
    assert "ClusterCalendar business is Misconfigured (spec.windows[0].schedule" in told.message
    assert told.touched("2")

    told.hub.patch(broken, {"spec": {"windows": [ALWAYS]}})
    told.on(HOUR)
    assert "Misconfigured" not in told.message


def test_in_profile_ocm_closed_clusters_are_not_touched_either() -> None:
    workload = make.workload(annotations={names.SEMANTICS: "ocm"})
    told = story(calendar(), workload, zones={"c00": "UTC"})
    told.to(21 * HOUR)
    assert told.touched() == {}

    told.to(22 * HOUR)
    assert told.touched() == {"c00": 22 * HOUR}


def test_in_profile_ocm_a_closed_cluster_takes_no_slot_and_says_what_it_waits_for() -> None:
    strategy = make.progressive(maxConcurrency=1)
    workload = make.workload(strategy=strategy, annotations={names.SEMANTICS: "ocm"})
    told = story(calendar(), workload).to(2 * HOUR)
    assert told.reason == "WindowClosed"
    assert "ClusterCalendar business: outside of all windows that allow" in told.message

    told.to(12 * HOUR)
    assert told.reason == "WindowClosed"
    told.to(23 * HOUR)
    assert told.touched() == {"c02": 3 * HOUR, "c01": 13 * HOUR, "c00": 22 * HOUR}
    assert told.reason == "Complete"


@pytest.mark.parametrize(
    "strategy",
    [
        make.progressive(mandatoryDecisionGroups=[{"groupName": "canary"}]),
        make.per_group(),
    ],
)
def test_in_profile_ocm_a_closed_canary_holds_back_what_comes_after_it(strategy: Obj) -> None:
    fleet = make.fleet(3, canary=1)
    for obj in fleet:
        if obj["kind"] == "ManagedCluster":
            obj["metadata"]["labels"]["zone"] = ZONES[obj["metadata"]["name"]]
    notes = {names.SEMANTICS: "ocm"}
    told = Story([*fleet, calendar(), make.workload(strategy=strategy, annotations=notes)])

    told.to(21 * HOUR)
    assert told.touched() == {}
    assert told.reason == "WindowClosed"
    told.to(60 * HOUR)
    assert told.touched() == {"c00": 22 * HOUR, "c02": 27 * HOUR, "c01": 37 * HOUR}


def test_a_calendar_is_looked_at_only_when_something_changes() -> None:
    told = story(calendar(), make.workload()).settle()

    instants = []
    while (at := told._next()) is not None and at < T0 + 24 * HOUR:
        instants.append(at - T0)
        told.to(at - T0)
    assert len(instants) < 30, "no polling"
