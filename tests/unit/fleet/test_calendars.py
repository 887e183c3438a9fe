"""Which clusters calendars close, event by event."""

import json
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest

from rollout.fleet.fleet import Fleet
from rollout.model.events import Change, Event
from rollout.model.kinds import CALENDAR, CLUSTER_CALENDAR, KINDS, REPLICA_SET, Obj, Ref, ref_of
from rollout.model.writes import PatchStatus
from rollout.planning.calendars import CalendarPlanner
from tests.support import make
from tests.support.story import HOUR, MIN, T0

WEB = Ref(REPLICA_SET, "default/web")
NIGHT = {"name": "night", "action": "Allow", "schedule": "0 22 * * *", "duration": "2h"}
BUSINESS = Ref(CLUSTER_CALENDAR, "business")


def calendar(window: Obj = NIGHT, name: str = "business", **spec: Any) -> Obj:
    return {
        "apiVersion": CLUSTER_CALENDAR.api_version,
        "kind": CLUSTER_CALENDAR.name,
        "metadata": {"name": name, "generation": 1},
        "spec": {"windows": [window], "timeZoneFrom": {"label": "zone"}, **spec},
    }


class Known:
    """A fleet that is told of one thing after the other."""

    def __init__(self, *objects: Obj) -> None:
        self.fleet = Fleet()
        self.versions = count(1)
        for obj in objects:
            self.tell(obj)

    def tell(self, obj: Obj, now: datetime = T0, change: Change = Change.ADDED) -> set[Ref]:
        ref = ref_of(KINDS[obj["kind"]], obj)
        return self.fleet.apply(Event(ref, change, obj, next(self.versions)), now)

    def closed(self, now: datetime = T0) -> dict[str, str]:
        waits = self.fleet.closed(WEB, now).touch.waits
        return {cluster: str(wait.reason) for cluster, wait in waits.items()}


def cluster(name: str, zone: str) -> Obj:
    return make.cluster(name, {"zone": zone})


TWO = (cluster("a", "UTC"), cluster("b", "Asia.Tokyo"))


def test_nothing_is_closed_where_there_is_no_calendar() -> None:
    assert Known(*TWO).closed() == {}


def test_the_order_in_which_calendars_and_clusters_become_known_does_not_matter() -> None:
    assert Known(*TWO, calendar()).closed() == Known(calendar(), *TWO).closed()
    assert Known(*TWO, calendar()).closed() == {"a": "WindowClosed", "b": "WindowClosed"}


def test_clusters_and_calendars_that_are_gone_count_no_more() -> None:
    known = Known(*TWO, calendar())
    known.tell(TWO[0], change=Change.DELETED)
    assert list(known.closed()) == ["b"]

    known.tell(calendar(), change=Change.DELETED)
    assert known.closed() == {}


def test_the_next_opening_is_the_earliest_of_those_that_are_closed() -> None:
    known = Known(*TWO, calendar())

    assert known.fleet.closed(WEB, T0).touch.until == T0 + 13 * HOUR
    assert known.fleet.closed(WEB, T0 + 13 * HOUR).touch.until == T0 + 22 * HOUR


def test_a_cluster_that_two_calendars_close_waits_for_the_later_one() -> None:
    late = {"name": "late", "action": "Deny", "schedule": "0 0 * * *", "duration": "23h"}
    known = Known(TWO[0], calendar(), calendar(late, name="late"))

    assert known.fleet.closed(WEB, T0).touch.until == T0 + 23 * HOUR
    assert known.closed(T0 + 23 * HOUR) == {}


def window(action: str, schedule: str, duration: str) -> Obj:
    return {"name": "w", "action": action, "schedule": schedule, "duration": duration}


def test_a_cluster_that_several_calendars_close_waits_until_all_of_them_are_open() -> None:
    """The one is open from 22 to 23, the other from 23 to 24 and on Saturdays."""
    late = calendar(window("Allow", "0 23 * * *", "1h"), name="late")
    late["spec"]["windows"].append({**window("Allow", "0 0 * * sat", "24h"), "name": "saturday"})
    known = Known(TWO[0], calendar(window("Allow", "0 22 * * *", "1h")), late)

    saturday = T0 + 70 * HOUR  # the first of January 2026 is a Thursday
    for now in (T0, T0 + 22 * HOUR, T0 + 23 * HOUR, saturday - MIN):
        wait = known.fleet.closed(WEB, now).touch.waits["a"]
        assert wait.until == saturday
        assert "opens Sat 2026-01-03 22:00 UTC (22:00Z)" in wait.message
    assert not known.closed(saturday)
    wait = known.fleet.closed(WEB, saturday + HOUR).touch.waits["a"]
    assert wait.until == T0 + (7 * 24 + 70) * HOUR


def test_somebody_looks_again_when_another_calendar_is_what_closes() -> None:
    noon = calendar(window("Deny", "0 12 * * *", "1h"), name="noon")
    known = Known(TWO[0], calendar(), noon)

    told = []
    for hours in (11, 12, 13):
        touch = known.fleet.closed(WEB, T0 + hours * HOUR).touch
        told.append((touch.waits["a"].message.partition(":")[0], touch.until))
    assert told == [
        ("ClusterCalendar business", T0 + 12 * HOUR),
        ("ClusterCalendar noon", T0 + 13 * HOUR),
        ("ClusterCalendar business", T0 + 22 * HOUR),
    ]


def test_of_calendars_that_are_never_open_together_it_is_said_so() -> None:
    late = calendar(window("Allow", "0 23 * * *", "1h"), name="late")
    known = Known(TWO[0], calendar(window("Allow", "0 22 * * *", "1h")), late)

    wait = known.fleet.closed(WEB, T0 + 22 * HOUR).touch.waits["a"]

    assert wait.until is None
    assert wait.message == (
        "ClusterCalendar late: outside of all windows that allow; never open together with "
        "ClusterCalendar business, as far as can be foreseen"
    )


def test_of_a_calendar_that_never_opens_it_is_said_so() -> None:
    never = calendar(window("Allow", "0 22 * * *", "1h"))
    never["spec"]["windows"].append({**window("Deny", "0 21 * * *", "3h"), "name": "evening"})

    wait = Known(TWO[0], never).fleet.closed(WEB, T0).touch.waits["a"]

    assert wait.until is None
    assert "never opens, as far as can be foreseen" in wait.message


def test_calendars_name_zones_of_their_own_and_count_together() -> None:
    """At night in Tokyo (13:00 to 15:00 UTC) and in Berlin's afternoon (13:00 to 16:00 UTC)."""
    known = Known(
        TWO[1],
        calendar(),
        calendar(
            window("Allow", "0 14 * * *", "3h"),
            name="berlin",
            timeZone="Europe/Berlin",
            timeZoneFrom=None,
        ),
    )

    assert known.fleet.closed(WEB, T0).touch.until == T0 + 13 * HOUR
    assert not known.closed(T0 + 14 * HOUR)
    assert known.closed(T0 + 15 * HOUR)


@pytest.mark.parametrize("calendars", [1, 4, 20])
def test_what_a_pass_costs_is_a_matter_of_zones_and_calendars_and_nothing_between_changes(
    calendars: int,
) -> None:
    zones = ("UTC", "Asia.Tokyo", "America.New_York")
    clusters = [cluster(f"c{n:03}", zones[n % 3]) for n in range(300)]
    nights = [
        calendar(window("Allow", "0 22 * * *", f"{n + 2}h"), name=f"n{n}") for n in range(calendars)
    ]
    known = Known(*clusters, *nights)
    known.fleet.closed(WEB, T0)
    waits = known.fleet.closed(WEB, T0).touch.waits

    assert len(waits) == len(clusters)
    assert len({id(wait) for wait in waits.values()}) == 3, "one for each zone"
    assert known.fleet.closed(WEB, T0 + 2 * HOUR).touch.waits is waits


def test_a_status_of_a_calendar_concerns_no_workload() -> None:
    known = Known(*TWO, make.workload(), calendar())
    touch = known.fleet.closed(WEB, T0).touch

    told = known.tell({**calendar(), "status": {"open": "0/2"}}, change=Change.MODIFIED)

    assert told == {BUSINESS}
    assert known.fleet.closed(WEB, T0).touch is touch


def test_an_expression_that_cannot_be_compiled_makes_a_calendar_unreadable() -> None:
    """Among them those about the time: they are asked when a cluster or the calendar changes."""
    for text in ("now > timestamp('2026-06-01T00:00:00Z')", "managedCluster.metadata.name ="):
        asked: Obj = {"celSelector": {"celExpressions": [text]}}
        found, _ = status(Known(TWO[0], calendar(clusters=asked)))

        assert conditions(found)["Misconfigured"] == "True"
        assert "spec.clusters.celSelector.celExpressions[0]" in found["conditions"][0]["message"]


def test_the_same_is_answered_whenever_it_is_asked_for() -> None:
    known = Known(*TWO, calendar())
    first = known.fleet.closed(WEB, T0)

    for later in (1 * MIN, 2 * HOUR, 22 * HOUR, 30 * 24 * HOUR):
        known.fleet.closed(WEB, T0 + later)
        assert known.fleet.closed(WEB, T0) == first


def test_between_two_changes_the_answer_is_the_very_same_value() -> None:
    known = Known(*TWO, calendar())

    first = known.fleet.closed(WEB, T0).touch

    assert known.fleet.closed(WEB, T0 + 12 * HOUR).touch is first
    assert known.fleet.closed(WEB, T0 + 13 * HOUR).touch is not first


@pytest.mark.parametrize(("asked_at", "closed"), [(21 * HOUR, True), (23 * HOUR, False)])
def test_a_calendar_that_cannot_be_read_leaves_clusters_as_they_were(
    asked_at: timedelta, closed: bool
) -> None:
    known = Known(TWO[0], calendar())
    known.tell(calendar(timeZone="Nowhere"), T0 + asked_at, Change.MODIFIED)

    for later in (22 * HOUR, 27 * HOUR, 46 * HOUR):
        assert bool(known.closed(T0 + asked_at + later)) is closed
    known.tell(calendar(), T0 + 60 * HOUR, Change.MODIFIED)
    assert known.closed(T0 + 60 * HOUR)
    assert not known.closed(T0 + 70 * HOUR)


def broken(status: Obj | None = None, **spec: Any) -> Obj:
    return {**calendar(timeZone="Nowhere", **spec), "status": status or {}}


def test_a_new_process_finds_what_a_calendar_said_last_and_since_when_it_cannot_be_read() -> None:
    only_a = {"labelSelector": {"matchLabels": {"zone": "UTC"}}}
    known = Known(*TWO, calendar(clusters=only_a))
    said, _ = status(known)
    known.tell({**calendar(clusters=only_a), "status": said}, change=Change.MODIFIED)
    known.tell(broken(said), T0 + 21 * HOUR, Change.MODIFIED)
    written, _ = status(known, T0 + 21 * HOUR)
    assert written["unreadableSince"] == "2026-01-01T21:00:00Z"

    later = T0 + 22 * HOUR + MIN
    new = Known()
    for obj in (*TWO, broken(said | written)):
        new.tell(obj, later)

    assert new.closed(later) == known.closed(later) == {"a": "WindowClosed"}
    view = new.fleet.calendars
    plan = CalendarPlanner(CLUSTER_CALENDAR).plan("business", view, later)
    assert plan.writes == (), "the status says it all"


def test_of_one_that_broke_while_nobody_lived_the_last_readable_decides_from_then_on() -> None:
    said, _ = status(Known(*TWO, calendar()))
    new = Known(*TWO)
    new.tell(broken(said), T0 + 14 * HOUR)

    assert new.closed(T0 + 23 * HOUR) == {"a": "WindowClosed"}, "as it was at 14:00 UTC"


def test_what_is_kept_of_a_calendar_is_the_spec_and_follows_it() -> None:
    known = Known(calendar())
    first, _ = status(known)
    known.tell(calendar(timeZone="Asia/Tokyo"), change=Change.MODIFIED)
    second, _ = status(known)

    assert json.loads(first["lastReadable"]) == calendar()["spec"]
    assert json.loads(second["lastReadable"]) == calendar(timeZone="Asia/Tokyo")["spec"]
    assert second["unreadableSince"] is None


@pytest.mark.parametrize("kept", ["", "{", "[]", "{}", '{"windows": []}', "9" * 5000])
def test_what_somebody_spoilt_of_what_is_kept_is_no_calendar(kept: str) -> None:
    known = Known(*TWO, broken({"lastReadable": kept, "next": "spoilt", "unreadableSince": "x"}))

    assert known.closed() == {"a": "WindowClosed", "b": "WindowClosed"}


def test_a_spoilt_status_makes_no_calendar_unreadable() -> None:
    known = Known(TWO[0], {**calendar(), "status": {"next": "spoilt"}})

    assert not known.closed(T0 + 22 * HOUR)


def test_a_cluster_that_comes_is_closed_by_a_calendar_that_could_never_be_read() -> None:
    known = Known(TWO[0], broken())
    known.closed()
    known.tell(TWO[1])

    assert known.closed() == {"a": "WindowClosed", "b": "WindowClosed"}


def test_workloads_are_told_of_calendars_that_cannot_be_read_and_may_concern_them() -> None:
    cases: list[tuple[Obj, str]] = [
        ({}, "clusters stay as they were before"),
        ({"workloads": {"kinds": ["ClusterManagementAddOn"]}}, ""),
    ]
    for spec, told in cases:
        known = Known(TWO[0], calendar(**spec))
        known.tell(broken(), change=Change.MODIFIED)
        amiss = known.fleet.closed(WEB, T0).amiss
        assert ("is Misconfigured" in amiss, told in amiss) == (bool(told), True), spec

    never = Known(TWO[0], broken()).fleet.closed(WEB, T0)
    assert "it could never be read, so all clusters are closed" in never.amiss
    assert "could never be read" in never.touch.waits["a"].message


def test_of_many_calendars_that_cannot_be_read_workloads_name_the_first_ones_and_count_the_others() -> (
    None
):
    many = [calendar(name=f"c{number:03}", timeZone="nowhere") for number in range(300)]

    amiss = Known(TWO[0], *many).fleet.closed(WEB, T0).amiss

    assert [f"c{number:03}" in amiss for number in (0, 4, 5)] == [True, True, False]
    assert amiss.endswith("; and 295 more calendars cannot be read")


def test_a_calendar_that_could_never_be_read_closes_all_that_it_may_concern() -> None:
    known = Known(*TWO, calendar(timeZone="Nowhere"))

    assert known.closed() == {"a": "WindowClosed", "b": "WindowClosed"}


def test_a_bad_calendar_stops_no_other() -> None:
    bad = calendar(timeZone="Nowhere") | {
        "kind": CALENDAR.name,
        "metadata": {"name": "bad", "namespace": "elsewhere"},
    }
    known = Known(TWO[0], bad, calendar())

    assert known.closed() == {"a": "WindowClosed"}
    assert known.closed(T0 + 22 * HOUR) == {}


def test_an_expression_that_fails_closes_the_cluster() -> None:
    selector = {"celSelector": {"celExpressions": ["managedCluster.nothing.like.it == 1"]}}

    assert Known(TWO[0], calendar(clusters=selector)).closed()


def test_a_heartbeat_wakes_nobody_and_a_new_zone_wakes_its_calendar() -> None:
    known = Known(*TWO, calendar())

    assert BUSINESS not in known.tell(TWO[0], change=Change.MODIFIED)
    assert BUSINESS in known.tell(cluster("a", "Asia.Tokyo"), change=Change.MODIFIED)


# -- status ------------------------------------------------------------------------------------


def status(known: Known, now: datetime = T0) -> tuple[Obj, datetime | None]:
    view = known.fleet.calendars
    plan = CalendarPlanner(CLUSTER_CALENDAR).plan("business", view, now)
    (write,) = plan.writes
    assert isinstance(write, PatchStatus)
    return write.status, plan.recheck_at


def test_the_status_says_for_each_zone_whether_it_is_open_and_until_when() -> None:
    found, recheck_at = status(Known(*TWO, calendar()), T0 + 13 * HOUR)

    assert found["open"] == "1/2"
    assert found["nextChange"] == "2026-01-01T15:00:00Z"
    assert found["next"] == [
        {"timeZone": "Asia/Tokyo", "open": True, "until": "2026-01-01T15:00:00Z"},
        {"timeZone": "UTC", "open": False, "until": "2026-01-01T22:00:00Z"},
    ]
    assert recheck_at == T0 + 15 * HOUR


def test_a_status_that_says_it_all_is_not_written_again() -> None:
    known = Known(*TWO, calendar())
    told, _ = status(known)
    known.tell({**calendar(), "status": told}, change=Change.MODIFIED)

    view = known.fleet.calendars
    plan = CalendarPlanner(CLUSTER_CALENDAR).plan("business", view, T0)
    assert plan.writes == ()
    assert plan.recheck_at == T0 + 13 * HOUR


def conditions(found: Obj) -> dict[str, str]:
    return {each["type"]: each["status"] for each in found["conditions"]}


def test_an_unknown_zone_is_a_condition_of_the_calendar() -> None:
    found, _ = status(Known(cluster("a", "Mars"), calendar()))

    assert conditions(found) == {"Misconfigured": "False", "UnknownTimeZone": "True"}
    assert found["conditions"][1]["message"] == "1 cluster is closed: 'Mars' is not a time zone"


def test_a_calendar_that_cannot_be_read_says_so() -> None:
    known = Known(TWO[0], calendar())
    known.tell(calendar(timeZone="Nowhere"), change=Change.MODIFIED)

    found, recheck_at = status(known)

    assert conditions(found)["Misconfigured"] == "True"
    assert "spec.timeZone" in found["conditions"][0]["message"]
    assert (found["open"], found["nextChange"], recheck_at) == ("0/1", None, None)
